//! Fuzzes MySQL's replies: any bytes end without a panic, and read the same however they are cut.
#![no_main]

use libfuzzer_sys::fuzz_target;
use steelyard_mysql_wire::{row_values, Scanner};

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
    let prepares = usize::from(flags >> 4);
    match flags & 3 {
        0 => scanner.expect_result(false),
        1 => scanner.expect_result(true),
        others => scanner.expect_prepared(prepares, others == 3),
    }
    if flags & 4 != 0 {
        scanner.capture_results();
    }
    for chunk in bytes.chunks(size) {
        scanner.scan(chunk).map_err(drop)?;
    }
    for result in &scanner.reply().captured {
        let _ = row_values(&result.last);
    }
    Ok(format!("{:?}", scanner.reply()))
}
