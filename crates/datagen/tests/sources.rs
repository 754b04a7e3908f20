//! Tests what must hold of every table of every generator: bytes, counts and sums.

use std::collections::{BTreeMap, BTreeSet};

use steelyard_datagen::{chunks, digest_of, find, Encoder, Lines, Parameters, Stream, Tuples};

const TABLES: [(&str, &str); 31] = [
    ("pgbench", "pgbench_accounts"),
    ("tproc-c", "item"),
    ("tproc-c", "warehouse"),
    ("tproc-c", "district"),
    ("tproc-c", "customer"),
    ("tproc-c", "history"),
    ("tproc-c", "stock"),
    ("tproc-c", "orders"),
    ("tproc-c", "new_order"),
    ("tproc-c", "order_line"),
    ("reserva", "banks"),
    ("reserva", "users"),
    ("reserva", "permissions"),
    ("reserva", "tokens"),
    ("reserva", "accounts"),
    ("reserva", "cards"),
    ("tproc-h", "region"),
    ("tproc-h", "nation"),
    ("tproc-h", "supplier"),
    ("tproc-h", "customer"),
    ("tproc-h", "part"),
    ("tproc-h", "partsupp"),
    ("tproc-h", "orders"),
    ("tproc-h", "lineitem"),
    ("keyed", "source_rows"),
    ("keyed", "measurements"),
    ("sysbench", "sbtest1"),
    ("ycsb", "usertable"),
    ("queue", "jobs"),
    ("jsonb", "documents"),
    ("time-series", "readings"),
];

fn parameters(seed: u64) -> Parameters {
    Parameters {
        scale: 1,
        seed,
        options: BTreeMap::new(),
    }
}

fn stream(generator: &str, table: &str, seed: u64, threads: usize) -> (Vec<u8>, Stream) {
    encoded::<Tuples>(generator, table, seed, threads)
}

fn encoded<E: Encoder>(
    generator: &str,
    table: &str,
    seed: u64,
    threads: usize,
) -> (Vec<u8>, Stream) {
    let source = find::<E>(generator, table, &parameters(seed)).expect("a source");
    let mut stream = Stream::new(source, threads);
    let bytes = stream.by_ref().flatten().collect();
    (bytes, stream)
}

#[test]
fn one_thread_and_eight_make_the_same_bytes() {
    for (generator, table) in TABLES {
        let (alone, one) = stream(generator, table, 7, 1);
        let (together, eight) = stream(generator, table, 7, 8);
        assert!(!alone.is_empty() && alone == together, "{table}");
        assert_eq!(one.digest, eight.digest, "{table}");
        assert_eq!(one.control_sum, eight.control_sum, "{table}");
    }
}

#[test]
fn parts_are_the_bytes_sums_and_digest_of_the_whole() {
    for (generator, table) in TABLES {
        let (whole, one) = stream(generator, table, 7, 2);
        let source = || find::<Tuples>(generator, table, &parameters(7)).expect("a source");
        let all = chunks(&*source());
        let middle = all / 3 + 1;
        let (mut bytes, mut digests, mut rows, mut sum) = (Vec::new(), Vec::new(), 0, 0i64);
        for part in [0..1, 1..middle, middle..all + 5] {
            let mut part = Stream::part(source(), part, 2);
            bytes.extend(part.by_ref().flatten());
            digests.extend(&part.chunk_digests);
            rows += part.rows;
            sum = sum.wrapping_add(part.control_sum);
        }
        assert!(bytes == whole, "{table}");
        assert_eq!(digests.len() as u64, all, "{table}");
        assert_eq!(
            (digest_of(digests), rows, sum),
            (one.digest, one.rows, one.control_sum),
            "{table}"
        );
    }
}

#[test]
fn as_many_rows_come_as_were_announced() {
    for (generator, table) in TABLES {
        let announced = find::<Tuples>(generator, table, &parameters(7))
            .expect("a source")
            .rows();
        let (bytes, sent) = stream(generator, table, 7, 2);
        assert_eq!(sent.rows, announced, "{table}");
        assert_eq!(tuples(&bytes), announced, "{table}");
    }
}

