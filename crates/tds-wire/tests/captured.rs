//! A request whose result is captured has one, whatever its reply leaves out.

mod built;

use built::*;
use steelyard_tds_wire::{CapturedResult, Scanner};

#[test]
fn a_procedure_that_counts_nothing_and_returns_no_rows_has_a_result_without_rows() {
    const RETURN_STATUS: [u8; 5] = [0x79, 0, 0, 0, 0];
    let rowless = [CapturedResult::default()];
    let counted = done(DONE_IN_PROCEDURE, COUNTED | MORE, 1);
    let end = [&RETURN_STATUS[..], &done(DONE_PROCEDURE, 0, 0)].concat();
    let mut scanner = Scanner::new();
    for content in [&end[..], &[&counted[..], &end].concat(), &done(DONE, 0, 0)] {
        for share in [1, 7, 30_000] {
            scanner.expect_reply();
            scanner.capture_results();
            assert_eq!(scanner.scan(&packets(content, share)), Ok(true));
            assert_eq!(scanner.take_captured(), rowless, "{content:?}");
            // Where nothing is captured, nothing is.
            scanner.expect_reply();
            assert_eq!(scanner.scan(&packets(content, share)), Ok(true));
            assert!(scanner.take_captured().is_empty());
        }
    }
}
