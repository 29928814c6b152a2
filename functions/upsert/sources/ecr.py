"""Logins to Amazon ECR, private and public."""

import base64
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from upsert.core.document import timestamp
from upsert.core.fields import Fields
from upsert.core.grammars import ACCOUNT, HOST, REGION, ROLE_ARN
from upsert.core.objects import Material, Ref
from upsert.core.registries import PUBLIC_HOST, PUBLIC_REGION, private_host
from upsert.core.sensitive import Sensitive
from upsert.errors import AwsError, SourceFailed
from upsert.sources.source import AwsApi, Folder, Reading, Source

_USERNAME = "AWS"
_PRIVATE, _PUBLIC = "ecr", "ecr_public"
_FORMS = {"account": ACCOUNT, "region": REGION, "role_arn": ROLE_ARN, "host": HOST}


def _private_form(at: Fields, _: Folder) -> Mapping[str, str]:
    """Return the fields of ``ecr: {account, region, role_arn, host}``, all of which may be left out.

    `host` is another name of the same registry: dual-stack, FIPS, a proxy.
    """
    return _form(at, _PRIVATE, tuple(_FORMS))


def _public_form(at: Fields, _: Folder) -> Mapping[str, str]:
    return _form(at, _PUBLIC, ("role_arn",))


def _form(at: Fields, word: str, known: tuple[str, ...]) -> Mapping[str, str]:
    at.closed((word,))
    fields = at.child(word, f"an object of {', '.join(known)}, or {{}}")
    fields.closed(known)
    # Somebody may put a whole URL with its password where a bare host belongs.
    return {name: fields.text(name, _FORMS[name], is_secret=name == "host") for name in known if name in fields}


def _read(refs: Collection[Ref], aws: AwsApi) -> Reading:
    """Return a login for each registry, from one GetAuthorizationToken per distinct region and role.

    A token is good for every registry that its identity may pull from in that region, for 12 hours. ECR Public has
    tokens of its own.
    https://docs.aws.amazon.com/AmazonECR/latest/userguide/registry_auth.html
    """
    tokens: dict[tuple[str, str], _Token | SourceFailed] = {}
    found: dict[Ref, Material | SourceFailed] = {}
    for ref in refs:
        granted_by = (_region(ref, aws.region), ref.get("role_arn"))
        if granted_by not in tokens:
            tokens[granted_by] = _token(ref.source, *granted_by, aws=aws)
        found[ref] = _material(_host(ref, aws.account, aws.region), tokens[granted_by])
    return found


type _Token = tuple[Sensitive[str], datetime]


def _region(ref: Ref, own_region: str) -> str:
    return PUBLIC_REGION if ref.source == _PUBLIC else ref.get("region", own_region)


def _host(ref: Ref, own_account: str = "THIS-ACCOUNT", own_region: str = "THIS-REGION") -> str:
    """Return the host of a registry. Without an account it is the role's own, or the function's."""
    if ref.source == _PUBLIC:
        return PUBLIC_HOST
    # A role that is no ARN has been told already.
    of_role = ref.get("role_arn").split(":")[4:5]
    account = ref.get("account") or (of_role[0] if of_role else own_account)
    return ref.get("host") or private_host(account, _region(ref, own_region))


def _material(host: str, token: _Token | SourceFailed) -> Material | SourceFailed:
    if isinstance(token, SourceFailed):
        return token
    password, expires_at = token
    login = {"server": host, "username": _USERNAME, "password": password.reveal()}
    return Material(
        {key: Sensitive(text.encode()) for key, text in login.items()},
        rotates=True,
        expires_at=expires_at,
        secrets=(password,),
    )


def _token(word: str, region: str, role_arn: str, *, aws: AwsApi) -> _Token | SourceFailed:
    where = "ECR Public" if word == _PUBLIC else f"ECR in {region}"
    try:
        granted = _ask(word, region, role_arn, aws)
    except AwsError as error:
        return SourceFailed(_why_no_token(word, where, role_arn, error))
    expires_at = granted.get("expiresAt")
    if not isinstance(expires_at, datetime):
        return SourceFailed(f"{where} answered without expiresAt; expected a time")
    if expires_at <= datetime.now(UTC):
        return SourceFailed(f"{where} answered a token that expired at {timestamp(expires_at)}")
    given = granted.get("authorizationToken")
    token = given if isinstance(given, str) else ""
    password = _password(token)
    if password is None:
        return SourceFailed(f"{where} answered a token of {len(token)} characters that is not base64 of AWS:password")
    return password, expires_at


def _ask(word: str, region: str, role_arn: str, aws: AwsApi) -> Mapping[str, Any]:
    answer = aws.call(
        "ecr-public" if word == _PUBLIC else "ecr", "get_authorization_token", region=region, role_arn=role_arn
    )
    granted = answer.get("authorizationData")
    first = granted[0] if isinstance(granted, list) and granted else granted
    return first if isinstance(first, Mapping) else {}


def _why_no_token(word: str, where: str, role_arn: str, error: AwsError) -> str:
    if error.while_assuming:
        remedy = error.remedy or (
            "its trust policy must name the function's role, and the parameter AssumableRoleArns must name it"
        )
        return f"cannot assume {role_arn} for its registry: {error.code}; {remedy}"
    identity = f"role {role_arn}" if role_arn else "the function's role"
    if word == _PUBLIC:
        need = (
            "ecr-public:GetAuthorizationToken and sts:GetServiceBearerToken, and a way to the ECR Public API in "
            f"{PUBLIC_REGION} (NAT gateway)"
        )
    else:
        need = "ecr:GetAuthorizationToken, and a way to the ECR API (NAT gateway or VPC endpoint ecr.api)"
    return f"{where} gave {identity} no token: {error.code}; {error.remedy or f'it needs {need}'}"


def _password(token: str) -> Sensitive[str] | None:
    """Return the password of an authorization token, which is base64 of ``AWS:password``, or None if it is not."""
    try:
        username, _, password = base64.b64decode(token, validate=True).decode("ascii").partition(":")
    except ValueError:
        return None
    return Sensitive(password) if username == _USERNAME and password else None


PRIVATE = Source(_PRIVATE, gives_login=True, form=_private_form, read=_read, host=_host)
PUBLIC = Source(_PUBLIC, gives_login=True, form=_public_form, read=_read, host=_host)
