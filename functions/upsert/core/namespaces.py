"""Which namespaces an object is written to."""

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

# So many names of 63 characters fit into a URL.
_ASKED_BY_NAME = 100


def is_name(pattern: str) -> bool:
    """Return whether a pattern stands for itself alone."""
    return not set(pattern) & set("*?")


def exact(patterns: Sequence[str]) -> tuple[str, ...]:
    """Return the patterns if they are few and all of them names, so that one may ask for just these; else nothing."""
    few = len(patterns) <= _ASKED_BY_NAME
    return tuple(patterns) if few and all(map(is_name, patterns)) else ()


def allowed(names: Iterable[str], *, include: Sequence[str], exclude: Sequence[str]) -> tuple[str, ...]:
    """Return the names, sorted, that match `include` and do not match `exclude`: exclude wins."""
    is_included, is_excluded = matcher(include), matcher(exclude)
    return tuple(sorted(name for name in names if is_included(name) and not is_excluded(name)))


def matcher(patterns: Collection[str]) -> Callable[[str], bool]:
    """Return what tells of each of many names whether one of the patterns matches it, as `is_any` does of one.

    Of thousands of globs, a name is held against those that begin like it.
    """
    globs = {pattern for pattern in patterns if not is_name(pattern)}
    exact_names = frozenset(patterns) - globs
    by_start: dict[str, list[str]] = {}
    for glob in globs:
        by_start.setdefault(start_of(glob), []).append(glob)
    lengths = {len(start) for start in by_start}
    return lambda name: name in exact_names or any(is_any(name, by_start.get(name[:length], ())) for length in lengths)


def is_any(name: str, patterns: Collection[str]) -> bool:
    """Return whether one of the patterns matches the name."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def unmatched(patterns: Iterable[str], names: Collection[str]) -> tuple[str, ...]:
    """Return the patterns that match none of the names."""
    known = frozenset(names)
    ordered = sorted(known)
    return tuple(
        pattern
        for pattern in patterns
        if pattern not in known
        and (is_name(pattern) or not any(fnmatchcase(name, pattern) for name in _beginning(start_of(pattern), ordered)))
    )


def start_of(pattern: str) -> str:
    """Return what every name begins with that a pattern matches."""
    return re.split(r"[*?]", pattern, maxsplit=1)[0]


def _beginning(start: str, ordered: Sequence[str]) -> Iterator[str]:
    """Give the names, of sorted ones, that begin so."""
    for index in range(bisect_left(ordered, start), len(ordered)):
        if not ordered[index].startswith(start):
            return
        yield ordered[index]
