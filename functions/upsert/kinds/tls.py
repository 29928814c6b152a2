"""kubernetes.io/tls: a certificate and its key.

https://kubernetes.io/docs/concepts/configuration/secret/#tls-secrets

The API server takes anything under the two keys. So what `kubectl create secret tls` checks is checked here: that the
first certificate is of the key (crypto/tls.X509KeyPair of Go). Keys of other kinds than RSA, ECDSA and Ed25519 are
refused as kubectl does, although OpenSSL knows more. Whether the chain is whole, or has ended, is not checked, as
kubectl does not: when it ends is told.

Go's parser finds more faults in a certificate than OpenSSL's, such as a negative serial number. Such a one is written,
and the API server warns of it.
"""

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from upsert.core import certificates
from upsert.core.certificates import Block, Unreadable
from upsert.core.objects import BadMaterial
from upsert.kinds import keyed
from upsert.kinds.kind import Data

_CERTIFICATE, _KEY = "tls.crt", "tls.key"
_LABEL, _KEY_LABEL = "CERTIFICATE", "PRIVATE KEY"
# The last one: OpenSSL has a place for a pair of each kind of key, and that of this key is empty.
_OTHER_KEY = ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED")


def _end_of_pair(data: Data) -> datetime:
    """Return when the certificate ends. Raises `BadMaterial` unless it and the key are a pair that can be used."""
    chain = _certificates(data[_CERTIFICATE].reveal())
    label, key = _private_key(data[_KEY].reveal())
    read = [_read(number, one) for number, one in enumerate(chain, start=1)]
    if not read[0].has_common_key:
        raise BadMaterial(f"{_CERTIFICATE}: its key is of a kind that Go does not know; expected RSA, ECDSA or Ed25519")
    armoured = certificates.armoured(label, key)
    if not _is_pair(chain[0], armoured):
        if any(_is_pair(one, armoured) for one in chain[1:]):
            raise BadMaterial(
                f"{_CERTIFICATE}: another certificate than the first is that of {_KEY}; expected it first"
            )
        raise BadMaterial(f"{_CERTIFICATE}: its certificate is of another key than {_KEY}; expected a pair")
    return read[0].expires_at


def _certificates(text: bytes) -> list[bytes]:
    blocks = _blocks(_CERTIFICATE, text)
    found = [block.content for block in blocks if block.label == _LABEL]
    if not found:
        what = "a private key" if any(map(_is_key, blocks)) else "something else"
        raise BadMaterial(f"{_CERTIFICATE}: holds {what}; expected a certificate in PEM")
    return found


def _private_key(text: bytes) -> tuple[str, bytes]:
    blocks = _blocks(_KEY, text)
    first = next(filter(_is_key, blocks), None)
    if first is None:
        what = "a certificate" if any(block.label == _LABEL for block in blocks) else "something else"
        raise BadMaterial(f"{_KEY}: holds {what}; expected a private key in PEM")
    if first.is_encrypted:
        raise BadMaterial(f"{_KEY}: is encrypted; expected it without a password")
    try:
        return certificates.private_key(first.content)
    except Unreadable as wrong:
        raise BadMaterial(f"{_KEY}: {wrong}; expected one in PEM") from None


def _blocks(key: str, text: bytes) -> list[Block]:
    try:
        return certificates.blocks(text)
    except Unreadable as wrong:
        raise BadMaterial(f"{key}: {wrong}; expected PEM") from None


def _is_key(block: Block) -> bool:
    return block.label == _KEY_LABEL or block.label.endswith(f" {_KEY_LABEL}")


def _read(number: int, content: bytes) -> certificates.Certificate:
    try:
        found = certificates.certificate(content)
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=content)
    except (Unreadable, ssl.SSLError):
        raise BadMaterial(f"{_CERTIFICATE}: certificate {number} cannot be read; expected certificates alone") from None
    return found


def _is_pair(certificate: bytes, key: bytes) -> bool:
    """Return whether a certificate is that of a key. Raises `BadMaterial` if the key cannot be read."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # What is too weak is for its owner to say, as it is with kubectl.
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    with _file(certificates.armoured(_LABEL, certificate) + key) as path:
        try:
            # Without the password, OpenSSL would ask a terminal for that of an encrypted key.
            context.load_cert_chain(path, password=b"")
        except ssl.SSLError as error:
            if error.reason in _OTHER_KEY:
                return False
            raise BadMaterial(f"{_KEY}: cannot be read; expected an RSA, ECDSA or Ed25519 key in PEM") from None
    return True


@contextmanager
def _file(content: bytes) -> Iterator[str]:
    """Give the path of a file with that content, on no disk where the system can."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("pair")
        try:
            os.write(descriptor, content)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
    else:
        with tempfile.NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            yield file.name


KIND = keyed.secret("tls", "kubernetes.io/tls", needs_all=(_CERTIFICATE, _KEY), check=_end_of_pair)
