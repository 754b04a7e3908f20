//! Tests SCRAM and channel binding: which mechanism is chosen, and what is refused.

use steelyard_wire::{Binding, Channel, Credentials, Methods, Startup, WireError};

fn startup(channel: Channel) -> Startup {
    let credentials = Credentials {
        user: "alice".to_owned(),
        database: "steelyard".to_owned(),
        password: Some("secret".to_owned()),
        application_name: "tests".to_owned(),
        options: String::new(),
        settings: Vec::new(),
    };
    Startup::through(credentials, channel)
}

fn encrypted(binding: Binding) -> Channel {
    Channel {
        encrypted: true,
        end_point: Some(vec![7; 32]),
        binding,
    }
}

fn authentication(request: u32, rest: &[u8]) -> Vec<u8> {
    let mut bytes = vec![b'R'];
    bytes.extend_from_slice(&(rest.len() as u32 + 8).to_be_bytes());
    bytes.extend_from_slice(&request.to_be_bytes());
    bytes.extend_from_slice(rest);
    bytes
}

const BOTH: &[u8] = b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0";
const PLAIN: &[u8] = b"SCRAM-SHA-256\0\0";

/// What is said first to a server that offers these mechanisms.
fn first(channel: Channel, offered: &[u8]) -> Result<String, WireError> {
    let mut out = Vec::new();
    startup(channel).feed(&authentication(10, offered), &mut out)?;
    Ok(String::from_utf8_lossy(&out[5..]).into_owned())
}

#[test]
fn a_proof_is_bound_to_the_channel_where_both_sides_can() {
    let plain = Channel::default();
    for (channel, offered, mechanism, header) in [
        (
            encrypted(Binding::Prefer),
            BOTH,
            "SCRAM-SHA-256-PLUS\0",
            "p=tls-server-end-point,,",
        ),
        (
            encrypted(Binding::Require),
            BOTH,
            "SCRAM-SHA-256-PLUS\0",
            "p=tls-server-end-point,,",
        ),
        // We can and the server does not offer: it must hear that, lest somebody hid the offer.
        (encrypted(Binding::Prefer), PLAIN, "SCRAM-SHA-256\0", "y,,"),
        (encrypted(Binding::Disable), BOTH, "SCRAM-SHA-256\0", "n,,"),
        (plain, PLAIN, "SCRAM-SHA-256\0", "n,,"),
    ] {
        let said = first(channel, offered).unwrap();
        assert!(said.starts_with(mechanism), "{said:?}");
        assert!(said[mechanism.len() + 4..].starts_with(header), "{said:?}");
    }
}

#[test]
fn a_certificate_without_a_hash_binds_nothing() {
    let channel = |binding| Channel {
        end_point: None,
        ..encrypted(binding)
    };
    let said = first(channel(Binding::Prefer), BOTH).unwrap();
    assert!(said.contains("n,,"));
    assert!(first(channel(Binding::Require), BOTH).is_err());
}

#[test]
fn a_required_binding_is_never_given_up() {
    for message in [
        authentication(0, b""),
        authentication(3, b""),
        authentication(5, &[1, 2, 3, 4]),
        authentication(10, PLAIN),
    ] {
        let mut out = Vec::new();
        let refused = startup(encrypted(Binding::Require)).feed(&message, &mut out);
        let refused = refused.unwrap_err();
        assert!(refused.to_string().contains("channel binding is required"));
        assert!(out.is_empty(), "nothing that helps a stranger is said");
    }
}

#[test]
fn an_offer_of_binding_without_encryption_is_a_sign_of_somebody_in_between() {
    let refused = first(Channel::default(), BOTH).unwrap_err();
    assert!(refused.to_string().contains("without encryption"));
}

#[test]
fn a_second_exchange_is_out_of_order() {
    let mut startup = startup(Channel::default());
    let mut out = Vec::new();
    startup.feed(&authentication(10, PLAIN), &mut out).unwrap();
    assert!(startup.feed(&authentication(10, PLAIN), &mut out).is_err());
}

#[test]
fn what_is_not_accepted_is_not_answered() {
    let (trust, password, md5, sasl) = (
        authentication(0, b""),
        authentication(3, b""),
        authentication(5, &[1, 2, 3, 4]),
        authentication(10, PLAIN),
    );
    for (said, accepted, refused) in [
        ("none", vec![&trust], vec![&password, &md5, &sasl]),
        ("scram-sha-256", vec![&sasl], vec![&trust, &password, &md5]),
        ("password, md5", vec![&password, &md5], vec![&trust, &sasl]),
        ("!none", vec![&password, &md5, &sasl], vec![&trust]),
        ("!password,!md5", vec![&trust, &sasl], vec![&password, &md5]),
        ("gss", vec![], vec![&trust, &password, &md5, &sasl]),
    ] {
        let feed = |message: &[u8]| {
            let methods = Methods::parse(said).unwrap();
            let mut out = Vec::new();
            let fed = startup(Channel::default())
                .accepting(methods)
                .feed(message, &mut out);
            (fed.map(drop), out)
        };
        for message in accepted {
            assert!(feed(message).0.is_ok(), "{said}");
        }
        for message in refused {
            let (fed, out) = feed(message);
            assert!(fed.unwrap_err().to_string().contains(said));
            assert!(out.is_empty());
        }
    }
    for invalid in ["", "md5,!none", "bogus", "!"] {
        assert!(Methods::parse(invalid).is_err(), "{invalid}");
    }
}

/// What is said to a server whose challenge asks for these iterations.
fn challenged(iterations: &str) -> Result<(), WireError> {
    let mut startup = startup(Channel::default());
    let mut out = Vec::new();
    startup.feed(&authentication(10, PLAIN), &mut out)?;
    let begun = String::from_utf8_lossy(&out).into_owned();
    let nonce = &begun[begun.find("r=").unwrap()..];
    let challenge = format!("{nonce}more,s=c2FsdHNhbHQ=,i={iterations}");
    startup
        .feed(&authentication(11, challenge.as_bytes()), &mut out)
        .map(drop)
}

#[test]
fn more_iterations_than_are_computed_are_refused_with_both_numbers() {
    assert!(challenged("4096").is_ok());
    assert!(challenged("100000").is_ok());
    for iterations in ["100001", "2000000000", "4294967295", "99999999999999999999"] {
        let refused = challenged(iterations).unwrap_err().to_string();
        let words = format!("asks for {iterations} SCRAM iterations: at most 100000 are computed");
        assert!(refused.contains(&words), "{refused}");
        assert!(refused.contains("scram_iterations"), "{refused}");
    }
}

#[test]
fn a_challenge_without_a_number_of_iterations_is_a_violation_and_is_not_quoted() {
    for iterations in ["", "-1", "1e9", "many", &"9".repeat(4096)] {
        let refused = challenged(iterations).unwrap_err();
        assert!(matches!(refused, WireError::Malformed(_)), "{refused}");
        assert!(refused.to_string().len() < 200);
    }
}
