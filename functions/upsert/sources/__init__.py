"""Where bytes come from: one module per source, one row in the table for each word that the file has for them."""

from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from upsert.core.fields import Fields
from upsert.core.objects import Part, Ref
from upsert.sources import ecr, secrets_manager
from upsert.sources.source import AwsApi, Reading, Source

TABLE: dict[str, Source] = {
    source.word: source for source in (ecr.PRIVATE, ecr.PUBLIC, secrets_manager.SECRET)
}  # fmt: skip


def part(place: str, at: Fields, *, login: bool) -> Part:
    """Return the part that an entry of the file describes: a login or a value. Notes what is wrong with it."""
    words = [source.word for source in TABLE.values() if source.gives_login is login]
    named = [word for word in words if word in at]
    if len(named) != 1:
        at.wrong(None, f"names {' and '.join(named) or 'no source'}; expected one of {', '.join(words)}")
        return Part(place, Ref(""))
    source = TABLE[named[0]]
    return Part(place, Ref(source.word, tuple(sorted(source.form(at).items()))))


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
