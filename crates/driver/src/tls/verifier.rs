//! Checks a server's certificate as strictly as `sslmode` demands, as libpq with OpenSSL does.
//!
//! rustls verifies the chain. Beyond it, existing servers need what browsers have given up:
//! a common name instead of alternative names, and wider stars; a self-signed certificate that is
//! itself the root; and, where nothing is checked, certificates of X.509's first version.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_name, WebPkiServerVerifier};
use rustls::crypto::{
    verify_tls12_signature, verify_tls13_signature, verify_tls13_signature_with_raw_key,
    CryptoProvider, WebPkiSupportedAlgorithms,
};
use rustls::pki_types::{
    CertificateDer, CertificateRevocationListDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::error::DriveError;
use crate::tls::certificate::{bears_name, check_time, public_key};

/// What a certificate is held against.
#[derive(Debug)]
pub struct Verifier {
    /// None: every certificate is accepted.
    chain: Option<Arc<WebPkiServerVerifier>>,
    /// The trusted certificates themselves.
    roots: Vec<CertificateDer<'static>>,
    names: bool,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    /// Trusts `roots`, or every certificate without; `names`: the host's name must match too.
    pub fn new(
        roots: Option<Vec<CertificateDer<'static>>>,
        revoked: Vec<CertificateRevocationListDer<'static>>,
        names: bool,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Verifier, DriveError> {
        let algorithms = provider.signature_verification_algorithms;
        let Some(roots) = roots else {
            return Ok(Verifier {
                chain: None,
                roots: Vec::new(),
                names: false,
                algorithms,
            });
        };
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(roots.iter().cloned());
        let built = WebPkiServerVerifier::builder_with_provider(store.into(), Arc::clone(provider))
            .with_crls(revoked)
            .allow_unknown_revocation_status()
            .build();
        let chain = built
            .map_err(|error| DriveError::new("cannot trust the root certificates").detail(error))?;
        Ok(Verifier {
            chain: Some(chain),
            roots,
            names,
            algorithms,
        })
    }

    fn check_name(
        &self,
        certificate: &CertificateDer<'_>,
        name: &ServerName<'_>,
    ) -> Result<(), Error> {
        let parsed = ParsedCertificate::try_from(certificate)?;
        let Err(error) = verify_server_name(&parsed, name) else {
            return Ok(());
        };
        let address = matches!(name, ServerName::IpAddress(_));
        if bears_name(certificate, &name.to_str(), address) {
            return Ok(());
        }
        Err(error)
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chain) = &self.chain else {
            return Ok(ServerCertVerified::assertion());
        };
        if self.roots.iter().any(|root| root == certificate) {
            // Its own root: there is no chain.
            check_time(certificate, now)?;
        } else {
            match chain.verify_server_cert(certificate, others, name, ocsp, now) {
                // The name is looked at last, so that everything else is in order.
                Ok(_) | Err(Error::InvalidCertificate(CertificateError::NotValidForName)) => {}
                Err(Error::InvalidCertificate(CertificateError::NotValidForNameContext {
                    ..
                })) => {}
                Err(error) => return Err(error),
            }
        }
        if self.names {
            self.check_name(certificate, name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    /// Also where every certificate is accepted: authentication may be bound to it.
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match verify_tls13_signature(message, certificate, signed, &self.algorithms) {
            Err(Error::InvalidCertificate(_)) if self.chain.is_none() => {
                let key = SubjectPublicKeyInfoDer::from(public_key(certificate)?);
                verify_tls13_signature_with_raw_key(message, &key, signed, &self.algorithms)
            }
            verified => verified,
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
