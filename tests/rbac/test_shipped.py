"""The shipped roles are what `make rbac` prints for the shipped file of objects, and nothing else is on its output."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.compiler.cases import NAMED_CLUSTERS, a_file, an_object
from tests.rbac.files import Printed, printed

ROOT = Path(__file__).parents[2]
SHIPPED = (ROOT / "functions" / "objects.yaml").read_text()
NAMESPACES = "list namespaces/*"


def shipped(name: str) -> str:
    return (ROOT / "rbac" / name).read_text()


def make(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    # As in a shell of its own, though these tests may run under make, which says so on standard output.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", "rbac", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )


def test_the_refreshers_role_is_what_is_printed_for_the_shipped_file() -> None:
    assert printed(SHIPPED).text == shipped("refresher.yaml")


def test_the_adopters_role_is_what_is_printed_for_the_shipped_file() -> None:
    assert printed(SHIPPED, is_adopter=True).text == shipped("adopter.yaml")


def test_the_refresher_may_list_namespaces_and_write_one_secret() -> None:
    assert Printed(shipped("refresher.yaml")).rules == {"": [NAMESPACES, "create,patch secrets/aws-ecr-token"]}


def test_the_adopter_may_read_it_beside() -> None:
    assert Printed(shipped("adopter.yaml")).rules == {"": [NAMESPACES, "create,patch,get secrets/aws-ecr-token"]}


@pytest.mark.parametrize(("name", "group"), [("refresher.yaml", "eks-upsert"), ("adopter.yaml", "eks-upsert-adopter")])
def test_each_is_bound_to_its_own_group(name: str, group: str) -> None:
    role, binding = Printed(shipped(name)).documents
    assert role["metadata"] == binding["metadata"] == {"name": group}
    assert binding["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": group}
    assert binding["subjects"] == [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}]


def test_they_are_short_enough_to_be_read_first() -> None:
    for name in ("refresher.yaml", "adopter.yaml"):
        lines = shipped(name).splitlines()
        assert len(lines) <= 50
        assert max(map(len, lines)) <= 120


def test_they_say_what_the_answer_to_a_patch_can_read() -> None:
    said = " ".join(shipped("refresher.yaml").replace("#", "").split())
    assert "answers a PATCH with the whole object, so whoever steals the refresher's token can read the objects" in said
    assert "in the namespaces where the role is bound, and no other Secret or ConfigMap." in said


def test_make_prints_yaml_alone_as_the_first_command_ever_run(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(ROOT / "functions", tmp_path / "functions", ignore=shutil.ignore_patterns("__pycache__"))
    first = make(folder=tmp_path)
    assert first.stdout == shipped("refresher.yaml"), first.stderr
    assert "installing .venv/compiler" in first.stderr


def test_make_prints_the_adopters_and_those_of_one_cluster(tmp_path: Path) -> None:
    assert make("ADOPTER=1").stdout == shipped("adopter.yaml")
    text = a_file(an_object(name="a", clusters="[test]"), an_object(name="b"), more=NAMED_CLUSTERS)
    own = tmp_path / "my objects.yaml"
    own.write_text(text)
    done = make(f"OBJECTS={own}", "CLUSTER=production-eu")
    assert done.stdout == printed(text, cluster="production-eu", source=str(own)).text


def test_what_is_printed_says_how_it_is_applied() -> None:
    text = a_file(an_object(name="a", clusters="[test]"), an_object(name="b"), more=NAMED_CLUSTERS)
    lines = printed(text, cluster="test", source="my objects.yaml").text.splitlines()
    assert "#   make rbac OBJECTS='my objects.yaml' CLUSTER=test | kubectl apply -f -" in lines
    lines = printed(text, cluster="test", is_adopter=True).text.splitlines()
    assert "#   make rbac CLUSTER=test ADOPTER=1 | kubectl apply -f -" in lines
    assert "#   make rbac CLUSTER=test ADOPTER=1 | kubectl delete -f -" in lines


def test_whatever_the_path_the_head_stays_a_comment() -> None:
    head, *_ = printed(SHIPPED, source="a\n---\nkind: ClusterRole").text.partition("\n---\n")
    assert all(line.startswith("#") for line in head.splitlines())


def test_make_prints_nothing_for_a_wrong_file(tmp_path: Path) -> None:
    (tmp_path / "objects.yaml").write_text(a_file(an_object(name="X")))
    done = make(f"OBJECTS={tmp_path / 'objects.yaml'}")
    assert (done.returncode != 0, done.stdout) == (True, "")
    assert "objects.yaml:3: objects[0].name: 'X' is wrong" in done.stderr
