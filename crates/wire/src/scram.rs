//! Authenticates by SCRAM-SHA-256 (RFC 7677), bound to the encrypted channel where both sides can
//! (RFC 5929, tls-server-end-point), by libpq's rules (interfaces/libpq/fe-auth.c, pg_SASL_init).

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::sasl::{
    ChannelBinding, ScramSha256, SCRAM_SHA_256, SCRAM_SHA_256_PLUS,
};
use postgres_protocol::message::backend::AuthenticationSaslBody;
use postgres_protocol::message::frontend;

use crate::error::WireError;

/// Most iterations that are computed, in tenths of a second; postgres-protocol has the same limit.
/// PostgreSQL's default is 4096.
const MOST_ITERATIONS: u32 = 100_000;

/// Whether authentication is to be bound to the encrypted channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Binding {
    Disable,
    #[default]
    Prefer,
    Require,
}

/// What the bytes of a connection run through.
#[derive(Clone, Debug, Default)]
pub struct Channel {
    pub encrypted: bool,
    /// The hash of the server's certificate, where its signature algorithm defines one.
    pub end_point: Option<Vec<u8>>,
    pub binding: Binding,
}

/// A SCRAM exchange under way.
pub(crate) struct Scram {
    steps: ScramSha256,
    /// The proof holds for this channel alone.
    pub bound: bool,
}

impl Scram {
    /// Chooses a mechanism that the server offers, and appends the first message.
    pub fn begin(
        password: &str,
        request: &AuthenticationSaslBody,
        channel: &Channel,
        out: &mut Vec<u8>,
    ) -> Result<Scram, WireError> {
        let (mut plain, mut plus) = (false, false);
        request
            .mechanisms()
            .for_each(|mechanism| {
                plain |= mechanism == SCRAM_SHA_256;
                plus |= mechanism == SCRAM_SHA_256_PLUS;
                Ok(())
            })
            .map_err(|error| WireError::malformed(format!("a list of mechanisms: {error}")))?;
        if plus && !channel.encrypted {
            // The server would refuse: the encryption has been removed on the way.
            return Err(refused(
                "the server offers SCRAM-SHA-256-PLUS over a connection without encryption",
            ));
        }
        let wanted = channel.binding != Binding::Disable;
        let (name, binding) = match &channel.end_point {
            Some(hash) if plus && wanted => (
                SCRAM_SHA_256_PLUS,
                ChannelBinding::tls_server_end_point(hash.clone()),
            ),
            _ if channel.binding == Binding::Require => {
                return Err(refused(if plus {
                    "channel binding is required, and cannot be had with the signature algorithm \
                     of the server's certificate"
                } else {
                    "channel binding is required, but the server did not offer an authentication \
                     method that supports channel binding"
                }))
            }
            _ if !plain => return Err(refused("the server does not offer SCRAM-SHA-256")),
            // To a server that can bind, this would mean that its offer was hidden on the way.
            Some(_) if wanted => (SCRAM_SHA_256, ChannelBinding::unrequested()),
            _ => (SCRAM_SHA_256, ChannelBinding::unsupported()),
        };
        let steps = ScramSha256::new(password.as_bytes(), binding);
        let first = steps.message().to_vec();
        append(out, |buffer| {
            frontend::sasl_initial_response(name, &first, buffer)
        })?;
        Ok(Scram {
            steps,
            bound: name == SCRAM_SHA_256_PLUS,
        })
    }

    /// Answers the server's challenge.
    pub fn prove(&mut self, data: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
        require_few_iterations(data)?;
        self.steps.update(data).map_err(failed)?;
        let answer = self.steps.message().to_vec();
        append(out, |buffer| frontend::sasl_response(&answer, buffer))
    }

    /// Checks the server's own proof.
    pub fn finish(&mut self, data: &[u8]) -> Result<(), WireError> {
        self.steps.finish(data).map_err(failed)
    }
}

/// A server may request 2³² rounds of hashing, which would block the client.
fn require_few_iterations(data: &[u8]) -> Result<(), WireError> {
    let requested = data
        .split(|&byte| byte == b',')
        .find_map(|word| word.strip_prefix(b"i="));
    let digits = requested.and_then(|digits| std::str::from_utf8(digits).ok());
    let Some(digits) = digits.filter(|digits| is_number(digits)) else {
        return Err(WireError::malformed(
            "a SCRAM challenge without a number of iterations",
        ));
    };
    match digits.parse::<u32>() {
        Ok(iterations) if iterations <= MOST_ITERATIONS => Ok(()),
        _ => Err(refused(&format!(
            "the server asks for {digits} SCRAM iterations: at most {MOST_ITERATIONS} are \
             computed (a password that is set anew under a lower scram_iterations needs fewer)"
        ))),
    }
}

/// Of as many digits as can be shown.
fn is_number(digits: &str) -> bool {
    (1..=20).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn refused(why: &str) -> WireError {
    WireError::Authentication(why.to_owned())
}

fn failed(error: std::io::Error) -> WireError {
    WireError::Authentication(format!("SCRAM authentication failed: {error}"))
}

/// Appends a message of a name, a password or a proof.
pub(crate) fn append(
    out: &mut Vec<u8>,
    encode: impl FnOnce(&mut BytesMut) -> std::io::Result<()>,
) -> Result<(), WireError> {
    let mut buffer = BytesMut::new();
    encode(&mut buffer).map_err(unsendable)?;
    out.extend_from_slice(&buffer);
    Ok(())
}

pub(crate) fn unsendable(error: std::io::Error) -> WireError {
    WireError::Authentication(format!("a name or password cannot be sent: {error}"))
}
