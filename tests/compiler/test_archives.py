"""A built function may be an archive: the compiled form is put into it, and nothing else in it changes."""

import io
import os
import zipfile
from pathlib import Path

import pytest

from compiler import archives
from compiler.command import run
from tests.compiler.cases import a_file, an_object

OLD = {"objects.json": b"the old text\n", "upsert/__init__.py": b"", "upsert/handlers/refresh.py": b"pass\n"}


def packed(files: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    archives.write(target, files)
    return target.getvalue()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "my.yaml"
    file.write_text(a_file(an_object()))
    return file


@pytest.fixture
def function(tmp_path: Path) -> Path:
    file = tmp_path / "RefreshFunction.zip"
    file.write_bytes(packed(OLD))
    return file


def test_it_is_the_same_bytes_in_any_order_and_under_any_umask() -> None:
    before = os.umask(0o077)
    try:
        again = packed(dict(reversed(OLD.items())))
    finally:
        os.umask(before)
    assert again == packed(OLD)


def test_everybody_may_read_what_it_holds_and_no_entry_has_a_time_of_its_own() -> None:
    with zipfile.ZipFile(io.BytesIO(packed(OLD))) as archive:
        assert archive.testzip() is None
        entries = archive.infolist()
    assert [entry.filename for entry in entries] == sorted(OLD)
    assert {(entry.external_attr >> 16, entry.date_time) for entry in entries} == {(0o100644, (1980, 1, 1, 0, 0, 0))}


def test_the_compiled_form_takes_the_place_of_the_old_one(source: Path, function: Path, tmp_path: Path) -> None:
    compiled = tmp_path / "objects.json"
    assert run([str(source), str(function), str(compiled)]) == 0
    assert archives.read(function) == OLD | {"objects.json": compiled.read_bytes()}
    assert function.stat().st_mode & 0o777 == 0o644
    assert sorted(file.name for file in tmp_path.iterdir()) == ["RefreshFunction.zip", "my.yaml", "objects.json"]


def test_a_wrong_file_leaves_the_archive_as_it_was(source: Path, function: Path) -> None:
    source.write_text(a_file(an_object(type="none")))
    assert run([str(source), str(function)]) == 1
    assert function.read_bytes() == packed(OLD)


@pytest.mark.parametrize(
    "content", [b"", b"no archive", packed({"python/boto3/__init__.py": b""})], ids=["empty", "none", "the layer's"]
)
def test_what_is_no_function_is_refused_and_the_others_stay_as_they_were(
    source: Path, function: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    other = tmp_path / "DependenciesLayer.zip"
    other.write_bytes(content)
    assert run([str(source), str(function), str(other)]) == 1
    assert capsys.readouterr().err == f"{other}: not the archive of a function, which holds objects.json\n"
    assert (function.read_bytes(), other.read_bytes()) == (packed(OLD), content)
