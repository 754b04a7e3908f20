//! Tests that the checksums of a whole cluster are written, or none of it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use steelyard_pages::{seal_cluster, Fault, SealOptions, Sealed};

use crate::made::{options, plant, scanned, Made, PAGE, SEGMENT_BLOCKS, VERSION};

const OPTIONS: SealOptions = SealOptions {
    page_bytes: PAGE,
    segment_blocks: SEGMENT_BLOCKS,
    threads: 3,
};

/// Takes the checksums off the pages of a file.
fn unseal(path: &Path) {
    let pages = fs::metadata(path).expect("there").len() as usize / PAGE;
    (0..pages).for_each(|page| plant(path, page * PAGE + 8, &[0, 0]));
}

#[test]
fn every_page_of_every_tablespace_gets_its_checksum_and_an_empty_one_none() {
    let made = Made::new();
    let elsewhere = Made::new();
    fs::create_dir_all(elsewhere.0.join(VERSION).join("5")).expect("made");
    symlink(&elsewhere.0, made.0.join("pg_tblspc/16499")).expect("linked");
    let full = SEGMENT_BLOCKS;
    let first = made.relation("base/5/16384", 0, full, 7);
    for path in [
        &first,
        &made.relation("base/5/16384.1", full, 3, 7),
        &made.relation("global/1260_vm", 0, 2, 7),
        &elsewhere.relation(&format!("{VERSION}/5/16500"), 0, 4, 7),
    ] {
        unseal(path);
    }
    plant(&first, PAGE, &[0; PAGE]);
    let (wrong, _) = scanned(&made.walk().segments, &options(1));
    assert_eq!(wrong.len(), full as usize - 1 + 3 + 2 + 4);
    assert!(wrong.iter().all(|(_, _, fault)| *fault == Fault::Checksum));
    for changed in [wrong.len() as u64, 0] {
        let done = seal_cluster(&made.0, VERSION, OPTIONS).expect("sealed");
        let pages = wrong.len() as u64;
        assert_eq!(done, Sealed { pages, changed });
        let (wrong, blocks) = scanned(&made.walk().segments, &options(1));
        assert_eq!((wrong, blocks), (vec![], pages + 1));
    }
}

#[test]
fn where_a_part_cannot_be_entered_nothing_is_written() {
    let unmounted = Made::new();
    for (link, target, label) in [
        (
            "pg_tblspc/16500",
            unmounted.0.to_str().expect("a name"),
            format!("pg_tblspc/16500/{VERSION}"),
        ),
        ("base/7", "nowhere", "base/7".to_owned()),
        ("base/5/16399", "16399", "base/5/16399".to_owned()),
    ] {
        let made = Made::new();
        let path = made.relation("base/5/16384", 0, 3, 7);
        unseal(&path);
        let before = fs::read(&path).expect("read");
        symlink(target, made.0.join(link)).expect("linked");
        let (named, _) = seal_cluster(&made.0, VERSION, OPTIONS).expect_err("refused");
        assert_eq!(named, label);
        assert_eq!(fs::read(&path).expect("read"), before);
    }
    let nowhere = unmounted.0.join("nowhere");
    let (named, _) = seal_cluster(&nowhere, VERSION, OPTIONS).expect_err("refused");
    assert!(named.ends_with("nowhere"), "{named}");
}
