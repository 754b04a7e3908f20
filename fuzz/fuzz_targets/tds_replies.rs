//! Fuzzes SQL Server's replies: any bytes end without a panic, and read the same however they are
//! cut.
#![no_main]

use libfuzzer_sys::fuzz_target;
use steelyard_tds_wire::{row_values, Scanner};

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

fn scan(flags: u8, bytes: &[u8], size: usize) -> Result<String, ()> {
    let mut scanner = Scanner::new();
    if flags & 1 != 0 {
        scanner.expect_reply();
    }
    if flags & 2 != 0 {
        scanner.expect_attention();
    }
    if flags & 4 != 0 {
        scanner.capture_results();
    }
    for chunk in packets(flags, bytes).chunks(size) {
        scanner.scan(chunk).map_err(drop)?;
    }
    for result in &scanner.reply().captured {
        row_values(&result.last).expect("what was kept can be read");
    }
    Ok(format!("{:?}", scanner.reply()))
}

/// As they are, or as the content of small packets, so that tokens come to be looked at.
fn packets(flags: u8, bytes: &[u8]) -> Vec<u8> {
    if flags & 8 == 0 {
        return bytes.to_vec();
    }
    let share = 1 + usize::from(flags >> 4) * 7;
    let parts = bytes.len().div_ceil(share);
    let mut out = Vec::new();
    for (number, part) in bytes.chunks(share).enumerate() {
        let length = part.len() as u8 + 8;
        out.extend([4, u8::from(number + 1 == parts), 0, length, 0, 9, 1, 0]);
        out.extend_from_slice(part);
    }
    out
}
