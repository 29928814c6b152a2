"""Logins from Amazon ECR."""

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import boto3

from upsert.adapters import aws
from upsert.core.docker_config import Login
from upsert.core.manifest import timestamp
from upsert.core.registries import PublicRegistry, Registry
from upsert.core.sensitive import Sensitive
from upsert.errors import RegistryError

_USERNAME = "AWS"
_PRIVATE, _PUBLIC = "ecr", "ecr-public"


@dataclass(frozen=True, slots=True)
class Logins:
    """One login per registry, and when the first of them expires."""

    entries: tuple[Login, ...]
    expires_at: datetime


def logins(session: boto3.Session, registries: Iterable[Registry | PublicRegistry]) -> Logins:
    """Return a login for each registry, from one GetAuthorizationToken per distinct region and role.

    A token is good for every registry that its identity may pull from in that region, for 12 hours. ECR Public has
    tokens of its own.
    https://docs.aws.amazon.com/AmazonECR/latest/userguide/registry_auth.html
    Raises `RegistryError`.
    """
    tokens: dict[tuple[str, str, str | None], tuple[Sensitive[str], datetime]] = {}
    entries = []
    for registry in registries:
        service = _PUBLIC if isinstance(registry, PublicRegistry) else _PRIVATE
        source = (service, *registry.source)
        if source not in tokens:
            tokens[source] = _token(session, *source)
        password, _ = tokens[source]
        entries.append(Login(registry.host, _USERNAME, password))
    return Logins(tuple(entries), min(expires_at for _, expires_at in tokens.values()))


def _token(session: boto3.Session, service: str, region: str, role_arn: str | None) -> tuple[Sensitive[str], datetime]:
    if role_arn:
        session = _assume(session, role_arn)
    try:
        granted = _ask(session, service, region)
    except aws.FAILURES as error:
        raise RegistryError(_why_no_token(service, region, role_arn, aws.code_of(error))) from None
    where = _where(service, region)
    token, expires_at = granted.get("authorizationToken", ""), granted.get("expiresAt")
    if not isinstance(expires_at, datetime):
        raise RegistryError(f"{where} answered without expiresAt; expected a time. No namespace was touched")
    if expires_at <= datetime.now(UTC):
        raise RegistryError(
            f"{where} answered a token that expired at {timestamp(expires_at)}; no namespace was touched"
        )
    return _password(where, token), expires_at


def _ask(session: boto3.Session, service: str, region: str) -> Mapping[str, Any]:
    if service == _PUBLIC:
        public = session.client("ecr-public", region_name=region, config=aws.CONFIG).get_authorization_token()
        return public.get("authorizationData") or {}
    private = session.client("ecr", region_name=region, config=aws.CONFIG).get_authorization_token()
    return (private.get("authorizationData") or [{}])[0]


def _where(service: str, region: str) -> str:
    return "ECR Public" if service == _PUBLIC else f"ECR in {region}"


def _why_no_token(service: str, region: str, role_arn: str | None, code: str) -> str:
    identity = f"role {role_arn}" if role_arn else "the function's role"
    if service == _PUBLIC:
        need = (
            "ecr-public:GetAuthorizationToken and sts:GetServiceBearerToken (for the function's role: the parameter "
            f"EcrPublic), and a way to the ECR Public API in {region} (NAT gateway)"
        )
    else:
        need = "ecr:GetAuthorizationToken, and a way to the ECR API (NAT gateway or VPC endpoint ecr.api)"
    return f"{_where(service, region)} gave {identity} no token: {code}. It needs {need}. No namespace was touched"


def _assume(session: boto3.Session, role_arn: str) -> boto3.Session:
    try:
        return aws.assume(session, role_arn)
    except aws.FAILURES as error:
        raise RegistryError(
            f"cannot assume {role_arn} for its registry: {aws.code_of(error)}. Its trust policy must name the "
            "function's role, and the parameter RegistryRoleArns must name it. No namespace was touched"
        ) from None


def _password(where: str, token: str) -> Sensitive[str]:
    """Return the password of an authorization token, which is base64 of ``AWS:password``."""
    try:
        username, _, password = base64.b64decode(token, validate=True).decode("ascii").partition(":")
    except ValueError:
        username, password = "", ""
    if username != _USERNAME or not password:
        raise RegistryError(
            f"{where} answered a token of {len(token)} characters that is not base64 of AWS:password; "
            "no namespace was touched"
        )
    return Sensitive(password)
