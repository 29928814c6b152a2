"""What the AWS adapters share: client configuration, assumed roles, and errors reduced to their code."""

import re

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

# A call answers in well under a second; the retries of botocore's standard mode cover the rest within a minute.
CONFIG = Config(connect_timeout=5, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 3})
type Failure = ClientError | BotoCoreError
FAILURES = (ClientError, BotoCoreError)
SESSION_NAME = "eks-upsert"

_CODE = re.compile(r"[A-Za-z0-9.]{1,80}")


def session(region: str | None) -> boto3.Session:
    """Return a session in `region` with the credentials that the environment gives the function."""
    return boto3.Session(region_name=region)


def code_of(error: Failure) -> str:
    """Return the error's code, such as ``AccessDeniedException``. Its message stays here: it can quote the request."""
    if isinstance(error, ClientError):
        code = str(error.response.get("Error", {}).get("Code", ""))
        return code if _CODE.fullmatch(code) else "an error without a known code"
    return type(error).__name__


def assume(session: boto3.Session, role_arn: str, region: str | None = None) -> boto3.Session:
    """Return a session with the role's credentials, for an hour, in its own region or another one.

    Raises what botocore raises.
    """
    sts = session.client("sts", config=CONFIG)
    credentials = sts.assume_role(RoleArn=role_arn, RoleSessionName=SESSION_NAME)["Credentials"]
    return boto3.Session(
        aws_access_key_id=credentials["AccessKeyId"],
        aws_secret_access_key=credentials["SecretAccessKey"],
        aws_session_token=credentials["SessionToken"],
        region_name=region or session.region_name,
    )
