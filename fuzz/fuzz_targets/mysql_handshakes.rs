//! Fuzzes MySQL's handshake: any bytes end in a session or an error, and the password never goes
//! out as it is where somebody could read it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use steelyard_mysql_wire::{Channel, Credentials, Greeting, Startup};

const PASSWORD: &str = "correct horse battery";

fuzz_target!(|input: &[u8]| {
    let [flags, size, split, bytes @ ..] = input else {
        return;
    };
    let (first, rest) = bytes.split_at(usize::from(*split).min(bytes.len()));
    let Ok(Some(greeting)) = Greeting::read(first) else {
        return;
    };
    let credentials = Credentials {
        user: "fuzz".to_owned(),
        database: if flags & 1 != 0 { "fuzz" } else { "" }.to_owned(),
        password: PASSWORD.to_owned(),
        program: "fuzz".to_owned(),
    };
    let channel = match flags & 6 {
        0 => Channel::Plain,
        2 => Channel::Encrypted,
        4 => Channel::Local,
        _ => Channel::Verified,
    };
    let mut startup = Startup::new(greeting, credentials, channel);
    let Ok(mut out) = startup.begin() else {
        return;
    };
    for chunk in rest.chunks(usize::from(*size).max(1)) {
        if !matches!(startup.feed(chunk, &mut out), Ok(None)) {
            break;
        }
    }
    let said = out
        .windows(PASSWORD.len())
        .any(|part| part == PASSWORD.as_bytes());
    assert!(channel != Channel::Plain || !said);
});
