//! Reads from a certificate what rustls does not offer: the hash for channel binding, the common
//! name, the validity.

use ring::digest::{digest, Algorithm, SHA256, SHA384, SHA512};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::{CertificateError, Error};
use x509_cert::der::asn1::{ObjectIdentifier, PrintableStringRef, Utf8StringRef};
use x509_cert::der::{Decode, Encode};
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::Certificate;

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
const PSS: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.10");

/// Signature algorithms by the hash that they use (RFC 8017, RFC 5758); the old ones, whose hash is
/// broken, bind by SHA-256 (RFC 5929, section 4.1).
const HASHES: [(&str, &Algorithm); 12] = [
    ("1.2.840.113549.1.1.4", &SHA256),  // MD5 with RSA
    ("1.2.840.113549.1.1.5", &SHA256),  // SHA-1 with RSA
    ("1.2.840.10045.4.1", &SHA256),     // ECDSA with SHA-1
    ("1.2.840.113549.1.1.11", &SHA256), // with RSA
    ("1.2.840.113549.1.1.12", &SHA384),
    ("1.2.840.113549.1.1.13", &SHA512),
    ("1.2.840.10045.4.3.2", &SHA256), // with ECDSA
    ("1.2.840.10045.4.3.3", &SHA384),
    ("1.2.840.10045.4.3.4", &SHA512),
    ("2.16.840.1.101.3.4.2.1", &SHA256), // named by RSASSA-PSS's parameters
    ("2.16.840.1.101.3.4.2.2", &SHA384),
    ("2.16.840.1.101.3.4.2.3", &SHA512),
];

/// The hash of a certificate as `tls-server-end-point` has it; `None` for signatures that name no
/// hash, such as Ed25519.
pub fn end_point(certificate: &CertificateDer<'_>) -> Option<Vec<u8>> {
    let parsed = Certificate::from_der(certificate).ok()?;
    let mut oid = parsed.signature_algorithm.oid;
    if oid == PSS {
        // Its parameters name the hash first; without, it would be SHA-1.
        let parameters = parsed.signature_algorithm.parameters?.to_der().ok()?;
        let hash = HASHES[9..].iter().find(|(name, _)| {
            let encoded = ObjectIdentifier::new_unwrap(name).to_der();
            encoded.is_ok_and(|encoded| {
                let head = &parameters[..parameters.len().min(32)];
                head.windows(encoded.len()).any(|part| part == encoded)
            })
        });
        oid = ObjectIdentifier::new_unwrap(hash?.0);
    }
    let named = oid.to_string();
    let (_, algorithm) = HASHES.iter().find(|(name, _)| *name == named)?;
    Some(digest(algorithm, certificate).as_ref().to_vec())
}

/// Fails before and after the time that the certificate itself names.
pub fn check_time(certificate: &CertificateDer<'_>, now: UnixTime) -> Result<(), Error> {
    let parsed = parse(certificate)?;
    let validity = &parsed.tbs_certificate.validity;
    let now = now.as_secs();
    if now < validity.not_before.to_unix_duration().as_secs() {
        return Err(CertificateError::NotValidYet.into());
    }
    if now > validity.not_after.to_unix_duration().as_secs() {
        return Err(CertificateError::Expired.into());
    }
    Ok(())
}

/// The public key of a certificate of any version.
pub fn public_key(certificate: &CertificateDer<'_>) -> Result<Vec<u8>, Error> {
    let parsed = parse(certificate)?;
    let key = parsed.tbs_certificate.subject_public_key_info.to_der();
    key.map_err(|_| CertificateError::BadEncoding.into())
}

/// Whether a certificate is that of a host, by libpq's rule: its alternative names, or the common
/// name where none of the kind that is looked for (names or addresses) is there (RFC 6125, section
/// 6.4.4). Addresses among the alternative names are rustls's matter.
pub fn bears_name(certificate: &CertificateDer<'_>, host: &str, address: bool) -> bool {
    let Ok(parsed) = Certificate::from_der(certificate) else {
        return false;
    };
    let parsed = parsed.tbs_certificate;
    if let Ok(Some((_, names))) = parsed.get::<SubjectAltName>() {
        let names = names.0.iter();
        let of_kind: Vec<_> = names
            .filter(|name| match name {
                GeneralName::DnsName(_) => !address,
                GeneralName::IpAddress(_) => address,
                _ => false,
            })
            .collect();
        if !of_kind.is_empty() {
            return of_kind.iter().any(|name| match name {
                GeneralName::DnsName(name) => names_host(name.as_str(), host),
                _ => false,
            });
        }
    }
    let mut words = parsed.subject.0.iter().flat_map(|part| part.0.iter());
    let Some(word) = words.find(|word| word.oid == COMMON_NAME) else {
        return false;
    };
    let utf8 = word.value.decode_as::<Utf8StringRef<'_>>();
    let printable = word.value.decode_as::<PrintableStringRef<'_>>();
    utf8.is_ok_and(|name| names_host(name.as_str(), host))
        || printable.is_ok_and(|name| names_host(name.as_str(), host))
}

/// Whether a name is that of a host; `*.` stands for one label (wildcard_certificate_match).
fn names_host(name: &str, host: &str) -> bool {
    if name.eq_ignore_ascii_case(host) {
        return true;
    }
    match (name.strip_prefix('*'), host.find('.')) {
        (Some(rest), Some(dot)) if dot > 0 && rest.len() > 1 && rest.starts_with('.') => {
            host[dot..].eq_ignore_ascii_case(rest)
        }
        _ => false,
    }
}

fn parse(certificate: &CertificateDer<'_>) -> Result<Certificate, Error> {
    Certificate::from_der(certificate).map_err(|_| CertificateError::BadEncoding.into())
}

#[cfg(test)]
mod tests {
    use super::names_host;

    #[test]
    fn a_star_stands_for_one_label() {
        for (name, host, same) in [
            ("db.example", "DB.example", true),
            ("*.example", "db.example", true),
            ("*.example", "a.db.example", false),
            ("*.example", ".example", false),
            ("*", "db", false),
            ("*.", "db.", false),
            ("*b.example", "db.example", false),
        ] {
            assert_eq!(names_host(name, host), same, "{name} {host}");
        }
    }
}
