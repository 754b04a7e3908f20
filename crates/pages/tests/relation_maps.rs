//! A pg_filenode.map is taken as the server takes it, and refused for the reason that it has.

use std::fs;
use std::path::PathBuf;

use steelyard_pages::{crc32c, read_relation_map, MapFault};

fn map(slots: usize, entries: &[(u32, u32)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(0x0059_2717_u32.to_ne_bytes());
    bytes.extend((entries.len() as u32).to_ne_bytes());
    for number in 0..slots {
        let (oid, file) = entries.get(number).copied().unwrap_or((0, 0));
        bytes.extend(oid.to_ne_bytes());
        bytes.extend(file.to_ne_bytes());
    }
    let crc = crc32c(&bytes);
    bytes.extend(crc.to_ne_bytes());
    bytes
}

fn kept(name: &str, bytes: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("steelyard-map-{}-{name}", std::process::id()));
    fs::write(&path, bytes).unwrap();
    path
}

fn read(name: &str, bytes: &[u8], major: u32) -> Result<Vec<(u32, u32)>, MapFault> {
    let path = kept(name, bytes);
    let found = read_relation_map(&path, major).unwrap();
    fs::remove_file(path).unwrap();
    found
}

#[test]
fn entries_are_read_by_the_layout_of_the_version() {
    let entries = [(1259, 16401), (1249, 1249)];
    assert_eq!(read("new", &map(64, &entries), 18).unwrap(), entries);
    let mut padded = map(62, &entries);
    padded.extend([0; 4]); // the structure of 12 to 15 has 512 bytes
    assert_eq!(read("old", &padded, 15).unwrap(), entries);
    assert!(read("mixed", &padded, 18).is_err());
}

#[test]
fn what_the_server_would_refuse_is_refused_with_its_reason() {
    let whole = map(64, &[(1259, 16401)]);
    let short = read("short", &whole[..whole.len() - 1], 18).unwrap_err();
    assert_eq!(
        short,
        MapFault::Short {
            bytes: 523,
            needed: 524
        }
    );
    assert!(matches!(
        read("empty", &[], 18),
        Err(MapFault::Short { bytes: 0, .. })
    ));
    for (at, fault) in [(0, "magic"), (5, "entries"), (8, "CRC"), (520, "CRC")] {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x80;
        let told = read("damaged", &damaged, 18).unwrap_err().to_string();
        assert!(told.contains(fault), "{told}");
    }
    let mut many = whole;
    many[4..8].copy_from_slice(&65_u32.to_ne_bytes());
    assert_eq!(read("many", &many, 18), Err(MapFault::Count(65)));
}

#[test]
fn every_flipped_bit_of_what_the_crc_covers_is_seen() {
    let whole = map(64, &[(1259, 16401), (1260, 1260)]);
    for bit in 0..whole.len() * 8 {
        let mut damaged = whole.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(read("bit", &damaged, 18).is_err(), "bit {bit}");
    }
}

#[test]
fn a_pipe_in_its_place_is_no_map_and_does_not_block() {
    let path = std::env::temp_dir().join(format!("steelyard-pipe-{}", std::process::id()));
    let made = std::process::Command::new("mkfifo")
        .arg(&path)
        .status()
        .unwrap();
    assert!(made.success());
    let refused = read_relation_map(&path, 18).unwrap_err();
    fs::remove_file(path).unwrap();
    assert_eq!(refused.kind(), std::io::ErrorKind::InvalidInput);
}
