//! What is noted of a conversation is what the server executed, however its bytes are cut.

mod conversation;

use conversation::*;
use steelyard_proxy::Observer;

#[test]
fn simple_statements_end_with_the_server_being_ready() {
    let turns = [
        (true, query("select 1")),
        (false, joined(&[&done(), &done(), READY])),
        (true, query("select x")),
        (false, joined(&[&error("42703"), READY])),
        (true, query("select pg_sleep(9)")),
    ];
    let whole = observed(&turns, 1000);
    assert_eq!(
        shown(&whole),
        [
            ("select 1", 0, 0),
            ("select x", 1, 0),
            ("select pg_sleep(9)", 5, 0)
        ]
    );
    assert_eq!(whole[0].took_ns, 100);
    for piece in 1..40 {
        assert_eq!(observed(&turns, piece), whole);
    }
}

/// What was noted, a letter each: T, a transaction begins; Q, a statement; others are left out.
fn kinds(notes: &[u8]) -> String {
    let (mut at, mut all) = (0, String::new());
    while at < notes.len() {
        if matches!(notes[at], b'T' | b'Q') {
            all.push(char::from(notes[at]));
        }
        at += 5 + u32_at(notes, at + 1);
    }
    all
}

/// Messages by a letter each. Of a client: e, an execution; q, a simple statement; S. Of a
/// server: d and c, their answers; x, an error; otherwise that it is ready, and where it stands.
fn messages(letters: &str) -> Vec<u8> {
    let each = letters.bytes().map(|letter| match letter {
        b'e' => joined(&[&bind("", "s1", &[]), &execute("")]),
        b'q' => query("select 1"),
        b'S' => SYNC.to_vec(),
        b'd' => joined(&[BOUND, &done()]),
        b'c' => done(),
        b'x' => error("22012"),
        state => message(b'Z', &[state]),
    });
    each.collect::<Vec<_>>().concat()
}

#[test]
fn what_one_sync_ends_is_one_transaction_unless_a_block_is_open() {
    for (client, server, wanted) in [
        ("eSeS", "dIdI", "TQTQ"),
        ("eeeSeS", "dddIdI", "TQQQTQ"),
        ("eSeSeSeS", "dTdEdIdI", "TQQQTQ"),
        // The second is refused, and what follows it skipped.
        ("eeeSeS", "dxIdI", "TQQQQTQ"),
        ("qqeSqeS", "cIcTdTcIdI", "QQTQQTQ"),
    ] {
        for piece in [1, 7, 1000] {
            let mut observer = Observer::new(b"u\0d\0a\0");
            observer.from_server(WELCOME, 0);
            observer.from_client(&joined(&[&parse("s1", "select 2", &[]), SYNC]), 1);
            observer.from_server(&joined(&[PARSED, READY]), 2);
            observer.from_client(&messages(client), 3);
            let mut notes = Vec::new();
            for part in messages(server).chunks(piece) {
                observer.from_server(part, 4);
                notes.extend(observer.take_notes().bytes);
            }
            assert_eq!(kinds(&notes), wanted, "{client} {server}");
        }
    }
}

#[test]
fn a_commit_that_fails_at_sync_fails_its_statement_also_where_notes_were_taken() {
    let mut observer = Observer::new(b"u\0d\0a\0");
    observer.from_server(WELCOME, 0);
    let batch = [
        &parse("", "insert", &[])[..],
        &bind("", "", &[]),
        &execute(""),
        SYNC,
    ]
    .concat();
    observer.from_client(&batch, 10);
    observer.from_server(&[PARSED, BOUND, &done()].concat(), 20);
    let first = observer.take_notes();
    observer.from_server(&[&error("23503")[..], READY].concat(), 30);
    let second = observer.take_notes();
    assert_eq!((first.statements, second.statements), (0, 1));
    assert_eq!(shown(&read(&first.bytes)), []);
    assert_eq!(shown(&read(&second.bytes)), [("insert", 1, 1)]);
}

#[test]
fn a_sync_that_copy_ignores_has_no_answer() {
    let turns = [
        (
            true,
            joined(&[
                &parse("", "copy t from stdin", &[]),
                &bind("", "", &[]),
                &execute(""),
                SYNC,
            ]),
        ),
        (false, joined(&[PARSED, BOUND, &message(b'G', &[0, 0, 0])])),
        (
            true,
            joined(&[&message(b'd', b"row\n"), &message(b'c', b""), SYNC]),
        ),
        (false, joined(&[&done(), READY])),
        (true, query("select 3")),
        (false, joined(&[&done(), READY])),
    ];
    assert_eq!(
        shown(&observed(&turns, 7)),
        [("copy t from stdin", 0, 1), ("select 3", 0, 0)]
    );
}

#[test]
fn nothing_of_an_authentication_is_noted() {
    let mut observer = Observer::new(b"u\0d\0a\0");
    observer.from_server(&message(b'R', &[0, 0, 0, 3]), 1);
    observer.from_client(&message(b'p', b"hunter2\0"), 2);
    observer.from_server(WELCOME, 3);
    observer.end(4);
    let bytes = observer.take_notes().bytes;
    assert!(!bytes.windows(7).any(|part| part == b"hunter2"));
}

#[test]
fn what_is_too_long_is_known_as_cut() {
    let long = "x".repeat(2 << 20);
    let turns = [
        (true, query(&long)),
        (false, joined(&[&done(), READY])),
        (
            true,
            joined(&[
                &parse("", "select $1", &[]),
                &bind("", "", &[Some(long.as_bytes())]),
                &execute(""),
                SYNC,
            ]),
        ),
        (false, joined(&[PARSED, BOUND, &done(), READY])),
        (true, query("select 1")),
        (false, joined(&[&done(), READY])),
    ];
    let noted = observed(&turns, 1 << 16);
    assert_eq!(
        noted.iter().map(|one| one.flags).collect::<Vec<_>>(),
        [1, 2, 0]
    );
    assert_eq!(noted[0].text.len(), 1 << 20);
    assert!(noted[1].values.is_empty());
}

#[test]
fn any_bytes_are_followed_or_given_up_without_a_panic() {
    let mut state = 88_172_645_463_325_252_u64;
    let mut draw = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let kinds = b"QPBDECFSHXp12tTnCsIGHWZENRSKAv3VdcfD";
    for _ in 0..3000 {
        let mut observer = Observer::new(b"u\0d\0a\0");
        observer.from_server(WELCOME, 0);
        for _ in 0..draw() % 30 {
            let kind = kinds[(draw() % kinds.len() as u64) as usize];
            let body: Vec<u8> = (0..draw() % 24).map(|_| (draw() % 4) as u8).collect();
            let bytes = message(kind, &body);
            match draw() % 2 {
                0 => observer.from_client(&bytes, draw() % 1000),
                _ => observer.from_server(&bytes, draw() % 1000),
            }
            if draw() % 5 == 0 {
                read(&observer.take_notes().bytes);
            }
        }
        observer.end(1000);
        read(&observer.take_notes().bytes);
    }
}
