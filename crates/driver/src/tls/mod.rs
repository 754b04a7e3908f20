//! Encrypts connections by rustls: options, certificate checks, and the bytes of a session.

mod certificate;
mod encryption;
mod files;
mod options;
mod session;
mod verifier;

pub use encryption::Encryption;
pub use files::{certificates, private_key};
pub use options::{SslMode, TlsPlan, TlsVersion};
pub use session::{Carrier, TlsSession};
