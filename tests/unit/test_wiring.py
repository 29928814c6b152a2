"""What a refresh is made of: the cluster is looked up while the sources are read, and what fails is told as it was."""

from collections.abc import Iterator
from copy import replace
from threading import Barrier
from typing import TYPE_CHECKING, cast

import pytest

from tests.support.aws import aws_apis, refused, without_retries
from tests.support.ecr_standin import EcrStandin, denied
from tests.support.objects import pull_object
from tests.support.standin import Reply, Request, Standin
from upsert import refresh, request, wiring
from upsert.core.objects import Material, Ref, Target
from upsert.errors import ClusterNotFound, SourceFailed
from upsert.kube.writer import KubeWriter
from upsert.records import Records
from upsert.refresh import Parts
from upsert.wiring import Surroundings

if TYPE_CHECKING:
    from upsert.telemetry import Telemetry

ASKED = request.Request(Target("production"), (pull_object(),))
NO_CLUSTER = refused(404, "ResourceNotFoundException")


@pytest.fixture
def ecr(monkeypatch: pytest.MonkeyPatch) -> Iterator[EcrStandin]:
    with EcrStandin() as standin:
        monkeypatch.setenv("AWS_ENDPOINT_URL_ECR", standin.url)
        yield standin


@pytest.fixture
def eks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Standin]:
    with Standin(NO_CLUSTER) as standin:
        monkeypatch.setenv("AWS_ENDPOINT_URL_EKS", standin.url)
        yield standin


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Parts[KubeWriter]:
    without_retries(monkeypatch)
    surroundings = Surroundings(aws_apis(monkeypatch), conceal=lambda _: None, remaining=lambda: 60.0)
    return wiring.refresh_parts(ASKED, surroundings, Records(cast("Telemetry", None)))


def hold(standin: Standin, both: Barrier) -> None:
    answer = standin._script

    def wait(asked: Request) -> Reply:
        both.wait()
        return answer(asked)

    standin._script = wait


def test_the_cluster_is_looked_up_while_the_sources_are_read(
    parts: Parts[KubeWriter], ecr: EcrStandin, eks: Standin
) -> None:
    # Each is answered once both have been asked.
    both = Barrier(2, timeout=20)
    hold(ecr, both)
    hold(eks, both)

    (reading,) = parts.read([Ref("ecr")]).values()

    assert isinstance(reading, Material)
    with pytest.raises(ClusterNotFound):
        parts.connect()
    assert [len(one.requests) for one in (ecr, eks)] == [1, 1]


@pytest.mark.usefixtures("ecr")
def test_a_cluster_that_is_not_found_is_told_when_it_is_needed(parts: Parts[KubeWriter], eks: Standin) -> None:
    assert parts.read([Ref("ecr")])
    with pytest.raises(ClusterNotFound, match="EKS knows no cluster production"):
        parts.connect()
    assert len(eks.requests) == 1


def test_where_both_fail_the_source_is_told(parts: Parts[KubeWriter], ecr: EcrStandin, eks: Standin) -> None:
    told: list[str] = []
    telling = replace(parts, source_failed=lambda _, why: told.append(str(why)))
    with ecr.answering(denied), pytest.raises(SourceFailed, match="gave the function's role no token"):
        refresh.refresh(ASKED, telling)
    assert len(told) == len(eks.requests) == 1
