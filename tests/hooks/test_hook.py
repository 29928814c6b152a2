"""The hook as pre-commit has it: installed from the repository, given its files, and not silent when it passes."""

import io
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.hooks.support import HEAD, NO_POLICY, PARTIAL
from upsert_hooks.creation_policy import main

REPOSITORY = Path(__file__).parents[2]
PARTIAL_OBJECT = "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: a}\n"


@pytest.fixture
def hook() -> dict[str, Any]:
    (hook,) = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text())
    return dict(hook)


def test_pre_commit_shows_what_was_skipped_though_the_hook_passes(hook: dict[str, Any]) -> None:
    # https://pre-commit.com/#hooks-verbose; one process, so that there is one summary.
    assert hook["verbose"] is True
    assert hook["require_serial"] is True


@pytest.mark.parametrize(
    "name",
    [
        "a.yaml", "b/a.yml", "a.json", "Kustomization", "overlay/Kustomization", "a.yaml.j2", "a.yml.tmpl",
        "a.json.erb", "values.yaml.gotmpl", "templates/_helpers.tpl", "a.tftpl", "a.jinja2",
    ],
)  # fmt: skip
def test_manifests_and_their_templates_are_given_to_the_hook(hook: dict[str, Any], name: str) -> None:
    assert re.search(hook["files"], name)


@pytest.mark.parametrize("name", ["a.md", "a.go", "yaml", "a.yamllint", "b.yaml/README.md", "a.tf", "MyKustomization"])
def test_other_files_are_not_given_to_the_hook(hook: dict[str, Any], name: str) -> None:
    assert not re.search(hook["files"], name)
    assert not {"types", "types_or"} & set(hook)


def test_the_summary_counts_and_strict_fails_on_what_was_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    partial, wrong, other = (tmp_path / name for name in ("partial.yaml", "wrong.yaml", "other.yaml"))
    partial.write_text(PARTIAL_OBJECT)
    wrong.write_text(HEAD)
    other.write_text("kind: ConfigMap\n")
    note = f"{partial}:1: note: ExternalSecret a: {PARTIAL}"

    assert main([str(partial), str(other)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        note,
        "check-creation-policy: problems: 0, skipped: 1, files: 2",
    ]
    assert main(["--strict", str(partial), str(other)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        note,
        "check-creation-policy: problems: 0, skipped: 1, files: 2",
    ]
    assert main([str(wrong), str(partial)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{wrong}:6: ExternalSecret database: {NO_POLICY}",
        note,
        "check-creation-policy: problems: 1, skipped: 1, files: 2",
    ]
    assert main(["--strict", str(other)]) == 0
    assert capsys.readouterr().out == "check-creation-policy: problems: 0, skipped: 0, files: 1\n"


def test_no_files_are_no_findings() -> None:
    assert main([]) == 0


def test_a_terminal_that_lacks_a_character_gets_its_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "manifest.yaml"
    file.write_text(HEAD.replace("database", "\u2192"), encoding="utf-8")
    terminal = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(terminal, encoding="cp1252"))
    assert main([str(file)]) == 1
    sys.stdout.flush()
    assert b"ExternalSecret \\u2192: no creationPolicy" in terminal.getvalue()


def test_the_hook_installs_from_the_repository_and_brings_nothing_but_the_check(
    tmp_path: Path, hook: dict[str, Any]
) -> None:
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    # As pre-commit does: pip install of the repository. Its dependencies are taken from here, so that none is fetched.
    copy = _copy(tmp_path / "repository")
    pip = [sys.executable, "-m", "pip", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path, copy], check=True)
    (built,) = tmp_path.glob("*.whl")
    subprocess.run([venv / "bin" / "pip", "--quiet", "install", "--no-deps", built], check=True)
    site = next(venv.glob("lib/python*/site-packages"))
    assert {path.name for path in site.iterdir() if not path.name.startswith(("pip", "eks_upsert-"))} == {
        "upsert_hooks"
    }
    (site / "yaml").symlink_to(Path(yaml.__file__).parent)
    file = tmp_path / "manifest.yaml"
    file.write_text(HEAD)
    done = subprocess.run([venv / "bin" / hook["entry"], file], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        f"{file}:6: ExternalSecret database: {NO_POLICY}",
        "check-creation-policy: problems: 1, skipped: 0, files: 1",
    ]
    assert done.stderr == ""


def _copy(target: Path) -> Path:
    """Copy what a build reads, so that it leaves nothing behind in the repository."""
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        if (REPOSITORY / name).exists():
            target.mkdir(exist_ok=True)
            (target / name).write_text((REPOSITORY / name).read_text())
    for source in (REPOSITORY / "hooks").rglob("*.py"):
        copy = target / source.relative_to(REPOSITORY)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(source.read_text())
    return target
