"""What an AWS service says of an error, reduced to its code and to what its message is about."""

import re

from upsert.errors import AwsError

_CODE = r"[A-Za-z0-9.]{1,80}"
# What messages say that have no code of their own.
# https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html
_DENIED = r"not authorized to perform: ([a-z0-9-]{1,40}:[A-Za-z]{1,60})"
_KEY = r"Access to KMS|ciphertext|KMS key|customer master key"

_NOT_ACCEPTED = "the credentials that the function got are not accepted, or not any more: run it again"
_NOT_TRUSTED = "the certificate of its endpoint is not trusted: look for a proxy that opens TLS, and at AWS_CA_BUNDLE"
# What helps where the fault is in none of what the call is about.
# https://docs.aws.amazon.com/STS/latest/APIReference/CommonErrors.html
_REMEDIES = {
    **dict.fromkeys(
        (
            "ExpiredToken", "ExpiredTokenException", "RequestExpired", "InvalidToken", "InvalidClientTokenId",
            "InvalidSignatureException", "SignatureDoesNotMatch", "IncompleteSignature",
            "MissingAuthenticationToken", "MissingAuthenticationTokenException",
        ),
        _NOT_ACCEPTED,
    ),
    "ProxyConnectionError": "the proxy that HTTPS_PROXY names does not answer, or does not let it through",
    "SSLError": _NOT_TRUSTED,
}  # fmt: skip


def as_error(code: object, message: object) -> AwsError:
    """Return an error of a service, reduced to its code, such as ``AccessDeniedException``, and what it is about.

    Its message stays here: it can quote the request.
    """
    known = code if isinstance(code, str) and re.fullmatch(_CODE, code) else "an error without a known code"
    text = message if isinstance(message, str) else ""
    denied = re.search(_DENIED, text)
    return AwsError(
        known,
        is_about_a_stage="staging label" in text,
        is_about_a_key=denied[1].startswith("kms:") if denied else bool(re.search(_KEY, text)),
        denied=denied[1] if denied else "",
        remedy=_REMEDIES.get(known, ""),
    )
