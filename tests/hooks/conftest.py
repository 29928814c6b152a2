"""The check, run as the command runs it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from upsert_hooks.creation_policy import main

type Check = Callable[..., list[str]]


@pytest.fixture
def check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Check:
    """Check a file with the given content, and return what is found there; status and summary have to agree with it."""

    def run(content: str | bytes, name: str = "manifest.yaml", *options: str) -> list[str]:
        (tmp_path / ".git").mkdir(exist_ok=True)
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        status = main([*options, str(file)])
        *lines, summary = capsys.readouterr().out.splitlines()
        found = [line.removeprefix(f"{file}:") for line in lines]
        notes = [line for line in found if ": note: " in line]
        problems = len(found) - len(notes)
        assert summary == f"check-creation-policy: problems: {problems}, skipped: {len(notes)}, files: 1"
        assert status == int(problems > 0)
        return found

    return run
