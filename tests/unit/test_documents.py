"""What all documents name is there: files, sections, parameters, targets, events, folders; and their files compile."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from compiler.compiled import compile_objects
from tests.support.objects import config, pull_object
from tests.support.template import MEMBER, ROOT, load
from upsert.adopt_request import adopt_request
from upsert.core.objects import Object, Target
from upsert.errors import InputError
from upsert.request import refresh_request

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
# The page of parameters is made of the template, a line for each.
WRITTEN_BY_HAND = [document for document in DOCUMENTS if document.name != "parameters.md"]

_OF_ARGO_CD = "Prune"

BLOCK = re.compile(r"^[ ]*```(\w*)\n(.*?)^[ ]*```$", re.DOTALL | re.MULTILINE)


def named(document: Path) -> str:
    return str(document.relative_to(ROOT))


every_document = pytest.mark.parametrize("document", DOCUMENTS, ids=named)


def anchors(document: Path) -> set[str]:
    """Return the sections of a document as GitHub links to them."""
    headings = re.findall(r"^#+ (.*)$", BLOCK.sub("", document.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@every_document
def test_every_link_leads_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", document.read_text()):
        file, _, anchor = target.partition("#")
        linked = document.parent / file if file else document
        assert linked.exists(), target
        assert not anchor or anchor in anchors(linked), target


@every_document
def test_every_parameter_that_is_set_is_one_of_a_template(document: Path) -> None:
    known = {*load()["Parameters"], *load(MEMBER)["Parameters"], _OF_ARGO_CD}
    text = document.read_text()
    overrides = " ".join(re.findall(r"--parameter-overrides (.*)", text))
    assert {*re.findall(r"([A-Z]\w+)=", overrides), *re.findall(r"`([A-Z][a-z]\w+)=", text)} <= known


@every_document
def test_every_target_of_make_is_there(document: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    used = re.findall(r"(?:`|^ {4,})make ([a-z][a-z-]*)", document.read_text(), re.MULTILINE)
    assert set(used) <= targets


@every_document
def test_every_file_of_the_repository_that_is_named_is_there(document: Path) -> None:
    folders = "bench|docs|events|fleet|functions|layers|rbac|tests"
    # A block may show a file of the reader's own, whose path is in its first line.
    text = re.sub(r"^```[a-z]+\n# functions/.*$", "", document.read_text(), flags=re.MULTILINE)
    for file in re.findall(rf"(?<![\w./])((?:{folders})/[\w./-]+\.(?:py|ya?ml|json|md|svg|mod))\b", text):
        assert (ROOT / file).exists(), file


@every_document
def test_every_file_of_objects_compiles(document: Path) -> None:
    for language, text in BLOCK.findall(document.read_text()):
        if language == "yaml" and text.startswith("version: 1"):
            compile_objects(text.encode(), named(document))


def section(heading: str) -> str:
    """Return a section of the page of objects."""
    found = re.search(
        rf"^## {heading}\n(.*?)(?=^## )", (ROOT / "docs" / "objects.md").read_text(), re.DOTALL | re.MULTILINE
    )
    assert found
    return found[1]


def test_the_table_of_an_object_has_every_field() -> None:
    schema = json.loads((ROOT / "functions" / "objects.schema.json").read_text())
    rows = re.findall(r"^\| (`.*?`) \|", section("An object"), re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted(schema["$defs"]["object"]["properties"])


def test_what_the_build_is_said_to_say_is_what_it_says() -> None:
    wrong = """\
version: 2
objects:
  - name: aws-ecr-token
    type: docker-registy
    registries: [{ecr: {}}]
    namespaces: {include: ["*"]}

  - name: partner
    type: docker-registry
    registries:
      - ecr: {acount: "1"}

    on_conflict: maybe
    namespaces: {}
"""
    with pytest.raises(InputError) as caught:
        compile_objects(wrong.encode(), "objects.yaml")
    shown = re.findall(r"^    (objects\.yaml.*)$", section("What the build says"), re.MULTILINE)
    assert str(caught.value) == "; ".join(shown)


EVENTS = [
    (named(document), json.loads(text))
    for document in DOCUMENTS
    for text in re.findall(r"(?:--(?:event|payload|input)|echo) '(\{.*?\})'", document.read_text())
]


def known_objects(event: Any) -> tuple[Object, ...]:
    is_given_back = isinstance(event, dict) and event.get("action") == "release"
    names = ("partner-registry", "api-config")
    return (pull_object(), *(pull_object(name=name, is_written=not is_given_back) for name in names))


@pytest.mark.parametrize(("document", "event"), EVENTS)
def test_every_event_is_one_that_the_functions_take(document: str, event: dict[str, Any]) -> None:
    targets = (Target("test"), Target("team-blue"))
    is_of_a_fleet = document == "docs/fleets.md"
    known = config(*known_objects(event), targets=targets if is_of_a_fleet else targets[:1], is_fleet=is_of_a_fleet)
    if event.get("action") == "import":
        adopt_request({"objects": ["aws-ecr-token"], **event}, known)
    elif "action" in event:
        adopt_request(event, known)
    elif is_of_a_fleet:
        refresh_request({"clusters_for": event}, known)
    else:
        refresh_request(event, known)


def test_there_are_events_in_the_documents() -> None:
    assert len(EVENTS) >= 8


@pytest.mark.parametrize("document", WRITTEN_BY_HAND, ids=named)
def test_no_line_is_long_but_a_tables(document: Path) -> None:
    text = BLOCK.sub("", document.read_text())
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("|") and not line.startswith("    ")]
    assert [line for line in lines if len(line) > 120] == []


def test_contributing_names_every_folder_and_no_other() -> None:
    files = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    present = [Path(file).parts for file in files if (ROOT / file).exists()]
    text = (ROOT / "CONTRIBUTING.md").read_text()
    tables = re.findall(r"^\|[^\n]*holds \|\n((?:^\|.*\n)+)", text, re.MULTILINE)
    top, functions, tests = (re.findall(r"^\| `([^`]+)`", table, re.MULTILINE) for table in tables)
    assert sorted(top) == sorted({parts[0] for parts in present if len(parts) > 1})
    assert sorted(tests) == sorted({parts[1] for parts in present if parts[0] == "tests" and len(parts) > 2})
    shipped = {"/".join(parts[1:-1]) for parts in present if parts[0] == "functions" and len(parts) > 2}
    assert sorted(functions) == sorted(shipped)


def test_contributing_names_places_that_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text().partition("## Where a change goes")[2].partition("\n## ")[0]
    places = re.findall(r"`([a-z_]+(?:/[\w.]+)*(?:\.\w+)?)`", text)
    assert len(places) > 40
    for place in places:
        roots = (ROOT, ROOT / "functions", ROOT / "functions" / "upsert")
        assert any((root / place).exists() for root in roots), place
