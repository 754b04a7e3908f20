//! Tests handshakes: successful ones, refused ones, and impostors.

use proptest::prelude::*;
use steelyard_wire::{Credentials, Startup, WireError};

fn credentials(password: Option<&str>) -> Credentials {
    Credentials {
        user: "alice".to_owned(),
        database: "steelyard".to_owned(),
        password: password.map(str::to_owned),
        application_name: "tests".to_owned(),
        options: String::new(),
        settings: Vec::new(),
    }
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

fn authentication(request: u32, rest: &[u8]) -> Vec<u8> {
    message(b'R', &[&request.to_be_bytes(), rest].concat())
}

fn welcome() -> Vec<u8> {
    [
        message(b'S', b"server_version\x0018.4\0"),
        message(b'K', &[0, 0, 1, 0, 0, 0, 0, 7]),
        message(b'Z', b"I"),
    ]
    .concat()
}

#[test]
fn the_startup_message_names_user_and_database() {
    let bytes = Startup::new(credentials(None)).begin().unwrap();
    assert_eq!(&bytes[4..8], &[0, 3, 0, 0]);
    assert_eq!(
        u32::from_be_bytes(bytes[..4].try_into().unwrap()) as usize,
        bytes.len()
    );
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.contains("user\0alice\0") && text.contains("database\0steelyard\0"));
}

#[test]
fn trust_gives_a_session_byte_by_byte() {
    let mut startup = Startup::new(credentials(None));
    let bytes = [authentication(0, b""), welcome()].concat();
    let (last, head) = bytes.split_last().unwrap();
    let mut out = Vec::new();
    for byte in head {
        assert_eq!(startup.feed(&[*byte], &mut out).unwrap(), None);
    }
    let session = startup.feed(&[*last], &mut out).unwrap().unwrap();
    assert_eq!((session.process_id, session.secret_key), (256, 7));
    assert_eq!(session.parameters["server_version"], "18.4");
    assert!(out.is_empty());
}

/// The parameters of a StartupMessage, in order.
fn parameters(bytes: &[u8]) -> Vec<(String, String)> {
    let body = &bytes[8..bytes.len() - 2];
    let words: Vec<_> = body.split(|&byte| byte == 0).collect();
    let text = |word: &[u8]| String::from_utf8(word.to_vec()).unwrap();
    let pairs = words.chunks_exact(2);
    pairs.map(|pair| (text(pair[0]), text(pair[1]))).collect()
}

#[test]
fn settings_are_sent_each_once_and_the_encoding_is_utf8_where_they_have_none() {
    let sent = |settings: &[(&str, &str)]| {
        let mut credentials = credentials(None);
        credentials.options = "-c a=b".to_owned();
        let own = settings.iter();
        let own = own.map(|(name, value)| (name.to_string(), value.to_string()));
        credentials.settings = own.collect();
        let bytes = Startup::new(credentials).begin().unwrap();
        parameters(&bytes).split_off(3)
    };
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let options = pair("options", "-c a=b");
    assert_eq!(
        sent(&[]),
        [options.clone(), pair("client_encoding", "UTF8")]
    );
    assert_eq!(
        sent(&[("client_encoding", "LATIN1"), ("geqo", "off")]),
        [
            options,
            pair("client_encoding", "LATIN1"),
            pair("geqo", "off")
        ]
    );
}

#[test]
fn what_may_come_at_any_time_may_come_behind_the_handshake() {
    for behind in [
        message(b'N', b"SNOTICE\0C00000\0Mhello\0\0"),
        message(b'S', b"TimeZone\0UTC\0"),
        message(b'A', b"\0\0\0\x07channel\0\0"),
    ] {
        let bytes = [authentication(0, b""), welcome(), behind].concat();
        // However the bytes are cut; a cut at the end of the handshake leaves the rest for later.
        let end = bytes.len();
        let handshake = authentication(0, b"").len() + welcome().len();
        for cut in (1..end).filter(|&cut| cut != handshake) {
            let mut startup = Startup::new(credentials(None));
            let mut out = Vec::new();
            assert_eq!(startup.feed(&bytes[..cut], &mut out).unwrap(), None);
            let session = startup.feed(&bytes[cut..], &mut out).unwrap().unwrap();
            assert_eq!(session.process_id, 256, "cut at {cut}");
        }
    }
}

