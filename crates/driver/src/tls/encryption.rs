//! Reads the certificates and options by which connections to one server are encrypted.

use std::io;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ClientConnection};

use crate::error::DriveError;
use crate::tls::files::{certificates, private_key, revocations};
use crate::tls::options::{SslMode, TlsPlan, TlsVersion};
use crate::tls::session::explained;
use crate::tls::verifier::Verifier;

/// How connections to one server are encrypted.
pub struct Encryption {
    pub mode: SslMode,
    pub direct: bool,
    name: ServerName<'static>,
    config: Arc<ClientConfig>,
}

impl Encryption {
    /// Reads the files that a plan names; `protocol`: what is spoken inside, by its name in the TLS
    /// handshake (ALPN), where it has one.
    pub fn new(plan: &TlsPlan, protocol: Option<&[u8]>) -> Result<Encryption, DriveError> {
        let name = match ServerName::try_from(plan.server_name.clone()) {
            Ok(name) => name,
            // The name is not checked: an address of no host takes its place, and is not sent.
            Err(_) if plan.mode < SslMode::VerifyFull => {
                ServerName::from(std::net::Ipv4Addr::UNSPECIFIED)
            }
            Err(_) => {
                return Err(DriveError::new(format!(
                    "host name \"{}\" cannot be that of a certificate",
                    plan.server_name
                )))
            }
        };
        let provider = Arc::new(default_provider());
        let names = plan.mode == SslMode::VerifyFull;
        let verifier = Verifier::new(roots(plan)?, revocations(&plan.revoked)?, names, &provider)?;
        let versions: Vec<_> = [(TlsVersion::V1_2, &TLS12), (TlsVersion::V1_3, &TLS13)]
            .into_iter()
            .filter(|(version, _)| {
                *version >= plan.least_version
                    && plan.most_version.map_or(true, |most| *version <= most)
            })
            .map(|(_, version)| version)
            .collect();
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)
            .map_err(|error| DriveError::new("cannot encrypt").detail(error))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let path = plan.certificate.as_deref();
        let ours = path.map(|path| certificates(path, "certificate"));
        let mut config = match (path, ours.transpose()?.flatten()) {
            (Some(path), Some(chain)) => {
                let key = private_key(&plan.key, path)?;
                builder.with_client_auth_cert(chain, key).map_err(|error| {
                    DriveError::new(format!(
                        "could not use certificate file \"{}\" with private key file \"{}\"",
                        path.display(),
                        plan.key.display()
                    ))
                    .detail(error)
                })?
            }
            _ => builder.with_no_client_auth(),
        };
        config.alpn_protocols = protocol.map(<[u8]>::to_vec).into_iter().collect();
        config.enable_sni = plan.tells_name;
        // Servers keep no sessions, and each connection is to cost what it costs with libpq.
        config.resumption = Resumption::disabled();
        Ok(Encryption {
            mode: plan.mode,
            direct: plan.direct,
            name,
            config: Arc::new(config),
        })
    }

    /// A session whose handshake has not begun.
    pub(super) fn connection(&self) -> io::Result<ClientConnection> {
        let made = ClientConnection::new(Arc::clone(&self.config), self.name.clone());
        made.map_err(|error| explained(&error))
    }
}

fn roots(plan: &TlsPlan) -> Result<Option<Vec<CertificateDer<'static>>>, DriveError> {
    if plan.system_roots {
        let found = rustls_native_certs::load_native_certs();
        return match (found.certs, found.errors.first()) {
            (certs, _) if !certs.is_empty() => Ok(Some(certs)),
            (_, Some(error)) => {
                Err(DriveError::new("the system trusts no certificate authority").detail(error))
            }
            _ => Err(DriveError::new(
                "the system trusts no certificate authority",
            )),
        };
    }
    let roots = certificates(&plan.roots, "root certificate")?;
    if roots.is_none() && plan.mode >= SslMode::VerifyCa {
        return Err(DriveError::new(format!(
            "root certificate file \"{}\" does not exist",
            plan.roots.display()
        ))
        .hint(
            "Either provide the file, use the system's trusted roots with sslrootcert=system, or \
             change sslmode to disable server certificate verification.",
        ));
    }
    Ok(roots)
}
