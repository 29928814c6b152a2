"""What leaves the package as an error holds no value, and says where a bug is; a bug of one item stays its own."""

import re

import pytest

from tests.support.canary import Canary, told_by
from upsert.border import place_of, without_values
from upsert.core import members
from upsert.core.sensitive import Sensitive
from upsert.errors import InternalError, ListForbidden, UpsertError

SECRET = "correct-horse-battery-staple"


def quoting() -> None:
    raise ValueError(SECRET)


def refused() -> None:
    try:
        quoting()
    except ValueError:
        raise ListForbidden("403") from None


def inside_the_package() -> None:
    members.member(Sensitive("{}"), "missing")


def raised(function: object) -> UpsertError:
    assert callable(function)
    with pytest.raises(UpsertError) as stopped:
        without_values(function)()
    return stopped.value


def leaks(error: UpsertError) -> set[str]:
    canary = Canary()
    canary.learn("secret", SECRET)
    return canary.leaks("\n".join(told_by(error)))


def test_what_a_function_returns_passes() -> None:
    assert without_values(lambda: 5)() == 5


def test_an_error_of_ours_passes_without_what_it_was_raised_from() -> None:
    error = raised(refused)

    assert (type(error), str(error)) == (ListForbidden, "403")
    assert error.__cause__ is error.__context__ is None
    assert leaks(error) == set()


def test_any_other_error_becomes_one_that_says_where_it_was_and_nothing_else() -> None:
    error = raised(quoting)

    assert isinstance(error, InternalError)
    assert re.fullmatch(
        r"ValueError at upsert\.border:\d+: a fault of this function; please report it with this line", str(error)
    )
    assert leaks(error) == set()


def test_the_place_of_a_bug_is_the_last_line_of_this_package_that_it_came_through() -> None:
    error = raised(inside_the_package)

    assert str(error).startswith("NotUsable at upsert.core.members:")


def test_an_error_that_was_never_raised_has_no_place() -> None:
    assert place_of(ValueError(SECRET)) == "ValueError at an unknown line"
