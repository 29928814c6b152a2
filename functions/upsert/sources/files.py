"""Values that stand in the file of objects, or in a file beside it. The build puts them into the compiled form.

They are for ConfigMaps: whoever may read the repository, or the function, may read them.
"""

import base64
from collections.abc import Collection, Mapping, Sequence

from upsert.core import env_files
from upsert.core.env_files import BadLine
from upsert.core.fields import Fields, unquoted
from upsert.core.grammars import FILE
from upsert.core.objects import Material, Part, Ref
from upsert.core.sensitive import Sensitive
from upsert.sources.source import AwsApi, Folder, NoFile, Reading, Source, given


def _value_form(at: Fields, _: Folder) -> Mapping[str, str]:
    at.closed(("value",))
    value = at.value["value"]
    if isinstance(value, str):
        return {"text": value}
    at.wrong("value", f"{unquoted(value)} is no text; expected a text, in quotes")
    return {}


def _file_form(at: Fields, folder: Folder) -> Mapping[str, str]:
    at.closed(("file",))
    content = _content(at, "file", folder)
    return {} if content is None else {"base64": base64.b64encode(content).decode()}


def _env_file_parts(at: Fields, folder: Folder) -> Sequence[Part]:
    at.closed(("env_file",))
    found: list[Part] = []
    for line in env_files.parse(_content(at, "env_file", folder) or b""):
        if isinstance(line, BadLine):
            at.wrong("env_file", f"line {line.number} of {at.value['env_file']!r} {line.text}")
        else:
            key, text = line
            found.append(Part(key, Ref(VALUE.word, (("text", text),))))
    return found


def _content(at: Fields, name: str, folder: Folder) -> bytes | None:
    """Return what the file holds that a field names, or None if there is no such file, which is noted."""
    path = at.text(name, FILE)
    try:
        return folder.read(path) if path else None
    except NoFile as wrong:
        at.wrong(name, str(wrong))
        return None


def _read(refs: Collection[Ref], _: AwsApi) -> Reading:
    return {ref: Material({"value": Sensitive(given(ref))}) for ref in refs}


VALUE = Source("value", form=_value_form, read=_read, is_plain=True)
FILE_BESIDE = Source("file", form=_file_form, read=_read, is_plain=True)
# Its keys are values like any other by the time that something is read.
ENV_FILE = Source("env_file", form=None, many=_env_file_parts, read=_read, is_plain=True)
