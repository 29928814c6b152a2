"""The tree of errors is as it is drawn, and nothing but it leaves the function."""

import re

import pytest

from upsert import errors
from upsert.errors import AwsError, InputError, UpsertError


def drawn() -> dict[str, str]:
    """Return each class of the drawing with the class that it hangs from."""
    parents: dict[str, str] = {}
    branch: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if found := re.match(r"    ((?:│   |    )*)(?:[├└]── )?([A-Z]\w+)(?: |$)", line):
            depth = len(found[1]) // 4 + ("── " in line)
            branch[depth:] = [found[2]]
            parents[found[2]] = branch[depth - 1] if depth else ""
    return parents


def test_the_drawing_is_the_tree() -> None:
    real = {
        name: "" if thing is UpsertError else thing.__mro__[1].__name__
        for name, thing in vars(errors).items()
        if isinstance(thing, type) and issubclass(thing, UpsertError)
    }

    assert drawn() == real


def test_an_input_error_holds_each_problem_and_says_all() -> None:
    error = InputError(["ONE: wrong", "TWO: wrong"])

    assert error.problems == ("ONE: wrong", "TWO: wrong")
    assert str(error) == "ONE: wrong; TWO: wrong"


@pytest.mark.parametrize("name", sorted(set(drawn()) - {"UpsertError"}))
def test_every_error_says_what_it_is_in_its_docstring(name: str) -> None:
    assert (getattr(errors, name).__doc__ or "").strip().endswith(".")


def test_what_aws_answered_is_a_code_and_nothing_that_a_run_ends_with() -> None:
    error = AwsError("AccessDeniedException", while_assuming=True)

    assert not isinstance(error, UpsertError)
    assert str(error) == error.code == "AccessDeniedException"
