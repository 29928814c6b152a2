"""A table whose rows stand in modules of their own, each of which is imported when its row is first asked for."""

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module


class Rows[R](MutableMapping[str, R]):
    """Rows by word. A run needs few of them, and each import is part of its cold start."""

    def __init__(self, package: str, rows: Mapping[str, R | str]) -> None:
        """A text says in which module of the package a row is, and how it is called there, such as ``tls.KIND``."""
        self._package = package
        self._rows = dict(rows)

    def __getitem__(self, word: str) -> R:
        row = self._rows[word]
        if isinstance(row, str):
            module, _, name = row.partition(".")
            found: R = getattr(import_module(f"{self._package}.{module}"), name)
            self._rows[word] = found
            return found
        return row

    def __setitem__(self, word: str, row: R) -> None:
        self._rows[word] = row

    def __delitem__(self, word: str) -> None:
        del self._rows[word]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)
