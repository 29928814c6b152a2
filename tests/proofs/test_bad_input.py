"""Whatever event and environment the function gets, a fault in them is named by field, before anything is called."""

import os
import string
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.invocation import Aws, invoke
from upsert.errors import InputError, InternalError, UpsertError

EXAMPLES = 300

FIELDS = ("CLUSTER_NAME", "FLEET", "ACCOUNT_ID", "AWS_REGION", "SCHEDULE", "LOG_LEVEL")
FLEET = ({"name": "test"}, {"name": "other"})
# What an environment variable can hold: any text of the locale but a NUL.
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40) | st.text(
    string.ascii_lowercase + '*?,-(){}[]": 0123456789', max_size=40
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=8,
)
BY_HAND: dict[str, st.SearchStrategy[object]] = {
    "objects": JSON | st.just(["aws-*"]),
    "namespaces": JSON | st.just(["team-a"]),
    "dry_run": JSON,
    "cluster": JSON | st.sampled_from([one["name"] for one in FLEET]),
}
INNER = JSON | st.fixed_dictionaries({}, optional=BY_HAND)
EVENTS = (
    JSON
    | st.fixed_dictionaries(
        {}, optional={**BY_HAND, "source": JSON, "event": INNER, "clusters_for": INNER, "awslogs": JSON}
    )
    | st.fixed_dictionaries({"clusters_for": INNER})
    | st.fixed_dictionaries({"cluster": BY_HAND["cluster"], "event": INNER})
)
ENVIRONMENTS = st.dictionaries(st.sampled_from(FIELDS), TEXT, max_size=3)


@pytest.fixture(scope="module")
def kinds() -> Iterator[Counter[str]]:
    """Counts what came of the inputs."""
    kinds: Counter[str] = Counter()
    yield kinds
    print(f"\nproof: bad input: tried={kinds.total()} ended as {dict(kinds)}")


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(event=EVENTS, environment=ENVIRONMENTS, clusters=st.sampled_from([(), FLEET]))
def test_bad_input_is_an_error_of_ours_that_names_the_field_and_nothing_is_called(
    event: object,
    environment: dict[str, str],
    clusters: Sequence[Mapping[str, str]],
    aws: Aws,
    kinds: Counter[str],
) -> None:
    # Where the input is good after all, the run ends at a port where nobody listens.
    aws.point_at("https://127.0.0.1:9", "no certificate")
    calls = len(aws.ecr.calls)
    sent = {} if event is None else event
    seen = invoke(aws, sent, clusters=clusters, **environment)  # type: ignore[arg-type] # names of variables
    kinds[type(seen.error).__name__] += 1
    if seen.error is None:
        # A good question is answered from the file alone.
        assert isinstance(event, dict)
        assert set(event) == {"clusters_for"}
        assert set(seen.result) <= {
            one["name"] for one in clusters or [{"name": environment.get("CLUSTER_NAME", "test")}]
        }
        assert len(aws.ecr.calls) == calls
        return
    assert isinstance(seen.error, UpsertError)
    assert not isinstance(seen.error, InternalError), seen.error
    if isinstance(seen.error, InputError):
        assert len(aws.ecr.calls) == calls
        assert all(problem.startswith(("event", *FIELDS)) for problem in seen.error.problems)
        assert seen.named("refresh.stopped")[0]["error"] == "InputError"
    assert "CLUSTER_NAME" not in os.environ
