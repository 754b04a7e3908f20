//! Splits a stream of server bytes into packets: a length of three bytes, a number, a payload.

use crate::error::WireError;

/// Bytes before every payload.
pub(crate) const HEADER_LENGTH: usize = 4;

/// The longest payload; one of exactly this length is continued by the next packet.
pub(crate) const LONGEST_PAYLOAD: usize = 0x00ff_ffff;

/// The longest payload that is kept in memory: descriptions, reports, captured rows.
pub(crate) const LONGEST_KEPT: usize = 1 << 20;

/// The length of a payload, from its header.
#[inline]
pub(crate) fn payload_length(header: [u8; HEADER_LENGTH]) -> usize {
    u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize
}

/// The first whole packet of `bytes`, its number and payload; `None` while it is not whole yet.
pub(crate) fn first_packet(bytes: &[u8], longest: usize) -> Result<Option<(u8, &[u8])>, WireError> {
    let Some(header) = bytes.first_chunk::<HEADER_LENGTH>() else {
        return Ok(None);
    };
    let length = payload_length(*header);
    if length > longest {
        return Err(WireError::malformed(format!("a packet of {length} bytes")));
    }
    let payload = bytes.get(HEADER_LENGTH..HEADER_LENGTH + length);
    Ok(payload.map(|payload| (header[3], payload)))
}

/// Appends a packet with a payload that is short enough for one.
pub(crate) fn write_packet(number: u8, payload: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(payload.len() as u32).to_le_bytes()[..3]);
    out.push(number);
    out.extend_from_slice(payload);
}
