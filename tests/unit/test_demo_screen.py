"""The picture of the demo's last screen is what was printed since it began, and needs nothing from elsewhere."""

import re
import xml.etree.ElementTree as ET

import pytest

from tests.demo.objects_act import ObjectsEvidence
from tests.demo.screen import Screen
from tests.demo.verdict import Evidence, Reads, judge
from tests.support.template import ROOT

NOTHING = ObjectsEvidence(
    kinds=0,
    objects=0,
    namespaces=0,
    expected=0,
    written=0,
    same_in_log=True,
    requests={},
    source_reads=0,
    woken_seconds=0,
    woken=frozenset(),
    uids_kept=True,
    reads=0,
    absent=0,
)


def text_of(picture: str) -> str:
    return "".join(ET.fromstring(picture).itertext()).replace("\N{NO-BREAK SPACE}", " ")


def test_a_picture_holds_the_last_screen_and_draws_nothing_from_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen()
    screen.line("before the last screen")
    screen.turn()
    screen.head("What became of each namespace")
    screen.line("proof: namespaces=25 absent=0", "bold")
    picture = screen.picture()
    text = text_of(picture)
    assert "proof: namespaces=25 absent=0" in text
    assert "before the last screen" not in text
    assert set(re.findall(r"https?://[^\s\"'<]+", re.sub(r"<!--.*?-->", "", picture))) == {"http://www.w3.org/2000/svg"}
    assert "before the last screen" in capsys.readouterr().out


def test_the_readmes_picture_is_of_a_demo_that_ended_well_and_as_it_ends_now() -> None:
    """If it is not: make demo PICTURE=docs/images/demo.svg."""
    text = text_of((ROOT / "docs" / "images" / "demo.svg").read_text())
    assert "](docs/images/demo.svg)" in (ROOT / "README.md").read_text()
    assert "✗" not in text
    proof = judge(Evidence((), Reads(0, 0, 0), frozenset(), (), (), {})).proof
    for line in (proof, NOTHING.line):
        name, _, fields = line.partition(": ")
        (shown,) = re.findall(rf"^ *{name}: (.*?) *$", text, re.MULTILINE)
        assert [one.partition("=")[0] for one in shown.split()] == [one.partition("=")[0] for one in fields.split()]
        assert shown.endswith(" absent=0")
