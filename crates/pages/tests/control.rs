//! Tests that a control file is edited only where it may be, and that damage in it is found.

use steelyard_pages::{crc32c, set_checksum_version, ControlError, ControlFile};

const CHECKSUM_VERSION: usize = 252;

/// A stopped cluster's file of the given version, all other fields zero.
fn control(version: u32) -> Vec<u8> {
    let crc_at = if version == 1800 { 292 } else { 288 };
    let mut bytes = vec![0u8; 8192];
    bytes[8..12].copy_from_slice(&version.to_ne_bytes());
    bytes[16..20].copy_from_slice(&1u32.to_ne_bytes());
    bytes[CHECKSUM_VERSION..CHECKSUM_VERSION + 4].copy_from_slice(&1u32.to_ne_bytes());
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
    for version in [1201, 1300, 1700, 1800] {
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
    for at in (0..292 * 8).filter(|bit| !(64..96).contains(bit)) {
        let mut bytes = control(1800);
        bytes[at / 8] ^= 1 << (at % 8);
        let mut file = ControlFile::from_bytes(bytes).expect("known");
        let refused = file.set_checksum_version(0, None);
        assert!(
            matches!(refused, Err(ControlError::BadCrc { .. })),
            "bit {at}"
        );
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

    let unknown = ControlFile::from_bytes(control(1900)).expect_err("unknown");
    assert!(matches!(unknown, ControlError::UnknownVersion(1900)));
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