#[test]
fn lines_hold_the_fields_of_the_tuples() {
    for (generator, table) in TABLES {
        let (bytes, copied) = stream(generator, table, 7, 2);
        let (text, sent) = encoded::<Lines>(generator, table, 7, 2);
        assert_eq!(sent.rows, copied.rows, "{table}");
        assert_eq!(sent.control_sum, copied.control_sum, "{table}");
        let lines = text.strip_suffix(b"\n").expect("an end of the last line");
        let mut count = 0;
        for (line, tuple) in lines.split(|byte| *byte == b'\n').zip(fields(&bytes)) {
            count += 1;
            let shown: Vec<&[u8]> = line.split(|byte| *byte == b'\t').collect();
            assert_eq!(shown.len(), tuple.len(), "{table}");
            for (shown, field) in shown.into_iter().zip(tuple) {
                assert!(is_same(shown, &field), "{table}: {shown:?}, not {field:?}");
            }
        }
        assert_eq!(count, copied.rows, "{table}");
    }
}

/// Whether a field of a line says what a field of a tuple does: as text, an integer, or else (a
/// date, a numeric) at least with digits. A NULL is empty among `fields`.
fn is_same(shown: &[u8], field: &[u8]) -> bool {
    let number = std::str::from_utf8(shown)
        .ok()
        .and_then(|text| text.parse::<i64>().ok());
    let whole = match field.len() {
        1 => Some(i64::from(field[0])),
        2 => field
            .try_into()
            .ok()
            .map(|two| i16::from_be_bytes(two).into()),
        4 => field
            .try_into()
            .ok()
            .map(|four| i32::from_be_bytes(four).into()),
        8 => field.try_into().ok().map(i64::from_be_bytes),
        _ => None,
    };
    match field {
        b"" => matches!(shown, b"" | b"\\N"),
        [1, json @ ..] if shown == json => true,
        _ if shown == field || whole.is_some() && number == whole => true,
        _ => !shown.is_empty() && shown.iter().all(|byte| b"0123456789-:. ".contains(byte)),
    }
}

#[test]
fn another_seed_makes_other_rows_and_another_digest() {
    for table in ["customer", "stock", "order_line", "orders"] {
        let (one, two) = (
            stream("tproc-c", table, 7, 2),
            stream("tproc-c", table, 8, 2),
        );
        assert_ne!(one.0, two.0, "{table}");
        assert_ne!(one.1.digest, two.1.digest, "{table}");
    }
}

#[test]
fn a_stream_that_nobody_reads_to_its_end_leaves_no_thread_waiting() {
    let source = find::<Tuples>("tproc-c", "stock", &parameters(1)).expect("a source");
    let mut stream = Stream::new(source, 4);
    assert!(stream.next().is_some());
    drop(stream); // the threads' channels are closed with it
}

#[test]
fn every_customer_has_one_order_by_the_specification() {
    let source = find::<Tuples>("tproc-c", "orders", &parameters(7)).expect("a source");
    let mut out = Tuples::default();
    source.write(0..3_000, &mut out);
    let mut customers: Vec<i32> = fields(&out.bytes)
        .iter()
        .map(|row| i32::from_be_bytes(row[3].clone().try_into().expect("an int4")))
        .collect();
    customers.sort_unstable();
    assert!(customers.into_iter().eq(1..=3_000));
}

#[test]
fn orders_of_hammerdb_are_of_customers_from_their_own_number_on_and_half_have_none() {
    let hammerdb = Parameters {
        options: BTreeMap::from([("profile".to_owned(), "hammerdb".to_owned())]),
        ..parameters(7)
    };
    let source = find::<Tuples>("tproc-c", "orders", &hammerdb).expect("a source");
    let mut out = Tuples::default();
    source.write(0..30_000, &mut out);
    let mut customers = BTreeSet::new();
    for (at, row) in fields(&out.bytes).iter().enumerate() {
        let [order, customer] = [&row[1], &row[3]]
            .map(|field| i32::from_be_bytes(field.clone().try_into().expect("an int4")));
        assert!((order..=3_000).contains(&customer), "{order} {customer}");
        customers.insert((at / 3_000, customer));
    }
    assert!(
        (14_500..15_500).contains(&customers.len()),
        "{}",
        customers.len()
    );
}

/// How many tuples these bytes are.
fn tuples(bytes: &[u8]) -> u64 {
    fields(bytes).len() as u64
}

/// The fields of each tuple; NULL is empty.
fn fields(mut bytes: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let mut rows = Vec::new();
    while !bytes.is_empty() {
        let count = i16::from_be_bytes([bytes[0], bytes[1]]);
        bytes = &bytes[2..];
        let mut row = Vec::new();
        for _ in 0..count {
            let length = i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            let end = 4 + length.max(0) as usize;
            row.push(bytes[4..end].to_vec());
            bytes = &bytes[end..];
        }
        rows.push(row);
    }
    rows
}
