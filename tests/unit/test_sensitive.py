"""A Sensitive value shows a mask wherever it may be printed."""

import copy
import json
import logging
import pickle
import traceback
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from upsert.core.sensitive import Sensitive

VALUE = "correct-horse-battery-staple"


@dataclass
class Holder:
    value: Sensitive[str]


@pytest.mark.parametrize(
    "show",
    [
        repr,
        str,
        lambda value: f"{value}",
        lambda value: f"{value!s:>40}",
        lambda value: f"{value:>40}",
        lambda value: format(value, "x"),
        lambda value: "%s %r" % (value, value),  # noqa: UP031 - this way of formatting is one that loggers use
        "{0} {0!r}".format,
        lambda value: repr([value]),
        lambda value: repr({"password": value}),
        lambda value: repr(Holder(value)),
        lambda value: json.dumps({"password": value}, default=str),
        lambda value: repr(value._reveal),
        lambda value: repr(dir(value)),
    ],
)
@pytest.mark.parametrize("secret", [VALUE, VALUE.encode()], ids=["text", "bytes"])
def test_every_way_of_printing_shows_the_mask[T: (str, bytes)](show: Callable[[object], str], secret: T) -> None:
    assert VALUE not in show(Sensitive(secret))


def test_the_mask_says_what_it_is() -> None:
    assert repr(Sensitive(VALUE)) == "Sensitive(***)"


@pytest.mark.parametrize("secret", [VALUE, VALUE.encode()], ids=["text", "bytes"])
def test_reveal_gives_the_value[T: (str, bytes)](secret: T) -> None:
    assert Sensitive(secret).reveal() == secret


@pytest.mark.parametrize(
    "use",
    [
        lambda value: "Bearer " + value,
        lambda value: value + "",
        ",".join,
        lambda value: str.join(",", [value]),
        json.dumps,
        lambda value: json.dumps({"password": value}),
        vars,
        bytes,
        len,
        iter,
        pickle.dumps,
        lambda value: pickle.dumps([value], protocol=0),
    ],
)
def test_it_passes_for_no_text(use: Callable[[object], object]) -> None:
    with pytest.raises(TypeError) as refused:
        use(Sensitive(VALUE))

    assert VALUE not in str(refused.value)


def test_copies_are_the_same_masked_value() -> None:
    secret = Sensitive(VALUE)

    assert copy.copy(secret) is secret
    assert copy.deepcopy([secret])[0] is secret


def test_it_does_not_change() -> None:
    with pytest.raises(AttributeError, match="does not change"):
        Sensitive(VALUE).text = VALUE


def test_equality_is_that_of_the_values() -> None:
    assert Sensitive(VALUE) == Sensitive(VALUE)
    assert hash(Sensitive(VALUE)) == hash(Sensitive(VALUE))
    assert Sensitive(VALUE) != Sensitive("another")
    assert Sensitive(VALUE) != VALUE


def test_a_log_record_shows_the_mask(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("test").warning("%s and %r", Sensitive(VALUE), {"password": Sensitive(VALUE)})

    assert "Sensitive(***)" in caplog.text
    assert VALUE not in caplog.text


def test_a_traceback_that_shows_local_variables_shows_the_mask() -> None:
    def fail(password: Sensitive[str]) -> None:
        raise RuntimeError(f"could not use {password}")

    with pytest.raises(RuntimeError) as failed:
        fail(Sensitive(VALUE))
    shown = "".join(traceback.TracebackException.from_exception(failed.value, capture_locals=True).format())

    assert "password = Sensitive(***)" in shown
    assert VALUE not in shown.replace(f"VALUE = '{VALUE}'", "")
