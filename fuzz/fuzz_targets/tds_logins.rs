//! Fuzzes what precedes a session with SQL Server: any bytes end in one or an error, and the login
//! never goes out where encryption was wanted and not agreed on.
#![no_main]

use libfuzzer_sys::fuzz_target;
use steelyard_tds_wire::{Credentials, HandshakeUnwrapper, Prelogin, Privacy, Startup};

fuzz_target!(|input: &[u8]| {
    let [flags, size, split, bytes @ ..] = input else {
        return;
    };
    let privacy = match flags & 3 {
        0 => Privacy::None,
        1 => Privacy::Strict,
        _ => Privacy::Encrypted,
    };
    let (first, rest) = bytes.split_at(usize::from(*split).min(bytes.len()));
    let size = usize::from(*size).max(1);
    let mut unwrapper = HandshakeUnwrapper::default();
    let mut unwrapped = Vec::new();
    for chunk in bytes.chunks(size) {
        if unwrapper.feed(chunk, &mut unwrapped).is_err() {
            break;
        }
    }
    assert!(unwrapped.len() <= bytes.len());
    let Ok(Some(answer)) = Prelogin::read(first) else {
        return;
    };
    let plain = answer.agree(Privacy::None).is_ok();
    assert!(!(plain && answer.agree(Privacy::Encrypted).is_ok()));
    if answer.agree(privacy).is_err() {
        return;
    }
    let credentials = Credentials {
        user: "fuzz".to_owned(),
        database: "fuzz".to_owned(),
        password: "correct horse battery".to_owned(),
        server: "fuzz".to_owned(),
        program: "fuzz".to_owned(),
    };
    let mut startup = Startup::new(credentials, privacy);
    startup.begin().expect("no name is too long");
    for chunk in rest.chunks(size) {
        if !matches!(startup.feed(chunk), Ok(None)) {
            break;
        }
    }
});
