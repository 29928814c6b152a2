"""Certificates and their keys of every sort, in PEM, as people keep them for a TLS Secret."""

import datetime as dt
from dataclasses import dataclass
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes
from cryptography.x509.oid import NameOID

type Key = CertificateIssuerPrivateKeyTypes

# Whole seconds: a certificate has no others.
NOW = dt.datetime.now(dt.UTC).replace(microsecond=0)
DAY = dt.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key."""

    certificate: x509.Certificate
    private: Key

    @property
    def crt(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key(self) -> bytes:
        return self.as_key(serialization.PrivateFormat.PKCS8)

    def as_key(self, form: serialization.PrivateFormat, password: bytes = b"") -> bytes:
        """Return the key in that form, encrypted if there is a password."""
        encryption = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
        return self.private.private_bytes(serialization.Encoding.PEM, form, encryption)


@cache
def key(sort: str = "P-256", number: int = 0) -> Key:
    """Return a key of a sort, the same for the same number: those on curves at any time, the others in this process."""
    curves = {"P-224": ec.SECP224R1(), "P-256": ec.SECP256R1(), "P-384": ec.SECP384R1(), "P-521": ec.SECP521R1()}
    curves |= {"secp256k1": ec.SECP256K1(), "brainpool": ec.BrainpoolP256R1()}
    match sort:
        case "Ed25519":
            return ed25519.Ed25519PrivateKey.from_private_bytes(bytes([number + 1]) * 32)
        case "Ed448":
            return ed448.Ed448PrivateKey.generate()
        case "DSA":
            return dsa.generate_private_key(2048)
        case _ if sort.startswith("RSA-"):
            return rsa.generate_private_key(65537, int(sort.removeprefix("RSA-")))
        case _:
            return ec.derive_private_key(10**50 + number, curves[sort])


def pair(
    sort: str = "P-256",
    number: int = 0,
    *,
    starts_at: dt.datetime = NOW - DAY,
    ends_at: dt.datetime = NOW + 30 * DAY,
    signer: Pair | None = None,
    has_name: bool = True,
) -> Pair:
    """Return a certificate of that key, signed by another pair or by itself, with or without an alternative name."""
    private = key(sort, number)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{sort} {number}")])
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(signer.certificate.subject if signer else name)
        .public_key(private.public_key())
        .serial_number(10**30 + number)
        .not_valid_before(starts_at)
        .not_valid_after(ends_at)
    )
    if has_name:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName("a.example.com")]), critical=False)
    by = signer.private if signer else private
    is_edwards = isinstance(by, ed25519.Ed25519PrivateKey | ed448.Ed448PrivateKey)
    is_elliptic = isinstance(by, ec.EllipticCurvePrivateKey)
    algorithm = None if is_edwards else hashes.SHA256()
    return Pair(builder.sign(by, algorithm, ecdsa_deterministic=True if is_elliptic else None), private)
