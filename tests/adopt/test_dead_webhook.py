"""An adoption beside namespaces behind a dead webhook: these are told by name, and hold up none of the others."""

import time

import pytest

from tests.adopt.conftest import Migration, Team
from tests.proofs.test_isolation import LABEL, dead_server, webhooks
from tests.support.adopter import managers, secret
from tests.support.certificates import make_serving_certificate
from tests.support.controlplane import ControlPlane
from tests.support.objects import SECRET
from tests.support.webhooks import hook
from upsert import rounds
from upsert.core.identity import FIELD_MANAGER
from upsert.errors import ObjectsFailed

NAMES = [f"crowd-{number:02}" for number in range(40)]
DEAD = NAMES[:20]
SECONDS = 2


@pytest.fixture
def _crowd(plane: ControlPlane, team: Team) -> None:
    """Namespaces with a clean Secret each, half of them with the label that the webhook is asked about."""
    for name in NAMES:
        team(name, secret())
    for name in DEAD:
        plane.kubectl("label", "namespace", name, f"{LABEL}=yes")


@pytest.mark.usefixtures("_crowd")
def test_those_behind_a_dead_webhook_are_told_and_the_others_adopted(
    aws: Migration, plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "_TRIES", 2)
    ca_pem = make_serving_certificate().ca_pem
    with (
        dead_server() as url,
        webhooks(plane, hook("adopt.example.com", url, ca_pem, label=LABEL, seconds=SECONDS, policy="Fail")),
    ):
        began = time.time()
        seen = aws.adopt({"action": "adopt", "namespaces": ["crowd-*"]})
        ended = time.time()
    adopted = {record["namespace"] for record in seen.named("adopt.adopted")}
    failed = {record["namespace"]: record["reason"] for record in seen.named("adopt.failed")}
    print(f"\nproof: namespaces={len(NAMES)} dead={len(DEAD)} timeout={SECONDS}s run={ended - began:.1f}s")
    assert adopted == set(NAMES) - set(DEAD)
    assert failed == dict.fromkeys(DEAD, "denied")
    assert isinstance(seen.error, ObjectsFailed)
    # The dead ones hang twice each. One after the other they would take 80 seconds.
    assert ended - began < 20
    assert all(FIELD_MANAGER not in managers(plane.get_secret(name, SECRET)) for name in DEAD)
