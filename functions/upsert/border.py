"""The border of the package: what leaves it as an error holds no value."""

import traceback
from collections.abc import Callable
from functools import wraps

from upsert.errors import InternalError, UpsertError


def place_of(error: BaseException) -> str:
    """Return an exception's class and the line of this package that it came through last, and none of its text."""
    frames = traceback.walk_tb(error.__traceback__)
    places = [f"{name}:{line}" for frame, line in frames if (name := _module(frame.f_globals)).startswith("upsert.")]
    return f"{type(error).__name__} at {places[-1] if places else 'an unknown line'}"


def _module(names: dict[str, object]) -> str:
    return str(names.get("__name__", ""))


def without_values[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Let errors of this package out of `function`, bare, and turn any other into an `InternalError`.

    Bare means without the exceptions that they were raised from. ``from None`` hides those from a printed traceback but
    leaves them on the error, where whoever walks its context finds answers and requests quoted.
    """

    @wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except UpsertError as error:
            stopped = error
        except Exception as error:  # noqa: BLE001 - the border: what nobody foresaw must not print what it quotes
            stopped = InternalError(f"{place_of(error)}: a fault of this function; please report it with this line")
        stopped.__cause__ = stopped.__context__ = None
        raise stopped

    return guarded
