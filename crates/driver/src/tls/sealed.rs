//! An encrypted connection: its handshake, and how bytes go through it.

use std::io::{self, BufRead, Write};
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{CertificateError, ClientConfig, ClientConnection, Error};

use crate::error::DriveError;
use crate::socket::Socket;
use crate::tls::asked::{SslMode, TlsPlan, TlsVersion};
use crate::tls::certificate::end_point;
use crate::tls::files::{certificates, private_key, revocations};
use crate::tls::verifier::Verifier;

/// PostgreSQL's name in the handshake (since 17).
const PROTOCOL: &[u8] = b"postgresql";
/// Bytes taken by one receive during the handshake.
const BUFFER: usize = 4096;

/// How connections to one server are encrypted.
pub struct Encryption {
    pub mode: SslMode,
    pub direct: bool,
    name: ServerName<'static>,
    config: Arc<ClientConfig>,
}

impl Encryption {
    /// Reads the files that a plan names.
    pub fn new(plan: &TlsPlan) -> Result<Encryption, DriveError> {
        let name = match ServerName::try_from(plan.server_name.clone()) {
            Ok(name) => name,
            // A name that nobody checks: that of no host stands in its place, and is not told.
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
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
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
}

fn roots(plan: &TlsPlan) -> Result<Option<Vec<CertificateDer<'static>>>, DriveError> {
    if plan.system_roots {
        let found = rustls_native_certs::load_native_certs();
        return match (found.certs, found.errors.first()) {
            (certs, _) if !certs.is_empty() => Ok(Some(certs)),
            (_, Some(error)) => Err(DriveError::new("the system trusts nobody").detail(error)),
            _ => Err(DriveError::new("the system trusts nobody")),
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

/// The state of one encrypted connection.
pub struct Sealed {
    connection: ClientConnection,
    /// Memory for the next request, sealed.
    spare: Vec<u8>,
}

impl Sealed {
    /// Shakes hands over a connected socket that blocks until a deadline of its own.
    pub fn shake(socket: &Socket, encryption: &Encryption) -> io::Result<Sealed> {
        let config = Arc::clone(&encryption.config);
        let made = ClientConnection::new(config, encryption.name.clone());
        let mut connection = made.map_err(|error| invalid(&error))?;
        // A request is sealed as a whole, however long it is.
        connection.set_buffer_limit(None);
        let mut sealed = Sealed {
            connection,
            spare: Vec::new(),
        };
        let mut buffer = [0; BUFFER];
        while sealed.connection.is_handshaking() {
            sealed.send_own(socket)?;
            let received = socket.receive(&mut buffer)?;
            if received == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Err(error) = sealed.take(&buffer[..received]) {
                // The server is told why; it may be gone already.
                let _ = sealed.send_own(socket);
                return Err(error);
            }
        }
        sealed.send_own(socket)?;
        if encryption.direct && sealed.connection.alpn_protocol() != Some(PROTOCOL) {
            let why = "the server does not know PostgreSQL's protocol by its name in TLS";
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        Ok(sealed)
    }

    /// What SCRAM binds itself to.
    pub fn end_point(&self) -> Option<Vec<u8>> {
        end_point(self.connection.peer_certificates()?.first()?)
    }

    /// Protocol and cipher, as OpenSSL and PostgreSQL name them.
    pub fn shown(&self) -> String {
        let version = match self.connection.protocol_version() {
            Some(rustls::ProtocolVersion::TLSv1_2) => "TLSv1.2",
            _ => "TLSv1.3",
        };
        let suite = self.connection.negotiated_cipher_suite();
        let cipher = suite.map_or("", |suite| suite.suite().as_str().unwrap_or(""));
        format!("{version} {}", cipher.replacen("TLS13_", "TLS_", 1))
    }

    /// Puts the sealed form of a request into its place.
    pub fn seal(&mut self, request: &mut Vec<u8>) -> io::Result<()> {
        self.spare.clear();
        self.connection.writer().write_all(request)?;
        while self.connection.wants_write() {
            self.connection.write_tls(&mut self.spare)?;
        }
        std::mem::swap(request, &mut self.spare);
        Ok(())
    }

    /// Opens received bytes; `take` gets what was in them, piece by piece, until it fails.
    pub fn open<E>(
        &mut self,
        mut received: &[u8],
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> io::Result<Result<(), E>> {
        loop {
            let more = self.take_some(&mut received)?;
            while let Some(piece) = self.piece()? {
                let length = piece.len();
                if let Err(error) = take(piece) {
                    return Ok(Err(error));
                }
                self.connection.reader().consume(length);
            }
            if !more {
                return Ok(Ok(()));
            }
        }
    }

    fn piece(&mut self) -> io::Result<Option<&[u8]>> {
        match self.connection.reader().into_first_chunk() {
            Ok([]) => Ok(None),
            Ok(piece) => Ok(Some(piece)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn take(&mut self, mut received: &[u8]) -> io::Result<()> {
        while self.take_some(&mut received)? {}
        Ok(())
    }

    /// Takes what fits; whether there is more.
    fn take_some(&mut self, received: &mut &[u8]) -> io::Result<bool> {
        if received.is_empty() {
            return Ok(false);
        }
        let taken = self.connection.read_tls(received)?;
        let processed = self.connection.process_new_packets();
        processed.map_err(|error| invalid(&error))?;
        // After the server's goodbye nothing is taken any more.
        Ok(taken > 0 && !received.is_empty())
    }

    fn send_own(&mut self, socket: &Socket) -> io::Result<()> {
        let mut out = Vec::new();
        while self.connection.wants_write() {
            self.connection.write_tls(&mut out)?;
        }
        socket.send_all(&out)
    }
}

/// In words that say what to look at; rustls's own otherwise.
fn invalid(error: &Error) -> io::Error {
    use CertificateError as Certificate;
    let why = match error {
        Error::InvalidCertificate(error) => match error {
            Certificate::UnknownIssuer => {
                "the server's certificate was signed by none of the trusted ones".to_owned()
            }
            Certificate::Revoked => "the server's certificate was revoked".to_owned(),
            Certificate::Expired | Certificate::ExpiredContext { .. } => {
                "the server's certificate has expired".to_owned()
            }
            Certificate::NotValidForNameContext {
                expected,
                presented,
            } => format!(
                "the server's certificate does not match host name \"{}\" (it holds: {})",
                expected.to_str(),
                presented.join(", ")
            ),
            error => format!("the server's certificate is not accepted: {error}"),
        },
        Error::AlertReceived(alert) => format!("the server ended the TLS handshake: {alert:?}"),
        error => error.to_string(),
    };
    io::Error::new(io::ErrorKind::InvalidData, why)
}