#[test]
fn a_server_that_ends_behind_the_handshake_has_its_words_shown() {
    let report = message(b'E', b"SFATAL\0VFATAL\0C57P01\0Mshutting down\0\0");
    let bytes = [authentication(0, b""), welcome(), report].concat();
    let refused = Startup::new(credentials(None))
        .feed(&bytes, &mut Vec::new())
        .unwrap_err();
    assert_eq!(refused.sqlstate(), "57P01");
    assert!(refused.to_string().contains("shutting down"));
}

#[test]
fn an_answer_that_nothing_asked_for_is_a_violation_behind_the_handshake() {
    for kind in *b"TDCZRKv" {
        let bytes = [authentication(0, b""), welcome(), message(kind, b"I")].concat();
        let refused = Startup::new(credentials(None)).feed(&bytes, &mut Vec::new());
        assert!(matches!(refused, Err(WireError::Malformed(_))));
    }
}

#[test]
fn cleartext_and_md5_passwords_are_sent() {
    // The hash of user alice, password secret, salt 1 2 3 4 by PostgreSQL's rule.
    for (request, sent) in [
        (authentication(3, b""), &b"secret\0"[..]),
        (authentication(5, &[1, 2, 3, 4]), b"md5"),
    ] {
        let mut out = Vec::new();
        let mut startup = Startup::new(credentials(Some("secret")));
        startup.feed(&request, &mut out).unwrap();
        assert_eq!(out[0], b'p');
        assert!(out[5..].starts_with(sent));
    }
}

#[test]
fn a_missing_password_is_said() {
    let mut startup = Startup::new(credentials(None));
    let refused = startup
        .feed(&authentication(3, b""), &mut Vec::new())
        .unwrap_err();
    assert!(refused.to_string().contains("asks for a password"));
}

#[test]
fn a_refusal_keeps_the_servers_words() {
    let report = message(b'E', b"SFATAL\0VFATAL\0C3D000\0Mno such database\0\0");
    let refused = Startup::new(credentials(None))
        .feed(&report, &mut Vec::new())
        .unwrap_err();
    assert_eq!(refused.sqlstate(), "3D000");
    assert!(refused.to_string().contains("no such database"));
}

#[test]
fn a_server_that_cannot_start_a_session_has_its_words_shown() {
    let mut startup = Startup::new(credentials(None));
    let (mut out, bytes) = (Vec::new(), b"Ecould not fork new process\n\0");
    let (head, last) = bytes.split_at(9);
    assert_eq!(startup.feed(head, &mut out).unwrap(), None);
    let error = startup.feed(last, &mut out).unwrap_err();
    assert_eq!(error.sqlstate(), "08004");
    assert!(error
        .to_string()
        .contains("FATAL: could not fork new process"));
}

#[test]
fn an_impossible_length_is_not_waited_for_as_if_it_were_words() {
    for bytes in [b"E\x7f\xff\xff\xff and so on".as_slice(), b"E\x01no such"] {
        let error = Startup::new(credentials(None)).feed(bytes, &mut Vec::new());
        assert!(error.unwrap_err().to_string().contains("impossible length"));
    }
}

#[test]
fn a_mysql_server_is_named() {
    let greeting = b"\x4a\0\0\0\x0a8.0.31\0\x01\0\0\0";
    for length in [0x4a, b'E', b'R', b'N'] {
        let bytes = [&[length], &greeting[1..]].concat();
        let error = Startup::new(credentials(None)).feed(&bytes, &mut Vec::new());
        assert!(error
            .unwrap_err()
            .to_string()
            .contains("a greeting of MySQL"));
    }
}

