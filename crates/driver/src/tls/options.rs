//! Defines the JSON of an encrypted connection, in libpq's words.

use std::path::PathBuf;

use serde::Deserialize;

/// libpq's `sslmode`, without `disable`: that is a plan without encryption.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub enum SslMode {
    /// Plain first; encrypted where the server refuses that.
    Allow,
    /// Encrypted first; plain where that cannot be had.
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsVersion {
    #[serde(rename = "TLSv1.2")]
    V1_2,
    #[serde(rename = "TLSv1.3")]
    V1_3,
}

/// How the connections of one arm are encrypted.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsPlan {
    pub mode: SslMode,
    /// The name that the server's certificate must bear, and that is sent to the server.
    pub server_name: String,
    /// The name is sent (`sslsni`).
    pub tells_name: bool,
    /// TLS begins at once, without a request in the database's own protocol before.
    pub direct: bool,
    /// Certificates that are trusted; nothing is checked where the file does not exist.
    pub roots: PathBuf,
    /// The certificates that the system trusts are, instead of a file.
    pub system_roots: bool,
    /// Certificates that are not trusted any more; none where the file does not exist.
    pub revoked: PathBuf,
    /// Our own certificate; none where the file does not exist.
    pub certificate: Option<PathBuf>,
    /// Its private key.
    pub key: PathBuf,
    pub least_version: TlsVersion,
    #[serde(default)]
    pub most_version: Option<TlsVersion>,
}
