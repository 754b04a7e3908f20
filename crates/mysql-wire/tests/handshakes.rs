//! Handshakes, with mysql_common as the server that writes greetings and reads our responses.

use mysql_common::constants::{CapabilityFlags, StatusFlags};
use mysql_common::io::ParseBuf;
use mysql_common::packets::{HandshakePacket, HandshakeResponse};
use mysql_common::proto::MySerialize;
use steelyard_mysql_wire::{Channel, Credentials, Greeting, Startup, WireError};

const NONCE: [u8; 20] = *b"abcdefgh12345678-_.!";

fn packet(number: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = (payload.len() as u32).to_le_bytes()[..3].to_vec();
    out.push(number);
    out.extend_from_slice(payload);
    out
}

fn greeting_bytes(plugin: &'static str, more: CapabilityFlags) -> Vec<u8> {
    let flags = CapabilityFlags::CLIENT_PROTOCOL_41
        | CapabilityFlags::CLIENT_SECURE_CONNECTION
        | CapabilityFlags::CLIENT_TRANSACTIONS
        | CapabilityFlags::CLIENT_PLUGIN_AUTH
        | CapabilityFlags::CLIENT_CONNECT_ATTRS
        | CapabilityFlags::CLIENT_CONNECT_WITH_DB
        | more;
    let mut second = NONCE[8..].to_vec();
    second.push(0);
    let sent = HandshakePacket::new(
        10,
        &b"5.7.29"[..],
        42,
        NONCE[..8].try_into().unwrap(),
        Some(second),
        flags,
        33,
        StatusFlags::SERVER_STATUS_AUTOCOMMIT,
        Some(plugin.as_bytes()),
    );
    let mut payload = Vec::new();
    sent.serialize(&mut payload);
    packet(0, &payload)
}

fn greeting(plugin: &'static str) -> Greeting {
    let bytes = greeting_bytes(plugin, CapabilityFlags::empty());
    Greeting::read(&bytes).unwrap().unwrap()
}

fn credentials(password: &str) -> Credentials {
    Credentials {
        user: "weigher".to_owned(),
        database: "steelyard".to_owned(),
        password: password.to_owned(),
        program: "steelyard".to_owned(),
    }
}

fn startup(plugin: &'static str, password: &str, channel: Channel) -> Startup {
    Startup::new(greeting(plugin), credentials(password), channel)
}

/// OK without anything to say.
fn welcome(number: u8) -> Vec<u8> {
    packet(number, &[0, 0, 0, 2, 0, 0, 0])
}

#[test]
fn a_response_is_read_by_mysql_common_as_it_was_meant() {
    let sent = startup("mysql_native_password", "secret", Channel::Plain)
        .begin()
        .unwrap();
    assert_eq!(sent[3], 1);
    let read: HandshakeResponse = ParseBuf(&sent[4..]).parse(()).unwrap();
    assert_eq!(read.user(), b"weigher");
    assert_eq!(read.db_name(), Some(&b"steelyard"[..]));
    assert_eq!(read.collation(), 45);
    let proof = mysql_common::scramble::scramble_native(&NONCE, b"secret").unwrap();
    assert_eq!(read.scramble_buf(), proof);
    assert_eq!(
        read.connect_attributes().unwrap()["program_name"],
        "steelyard"
    );
    assert!(!read
        .capabilities()
        .contains(CapabilityFlags::CLIENT_DEPRECATE_EOF));
}

#[test]
fn a_session_has_the_servers_number_and_version() {
    let mut startup = startup("mysql_native_password", "", Channel::Plain);
    startup.begin().unwrap();
    let mut out = Vec::new();
    let session = startup.feed(&welcome(2), &mut out).unwrap().unwrap();
    assert_eq!(
        (session.connection_id, session.version.as_str()),
        (42, "5.7.29")
    );
    assert!(out.is_empty());
}

#[test]
fn a_greeting_is_awaited_until_it_is_whole_however_it_is_cut() {
    let bytes = greeting_bytes("caching_sha2_password", CapabilityFlags::CLIENT_SSL);
    for end in 0..bytes.len() {
        assert_eq!(Greeting::read(&bytes[..end]), Ok(None));
    }
    assert!(Greeting::read(&bytes).unwrap().unwrap().encrypts());
}

#[test]
fn a_server_may_switch_to_another_plugin_with_another_nonce() {
    let mut startup = startup("caching_sha2_password", "secret", Channel::Plain);
    startup.begin().unwrap();
    let other = *b"ABCDEFGHIJ0123456789";
    let switch = [&b"\xfemysql_native_password\0"[..], &other, b"\0"].concat();
    let mut out = Vec::new();
    assert_eq!(startup.feed(&packet(2, &switch), &mut out), Ok(None));
    let proof = mysql_common::scramble::scramble_native(&other, b"secret").unwrap();
    assert_eq!(out, packet(3, &proof));
    out.clear();
    assert!(startup.feed(&welcome(4), &mut out).unwrap().is_some());
}

