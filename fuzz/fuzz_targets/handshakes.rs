//! Fuzzes the handshake: any bytes end in a session or an error, and never in less security than
//! required.
#![no_main]

use libfuzzer_sys::fuzz_target;
use steelyard_wire::{Binding, Channel, Credentials, Methods, Startup};

fuzz_target!(|input: &[u8]| {
    let [flags, size, bytes @ ..] = input else {
        return;
    };
    let binding = match flags & 3 {
        0 => Binding::Disable,
        1 => Binding::Require,
        _ => Binding::Prefer,
    };
    let channel = Channel {
        encrypted: flags & 4 != 0,
        end_point: (flags & 12 == 12).then(|| vec![7; 32]),
        binding,
    };
    let credentials = Credentials {
        user: "fuzz".to_owned(),
        database: "fuzz".to_owned(),
        password: (flags & 16 == 0).then(|| "secret".to_owned()),
        application_name: "fuzz".to_owned(),
        options: String::new(),
        settings: Vec::new(),
    };
    let scram_only = flags & 32 != 0;
    let accepted = if scram_only { "scram-sha-256" } else { "!gss" };
    let methods = Methods::parse(accepted).expect("these names are known");
    let mut startup = Startup::through(credentials, channel).accepting(methods);
    let mut out = startup.begin().expect("these names can be sent");
    for chunk in bytes.chunks(usize::from(*size).max(1)) {
        match startup.feed(chunk, &mut out) {
            Ok(None) => {}
            // Random bytes do not prove knowledge of the password.
            Ok(Some(_)) => return assert!(binding != Binding::Require && !scram_only),
            Err(_) => return,
        }
    }
});
