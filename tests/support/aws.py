"""AWS as the adapters' tests need it: credentials, and answers of EKS and STS."""

import base64
from collections.abc import Callable, Mapping
from typing import Any

import boto3
import botocore.session
import pytest
from botocore.config import Config
from botocore.loaders import create_loader

from tests.support.objects import ACCOUNT, REGION
from tests.support.standin import Reply, Request
from upsert import aws
from upsert.aws import Aws

ACCESS_KEY = "AKIAIOSFODNN7EXAMPLE"
SECRET_KEY = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
SESSION_TOKEN = "a-session-token"

# Read once for all sessions: that is most of what making a client takes.
_MODELS = create_loader()


def aws_session(region: str, session_token: str | None = None) -> boto3.Session:
    """Return a session with made-up credentials."""
    core = botocore.session.get_session()
    core.register_component("data_loader", _MODELS)
    return boto3.Session(ACCESS_KEY, SECRET_KEY, session_token, region_name=region, botocore_session=core)


def aws_apis(monkeypatch: pytest.MonkeyPatch, region: str = REGION) -> Aws:
    """Return the AWS APIs with made-up credentials, each at the endpoint that its variable names."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return Aws(account=ACCOUNT, region=region)


def without_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every AWS call of the adapters fail at once instead of being tried again."""
    once = Config(retries={"mode": "standard", "total_max_attempts": 1})
    monkeypatch.setattr(aws, "_CONFIG", aws._CONFIG.merge(once))


def role_credentials(_: Request) -> Reply:
    """Answer AssumeRole as STS does."""
    return Reply(
        200,
        f"""<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
        <AccessKeyId>ASIAIOSFODNN7EXAMPLE</AccessKeyId><SecretAccessKey>{SECRET_KEY}</SecretAccessKey>
        <SessionToken>{SESSION_TOKEN}</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration>
        </Credentials></AssumeRoleResult></AssumeRoleResponse>""".encode(),
        {"Content-Type": "text/xml"},
    )


def described(endpoint: str, ca_pem: str, **changes: Any) -> Callable[[Request], Reply]:
    """Return what answers DescribeCluster as EKS does, for a cluster that serves unless `changes` say otherwise."""
    cluster: Mapping[str, Any] = {
        "name": "test",
        "status": "ACTIVE",
        "endpoint": endpoint,
        "certificateAuthority": {"data": base64.b64encode(ca_pem.encode()).decode()},
        **changes,
    }
    return lambda _: Reply(200, {"cluster": cluster})


def refused(status: int, code: str, message: str = "no") -> Callable[[Request], Reply]:
    """Return what answers a call to a JSON service with an error."""
    return lambda _: Reply(status, {"message": message, "__type": code}, {"x-amzn-ErrorType": code})
