"""A value that must not be seen."""

from collections.abc import Callable
from typing import Any, NoReturn

_MASK = "Sensitive(***)"


class Sensitive[T: (str, bytes)]:
    """Holds a secret text or bytes and shows a mask wherever it is printed, formatted or logged.

    It is not a ``str``, so it cannot be joined, logged or serialised by accident: only `reveal` gives the value, and
    only the code that writes it to the wire calls that. The value lives in a closure, out of reach of ``vars``,
    debuggers that print attributes, and serialisers that walk ``__dict__`` or ``__slots__``.
    """

    __slots__ = ("_reveal",)
    _reveal: Callable[[], T]

    def __init__(self, value: T) -> None:
        object.__setattr__(self, "_reveal", lambda: value)

    def reveal(self) -> T:
        """Return the value itself. For the one line that needs it."""
        return self._reveal()

    def __repr__(self) -> str:
        return _MASK

    def __format__(self, spec: str) -> str:
        return _MASK

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a Sensitive value does not change")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sensitive) and bool(self.reveal() == other.reveal())

    def __hash__(self) -> int:
        return hash(self.reveal())

    def __copy__(self) -> "Sensitive[T]":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Sensitive[T]":
        return self

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a Sensitive value cannot be pickled")


def is_text(value: Sensitive[bytes]) -> bool:
    """Return whether bytes are a text in UTF-8."""
    try:
        value.reveal().decode()
    except UnicodeDecodeError:
        return False
    return True
