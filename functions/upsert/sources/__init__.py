"""Where bytes come from: one module per source, one row in the table for each word that the file has for them."""

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

from upsert.core.fields import Fields, Problem
from upsert.core.objects import Part, Ref
from upsert.core.rows import Rows
from upsert.sources import ecr
from upsert.sources.source import AwsApi, Folder, Reading, Source, given

__all__ = ["TABLE", "Reader", "given", "read"]

TABLE = Rows[Source](
    __name__,
    {
        "ecr": ecr.PRIVATE,
        "ecr_public": ecr.PUBLIC,
        "secret": "secrets_manager.SECRET",
        "parameter": "parameter_store.PARAMETER_STORE",
        "value": "files.VALUE",
        "file": "files.FILE_BESIDE",
        "env_file": "files.ENV_FILE",
    },
)

# As much of a word tells it from the others.
_BEGINNING = 3


class Reader(NamedTuple):
    """Reads what entries of the file say about their sources, at build. Files are looked for in the folder."""

    folder: Folder

    def part(self, place: str, at: Fields, *, login: bool, may_be_plain: bool = False) -> Part:
        """Return the part that an entry describes: a login or a value. Notes what is wrong with it."""
        words = [
            source.word
            for source in TABLE.values()
            if source.form and source.gives_login is login and (may_be_plain or not source.is_plain)
        ]
        source = _named(at, words, is_plain_refused=not may_be_plain)
        if source is None or source.form is None:
            return Part(place, Ref(""))
        return Part(place, Ref(source.word, tuple(sorted(source.form(at, self.folder).items()))))

    def parts(self, at: Fields, *, may_be_plain: bool = False) -> Sequence[Part]:
        """Return the parts that an entry describes, each with its key as its place. Notes what is wrong with it."""
        words = [source.word for source in TABLE.values() if source.many and (may_be_plain or not source.is_plain)]
        source = _named(at, words, is_plain_refused=not may_be_plain)
        return source.many(at, self.folder) if source and source.many else ()

    def given(self, ref: Ref) -> bytes:
        """Return the value that stands in the repository, or nothing if it is kept elsewhere."""
        return given(ref)

    def host(self, ref: Ref) -> str:
        """Return the host of a login, with words for what only a deployment knows, or nothing if there is none."""
        return TABLE[ref.source].host(ref) if ref.source else ""


def _named(at: Fields, words: Sequence[str], *, is_plain_refused: bool) -> Source | None:
    """Return the one source of those words that an entry names. Notes if there is none, or more than one."""
    plain = [source.word for source in TABLE.values() if source.is_plain and source.word in at]
    if plain and is_plain_refused:
        at.wrong(plain[0], "is for ConfigMaps alone; expected a source that keeps it, such as {secret: NAME}")
        return None
    named = [word for word in words if word in at]
    if len(named) == 1:
        return TABLE[named[0]]
    expected = f"expected one of {', '.join(words)}"
    if not named and (slip := _slip(at, words)):
        name, word = slip
        text = f"unknown field {name!r}, did you mean {word}; {expected}"
        at.problems.append(Problem(at.path, text, place=(*at.path, name)))
    else:
        at.wrong(None, f"names {' and '.join(named) or 'no source'}; {expected}")
    return None


def _slip(at: Fields, words: Sequence[str]) -> tuple[str, str] | None:
    """Return a field that begins as one of the words does, and that word."""
    slips = (
        (name, word)
        for name, value in at.value.items()
        for word in words
        if value is not None and name.isidentifier() and name[:_BEGINNING] == word[:_BEGINNING]
    )
    return next(slips, None)


def read(refs: Collection[Ref], aws: AwsApi) -> Reading:
    """Return what each of the refs gives, or why it gives nothing. Different sources are asked at the same time."""
    by_source = {
        word: [ref for ref in refs if ref.source == word] for word in dict.fromkeys(ref.source for ref in refs)
    }
    if not by_source:
        return {}
    with ThreadPoolExecutor(len(by_source), thread_name_prefix="source") as pool:
        readings = pool.map(partial(_read_one, aws=aws), by_source.items())
        return {ref: given for reading in readings for ref, given in reading.items()}


def _read_one(item: tuple[str, list[Ref]], aws: AwsApi) -> Reading:
    word, refs = item
    return TABLE[word].read(refs, aws)
