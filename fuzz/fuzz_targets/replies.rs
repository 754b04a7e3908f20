//! Fuzzes replies: any bytes end without a panic, and read the same however the stream is cut.
#![no_main]

use libfuzzer_sys::fuzz_target;
use steelyard_wire::{row_values, CapturedResult, Scanner};

/// What a caller can see of a reply.
type Seen = (u64, bool, u8, Option<String>, Vec<CapturedResult>);

fuzz_target!(|input: &[u8]| {
    let [flags, size, bytes @ ..] = input else {
        return;
    };
    let whole = scan(*flags, bytes, bytes.len().max(1));
    let cut = scan(*flags, bytes, usize::from(*size).max(1));
    // Where the stream goes wrong, what was seen before may differ: a connection is lost then.
    assert_eq!(whole.is_ok(), cut.is_ok());
    if let (Ok(whole), Ok(cut)) = (whole, cut) {
        assert_eq!(whole, cut);
    }
});

fn scan(flags: u8, bytes: &[u8], size: usize) -> Result<Seen, ()> {
    let mut scanner = Scanner::new();
    scanner.expect_reply();
    if flags & 1 != 0 {
        scanner.capture_results();
    }
    scanner.expect_syncs(u32::from(flags >> 1 & 3));
    for chunk in bytes.chunks(size) {
        scanner.scan(chunk).map_err(drop)?;
    }
    let captured = scanner.take_captured();
    for result in &captured {
        let _ = row_values(&result.last);
    }
    let error = scanner.take_error().map(|error| error.sqlstate);
    let reply = scanner.reply();
    Ok((reply.rows, reply.parsed, reply.status, error, captured))
}
