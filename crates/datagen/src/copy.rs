//! Tuples of `COPY … WITH (FORMAT binary)`: a field count, then each field with its length.

/// What stands before the first tuple: signature, flags, length of the header extension.
pub const HEADER: &[u8; 19] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// What stands after the last tuple: a field count of −1.
pub const TRAILER: &[u8; 2] = b"\xff\xff";

#[inline]
pub(crate) fn start_row(out: &mut Vec<u8>, fields: i16) {
    out.extend_from_slice(&fields.to_be_bytes());
}

#[inline]
pub(crate) fn int4(out: &mut Vec<u8>, value: i32) {
    out.extend_from_slice(&4i32.to_be_bytes());
    out.extend_from_slice(&value.to_be_bytes());
}

#[inline]
pub(crate) fn null(out: &mut Vec<u8>) {
    out.extend_from_slice(&(-1i32).to_be_bytes());
}

/// An empty string; the server pads a `char(n)` with spaces itself.
#[inline]
pub(crate) fn empty(out: &mut Vec<u8>) {
    out.extend_from_slice(&0i32.to_be_bytes());
}
