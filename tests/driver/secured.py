"""Certificates made by a test: an authority of its own, and what it signs."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes
from cryptography.x509.oid import NameOID

DAY = timedelta(days=1)


@dataclass(frozen=True)
class Certified:
    """A certificate with its key."""

    certificate: x509.Certificate
    key: CertificateIssuerPrivateKeyTypes

    @property
    def pem(self) -> bytes:
        """The certificate as a file holds it."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        """The key as a file holds it."""
        return self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )

    def save(self, directory: Path, name: str) -> tuple[Path, Path]:
        """Files of the certificate and of its key, which only the owner reads."""
        certificate, key = directory / f"{name}.crt", directory / f"{name}.key"
        certificate.write_bytes(self.pem)
        key.touch(0o600)
        key.write_bytes(self.key_pem)
        return certificate, key

    def sign(
        self,
        common_name: str,
        *names: str,
        until: datetime | None = None,
        hashed: hashes.HashAlgorithm | None = None,
    ) -> Certified:
        """A certificate for hosts or addresses by these alternative names; none: no extension."""
        key = ec.generate_private_key(ec.SECP256R1())
        made = _builder(common_name, self.certificate.subject, key, until)
        if names:
            made = made.add_extension(
                x509.SubjectAlternativeName([_general(name) for name in names]), critical=False
            )
        made = made.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        return Certified(made.sign(self.key, hashed or hashes.SHA256()), key)

    def revoke(self, *certified: Certified) -> bytes:
        """A list of certificates that are not to be trusted any more, as a file holds it."""
        now = datetime.now(UTC)
        listed = x509.CertificateRevocationListBuilder().issuer_name(self.certificate.subject)
        listed = listed.last_update(now - DAY).next_update(now + DAY)
        listed = listed.add_extension(x509.CRLNumber(1), critical=False)
        for one in certified:
            entry = x509.RevokedCertificateBuilder()
            entry = entry.serial_number(one.certificate.serial_number).revocation_date(now - DAY)
            listed = listed.add_revoked_certificate(entry.build())
        made = listed.sign(self.key, hashes.SHA256())
        return made.public_bytes(serialization.Encoding.PEM)


def authority(common_name: str) -> Certified:
    """A self-signed certificate that may sign others, as `openssl req -x509` makes it."""
    key = ec.generate_private_key(ec.SECP256R1())
    made = _builder(common_name, _name(common_name), key, None)
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    made = made.add_extension(identifier, critical=False)
    return Certified(made.sign(key, hashes.SHA256()), key)


def _builder(
    common_name: str, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, until: datetime | None
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(common_name))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 30 * DAY)
        .not_valid_after(until or now + 30 * DAY)
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
