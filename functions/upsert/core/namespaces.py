"""Which namespaces a run is for."""

import re
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase

from upsert.errors import NoNamespaceMatches

# A DNS label (RFC 1123) in which * stands for any characters and ? for one.
_PATTERN = re.compile(r"[a-z0-9*?]([a-z0-9*?-]{0,61}[a-z0-9*?])?")
_SHOWN = 10
# So many names of 63 characters fit into a URL.
_ASKED_BY_NAME = 100


def is_pattern(text: str) -> bool:
    """Return whether `text` is a namespace's name or a glob over such names."""
    return _PATTERN.fullmatch(text) is not None


def exact(patterns: Sequence[str]) -> tuple[str, ...]:
    """Return the patterns if they are few and all of them names, so that one may ask for just these; else nothing."""
    few = len(patterns) <= _ASKED_BY_NAME
    return tuple(patterns) if few and not any(set(pattern) & set("*?") for pattern in patterns) else ()


def allowed(names: Iterable[str], *, include: Sequence[str], exclude: Sequence[str]) -> tuple[str, ...]:
    """Return the names, sorted, that match `include` and do not match `exclude`: exclude wins."""
    return tuple(sorted(name for name in names if _any(name, include) and not _any(name, exclude)))


def plan(
    existing: Collection[str], *, include: Sequence[str], exclude: Sequence[str], requested: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the namespaces to refresh, sorted.

    They are `allowed`, and, if the event names any, match one of `requested`. Raises `NoNamespaceMatches` if that
    leaves none, or if something in `requested` leaves none: a typo by hand must not pass for success.
    """
    chosen = allowed(existing, include=include, exclude=exclude)
    if requested:
        if missing := [pattern for pattern in requested if not any(fnmatchcase(name, pattern) for name in chosen)]:
            raise NoNamespaceMatches("; ".join(_why_missing(pattern, existing) for pattern in missing))
        chosen = tuple(name for name in chosen if _any(name, requested))
    if not chosen:
        raise NoNamespaceMatches(
            f"none of the cluster's {len(existing)} listed namespaces matches INCLUDE_NAMESPACES {','.join(include)!r} "
            f"without matching EXCLUDE_NAMESPACES {','.join(exclude)!r}; check both, and NAMESPACE_SELECTOR"
        )
    return chosen


def _any(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _why_missing(pattern: str, existing: Collection[str]) -> str:
    excluded = sorted(name for name in existing if fnmatchcase(name, pattern))
    if not excluded:
        return (
            f"event.namespaces: {pattern!r} matches no namespace of the cluster (within NAMESPACE_SELECTOR); "
            "expected an existing name or a glob that matches one"
        )
    more = "" if len(excluded) <= _SHOWN else f" and {len(excluded) - _SHOWN} more"
    return (
        f"event.namespaces: {pattern!r} matches only namespaces that the settings leave out "
        f"({', '.join(excluded[:_SHOWN])}{more}); change INCLUDE_NAMESPACES or EXCLUDE_NAMESPACES to refresh them"
    )
