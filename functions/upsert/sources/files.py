"""Values that stand in the file of objects, or in a file beside it. The build puts them into the compiled form.

They are for ConfigMaps: whoever may read the repository, or the function, may read them.
"""

import base64
from collections.abc import Collection, Mapping

from upsert.core.fields import Fields, unquoted
from upsert.core.grammars import FILE
from upsert.core.objects import Material, Ref
from upsert.core.sensitive import Sensitive
from upsert.sources.source import AwsApi, Folder, NoFile, Reading, Source


def _value_form(at: Fields, _: Folder) -> Mapping[str, str]:
    at.closed(("value",))
    value = at.value["value"]
    if isinstance(value, str):
        return {"text": value}
    at.wrong("value", f"{unquoted(value)} is no text; expected a text, in quotes")
    return {}


def _file_form(at: Fields, folder: Folder) -> Mapping[str, str]:
    at.closed(("file",))
    path = at.text("file", FILE)
    try:
        return {"base64": base64.b64encode(folder.read(path)).decode()} if path else {}
    except NoFile as wrong:
        at.wrong("file", str(wrong))
        return {}


def given(ref: Ref) -> bytes:
    """Return the value that stands in a ref itself, or nothing if it is kept elsewhere."""
    return base64.b64decode(ref.get("base64")) if ref.source == "file" else ref.get("text").encode()


def _read(refs: Collection[Ref], _: AwsApi) -> Reading:
    return {ref: Material({"value": Sensitive(given(ref))}) for ref in refs}


VALUE = Source("value", form=_value_form, read=_read, is_plain=True)
FILE_BESIDE = Source("file", form=_file_form, read=_read, is_plain=True)
