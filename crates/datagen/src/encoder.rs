//! Defines what generators write rows with, so that one generator serves every bulk load.

/// Rows as they were written.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Encoded {
    pub bytes: Vec<u8>,
    pub rows: u64,
    /// The sum of every integer field, NULL as 0, wrapping: the server computes the same.
    pub control_sum: i64,
}

/// Writes rows in the form that a server's bulk load reads: `start_row`, then a call for each
/// field. Dispatch is static: the generators are compiled once for each encoder.
pub trait Encoder: Default + Send + 'static {
    fn with_capacity(bytes: usize) -> Self;
    /// Ends the encoding.
    fn finish(self) -> Encoded;
    /// A row of so many fields, at least one.
    fn start_row(&mut self, fields: i16);
    fn int2(&mut self, value: i16);
    fn int4(&mut self, value: i32);
    fn int8(&mut self, value: i64);
    fn bool(&mut self, value: bool);
    fn null(&mut self);
    fn text(&mut self, value: &[u8]);
    /// Text in several parts.
    fn joined(&mut self, parts: &[&[u8]]);
    fn uuid(&mut self, value: &[u8; 16]);
    /// A point in time without a zone: microseconds since 2000-01-01.
    fn timestamp(&mut self, microseconds: i64);
    /// A day: days since 2000-01-01.
    fn date(&mut self, days: i32);
    /// `numeric(…, digits)` of `value` × 10^−digits; `digits` is at most 4.
    fn numeric(&mut self, value: i64, digits: u32);
    /// `double precision`.
    fn float8(&mut self, value: f64);
    /// `jsonb`, as text without characters that need an escape.
    fn json(&mut self, parts: &[&[u8]]);
}
