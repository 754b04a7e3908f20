//! Reads certificates and keys, with libpq's checks (interfaces/libpq/fe-secure-openssl.c,
//! initialize_SSL).

use std::fmt::Display;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};

use crate::error::DriveError;

/// What a file of certificates holds; `None`: there is no such file.
pub fn certificates(
    path: &Path,
    kind: &str,
) -> Result<Option<Vec<CertificateDer<'static>>>, DriveError> {
    if !exists(path, kind)? {
        return Ok(None);
    }
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(found) if !found.is_empty() => Ok(Some(found)),
        Ok(_) => Err(unreadable(
            path,
            kind,
            "it holds no certificate in PEM form",
        )),
        Err(error) => Err(unreadable(path, kind, error)),
    }
}

/// What a file of certificates that are not trusted any more holds; none without a file.
pub fn revocations(path: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>, DriveError> {
    const KIND: &str = "certificate revocation list";
    if !exists(path, KIND)? {
        return Ok(Vec::new());
    }
    CertificateRevocationListDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|error| unreadable(path, KIND, error))
}

/// The private key of a certificate, refused where other users could read it.
pub fn private_key(path: &Path, certificate: &Path) -> Result<PrivateKeyDer<'static>, DriveError> {
    const KIND: &str = "private key";
    let status = std::fs::metadata(path).map_err(|error| {
        if error.kind() == io::ErrorKind::NotFound {
            DriveError::new(format!(
                "certificate present, but not private key file \"{}\"",
                path.display()
            ))
            .detail(format!("The certificate is \"{}\".", certificate.display()))
        } else {
            unreadable(path, KIND, error)
        }
    })?;
    if !status.is_file() {
        return Err(DriveError::new(format!(
            "private key file \"{}\" is not a regular file",
            path.display()
        )));
    }
    // A key of root's may be read by a group: keys of the system are.
    let others = if status.uid() == 0 { 0o037 } else { 0o077 };
    if status.mode() & others != 0 {
        return Err(DriveError::new(format!(
            "private key file \"{}\" has group or world access",
            path.display()
        ))
        .hint(
            "It must have permissions u=rw (0600) or less if owned by the current user, or \
             permissions u=rw,g=r (0640) or less if owned by root.",
        ));
    }
    PrivateKeyDer::from_pem_file(path).map_err(|error| {
        unreadable(path, KIND, error)
            .hint("A key must be in PEM form and without a passphrase: `openssl pkey` removes it.")
    })
}

fn exists(path: &Path, kind: &str) -> Result<bool, DriveError> {
    match std::fs::metadata(path) {
        Ok(_) => Ok(true),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(false),
            _ => Err(unreadable(path, kind, error)),
        },
    }
}

fn unreadable(path: &Path, kind: &str, why: impl Display) -> DriveError {
    DriveError::new(format!("could not read {kind} file \"{}\"", path.display())).detail(why)
}