#[test]
fn caching_sha2_goes_on_by_its_cache_or_by_the_password_where_that_is_safe() {
    let mut cached = startup("caching_sha2_password", "secret", Channel::Plain);
    let both = [packet(2, &[1, 3]), welcome(3)].concat();
    let mut out = Vec::new();
    assert!(cached.feed(&both, &mut out).unwrap().is_some());
    assert!(out.is_empty());

    for channel in [Channel::Local, Channel::Encrypted, Channel::Verified] {
        let mut safe = startup("caching_sha2_password", "secret", channel);
        out.clear();
        assert_eq!(safe.feed(&packet(2, &[1, 4]), &mut out), Ok(None));
        assert_eq!(out, packet(3, b"secret\0"));
    }

    let refused = startup("caching_sha2_password", "secret", Channel::Plain)
        .feed(&packet(2, &[1, 4]), &mut Vec::new())
        .unwrap_err();
    assert!(refused
        .to_string()
        .contains("which only goes through a Unix"));
}

#[test]
fn the_password_itself_goes_where_it_is_certain_who_reads_it() {
    let switch = packet(2, b"\xfemysql_clear_password\0");
    for channel in [Channel::Local, Channel::Verified] {
        let mut out = Vec::new();
        let mut certain = startup("mysql_native_password", "secret", channel);
        assert_eq!(certain.feed(&switch, &mut out), Ok(None));
        assert_eq!(out, packet(3, b"secret\0"));
    }
    for channel in [Channel::Plain, Channel::Encrypted] {
        let mut out = Vec::new();
        let refused = startup("mysql_native_password", "secret", channel)
            .feed(&switch, &mut out)
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains("whose certificate is verified"),
            "{refused}"
        );
        assert!(out.is_empty());
    }
}

#[test]
fn a_plugin_that_is_not_known_is_named() {
    let refused = startup("mysql_native_password", "x", Channel::Local)
        .feed(&packet(2, b"\xfeclient_ed25519\0nonce"), &mut Vec::new())
        .unwrap_err();
    assert!(refused
        .to_string()
        .contains("authentication by client_ed25519"));
}

#[test]
fn a_refusal_is_told_in_the_servers_words() {
    let said = b"\xff\x15\x04#28000Access denied for user 'weigher'";
    let refused = startup("mysql_native_password", "x", Channel::Local)
        .feed(&packet(2, said), &mut Vec::new())
        .unwrap_err();
    let WireError::Refused(error) = refused else {
        panic!("{refused}");
    };
    assert_eq!((error.code, error.sqlstate.as_str()), (1045, "28000"));
    assert_eq!(error.message, "Access denied for user 'weigher'");
    // Before the handshake there is no SQLSTATE.
    let full = Greeting::read(&packet(0, b"\xff\x10\x04Too many connections")).unwrap_err();
    assert!(full
        .to_string()
        .contains("Too many connections (1040 HY000)"));
}

#[test]
fn a_connection_that_is_encrypted_says_so_first_and_counts_on() {
    let bytes = greeting_bytes("mysql_native_password", CapabilityFlags::CLIENT_SSL);
    let greeting = Greeting::read(&bytes).unwrap().unwrap();
    let request = greeting.request_encryption(&credentials(""));
    assert_eq!(request.len(), 4 + 32);
    assert_eq!(request[3], 1);
    assert_ne!(request[5] & 0x08, 0, "CLIENT_SSL");
    let response = Startup::new(greeting, credentials(""), Channel::Encrypted)
        .begin()
        .unwrap();
    assert_eq!(response[3], 2);
    assert_ne!(response[5] & 0x08, 0);
}

#[test]
fn what_is_no_handshake_is_refused() {
    for (bytes, said) in [
        (packet(0, b"\x09old"), "speaks protocol 9"),
        (packet(0, b"\x0a5.7"), "lengths do not fit"),
        (packet(0, &[7; 5000]), "a packet of 5000 bytes"),
        (
            [packet(0, b"\x0a5.7"), vec![1]].concat(),
            "more than a greeting",
        ),
    ] {
        let refused = Greeting::read(&bytes).unwrap_err().to_string();
        assert!(refused.contains(said), "{refused}");
    }
    for (bytes, said) in [
        (packet(2, b""), "lengths do not fit"),
        (packet(2, &[1, 9]), "lengths do not fit"),
        (packet(2, &[5]), "lengths do not fit"),
        ([welcome(2), welcome(3)].concat(), "more than a handshake"),
        (vec![0xff; 70_000], "without an end"),
    ] {
        let refused = startup("mysql_native_password", "", Channel::Plain)
            .feed(&bytes, &mut Vec::new())
            .unwrap_err()
            .to_string();
        assert!(refused.contains(said), "{refused}");
    }
    let mut named = credentials("");
    named.user = "a\0b".to_owned();
    assert!(Startup::new(greeting(""), named, Channel::Plain)
        .begin()
        .is_err());
}
