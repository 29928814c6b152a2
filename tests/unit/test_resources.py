"""What the API server calls what is written: its paths, versions and kinds."""

import pytest

from upsert.core.resources import NAMESPACES, SECRETS, SERVICE_ACCOUNTS, Resource, external_secrets


@pytest.mark.parametrize(
    ("resource", "namespace", "name", "path"),
    [
        (NAMESPACES, "", "", "/api/v1/namespaces"),
        (SECRETS, "team-a", "aws-ecr-token", "/api/v1/namespaces/team-a/secrets/aws-ecr-token"),
        (SECRETS, "team-a", "", "/api/v1/namespaces/team-a/secrets"),
        (SERVICE_ACCOUNTS, "", "", "/api/v1/serviceaccounts"),
        (
            external_secrets("v1beta1"),
            "team-a",
            "",
            "/apis/external-secrets.io/v1beta1/namespaces/team-a/externalsecrets",
        ),
    ],
)
def test_a_path_is_built_from_a_resource(resource: Resource, namespace: str, name: str, path: str) -> None:
    assert resource.path(namespace, name) == path


@pytest.mark.parametrize(
    ("resource", "api_version"), [(SECRETS, "v1"), (external_secrets("v1"), "external-secrets.io/v1")]
)
def test_a_document_says_group_and_version(resource: Resource, api_version: str) -> None:
    assert resource.api_version == api_version
