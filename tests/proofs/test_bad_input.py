"""Whatever event and environment the function gets, a fault in them is named by field, before anything is called."""

import os
import string
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.invocation import Aws, invoke
from upsert.errors import InternalError, SettingsError, UpsertError
from upsert.settings import Settings

EXAMPLES = 300

FIELDS = tuple(name.upper() for name in Settings.__dataclass_fields__)
# What an environment variable can hold: any text of the locale but a NUL.
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40) | st.text(
    string.ascii_lowercase + '*?,-(){}[]": 0123456789', max_size=40
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=8,
)
EVENTS = JSON | st.fixed_dictionaries(
    {}, optional={"namespaces": JSON, "dry_run": JSON, "source": JSON, "cluster": JSON}
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
@given(event=EVENTS, environment=ENVIRONMENTS)
def test_bad_input_is_an_error_of_ours_that_names_the_field_and_nothing_is_called(
    event: object, environment: dict[str, str], aws: Aws, kinds: Counter[str]
) -> None:
    # Where the input is good after all, the run ends at a port where nobody listens.
    aws.point_at("https://127.0.0.1:9", "no certificate")
    calls = len(aws.ecr.calls)
    seen = invoke(aws, {} if event is None else event, **environment)  # type: ignore[arg-type] # names of variables
    kinds[type(seen.error).__name__] += 1
    assert isinstance(seen.error, UpsertError)
    assert not isinstance(seen.error, InternalError), seen.error
    if isinstance(seen.error, SettingsError):
        assert len(aws.ecr.calls) == calls
        assert all(problem.startswith(("event", *FIELDS)) for problem in seen.error.problems)
        assert seen.named("refresh.stopped")[0]["error"] == "SettingsError"
    assert "CLUSTER_NAME" not in os.environ