#[test]
fn what_is_no_postgresql_is_shown_and_said_to_be_none() {
    for (bytes, line) in [
        (
            b"HTTP/1.1 400 Bad Request\r\n".as_slice(),
            "HTTP/1.1 400 Bad Request",
        ),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "SSH-2.0-OpenSSH_9.2"),
        (b"-ERR unknown command\r\n", "-ERR unknown command"),
    ] {
        let error = Startup::new(credentials(None)).feed(bytes, &mut Vec::new());
        let shown = error.unwrap_err().to_string();
        assert!(shown.contains(&format!("\"{line}\", which is not PostgreSQL's protocol")));
    }
    for bytes in [b"N\0\0\0\x05\0".as_slice(), b"EFATAL:  no fork\n"] {
        let taken = Startup::new(credentials(None)).feed(bytes, &mut Vec::new());
        assert_eq!(taken.unwrap(), None);
    }
}

#[test]
fn words_without_a_code_are_shown_in_the_violation() {
    let report = message(b'E', b"SFATAL\0Mno code here\0\0");
    let refused = Startup::new(credentials(None))
        .feed(&report, &mut Vec::new())
        .unwrap_err();
    assert!(matches!(refused, WireError::Malformed(_)));
    assert!(refused.to_string().contains("no code here"));
}

#[test]
fn a_server_that_skips_its_own_scram_proof_is_not_believed() {
    let mut startup = Startup::new(credentials(Some("secret")));
    let mut out = Vec::new();
    startup
        .feed(&authentication(10, b"SCRAM-SHA-256\0\0"), &mut out)
        .unwrap();
    assert!(out.windows(13).any(|part| part == b"SCRAM-SHA-256"));
    let refused = startup.feed(&authentication(0, b""), &mut out).unwrap_err();
    assert!(matches!(refused, WireError::Authentication(_)));
}

#[test]
fn a_server_cannot_ask_for_endless_hashing() {
    let mut startup = Startup::new(credentials(Some("secret")));
    let mut out = Vec::new();
    startup
        .feed(&authentication(10, b"SCRAM-SHA-256\0\0"), &mut out)
        .unwrap();
    let text = String::from_utf8_lossy(&out);
    let nonce = text.split("r=").nth(1).unwrap().to_owned();
    let step = format!("r={nonce}x,s=c2FsdA==,i=4294967295");
    let refused = startup.feed(&authentication(11, step.as_bytes()), &mut out);
    assert!(matches!(refused, Err(WireError::Authentication(_))));
}

#[test]
fn a_session_without_authentication_is_a_violation() {
    let refused = Startup::new(credentials(None))
        .feed(&welcome(), &mut Vec::new())
        .unwrap_err();
    assert!(matches!(refused, WireError::Malformed(_)));
}

#[test]
fn unsupported_methods_are_named_as_such() {
    for request in [2, 6, 7, 9] {
        let mut startup = Startup::new(credentials(Some("secret")));
        assert!(startup
            .feed(&authentication(request, &[0; 4]), &mut Vec::new())
            .is_err());
    }
}

#[test]
fn an_endless_handshake_ends() {
    let mut startup = Startup::new(credentials(None));
    let mut out = Vec::new();
    startup.feed(&authentication(0, b""), &mut out).unwrap();
    let parameter = message(
        b'S',
        &[b"a\0".as_slice(), &vec![b'x'; 60_000], b"\0"].concat(),
    );
    let refused = (0..1000).find_map(|_| startup.feed(&parameter, &mut out).err());
    assert!(matches!(refused, Some(WireError::Malformed(_))));
}

proptest! {
    #[test]
    fn any_bytes_end_in_a_session_or_an_error(
        authenticated in any::<bool>(),
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..120), 0..6),
    ) {
        let mut startup = Startup::new(credentials(Some("secret")));
        let mut out = Vec::new();
        if authenticated {
            startup.feed(&authentication(0, b""), &mut out).unwrap();
        }
        for chunk in chunks {
            if startup.feed(&chunk, &mut out).is_err() {
                break;
            }
        }
    }

    #[test]
    fn any_scram_step_is_answered_or_refused(
        steps in prop::collection::vec(
            (10u32..13, prop::collection::vec(any::<u8>(), 0..80)),
            1..4,
        ),
    ) {
        let mut startup = Startup::new(credentials(Some("secret")));
        let mut out = Vec::new();
        startup.feed(&authentication(10, b"SCRAM-SHA-256\0\0"), &mut out).unwrap();
        for (request, body) in steps {
            if startup.feed(&authentication(request, &body), &mut out).is_err() {
                break;
            }
        }
    }
}
