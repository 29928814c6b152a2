"""A large file of objects gets its answer quickly, be it good or bad."""

import time
from pathlib import Path

import pytest

from compiler import checks
from compiler.compiled import MOST_FAULTS, compile_objects
from compiler.files import Beside
from compiler.loading import MOST_BYTES
from tests.compiler.cases import a_file, an_object
from upsert.errors import InputError

SECONDS = 20.0
LAUGHS = "version: 1\nobjects:\n" + f"  - &a {an_object()}\n" + "  - *a\n" * 7000


@pytest.mark.parametrize(
    "text",
    [
        "x" * 10 * MOST_BYTES,
        "- " * (MOST_BYTES // 2),
        "[" * MOST_BYTES,
        "[" + "a," * (MOST_BYTES // 2 - 2) + "]",
        "{" + "? " * (MOST_BYTES // 2 - 2) + "}",
        "&a " * (MOST_BYTES // 3),
        '"' + "\\u0041" * (MOST_BYTES // 6 - 2),
        a_file(*(an_object(name=f"'{n}!'") for n in range(9000))),
        a_file(*(an_object(onconflict="x") for _ in range(checks.MOST_OBJECTS))),
        a_file(*(an_object() for _ in range(checks.MOST_OBJECTS))),
        LAUGHS,
    ],
    ids=[
        "10 MiB",
        "nested lists",
        "nested brackets",
        "a long list",
        "nested keys",
        "anchors",
        "a long text",
        "too many objects",
        "as many faults as objects",
        "one object a thousand times",
        "aliases",
    ],
)
def test_a_large_bad_file_is_refused_quickly_and_shortly(text: str) -> None:
    started = time.perf_counter()
    with pytest.raises(InputError) as refused:
        compile_objects(text.encode(), "objects.yaml")
    assert time.perf_counter() - started < SECONDS
    assert len(refused.value.problems) <= MOST_FAULTS + 1
    assert len(str(refused.value)) < 50_000


def test_a_file_of_a_thousand_objects_compiles_quickly() -> None:
    names = ", ".join(f"team-{n}" for n in range(20))
    text = a_file(
        *(an_object(name=f"token-{n}", namespaces=f"{{include: [{names}]}}") for n in range(500)),
        *(an_object(namespaces=f"{{include: [apps-{n}, 'group-{n}-*']}}") for n in range(500)),
    )
    started = time.perf_counter()
    assert compile_objects(text.encode(), "objects.yaml")
    assert time.perf_counter() - started < SECONDS


def test_an_object_of_very_many_parts_compiles_quickly(tmp_path: Path) -> None:
    (tmp_path / "many.env").write_text("".join(f"KEY_{n}={n}\n" for n in range(50_000)))
    settings = "kind: ConfigMap, name: settings, data_from: [{env_file: many.env}], namespaces: {include: [team-a]}"
    registries = ", ".join(f"{{ecr: {{host: r{n}.example.com}}}}" for n in range(10_000))
    text = a_file(an_object(registries=f"[{registries}]"), f"{{{settings}}}")
    started = time.perf_counter()
    assert compile_objects(text.encode(), "objects.yaml", Beside(tmp_path))
    assert time.perf_counter() - started < SECONDS


def test_what_a_run_could_not_hold_is_refused(tmp_path: Path) -> None:
    (tmp_path / "large.bin").write_bytes(b"\xff" * 1024 * 1024)

    def settings(count: int) -> bytes:
        given = "data: {large.bin: {file: large.bin}}, namespaces: {include: [team-a]}"
        return a_file(*(f"{{kind: ConfigMap, name: settings-{n}, {given}}}" for n in range(count))).encode()

    assert compile_objects(settings(16), "objects.yaml", Beside(tmp_path))
    with pytest.raises(InputError) as refused:
        compile_objects(settings(17), "objects.yaml", Beside(tmp_path))
    assert refused.value.problems == (
        "objects.yaml:2: objects: values and files have 17825792 bytes in all; expected at most 16777216",
    )
