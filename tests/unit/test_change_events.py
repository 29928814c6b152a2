"""An event of a source wakes the objects that have a part from there, and no other."""

import json
from copy import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.objects import config, pull_object
from upsert.core.objects import Object, Part, Ref, Target
from upsert.errors import InputError
from upsert.request import ClustersFor, Request, refresh_request

EVENTS = Path(__file__).parents[2] / "events"
OWN = Target("test")
HOME, REGION = "111122223333", "eu-central-1"
ABROAD = "444455556666"
ARN = f"arn:aws:secretsmanager:{REGION}:{HOME}:secret:apps/api-AbCdEf"
PARAMETER_ARN = f"arn:aws:ssm:{REGION}:{HOME}:parameter/apps/api/log-token"


def sample(name: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((EVENTS / name).read_text())
    return event


SECRET, PARAMETER = sample("secret-changed.json"), sample("parameter-changed.json")


def made_of(source: str, name: str = "api-config", **fields: str) -> Object:
    """Return an object with one key, from there."""
    return Object(name, "generic", (Part("KEY", Ref(source, tuple(sorted(fields.items())))),))


def woken(event: dict[str, Any], *objects: Object) -> tuple[Object, ...]:
    request = refresh_request(event, config(pull_object(), *objects, account=HOME, region=REGION))
    assert isinstance(request, Request)
    assert request == Request(OWN, request.objects, is_woken=True, is_whole=False)
    return request.objects


def changed(event: dict[str, Any], **detail: Any) -> dict[str, Any]:
    return event | {"detail": event["detail"] | detail}


@pytest.mark.parametrize(
    "one",
    [
        made_of("secret", secret="apps/api"),
        made_of("secret", secret="apps/api", member="password"),
        made_of("secret", secret=ARN),
        made_of("secret", secret=ARN.removesuffix("-AbCdEf")),
    ],
)
def test_a_secret_wakes_its_objects_however_they_name_it(one: Object) -> None:
    assert woken(SECRET, one) == (one,)


@pytest.mark.parametrize(
    "one",
    [
        made_of("secret", secret="apps/ap"),
        made_of("secret", secret="apps/api-AbCdEf"),
        made_of("secret", secret="/apps/api2"),
        made_of("secret", secret="/apps/api"),
        made_of("secret", secret=ARN[:-1]),
        made_of("secret", secret=ARN.replace("AbCdEf", "GhIjKl")),
        made_of("secret", secret=ARN.replace(HOME, ABROAD)),
        made_of("secret", secret="apps/api", role_arn=f"arn:aws:iam::{ABROAD}:role/read"),
        made_of("secret", secret="apps/api", stage="canary"),
        made_of("secret", secret="apps/api", version="a1b2c3d4-5678-90ab-cdef-111122223333"),
        made_of("parameter", parameter="apps/api"),
        made_of("value", text="apps/api"),
    ],
)
def test_a_secret_wakes_no_other(one: Object) -> None:
    assert woken(SECRET, one) == ()


def test_a_secret_of_another_account_wakes_what_is_read_as_a_role_of_that() -> None:
    one = made_of("secret", secret="apps/api", role_arn=f"arn:aws:iam::{ABROAD}:role/read")
    assert woken(SECRET | {"account": ABROAD}, one) == (one,)
    assert woken(SECRET | {"account": ABROAD}, made_of("secret", secret="apps/api")) == ()


def test_a_name_is_looked_for_in_the_functions_own_region() -> None:
    assert woken(SECRET | {"region": "eu-west-1"}, made_of("secret", secret="apps/api")) == ()


def test_a_stage_that_moves_wakes_those_that_are_read_from_it() -> None:
    canary, current = made_of("secret", secret="apps/api", stage="canary"), made_of("secret", "b", secret="apps/api")
    assert woken(changed(SECRET, labelUpdated="canary"), canary, current) == (canary,)
    assert woken(SECRET, canary, current) == (current,)


def test_the_version_before_is_another_one_once_the_current_one_is() -> None:
    before = made_of("secret", secret="apps/api", stage="AWSPREVIOUS")
    assert woken(SECRET, before) == (before,)
    assert woken(changed(SECRET, labelUpdated="canary"), before) == ()


@pytest.mark.parametrize("one", [{"version": "3"}, {"version": "3", "role_arn": f"arn:aws:iam::{HOME}:role/read"}])
def test_a_version_of_a_parameter_never_changes(one: dict[str, str]) -> None:
    labelled = made_of("parameter", "b", parameter="/apps/api/log-token", label="production")
    assert woken(PARAMETER, made_of("parameter", parameter="/apps/api/log-token", **one), labelled) == (labelled,)


@pytest.mark.parametrize("name", ["/apps/api/log-token", "apps/api/log-token", PARAMETER_ARN])
def test_a_parameter_wakes_its_objects_however_they_name_it(name: str) -> None:
    one, other = made_of("parameter", parameter=name), made_of("parameter", "b", parameter=f"{name}s")
    assert woken(PARAMETER, one, other) == (one,)


def test_a_login_made_of_several_parts_is_woken_by_each() -> None:
    parts = tuple(Part(place, Ref("secret", (("secret", f"apps/{place}"),))) for place in ("user", "api"))
    one = Object("login", "basic-auth", parts)
    assert woken(SECRET, one) == (one,)


def test_the_others_of_its_title_are_its_rivals() -> None:
    one, rival = made_of("secret", secret="apps/api"), made_of("secret", secret="apps/other")
    other_kind, never = replace(rival, kind="ConfigMap"), replace(rival, is_written=False)
    known = config(pull_object(), one, rival, other_kind, never, account=HOME, region=REGION)

    request = refresh_request(SECRET, known)

    assert request == Request(OWN, (one,), rivals=(rival, never), is_woken=True, is_whole=False)


def test_one_that_is_never_written_stays_asleep() -> None:
    one = Object("api-config", "generic", (Part("KEY", Ref("secret", (("secret", "apps/api"),))),), is_written=False)
    assert woken(SECRET, one) == ()


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        (SECRET | {"detail": None}, "event.detail: null is wrong; expected an object that names what has changed"),
        (changed(SECRET, labelUpdated=None), "event.detail.labelUpdated: null is wrong; expected a staging label"),
        (changed(SECRET, name=""), "event.detail.name: a text of 0 characters is wrong; expected a name"),
        (SECRET | {"resources": "x"}, "event.resources: 'x' is wrong; expected a list"),
        (SECRET | {"account": "1"}, "event.account: '1' is wrong; expected a 12-digit AWS account id"),
        (PARAMETER | {"objects": ["b"]}, "event: unknown field 'objects'; expected version or id or detail-type"),
        (SECRET | {"detail-type": "Secret Deleted"}, "event: unknown field 'version'"),
    ],
)
def test_an_event_of_another_form_is_refused(event: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError) as refused:
        refresh_request(event, config(account=HOME, region=REGION))
    assert any(problem in one for one in refused.value.problems)


BLUE, RED = Target("team-blue"), Target("team-red")


def test_a_fleets_clusters_are_those_that_get_what_is_made_of_it() -> None:
    one = made_of("secret", secret="apps/api")
    everywhere = pull_object()
    only_red = Object(one.name, one.type, one.parts, clusters=("team-red",))
    known = config(everywhere, only_red, own=BLUE, targets=(BLUE, RED), is_fleet=True, account=HOME, region=REGION)
    assert refresh_request({"clusters_for": SECRET}, known) == ClustersFor(("team-red",))
    assert refresh_request({"clusters_for": PARAMETER}, known) == ClustersFor(())
    request = refresh_request({"cluster": "team-red", "event": SECRET}, known)
    assert isinstance(request, Request)
    assert (request.target, request.objects) == (RED, (only_red,))
