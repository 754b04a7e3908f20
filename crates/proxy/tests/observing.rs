//! What is noted of a conversation is what the server executed, however its bytes are cut.

use steelyard_proxy::Observer;

/// A message of either side.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

fn parse(name: &str, text: &str, types: &[u32]) -> Vec<u8> {
    let mut body = format!("{name}\0{text}\0").into_bytes();
    body.extend_from_slice(&(types.len() as u16).to_be_bytes());
    for one in types {
        body.extend_from_slice(&one.to_be_bytes());
    }
    message(b'P', &body)
}

fn bind(portal: &str, name: &str, values: &[Option<&[u8]>]) -> Vec<u8> {
    let mut body = format!("{portal}\0{name}\0").into_bytes();
    body.extend_from_slice(&[0, 1, 0, 1]);
    body.extend_from_slice(&(values.len() as u16).to_be_bytes());
    for value in values {
        let length = value.map_or(-1, |bytes| bytes.len() as i32);
        body.extend_from_slice(&length.to_be_bytes());
        body.extend_from_slice(value.unwrap_or_default());
    }
    body.extend_from_slice(&[0, 0]);
    message(b'B', &body)
}

fn execute(portal: &str) -> Vec<u8> {
    message(b'E', format!("{portal}\0\0\0\0\0").as_bytes())
}

fn error(code: &str) -> Vec<u8> {
    message(b'E', format!("SERROR\0C{code}\0Mno\0\0").as_bytes())
}

const SYNC: &[u8] = b"S\0\0\0\x04";
const READY: &[u8] = b"Z\0\0\0\x05I";
const PARSED: &[u8] = b"1\0\0\0\x04";
const BOUND: &[u8] = b"2\0\0\0\x04";
const WELCOME: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";

fn query(text: &str) -> Vec<u8> {
    message(b'Q', format!("{text}\0").as_bytes())
}

fn done() -> Vec<u8> {
    message(b'C', b"SELECT 1\0")
}

/// A statement as it was noted: text or number, outcome, protocol, flags, time, values.
#[derive(Debug, PartialEq, Eq)]
struct Noted {
    text: String,
    number: u32,
    became: u8,
    sent: u8,
    flags: u8,
    took_ns: u64,
    values: Vec<Option<Vec<u8>>>,
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

fn u16_at(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap()))
}

fn read(notes: &[u8]) -> Vec<Noted> {
    let (mut at, mut all) = (0, Vec::new());
    while at < notes.len() {
        let (kind, length) = (notes[at], u32_at(notes, at + 1));
        let body = &notes[at + 5..at + 5 + length];
        at += 5 + length;
        if kind != b'Q' {
            continue;
        }
        let number = u32_at(body, 19);
        let (mut place, mut text) = (23, String::new());
        if number == 0 {
            place += 2 + 4 * u16_at(body, place);
            let length = u32_at(body, place);
            let bytes = &body[place + 4..place + 4 + length];
            text = String::from_utf8(bytes.to_vec()).unwrap();
            place += 4 + length;
        }
        let count = u16_at(body, place);
        place += 2;
        let mut values = Vec::new();
        for _ in 0..count {
            let length = u32_at(body, place + 1) as u32 as i32;
            place += 5;
            let bytes = usize::try_from(length).ok();
            values.push(bytes.map(|length| body[place..place + length].to_vec()));
            place += bytes.unwrap_or(0);
        }
        assert_eq!(place, body.len());
        all.push(Noted {
            text,
            number: number as u32,
            took_ns: u64::from_le_bytes(body[8..16].try_into().unwrap()),
            sent: body[16],
            became: body[17],
            flags: body[18],
            values,
        });
    }
    all
}

/// Both sides' bytes in turn, each at its own time, in pieces of so many bytes.
fn observed(turns: &[(bool, Vec<u8>)], piece: usize) -> Vec<Noted> {
    let mut observer = Observer::new(b"u\0d\0a\0");
    observer.from_server(WELCOME, 0);
    for (at, (is_client, bytes)) in turns.iter().enumerate() {
        for part in bytes.chunks(piece) {
            match is_client {
                true => observer.from_client(part, 100 * (at as u64 + 1)),
                false => observer.from_server(part, 100 * (at as u64 + 1)),
            }
        }
    }
    assert!(observer.is_readable());
    observer.end(10_000);
    read(&observer.take_notes().bytes)
}

fn shown(noted: &[Noted]) -> Vec<(&str, u8, u8)> {
    let each = noted.iter();
    each.map(|one| (one.text.as_str(), one.became, one.sent))
        .collect()
}

fn joined(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

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
