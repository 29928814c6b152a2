"""Keys and certificates that a local server needs to be trusted."""

import datetime as dt
import ipaddress
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME = dt.timedelta(days=2)
_CLOCK_SKEW = dt.timedelta(minutes=5)


@dataclass(frozen=True)
class ServingCertificate:
    """A certificate for 127.0.0.1 and localhost, its key and the authority that signed it, each in PEM."""

    ca_pem: str
    certificate_pem: str
    key_pem: str


def make_key_pem() -> str:
    """Return a new P-256 private key in PEM."""
    return _pem_of(ec.generate_private_key(ec.SECP256R1()))


def make_serving_certificate(*, authority_key_identifier: bool = True) -> ServingCertificate:
    """Make an authority and let it sign a serving certificate.

    Without the authority key identifier, a client that sets VERIFY_X509_STRICT (Python does since 3.13) refuses the
    certificate; RFC 5280, section 4.2.1.1, asks for the extension.
    """
    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "control plane tests")])
    ca = (
        _builder(ca_name, ca_name, ca_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(key_cert_sign=True), critical=True)
        .sign(ca_key, hashes.SHA256())
    )
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")])
    addresses = [x509.IPAddress(ipaddress.IPv4Address("127.0.0.1")), x509.DNSName("localhost")]
    builder = (
        _builder(name, ca_name, key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(digital_signature=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(addresses), critical=False)
    )
    if authority_key_identifier:
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key())
        builder = builder.add_extension(identifier, critical=False)
    certificate = builder.sign(ca_key, hashes.SHA256())
    return ServingCertificate(_pem_of(ca), _pem_of(certificate), _pem_of(key))


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _key_usage(*, key_cert_sign: bool = False, digital_signature: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=key_cert_sign,
        crl_sign=key_cert_sign,
        encipher_only=False,
        decipher_only=False,
    )


def _pem_of(thing: x509.Certificate | ec.EllipticCurvePrivateKey) -> str:
    if isinstance(thing, x509.Certificate):
        return thing.public_bytes(serialization.Encoding.PEM).decode()
    return thing.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    ).decode()
