"""The picture of the demo's last screen is what was printed since it began, and needs nothing from elsewhere."""

import re
import xml.etree.ElementTree as ET

import pytest

from tests.demo.screen import Screen


def test_a_picture_holds_the_last_screen_and_draws_nothing_from_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen()
    screen.line("before the last screen")
    screen.turn()
    screen.head("What became of each namespace")
    screen.line("proof: namespaces=25 absent=0", "bold")
    picture = screen.picture()
    text = "".join(ET.fromstring(picture).itertext()).replace("\N{NO-BREAK SPACE}", " ")
    assert "proof: namespaces=25 absent=0" in text
    assert "before the last screen" not in text
    assert set(re.findall(r"https?://[^\s\"'<]+", re.sub(r"<!--.*?-->", "", picture))) == {"http://www.w3.org/2000/svg"}
    assert "before the last screen" in capsys.readouterr().out
