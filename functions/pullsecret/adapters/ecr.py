"""Logins from Amazon ECR."""

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

import boto3

from pullsecret.adapters import aws
from pullsecret.core.docker_config import Login
from pullsecret.core.manifest import timestamp
from pullsecret.core.registries import Registry
from pullsecret.core.sensitive import Sensitive
from pullsecret.errors import RegistryError

_USERNAME = "AWS"


@dataclass(frozen=True, slots=True)
class Logins:
    """One login per registry, and when the first of them expires."""

    entries: tuple[Login, ...]
    expires_at: datetime


def logins(session: boto3.Session, registries: Iterable[Registry]) -> Logins:
    """Return a login for each registry, from one GetAuthorizationToken per distinct region and role.

    A token is good for every registry that its identity may pull from in that region, for 12 hours:
    https://docs.aws.amazon.com/AmazonECR/latest/userguide/registry_auth.html
    Raises `RegistryError`.
    """
    tokens: dict[tuple[str, str | None], tuple[Sensitive[str], datetime]] = {}
    entries = []
    for registry in registries:
        if registry.source not in tokens:
            tokens[registry.source] = _token(session, *registry.source)
        password, _ = tokens[registry.source]
        entries.append(Login(registry.host, _USERNAME, password))
    return Logins(tuple(entries), min(expires_at for _, expires_at in tokens.values()))


def _token(session: boto3.Session, region: str, role_arn: str | None) -> tuple[Sensitive[str], datetime]:
    if role_arn:
        session = _assume(session, role_arn)
    identity = f"role {role_arn}" if role_arn else "the function's role"
    try:
        answer = session.client("ecr", region_name=region, config=aws.CONFIG).get_authorization_token()
    except aws.FAILURES as error:
        raise RegistryError(
            f"ECR in {region} gave {identity} no token: {aws.code_of(error)}. It needs ecr:GetAuthorizationToken, and "
            "a way to the ECR API (NAT gateway or VPC endpoint ecr.api). No namespace was touched"
        ) from None
    granted = answer.get("authorizationData") or [{}]
    token, expires_at = granted[0].get("authorizationToken", ""), granted[0].get("expiresAt")
    if not isinstance(expires_at, datetime):
        raise RegistryError(f"ECR in {region} answered without expiresAt; expected a time. No namespace was touched")
    if expires_at <= datetime.now(UTC):
        raise RegistryError(
            f"ECR in {region} answered a token that expired at {timestamp(expires_at)}; no namespace was touched"
        )
    return _password(region, token), expires_at


def _assume(session: boto3.Session, role_arn: str) -> boto3.Session:
    try:
        return aws.assume(session, role_arn)
    except aws.FAILURES as error:
        raise RegistryError(
            f"cannot assume {role_arn} for its registry: {aws.code_of(error)}. Its trust policy must name the "
            "function's role, and the parameter RegistryRoleArns must name it. No namespace was touched"
        ) from None


def _password(region: str, token: str) -> Sensitive[str]:
    """Return the password of an authorization token, which is base64 of ``AWS:password``."""
    try:
        username, _, password = base64.b64decode(token, validate=True).decode("ascii").partition(":")
    except (binascii.Error, UnicodeDecodeError):
        username, password = "", ""
    if username != _USERNAME or not password:
        raise RegistryError(
            f"ECR in {region} answered a token of {len(token)} characters that is not base64 of AWS:password; "
            "no namespace was touched"
        )
    return Sensitive(password)
