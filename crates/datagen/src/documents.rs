//! Generates documents of JSON with numbers, words, nested objects, an array and a longer text.

use crate::encoder::Encoder;
use crate::random::Random;
use crate::source::{ByRow, Parameters, Source};

const ROWS_PER_SCALE: u64 = 1_000;
/// Documents of each customer: a query by containment knows how many come.
const OF_A_CUSTOMER: u64 = 10;
const STATUS: [&str; 5] = ["new", "paid", "packed", "sent", "closed"];
const NOTE: usize = 400;

/// `documents`: a key, how often it was edited, and the document, which says that too.
pub fn source<E: Encoder>(table: &str, given: &Parameters) -> Option<Box<dyn Source<E>>> {
    if table != "documents" {
        return None;
    }
    let (seed, rows) = (given.seed, given.scale.max(0) as u64 * ROWS_PER_SCALE);
    let customers = rows / OF_A_CUSTOMER;
    Some(Box::new(ByRow {
        rows,
        width: NOTE as u64 + 300,
        row: move |row: u64, out: &mut E| {
            let mut random = Random::of(seed, 1, row);
            let mut space = [0u8; NOTE];
            let status = STATUS[random.between(0, STATUS.len() as i64 - 1) as usize];
            let tags = [(); 3].map(|()| random.between(1, 1_000));
            let [city, zip] = [(1, 500), (10_000, 99_999)].map(|(a, b)| random.between(a, b));
            let known = format!(
                "{{\"customer\": {}, \"status\": \"{status}\", \"tags\": [{}, {}, {}], \
                 \"counters\": {{\"edits\": 0, \"views\": {}}}, \
                 \"address\": {{\"city\": \"city {city}\", \"zip\": \"{zip}\"}}, \"note\": \"",
                row % customers + 1,
                tags[0],
                tags[1],
                tags[2],
                random.between(0, 9_999),
            );
            out.start_row(3);
            out.int8(row as i64 + 1);
            out.int4(0);
            let note = random.letters(&mut space, NOTE, NOTE);
            out.json(&[known.as_bytes(), note, b"\"}"]);
        },
    }))
}
