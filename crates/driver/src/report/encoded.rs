//! Reads our own encoded histograms without building each: base64, zlib, then counts by place.
//!
//! A record of ten thousand slices has as many histograms. Through the library each of them takes a
//! table of 33,000 counters of its own, which is most of the time. Here only the counts that are
//! there are read. The format: <https://github.com/HdrHistogram/HdrHistogram_c>, V2 with LEB128 of
//! zigzag numbers, of which a negative one is so many places without a count.

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use flate2::{Decompress, FlushDecompress, Status};

const COMPRESSED: u32 = 0x1c84_9314;
const PLAIN: u32 = 0x1c84_9313;
const HEADER_BYTES: usize = 40;
/// More than the counts of any histogram of ours can take.
const LONGEST_BYTES: usize = 1 << 20;
const HALF_BITS: u32 = 10;
/// Half of the places of a doubling of values, for three significant digits.
const HALF: u64 = 1 << HALF_BITS;

/// A value with how often it was seen.
pub(crate) type Counted = (u64, u64);

/// What is used again from one histogram to the next.
pub(crate) struct Reader {
    inflate: Decompress,
    packed: Vec<u8>,
    plain: Vec<u8>,
    counted: Vec<Counted>,
}

impl Reader {
    pub(crate) fn new() -> Reader {
        Reader {
            inflate: Decompress::new(true),
            packed: Vec::new(),
            plain: Vec::new(),
            counted: Vec::new(),
        }
    }

    /// The counts of a histogram in ascending order of their values; None for one that is not as
    /// ours are: whether it is damaged or of another shape, the library decides.
    pub(crate) fn read(&mut self, text: &str) -> Option<&[Counted]> {
        self.packed.clear();
        STANDARD.decode_vec(text, &mut self.packed).ok()?;
        self.unpack()?;
        let header = self.plain.get(..HEADER_BYTES)?;
        let number = |at: usize| u32::from_be_bytes(header[at..at + 4].try_into().unwrap());
        let long = |at: usize| u64::from_be_bytes(header[at..at + 8].try_into().unwrap());
        let (offset, digits, low, ratio) = (number(8), number(12), long(16), long(32));
        let ours = (0, 3, 1, 1.0_f64.to_bits());
        if number(0) != PLAIN || (offset, digits, low, ratio) != ours {
            return None;
        }
        let end = HEADER_BYTES.checked_add(usize::try_from(number(4)).ok()?)?;
        let (highest, bytes) = (long(24), self.plain.get(HEADER_BYTES..end)?);
        self.counted.clear();
        read_counts(bytes, highest, &mut self.counted)?;
        Some(&self.counted)
    }

    /// From `packed` to `plain`.
    fn unpack(&mut self) -> Option<()> {
        let cookie = u32::from_be_bytes(self.packed.get(..4)?.try_into().ok()?);
        let length = u32::from_be_bytes(self.packed.get(4..8)?.try_into().ok()?);
        let end = 8_usize.checked_add(usize::try_from(length).ok()?)?;
        let stream = self.packed.get(8..end)?;
        if cookie != COMPRESSED {
            return None;
        }
        self.inflate.reset(true);
        self.plain.clear();
        self.plain.reserve(1 << 13);
        loop {
            let read = usize::try_from(self.inflate.total_in()).ok()?;
            let before = self.plain.len();
            let status = self
                .inflate
                .decompress_vec(&stream[read..], &mut self.plain, FlushDecompress::Finish)
                .ok()?;
            if status == Status::StreamEnd {
                return Some(());
            }
            let full = self.plain.len() == self.plain.capacity();
            if (!full && self.plain.len() == before) || self.plain.len() > LONGEST_BYTES {
                return None;
            }
            self.plain.reserve(self.plain.len().max(1 << 13));
        }
    }
}

fn read_counts(bytes: &[u8], highest: u64, counted: &mut Vec<Counted>) -> Option<()> {
    let (mut rest, mut place) = (bytes, 0_u64);
    while !rest.is_empty() {
        let number = read_number(&mut rest)?;
        if number < 0 {
            place = place.checked_add(number.unsigned_abs())?;
            continue;
        }
        if number > 0 {
            let value = value_at(place).filter(|&value| value <= highest)?;
            counted.push((value, number.unsigned_abs()));
        }
        place += 1;
    }
    Some(())
}

/// A zigzag number in 7 bits a byte, the ninth with 8.
fn read_number(rest: &mut &[u8]) -> Option<i64> {
    let mut bits = 0_u64;
    for at in 0..9 {
        let (&byte, others) = rest.split_first()?;
        *rest = others;
        if at == 8 {
            bits |= u64::from(byte) << 56;
            break;
        }
        bits |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some((bits >> 1) as i64 ^ -((bits & 1) as i64))
}

/// The least value that is counted at a place: places up to 2047 are values themselves, and every
/// 1024 further ones are twice as wide as those before. None: beyond 64 bits.
fn value_at(place: u64) -> Option<u64> {
    if place < 2 * HALF {
        return Some(place);
    }
    let doublings = u32::try_from((place >> HALF_BITS) - 1).ok()?;
    let within = (place & (HALF - 1)) + HALF;
    (doublings < 64 - HALF_BITS - 1).then(|| within << doublings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::latency::encode;
    use crate::report::tally::new_histogram;

    fn encoded(values: &[(u64, u32)]) -> String {
        let mut histogram = new_histogram();
        for &(value, count) in values {
            histogram.record_n(value, count).unwrap();
        }
        encode(&histogram).unwrap()
    }

    #[test]
    fn counts_are_those_that_were_recorded_at_the_least_value_of_their_place() {
        let seen = [
            (1, 2),
            (900, 1),
            (2047, 3),
            (2048, 4),
            (4_097, 1),
            (1_234_567, 70_000),
        ];
        let text = encoded(&seen);
        let mut reader = Reader::new();
        let histogram = new_histogram();
        let expected: Vec<Counted> = seen
            .iter()
            .map(|&(value, count)| (histogram.lowest_equivalent(value), u64::from(count)))
            .collect();
        assert_eq!(reader.read(&text).unwrap(), expected);
        assert_eq!(
            reader.read(&encoded(&[(7, 1)])).unwrap(),
            [(7, 1)],
            "and it is used again"
        );
        let longest = 3_600_000_000_000;
        let [(value, 1)] = reader.read(&encoded(&[(longest, 1)])).unwrap() else {
            panic!("one count")
        };
        assert_eq!(*value, histogram.lowest_equivalent(longest));
    }

    #[test]
    fn what_is_not_as_ours_is_left_to_the_library() {
        let mut reader = Reader::new();
        let good = encoded(&[(1_000_000, 5), (3_000_000, 7)]);
        let mut bytes = STANDARD.decode(&good).unwrap();
        assert!(reader.read("no base64!").is_none());
        assert!(reader.read("").is_none());
        for cut in [3, 7, 9, bytes.len() - 3] {
            assert!(
                reader.read(&STANDARD.encode(&bytes[..cut])).is_none(),
                "cut at {cut}"
            );
        }
        bytes[12] ^= 0xff;
        assert!(reader.read(&STANDARD.encode(&bytes)).is_none());
        assert_eq!(
            reader.read(&good).unwrap().len(),
            2,
            "a bad one leaves nothing behind"
        );
    }
}
