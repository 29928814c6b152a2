"""docs/terraform.md: the configuration is formatted, and makes of a release's template what CloudFormation needs.

`hclfmt` is HashiCorp's formatter of the language, from the module that `terraform fmt` takes it from. No AWS is asked,
and no provider is at hand: its arguments were read in its documentation.
"""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.release.template import ARTIFACTS, packaged
from tests.support.template import FILE, ROOT, load

HCLFMT = ROOT / ".venv" / "go-tools" / "hclfmt"
(CONFIGURATION,) = re.findall(r"```hcl\n(.*?)```", (ROOT / "docs" / "terraform.md").read_text(), re.DOTALL)
CODE = set(re.findall(r'"([^"]+)"', re.search(r"toset\((.*)\)", CONFIGURATION)[1]))  # type: ignore[index]


def formatted(text: str, folder: Path) -> bool:
    file = folder / "main.tf"
    file.write_text(text)
    done = subprocess.run([HCLFMT, "-require-no-change", file], capture_output=True, text=True, check=False, timeout=30)
    assert "Error" not in done.stderr, done.stderr
    return done.returncode == 0


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the configuration makes of a release's template."""
    pattern, by = re.findall(r'"/(Uri: .*?)/", "(.*?)"$', CONFIGURATION, re.MULTILINE)[0]
    # Python knows no classes of characters, and names groups with a backslash.
    python = pattern.replace("[:alpha:]", "A-Za-z"), re.sub(r"\$\{.*?\}", "X", by).replace("$1", r"\1")
    file = tmp_path_factory.mktemp("terraform") / "template.yaml"
    file.write_text(re.sub(*python, packaged(FILE.read_text(), "1.2.3")))
    return load(file)


def test_it_is_formatted(tmp_path: Path) -> None:
    assert formatted(CONFIGURATION, tmp_path)
    assert not formatted(CONFIGURATION.replace("name         =", "name ="), tmp_path), "the check finds nothing"


def test_it_is_short() -> None:
    assert len(CONFIGURATION.splitlines()) <= 40


def test_all_code_that_the_template_names_is_uploaded_and_nothing_else(template: dict[str, Any]) -> None:
    properties = [resource["Properties"] for resource in template["Resources"].values() if "Properties" in resource]
    named = {one[key] for one in properties for key in ("CodeUri", "ContentUri", "DefinitionUri") if key in one}
    assert named == {f"s3://X/X/{file}" for file in CODE}
    assert {f"{name}.zip" for name in ARTIFACTS} < CODE


def test_nothing_but_that_is_changed(template: dict[str, Any]) -> None:
    assert template["Outputs"] == load()["Outputs"]
    assert {*template["Resources"]} == {*load()["Resources"]}


def test_its_parameters_are_the_templates() -> None:
    given = re.findall(r"(\w+) = \"", re.search(r"parameters +=(.*)", CONFIGURATION)[1])  # type: ignore[index]
    known = load()["Parameters"]
    assert set(given) <= set(known)
    assert {name for name, rules in known.items() if "Default" not in rules} <= set(given)
