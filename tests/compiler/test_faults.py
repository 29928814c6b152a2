"""A file of objects that is wrong is refused with every fault at once: its line, its field, and what was expected."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.compiled import MOST_FAULTS, compile_objects
from tests.compiler.cases import BAD, GOOD, RICH, UNREADABLE, Bad, a_file, an_object
from upsert.errors import InputError


def faults(text: bytes | str) -> tuple[str, ...]:
    with pytest.raises(InputError) as refused:
        compile_objects(text if isinstance(text, bytes) else text.encode(), "objects.yaml")
    return refused.value.problems


def problems(text: bytes) -> tuple[str, ...]:
    try:
        compile_objects(text, "objects.yaml")
    except InputError as refused:
        return refused.problems
    return ()


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD)
def test_a_good_file_is_taken(text: str) -> None:
    assert compile_objects(text.encode(), "objects.yaml").startswith('{"clusters":')


@pytest.mark.parametrize("bad", [*UNREADABLE.values(), *BAD.values()], ids=[*UNREADABLE, *BAD])
def test_a_bad_file_is_refused_with_every_fault_and_its_line(bad: Bad) -> None:
    assert faults(bad.bytes) == tuple(f"objects.yaml:{fault}" for fault in bad.faults)


def test_many_faults_are_cut_short_and_counted() -> None:
    told = faults(a_file(*(an_object(name="X") for _ in range(MOST_FAULTS + 7))))
    assert len(told) == MOST_FAULTS + 1
    assert told[0].startswith("objects.yaml:3: objects[0].name: 'X' is wrong")
    assert told[-1] == "and 7 more"


def test_a_fault_keeps_to_its_line_whatever_a_name_holds() -> None:
    (told,) = faults(a_file(an_object(**{'"a\\nb\\e[31m"': "1"})))
    assert told.isprintable()


@given(st.binary(max_size=200))
def test_whatever_the_bytes_it_compiles_or_is_refused(text: bytes) -> None:
    assert all(told.startswith("objects.yaml:") for told in problems(text))


@given(
    st.integers(0, len(RICH)),
    st.integers(0, 30),
    st.text("{}[],:&*!|>'\"%@`#?- \n\t~<=.0123456789abcehnorstu", max_size=12),
)
def test_whatever_is_done_to_a_good_file_it_compiles_or_is_refused(start: int, length: int, new: str) -> None:
    text = RICH[:start] + new + RICH[start + length :]
    assert all(told.startswith("objects.yaml:") for told in problems(text.encode()))
