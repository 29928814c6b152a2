"""The steps of docs/adopting.md, for an application's Secret and for the pull Secret: each command is run, in order."""

import json
import re
import shlex
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.adopt.conftest import Migration
from tests.adopt.conftest import Team as MakeTeam
from tests.support import keyed, objects
from tests.support.adopter import ECR, OLD, entry, secret
from tests.support.controlplane import ControlPlane
from tests.support.keyed import body, owners_of, values_of
from tests.support.objects import HOST, SECRET
from tests.support.refresher import password_in
from tests.support.template import load
from upsert.core.docker_config import DATA_KEY
from upsert.core.identity import FIELD_MANAGER

REPOSITORY = Path(__file__).parents[2]
DOCUMENT = REPOSITORY / "docs" / "adopting.md"
NAME, TEAM = "api-config", "team-api"
LIVE = {"DB_PASSWORD": b"correct-horse-battery-staple-9", "LOG_TOKEN": b"a-token\n", "keystore.p12": b"\x00\xff store"}
PRINTED = ["|", "jq", "-r", ".lines[]? // ."]
INDENTED = re.compile(r"(?:^ {7}\S.*\n)+", re.MULTILINE)
BLOCK = re.compile(r"^( *)```(yaml|sh)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)


def blocks(*headings: str) -> Iterator[tuple[str, str]]:
    """Give the language and the text of each block of code under these headings."""
    text = DOCUMENT.read_text()
    for heading in headings:
        section = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
        for indent, language, block in BLOCK.findall(section):
            yield language, re.sub(rf"^{indent}", "", block, flags=re.MULTILINE)


def commands(block: str) -> Iterator[list[str]]:
    """Give the words of each command, those of the programs that its output is piped into included."""
    for line in block.replace("\\\n", " ").splitlines():
        for command in re.split(r" && ", line):
            yield shlex.split(command)


class Reader:
    """Somebody who does what the page says."""

    def __init__(self, aws: Migration, plane: ControlPlane, folder: Path) -> None:
        self.aws, self.plane, self.folder = aws, plane, folder
        self.written: dict[str, Any] = {}
        self.deployed: dict[str, Any] = {}
        self.said: list[str] = []
        self.answers: list[dict[str, Any]] = []

    def rotate(self) -> None:
        kept = json.loads(str(self.aws.secrets.kept[keyed.KEPT]))
        self.aws.secrets.kept[keyed.KEPT] = json.dumps(kept | {"DB_PASSWORD": "rotated-at-its-source"})
        assert self.aws.refresh({"namespaces": [TEAM]}, objects=[self.deployed]).result["applied"] == 1

    def read(self, language: str, block: str) -> None:
        if language == "yaml":
            (self.written,) = yaml.safe_load(block)
            return
        for words in commands(block):
            self.run(words)

    def run(self, words: list[str]) -> None:
        match words:
            case [text] if found := re.fullmatch(r"\w+=\$\((.*)\)", text):
                self.run(shlex.split(found[1]))
            case ["aws", "secretsmanager", "create-secret", "--name", name, *_]:
                self.aws.secrets.kept[name] = None
            case ["make", "rbac", *is_adopter, "|", "kubectl", verb, "-f", "-"]:
                self.plane.kubectl(verb, "-f", "-", stdin=objects.roles(self.written, is_adopter=bool(is_adopter)))
            case ["sam", "build"]:
                objects.compiled(self.written)
            case ["sam", "deploy", *overrides]:
                self.deploy(overrides)
            case ["sam", "remote", "invoke", function, "--event", event, *rest]:
                assert not rest or rest == PRINTED
                self.invoke(function, event)
            case ["sam", "remote", "invoke", function, "--event-file", file, *rest]:
                assert not rest or rest == PRINTED
                self.invoke(function, (REPOSITORY / file).read_text())
            case ["#", "functions/objects.yaml,", "in", "registries:", *item]:
                more = yaml.safe_load(" ".join(item))
                self.written = self.written | {"registries": [*self.written["registries"], *more]}
            case ["kubectl", "apply", *arguments, "-f", file]:
                self.plane.kubectl("apply", f"--namespace={TEAM}", *arguments, f"--filename={self.folder / file}")
            case _:
                pytest.fail(f"nobody knows how to run {words}")

    def invoke(self, function: str, event: str) -> None:
        run = {"AdoptFunction": self.aws.adopt, "RefreshFunction": self.aws.refresh}[function]
        seen = run(json.loads(event), objects=[self.deployed])
        assert seen.error is None, seen.error
        self.answers.append(seen.result)
        self.said = seen.result.get("lines", [])

    def deploy(self, overrides: list[str]) -> None:
        given = overrides[1:] if overrides else []
        assert not overrides or overrides[0] == "--parameter-overrides"
        assert {one.partition("=")[0] for one in given} <= load()["Parameters"].keys()
        self.deployed = self.written

    @property
    def live(self) -> dict[str, Any]:
        found = self.plane.get_secret(TEAM, NAME)
        assert found is not None
        return found


@pytest.fixture
def reader(aws: Migration, plane: ControlPlane, tmp_path: Path) -> Iterator[Reader]:
    yield Reader(aws, plane, tmp_path)
    plane.apply_roles("\n---\n".join([objects.roles(), objects.roles(is_adopter=True)]))


def test_whoever_follows_the_page_gets_there(reader: Reader, team: MakeTeam) -> None:
    team(TEAM, body(NAME, LIVE))
    before = reader.live
    theirs = body(NAME, LIVE | {"DB_PASSWORD": b"of the next writer"})
    (reader.folder / "next-writer.yaml").write_text(json.dumps(theirs))
    steps = chain(blocks("An application's Secret, step by step"), [("", "rotate")], blocks("The way back"))
    ends: list[str] = []
    for language, block in steps:
        if block == "rotate":
            assert values_of(reader.live) == LIVE
            assert owners_of(reader.live) == {FIELD_MANAGER}
            reader.rotate()
            assert values_of(reader.live)["DB_PASSWORD"] == b"rotated-at-its-source"
            continue
        printed = "\n".join(reader.said)
        reader.read(language, block)
        if language == "yaml" and "\ndata:\n" in printed:
            assert yaml.safe_load(printed.partition("\n# ")[2].partition("\n")[2])["data"] == reader.written["data"]
        ends += [line.removeprefix(f"{TEAM}/{NAME}: ") for line in reader.said[-1:] if language == "sh"]
        reader.said = []
    assert ends == [
        "not adoptable: only in live: DB_PASSWORD, LOG_TOKEN, keystore.p12",
        "  keystore.p12: {secret: apps/api, decode: base64, member: keystore.p12}",
        "adoptable",
        "adopted (uid the same, ownerReferences untouched, claim of kubectl-create dropped)",
        "released (uid and bytes the same)",
    ]
    after = reader.live
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert values_of(after) == LIVE | {"DB_PASSWORD": b"of the next writer"}
    assert owners_of(after) == {"next-writer"}


OTHERS = {"quay.io": entry("team+puller", "a-password-of-a-robot-for-quay")}


def test_whoever_follows_the_page_keeps_the_pull_secret_and_its_other_registries(
    reader: Reader, team: MakeTeam
) -> None:
    reader.written = objects.entry()
    before = {
        name: reader.plane.create_secret(team(name), secret(ECR | more), "kubectl-create")["metadata"]["uid"]
        for name, more in (("team-a", OTHERS), ("team-b", {}))
    }
    section = DOCUMENT.read_text().split("\n## The pull Secret\n")[1].split("\n## ")[0]
    for block in INDENTED.findall(section):
        reader.read("sh", block)
    first, imported, second, adopted, refreshed = reader.answers
    assert (first["not_adoptable"], first["adoptable"]) == (1, 1)
    assert imported["lines"] == [
        f"team-a/{SECRET}/{HOST}: left out (ECR gives a new password each time)",
        f"team-a/{SECRET}/quay.io: imported",
    ]
    assert second["adoptable"] == 2
    assert f"team-b/{SECRET}/quay.io/auth: ONLY IN NEW" in second["lines"]
    assert (adopted["adopted"], refreshed["applied"]) == (2, 1)
    found = {name: reader.plane.get_secret(name, SECRET) for name in before}
    assert {name: one["metadata"]["uid"] for name, one in found.items() if one} == before
    assert password_in(found["team-a"]) != OLD
    assert password_in(found["team-b"]) == OLD, "no value was written by the adoption"
    text = json.loads(values_of(found["team-a"])[DATA_KEY])
    assert text["auths"]["quay.io"] == OTHERS["quay.io"]
