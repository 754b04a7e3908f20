//! Prelogin, TLS in packets and login: what tds-protocol writes and reads, and any bytes.

mod built;

use built::*;
use proptest::prelude::*;
use steelyard_tds_wire::{
    wrap_handshake, Credentials, HandshakeUnwrapper, Prelogin, Privacy, Session, Startup, WireError,
};
use tds_protocol::prelogin::{EncryptionLevel, PreLogin};
use tds_protocol::{Login7, TdsVersion};

fn credentials() -> Credentials {
    Credentials {
        user: "sa".to_owned(),
        database: "d".to_owned(),
        password: "Päss w0rd!".to_owned(),
        server: "db.example".to_owned(),
        program: "steelyard".to_owned(),
    }
}

#[test]
fn a_prelogin_is_read_by_tds_protocol() {
    for (privacy, level) in [
        (Privacy::None, EncryptionLevel::NotSupported),
        (Privacy::Encrypted, EncryptionLevel::On),
        (Privacy::Strict, EncryptionLevel::On),
    ] {
        let request = Prelogin::request(privacy);
        assert_eq!(request[..2], [0x12, 1]);
        let read = PreLogin::decode(&request[8..]).unwrap();
        assert_eq!(read.encryption, level);
        assert!(!read.mars);
    }
}

#[test]
fn plain_text_and_encryption_are_what_both_sides_mean() {
    use EncryptionLevel::{ClientCertReq, NotSupported, Off, On, Required};
    for (level, plain, encrypted) in [
        (Off, false, false),
        (On, false, true),
        (NotSupported, true, false),
        (Required, false, true),
        (ClientCertReq, false, true),
    ] {
        let answer = PreLogin::new().with_encryption(level).encode();
        let answer = Prelogin::read(&packet(&answer)).unwrap().unwrap();
        assert_eq!(answer.agree(Privacy::None).is_ok(), plain, "{level:?}");
        assert_eq!(
            answer.agree(Privacy::Encrypted).is_ok(),
            encrypted,
            "{level:?}"
        );
        assert!(answer.agree(Privacy::Strict).is_ok());
    }
}

#[test]
fn nothing_may_follow_the_answer_to_a_prelogin() {
    let answer = packet(&PreLogin::new().encode());
    assert_eq!(Prelogin::read(&answer[..9]), Ok(None));
    assert!(Prelogin::read(&[&answer[..], &[0]].concat()).is_err());
    assert!(Prelogin::read(&packet(&[0xff])).is_err()); // no word on encryption
    assert!(Prelogin::read(&packet(&[1, 0, 200, 0, 1, 0xff])).is_err()); // beyond the end
    let padded = |length: usize| {
        let mut content = PreLogin::new().encode().to_vec();
        content.resize(length, 0);
        Prelogin::read(&packet(&content))
    };
    assert!(padded(4000).is_ok());
    assert!(padded(5000).is_err());
    let endless = [4, 0, 0, 8, 0, 0, 0, 0].repeat(10_000);
    assert!(Prelogin::read(&endless).is_err());
}

#[test]
fn a_login_is_that_of_tds_protocol() {
    for (privacy, version) in [
        (Privacy::Encrypted, TdsVersion::V7_4),
        (Privacy::Strict, TdsVersion::V8_0),
    ] {
        let ours = Startup::new(credentials(), privacy).begin().unwrap();
        assert_eq!(ours[..2], [0x10, 1]);
        let mut login = Login7::new()
            .with_tds_version(version)
            .with_sql_auth("sa", "Päss w0rd!")
            .with_database("d")
            .with_server_name("db.example")
            .with_app_name("steelyard")
            .with_packet_size(4096);
        login.library_name = "steelyard".to_owned();
        let theirs = login.encode();
        // Neither the client's own numbers (12 to 24) nor the flags and the language (24 to 36).
        assert_eq!(ours[8..20], theirs[..12]);
        assert_eq!(ours[8 + 36..8 + 72], theirs[36..72]);
        assert_eq!(ours[8 + 94..], theirs[94..]);
    }
}

fn startup() -> Startup {
    Startup::new(credentials(), Privacy::Encrypted)
}

#[test]
fn the_server_lets_in_or_says_why_not() {
    let welcome = [let_in(0x7400_0004), packet_size("4096"), done(DONE, 0, 0)].concat();
    assert_eq!(
        startup().feed(&packet(&welcome)),
        Ok(Some(Session {
            id: 51,
            version: "16.0.1000".to_owned()
        }))
    );
    let refused = [
        error(18_456, 14, "Login failed for user 'sa'."),
        done(DONE, 2, 0),
    ]
    .concat();
    match startup().feed(&packet(&refused)) {
        Err(WireError::Refused(error)) => assert_eq!(error.number, 18_456),
        other => panic!("{other:?}"),
    }
    let elsewhere = [vec![20, 14, 0, 0, 0x99, 5], long("other"), vec![0, 0]].concat();
    for (content, words) in [
        (done(DONE, 0, 0), "neither accepts nor refuses"),
        (
            [let_in(0x7100_0001), done(DONE, 0, 0)].concat(),
            "older than SQL Server 2005",
        ),
        (
            [let_in(0x7400_0004), packet_size("512"), done(DONE, 0, 0)].concat(),
            "less than 4096",
        ),
        (
            [
                let_in(0x7400_0004),
                sized(0xe3, &elsewhere),
                done(DONE, 0, 0),
            ]
            .concat(),
            "host \"other\", port 1433",
        ),
    ] {
        let why = startup().feed(&packet(&content)).unwrap_err().to_string();
        assert!(why.contains(words), "{why}");
    }
}

#[test]
fn names_that_are_too_long_are_refused() {
    let mut asked = credentials();
    asked.user = "u".repeat(129);
    assert!(Startup::new(asked, Privacy::None).begin().is_err());
}

proptest! {
    #[test]
    fn a_handshake_goes_through_packets_unchanged(
        bytes in proptest::collection::vec(any::<u8>(), 0..10_000), cut in 1_usize..5000,
    ) {
        let mut wrapped = Vec::new();
        wrap_handshake(&bytes, &mut wrapped);
        let mut unwrapper = HandshakeUnwrapper::default();
        let mut out = Vec::new();
        for part in wrapped.chunks(cut) {
            unwrapper.feed(part, &mut out).unwrap();
        }
        prop_assert!(unwrapper.is_between_packets());
        prop_assert_eq!(out, bytes);
    }

    #[test]
    fn any_answer_ends_in_a_session_or_an_error(
        bytes in proptest::collection::vec(any::<u8>(), 0..300), content in any::<bool>(),
    ) {
        let bytes = if content && !bytes.is_empty() { packet(&bytes) } else { bytes };
        let _ = Prelogin::read(&bytes);
        let _ = startup().feed(&bytes);
        let _ = HandshakeUnwrapper::default().feed(&bytes, &mut Vec::new());
    }
}
