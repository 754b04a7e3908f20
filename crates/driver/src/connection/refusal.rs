//! Says why no connection could be made, whatever the protocol.

use std::fmt;
use std::io;
use std::time::Duration;

/// Why no connection could be made; `W`: an error of the protocol.
#[derive(Debug)]
pub enum ConnectError<W> {
    Socket(io::Error),
    /// The two sides could not agree on an encrypted connection.
    Tls(io::Error),
    /// The server does not encrypt.
    Unencrypted,
    Wire(W),
    /// No answer within this time.
    Late(Duration),
    /// With and without encryption, each for its own reason.
    Both(Box<ConnectError<W>>, Box<ConnectError<W>>),
}

impl<W: fmt::Display> fmt::Display for ConnectError<W> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConnectError::Socket(error) => error.fmt(out),
            ConnectError::Tls(error) => write!(out, "could not encrypt: {error}"),
            ConnectError::Unencrypted => {
                out.write_str("the server does not support encryption, which sslmode requires")
            }
            ConnectError::Wire(error) => error.fmt(out),
            ConnectError::Late(patience) => {
                write!(out, "no answer within {} s", patience.as_secs_f64())
            }
            ConnectError::Both(first, second) => write!(out, "{second}; before: {first}"),
        }
    }
}

impl<W: fmt::Debug + fmt::Display> std::error::Error for ConnectError<W> {}

impl<W> ConnectError<W> {
    /// The same, as late where the time for it was over.
    pub fn timed(self, patience: Duration) -> ConnectError<W> {
        match self {
            ConnectError::Socket(error) | ConnectError::Tls(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                ) =>
            {
                ConnectError::Late(patience)
            }
            error => error,
        }
    }

    /// The server ended the connection in the middle of a handshake.
    pub fn cut() -> ConnectError<W> {
        ConnectError::Socket(io::ErrorKind::UnexpectedEof.into())
    }
}

impl<W> From<io::Error> for ConnectError<W> {
    fn from(error: io::Error) -> ConnectError<W> {
        ConnectError::Socket(error)
    }
}
