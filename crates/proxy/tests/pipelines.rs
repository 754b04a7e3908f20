//! A pipeline is answered in its order, skipped behind an error, and timed answer by answer.

mod conversation;

use conversation::*;

#[test]
fn a_pipeline_is_answered_in_its_order_and_skipped_behind_an_error() {
    let batch = joined(&[
        &parse("", "select $1", &[23]),
        &bind("", "", &[Some(b"7")]),
        &execute(""),
        &parse("", "select bad", &[]),
        &bind("", "", &[]),
        &execute(""),
        SYNC,
        &parse("s1", "select 2", &[]),
        &bind("", "s1", &[None]),
        &execute(""),
        SYNC,
    ]);
    let turns = [
        (true, batch),
        (
            false,
            joined(&[PARSED, BOUND, &done(), &error("42601"), READY]),
        ),
        (false, joined(&[PARSED, BOUND, &done(), READY])),
        (
            true,
            joined(&[
                &bind("p", "s1", &[Some(b"")]),
                &execute("p"),
                &execute("p"),
                SYNC,
            ]),
        ),
        (false, joined(&[BOUND, b"s\0\0\0\x04", &done(), READY])),
    ];
    let whole = observed(&turns, 1000);
    assert_eq!(
        shown(&whole),
        [
            ("select $1", 0, 1),
            ("select bad", 1, 1),
            ("select bad", 4, 1),
            ("", 0, 2),
            ("", 0, 2),
            ("", 2, 2),
        ]
    );
    assert_eq!(whole[0].values, [Some(b"7".to_vec())]);
    assert_eq!(whole[3].values, [None]);
    assert_eq!(whole[3].number, 1);
    assert_eq!(whole[4].values, [Some(Vec::new())]);
    for piece in 1..60 {
        assert_eq!(observed(&turns, piece), whole);
    }
}

#[test]
fn what_is_sent_behind_an_error_is_skipped_until_a_sync() {
    let batch = |text: &str| joined(&[&parse("", text, &[]), &bind("", "", &[]), &execute("")]);
    let turns = [
        (true, batch("select bad")),
        (false, error("42601")),
        (true, joined(&[&batch("select 1"), SYNC])),
        (false, READY.to_vec()),
        (true, query("select 2")),
        (false, joined(&[&done(), READY])),
    ];
    let whole = observed(&turns, 1000);
    let [.., skipped, last] = &shown(&whole)[..] else {
        panic!("{whole:?}")
    };
    assert_eq!((skipped.1, skipped.2), (4, 1));
    assert_eq!(*last, ("select 2", 0, 0));
}

#[test]
fn a_statement_of_a_pipeline_takes_its_time_since_the_answer_before_it() {
    let turns = [
        (true, joined(&[&query("select 1"), &query("select 2")])),
        (false, joined(&[&done(), READY])),
        (false, joined(&[&done(), READY])),
        (false, Vec::new()),
    ];
    let times: Vec<_> = observed(&turns, 1000).iter().map(|n| n.took_ns).collect();
    assert_eq!(times, [100, 100]);
}
