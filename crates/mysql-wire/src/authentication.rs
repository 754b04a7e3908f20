//! Proves a password in the ways that servers ask for.

use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::error::WireError;

/// What carries the bytes of a connection, as far as a password is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Anything between may read it, and answer in the server's place.
    Plain,
    /// Encrypted, with whom is not known: the server's certificate was not verified.
    Encrypted,
    /// Encrypted, and the certificate was verified.
    Verified,
    /// A Unix socket.
    Local,
}

impl Channel {
    pub(crate) fn is_encrypted(self) -> bool {
        matches!(self, Channel::Encrypted | Channel::Verified)
    }

    /// Nothing between can read it.
    pub(crate) fn is_secret(self) -> bool {
        self != Channel::Plain
    }

    /// Nothing else can be at its other end, either.
    fn is_certain(self) -> bool {
        matches!(self, Channel::Verified | Channel::Local)
    }
}

/// A plugin of a server's by its name ("Authentication Plugins").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plugin {
    NativePassword,
    CachingSha2,
    /// The password in clear text, which any server can ask for: only where it is certain which.
    ClearPassword,
    /// MariaDB's for accounts of the same name as the operating system's.
    UnixSocket,
}

impl Plugin {
    pub fn named(name: &[u8]) -> Option<Plugin> {
        match name {
            b"mysql_native_password" | b"" => Some(Plugin::NativePassword),
            b"caching_sha2_password" => Some(Plugin::CachingSha2),
            b"mysql_clear_password" => Some(Plugin::ClearPassword),
            b"unix_socket" | b"auth_socket" => Some(Plugin::UnixSocket),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Plugin::NativePassword => "mysql_native_password",
            Plugin::CachingSha2 => "caching_sha2_password",
            Plugin::ClearPassword => "mysql_clear_password",
            Plugin::UnixSocket => "unix_socket",
        }
    }

    /// What proves the password to a server that sent this nonce.
    pub fn answer(
        self,
        password: &str,
        nonce: &[u8],
        channel: Channel,
    ) -> Result<Vec<u8>, WireError> {
        let password = password.as_bytes();
        Ok(match self {
            _ if password.is_empty() && self != Plugin::ClearPassword => Vec::new(),
            Plugin::NativePassword => native(password, nonce).to_vec(),
            Plugin::CachingSha2 => caching_sha2(password, nonce).to_vec(),
            Plugin::ClearPassword if channel.is_certain() => clear(password),
            Plugin::ClearPassword => {
                let where_to = "encrypted connection whose certificate is verified";
                return Err(unsafe_here("mysql_clear_password", where_to));
            }
            Plugin::UnixSocket => Vec::new(),
        })
    }
}

/// The password as it is, with its end.
pub(crate) fn clear(password: &[u8]) -> Vec<u8> {
    [password, b"\0"].concat()
}

#[cold]
pub(crate) fn unsafe_here(plugin: &str, where_to: &str) -> WireError {
    WireError::Unsupported(format!(
        "the server asks for the password itself ({plugin}), which only goes through a Unix \
         socket or an {where_to}"
    ))
}

/// SHA1(password) XOR SHA1(nonce + SHA1(SHA1(password))).
fn native(password: &[u8], nonce: &[u8]) -> [u8; 20] {
    let once: [u8; 20] = Sha1::digest(password).into();
    let twice = Sha1::digest(once);
    let mixed: [u8; 20] = Sha1::new()
        .chain_update(nonce)
        .chain_update(twice)
        .finalize()
        .into();
    std::array::from_fn(|at| once[at] ^ mixed[at])
}

/// SHA256(password) XOR SHA256(SHA256(SHA256(password)) + nonce).
fn caching_sha2(password: &[u8], nonce: &[u8]) -> [u8; 32] {
    let once: [u8; 32] = Sha256::digest(password).into();
    let twice = Sha256::digest(once);
    let mixed: [u8; 32] = Sha256::new()
        .chain_update(twice)
        .chain_update(nonce)
        .finalize()
        .into();
    std::array::from_fn(|at| once[at] ^ mixed[at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use mysql_common::scramble::{scramble_native, scramble_sha256};

    #[test]
    fn proofs_are_those_of_mysql_common() {
        for password in ["x", "correct horse", "påss"] {
            for nonce in [&b"01234567890123456789"[..], &[7; 20]] {
                let bytes = password.as_bytes();
                assert_eq!(Some(native(bytes, nonce)), scramble_native(nonce, bytes));
                assert_eq!(
                    Some(caching_sha2(bytes, nonce)),
                    scramble_sha256(nonce, bytes)
                );
            }
        }
    }

    #[test]
    fn a_password_is_only_sent_where_nobody_reads_it() {
        let clear = Plugin::ClearPassword;
        for (channel, goes) in [
            (Channel::Local, true),
            (Channel::Verified, true),
            (Channel::Encrypted, false),
            (Channel::Plain, false),
        ] {
            let answer = clear.answer("pw", b"", channel);
            assert_eq!(answer.is_ok_and(|answer| answer == b"pw\0"), goes);
        }
        let empty = Plugin::CachingSha2.answer("", b"n", Channel::Plain);
        assert_eq!(empty.unwrap(), b"");
    }

    #[test]
    fn every_plugin_is_found_by_its_name() {
        for plugin in [
            Plugin::NativePassword,
            Plugin::CachingSha2,
            Plugin::ClearPassword,
            Plugin::UnixSocket,
        ] {
            assert_eq!(Plugin::named(plugin.name().as_bytes()), Some(plugin));
        }
        assert_eq!(Plugin::named(b"client_ed25519"), None);
    }
}
