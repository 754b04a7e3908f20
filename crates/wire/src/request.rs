//! Encodes requests once, so that only parameters are filled in later.

use bytes::BytesMut;
use postgres_protocol::message::frontend;
use postgres_protocol::IsNull;

/// A request text that cannot be sent: it holds a NUL byte or is longer than the protocol allows.
pub type EncodeError = std::io::Error;

/// A simple Query message.
pub fn simple_query(sql: &str) -> Result<Vec<u8>, EncodeError> {
    let mut out = BytesMut::new();
    frontend::query(sql, &mut out)?;
    Ok(out.to_vec())
}

/// Sync: the end of a request in the extended protocol.
pub fn sync() -> &'static [u8] {
    b"S\0\0\0\x04"
}

/// Terminate: the regular end of a connection.
pub fn terminate() -> Vec<u8> {
    let mut out = BytesMut::new();
    frontend::terminate(&mut out);
    out.to_vec()
}

/// CancelRequest, to be sent on a connection of its own.
pub fn cancel(process_id: i32, secret_key: i32) -> Vec<u8> {
    let mut out = BytesMut::new();
    frontend::cancel_request(process_id, secret_key, &mut out);
    out.to_vec()
}

/// A statement's messages: Parse, and what is sent for every execution.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Parse, without Sync: it goes out in one packet with the first execution.
    pub parse: Vec<u8>,
    pub bind: BindTemplate,
}

impl Statement {
    /// Encodes a statement; an empty name is the unnamed statement. Parameter types are left to
    /// the server, as pgbench does.
    pub fn new(name: &str, sql: &str, parameters: u16) -> Result<Statement, EncodeError> {
        let mut out = BytesMut::new();
        frontend::parse(name, sql, [], &mut out)?;
        let parse = out.to_vec();
        Ok(Statement {
            parse,
            bind: BindTemplate::new(name, parameters)?,
        })
    }

    /// Appends Close: the server forgets the statement; where there is none, that is no error.
    pub fn close(&self, out: &mut Vec<u8>) {
        const HEADER_LENGTH: usize = 5;
        let name = self.parse[HEADER_LENGTH..]
            .split_inclusive(|&byte| byte == 0)
            .next()
            .unwrap_or(b"\0");
        out.push(b'C');
        // The length counts itself and the kind of what is closed.
        out.extend_from_slice(&(4 + 1 + name.len() as i32).to_be_bytes());
        out.push(b'S');
        out.extend_from_slice(name);
    }

    /// The same, with a description of the result's columns, which captured results need.
    pub fn describing(mut self) -> Statement {
        const DESCRIBE_PORTAL: &[u8] = b"D\0\0\0\x06P\0";
        let at = self.bind.bind_tail;
        self.bind
            .tail
            .splice(at..at, DESCRIBE_PORTAL.iter().copied());
        self
    }
}

/// Bind, Execute and Sync of one statement; parameters are put between the two constant parts.
#[derive(Clone, Debug)]
pub struct BindTemplate {
    /// `B`, a length to be patched, portal, statement, formats, number of parameters.
    head: Vec<u8>,
    /// Result formats, Execute, Sync.
    tail: Vec<u8>,
    /// How much of `tail` belongs to Bind.
    bind_tail: usize,
}

impl BindTemplate {
    fn new(name: &str, parameters: u16) -> Result<BindTemplate, EncodeError> {
        const RESULT_FORMATS: usize = 2;
        let mut out = BytesMut::new();
        let bound = frontend::bind(
            "",
            name,
            [],
            std::iter::empty::<()>(),
            |(), _| Ok(IsNull::Yes),
            [],
            &mut out,
        );
        if let Err(frontend::BindError::Serialization(error)) = bound {
            return Err(error);
        }
        let split = out.len() - RESULT_FORMATS;
        let mut head = out[..split].to_vec();
        head[split - 2..].copy_from_slice(&parameters.to_be_bytes());
        let mut tail = BytesMut::from(&out[split..]);
        frontend::execute("", 0, &mut tail)?;
        frontend::sync(&mut tail);
        Ok(BindTemplate {
            head,
            tail: tail.to_vec(),
            bind_tail: RESULT_FORMATS,
        })
    }

    /// Appends Bind, Execute and Sync to `out`. `write` appends the text of parameter `i` and
    /// returns false for NULL. No memory is taken once `out` has grown.
    #[inline]
    pub fn fill(
        &self,
        out: &mut Vec<u8>,
        parameters: usize,
        mut write: impl FnMut(usize, &mut Vec<u8>) -> bool,
    ) {
        let start = out.len();
        out.extend_from_slice(&self.head);
        for parameter in 0..parameters {
            let at = out.len();
            out.extend_from_slice(&(-1_i32).to_be_bytes());
            if write(parameter, out) {
                let length = (out.len() - at - 4) as i32;
                out[at..at + 4].copy_from_slice(&length.to_be_bytes());
            }
        }
        let length = (out.len() + self.bind_tail - start - 1) as i32;
        out[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
        out.extend_from_slice(&self.tail);
    }
}
