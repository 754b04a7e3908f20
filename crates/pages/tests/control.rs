//! Tests that a control file is edited only where it may be, and that damage in it is found.

use steelyard_pages::{crc32c, set_checksum_version, ControlError, ControlFile};

const KNOWN: [u32; 5] = [1201, 1300, 1700, 1800, 1905];

/// Where the checksum version and the CRC stand.
fn offsets(version: u32) -> (usize, usize) {
    match version {
        1905 => (268, 308),
        1800 => (252, 292),
        _ => (252, 288),
    }
}

/// A stopped cluster's file of the given version, all other fields zero.
fn control(version: u32) -> Vec<u8> {
    let (checksums, crc_at) = offsets(version);
    let mut bytes = vec![0u8; 8192];
    bytes[8..12].copy_from_slice(&version.to_ne_bytes());
    bytes[16..20].copy_from_slice(&1u32.to_ne_bytes());
    bytes[checksums..checksums + 4].copy_from_slice(&1u32.to_ne_bytes());
    let crc = crc32c(&bytes[..crc_at]);
    bytes[crc_at..crc_at + 4].copy_from_slice(&crc.to_ne_bytes());
    bytes
}

#[test]
fn crc32c_gives_the_published_check_value() {
    assert_eq!(crc32c(b"123456789"), 0xE306_9283);
}

#[test]
fn switching_off_and_on_again_gives_the_same_bytes() {
    for version in KNOWN {
        let before = control(version);
        let mut file = ControlFile::from_bytes(before.clone()).expect("known");
        file.set_checksum_version(0, None).expect("off");
        assert_eq!(
            (file.checksum_version(), file.stored_crc()),
            (0, file.computed_crc())
        );
        let differing = before
            .iter()
            .zip(file.as_bytes())
            .filter(|(a, b)| a != b)
            .count();
        assert!((2..=5).contains(&differing), "{differing} bytes differ");
        file.set_checksum_version(1, None).expect("on");
        assert_eq!(file.as_bytes(), before);
    }
}

#[test]
fn any_flipped_bit_before_the_crc_is_refused() {
    for version in [1800, 1905] {
        for at in (0..offsets(version).1 * 8).filter(|bit| !(64..96).contains(bit)) {
            let mut bytes = control(version);
            bytes[at / 8] ^= 1 << (at % 8);
            let mut file = ControlFile::from_bytes(bytes).expect("known");
            let refused = file.set_checksum_version(0, None);
            assert!(
                matches!(refused, Err(ControlError::BadCrc { .. })),
                "bit {at} of {version}"
            );
        }
    }
}

#[test]
fn what_initdb_was_given_is_not_taken_for_what_is_on_now() {
    let mut bytes = control(1905);
    bytes[264..268].copy_from_slice(&1u32.to_ne_bytes());
    bytes[268..272].copy_from_slice(&0u32.to_ne_bytes());
    let file = ControlFile::from_bytes(bytes).expect("known");
    assert!(matches!(file.checksums(), Ok(false)));
}

#[test]
fn a_state_between_off_and_on_is_neither() {
    for version in KNOWN {
        for state in [2u32, 3, u32::MAX] {
            let (at, _) = offsets(version);
            let mut bytes = control(version);
            bytes[at..at + 4].copy_from_slice(&state.to_ne_bytes());
            let file = ControlFile::from_bytes(bytes).expect("known");
            assert!(matches!(
                file.checksums(),
                Err(ControlError::UnknownChecksumVersion(found)) if found == state
            ));
        }
    }
}

#[test]
fn a_running_cluster_an_unknown_version_and_a_short_file_are_refused() {
    let mut running = control(1800);
    running[16..20].copy_from_slice(&6u32.to_ne_bytes());
    let crc = crc32c(&running[..292]);
    running[292..296].copy_from_slice(&crc.to_ne_bytes());
    let error = ControlFile::from_bytes(running)
        .expect("known")
        .set_checksum_version(0, None);
    assert!(error
        .expect_err("running")
        .to_string()
        .contains("\"in production\""));

    let unknown = ControlFile::from_bytes(control(2000)).expect_err("unknown");
    assert!(matches!(unknown, ControlError::UnknownVersion(2000)));
    for length in [0, 11, 12, 295] {
        let short = ControlFile::from_bytes(control(1800)[..length].to_vec());
        assert!(matches!(short, Err(ControlError::Short(_))), "{length}");
    }
    let other = ControlFile::from_bytes(control(1800))
        .expect("known")
        .set_checksum_version(2, None);
    assert!(matches!(
        other,
        Err(ControlError::UnknownChecksumVersion(2))
    ));
}

#[test]
fn a_missing_file_is_an_input_output_error() {
    let missing = std::env::temp_dir().join("steelyard-no-such-control-file");
    assert!(matches!(
        set_checksum_version(&missing, 0, None),
        Err(ControlError::Io(_))
    ));
}
