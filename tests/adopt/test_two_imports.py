"""Two imports at once into one secret: both read the same version, one moves on from it, and the other one says so."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from tests.adopt.test_kept_secret import as_user
from tests.adopt.test_trouble import Troubled
from tests.support import adopter, keyed
from tests.support.adopter import ECR, config, entry, secret
from tests.support.objects import ARN, pull_object
from tests.support.secrets_standin import SecretsStandin
from upsert import adopt_wiring, kinds
from upsert.adopt_request import Action, AdoptRequest
from upsert.aws import Aws
from upsert.check import Sources
from upsert.core import live
from upsert.core.adoptions import Imported
from upsert.core.answers import Answer
from upsert.core.objects import Object, Target
from upsert.errors import ImportRefused
from upsert.importing import ImportParts
from upsert.imports import import_object
from upsert.kinds.comparison import compare

HOSTS = {"team-a": "quay.io", "team-b": "ghcr.io"}


def run_import(namespace: str, aws: Aws) -> Imported | ImportRefused:
    """Import the entries of a namespace's Secret, which are its own registry's and ECR's."""
    body = secret(ECR | {HOSTS[namespace]: entry("robot", f"the-password-of-{namespace}")})
    return imported(pull_object(kept=True), namespace, body, adopter.sources(""), aws)


def imported(one: Object, namespace: str, body: dict[str, Any], sources: Sources, aws: Aws) -> Imported | ImportRefused:
    """Import an object that stands so in a namespace."""
    body["metadata"] |= {"uid": namespace, "resourceVersion": "1"}
    cluster = Troubled(lambda: Answer(200, value=live.parse(200, body)))
    cluster.everywhere = True
    parts = ImportParts(
        sources,
        resource=lambda one: kinds.of(one).resource,
        own_fields=lambda one: kinds.of(one).own_fields,
        kept=lambda store: adopt_wiring.kept(store, aws),
        connect=lambda: (cluster, cluster),
        record=lambda _: None,
        conceal=lambda _: None,
    )
    try:
        (result,) = import_object(AdoptRequest(Action.IMPORT, Target("test"), (one,), (namespace,)), parts).results
    except ImportRefused as refused:
        return refused
    assert isinstance(result, Imported)
    return result


@pytest.mark.parametrize("first", [None, config({"gcr.io": entry("robot", "kept-before")}).decode()])
def test_of_two_imports_at_once_one_is_kept_and_the_other_says_that_it_lost(first: str | None) -> None:
    with SecretsStandin() as standin, as_user(standin.url) as aws, ThreadPoolExecutor(2) as pool:
        standin.value = first
        both_have_read = Barrier(2)
        standin.before = lambda operation: both_have_read.wait(10) if operation == "PutSecretValue" else None
        results = dict(zip(HOSTS, pool.map(lambda namespace: run_import(namespace, aws), HOSTS), strict=True))
        (winner,) = [name for name, result in results.items() if isinstance(result, Imported)]
        (loser,) = HOSTS.keys() - {winner}
        assert str(results[loser]) == (
            f"{loser}: secret {ARN} was changed by someone else meanwhile; nothing was imported. Import again"
        )
        assert HOSTS[winner] in str(standin.value)
        assert HOSTS[loser] not in str(standin.value)
        standin.before = lambda _: None
        assert isinstance(run_import(loser, aws), Imported)
        assert all(host in str(standin.value) for host in HOSTS.values())
        assert ("gcr.io" in str(standin.value)) == bool(first), "what was kept before stays"


def import_key(namespace: str, aws: Aws) -> Imported | ImportRefused:
    """Import the one key of a namespace's Secret into the secret that both share."""
    values = {namespace.upper(): f"the-value-of-{namespace}".encode()}
    sources = Sources(keyed.read_from(values), kinds.build, compare)
    return imported(keyed.keyed_object("api-config", values), namespace, keyed.body("api-config", values), sources, aws)


@pytest.mark.parametrize("first", [None, '{"OF_OTHERS": 1.50}'])
def test_so_it_is_of_two_that_put_members_into_one_secret(first: str | None) -> None:
    with SecretsStandin() as standin, as_user(standin.url) as aws, ThreadPoolExecutor(2) as pool:
        standin.kept[keyed.KEPT] = first
        both_have_read = Barrier(2)
        standin.before = lambda operation: both_have_read.wait(10) if operation == "PutSecretValue" else None
        results = dict(zip(HOSTS, pool.map(lambda namespace: import_key(namespace, aws), HOSTS), strict=True))
        (winner,) = [name for name, result in results.items() if isinstance(result, Imported)]
        (loser,) = HOSTS.keys() - {winner}
        assert str(results[loser]) == (
            f"{loser}: the secret of {loser.upper()} was changed by someone else meanwhile; nothing was imported. "
            "Import again"
        )
        assert loser.upper() not in str(standin.kept[keyed.KEPT])
        standin.before = lambda _: None
        assert isinstance(import_key(loser, aws), Imported)
        kept = str(standin.kept[keyed.KEPT])
        assert kept.startswith(str(first or "{").removesuffix("}"))
        assert all(f'"{name.upper()}":"the-value-of-{name}"' in kept for name in HOSTS)
