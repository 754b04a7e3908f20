//! Encrypted connections by rustls: what is asked of them, what they check, how bytes go through.

mod asked;
mod certificate;
mod files;
mod sealed;
mod verifier;

pub use asked::{SslMode, TlsPlan};
pub use sealed::{Encryption, Sealed};
