//! Tests walk, scan and recheck on made-up data directories.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use steelyard_pages::crc32c;
use steelyard_pages::innodb::{
    page_crc32, recheck, scan, walk, Carried, Fault, Found, Options, Progress, Scanned,
};

const PAGE: usize = 4096;
/// Flags of pages of 4 kB.
const FLAGS: u32 = 3 << 6 | 0x21;

struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("innodb-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("d")).expect("a directory can be made");
        Self(path)
    }

    fn write(&self, name: &str, pages: &[Vec<u8>]) {
        fs::write(self.0.join(name), pages.concat()).expect("it can be written");
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A sound page of a tablespace of `count` pages.
fn page(space: u32, number: u32, count: u32) -> Vec<u8> {
    let mut page: Vec<u8> = (0..PAGE)
        .map(|at| (at * 7 + number as usize) as u8)
        .collect();
    page[4..8].copy_from_slice(&number.to_be_bytes());
    page[26..34].fill(0);
    page[24..26].copy_from_slice(&17855u16.to_be_bytes());
    page[34..38].copy_from_slice(&space.to_be_bytes());
    if number == 0 {
        page[46..50].copy_from_slice(&count.to_be_bytes());
        page[54..58].copy_from_slice(&FLAGS.to_be_bytes());
    }
    seal(&mut page);
    page
}

fn seal(page: &mut [u8]) {
    page.copy_within(20..24, PAGE - 4);
    let checksum = page_crc32(page).to_be_bytes();
    page[..4].copy_from_slice(&checksum);
    page[PAGE - 8..PAGE - 4].copy_from_slice(&checksum);
}

fn pages(space: u32, count: u32) -> Vec<Vec<u8>> {
    (0..count)
        .map(|number| page(space, number, count))
        .collect()
}

/// A sound tablespace under full_crc32, whose pages behind the first are `hidden`: encrypted or
/// compressed, so that other bytes stand where the tablespace's number would be.
fn full_crc32(space: u32, count: u32, hidden: impl Fn(u32, &mut [u8])) -> Vec<Vec<u8>> {
    let page = |number: u32| {
        let mut page = vec![0; PAGE];
        page[4..8].copy_from_slice(&number.to_be_bytes());
        page[24..26].copy_from_slice(&17855u16.to_be_bytes());
        if number == 0 {
            page[34..38].copy_from_slice(&space.to_be_bytes());
            page[46..50].copy_from_slice(&count.to_be_bytes());
            page[54..58].copy_from_slice(&(1u32 << 4 | 3).to_be_bytes());
        } else {
            hidden(number, &mut page);
        }
        let kind = u16::from_be_bytes([page[24], page[25]]);
        let end = match kind >> 15 {
            0 => PAGE - 4,
            _ => (usize::from(kind & 0x7fff) << 8) - 4,
        };
        let checksum = crc32c(&page[..end]);
        page[end..end + 4].copy_from_slice(&checksum.to_be_bytes());
        page
    };
    (0..count).map(page).collect()
}

fn scanned(directory: &Path) -> (Found, Scanned) {
    let found = walk(directory).expect("it can be walked");
    let scanned = read(&found);
    (found, scanned)
}

fn read(found: &Found) -> Scanned {
    let options = Options {
        threads: 2,
        max_rate: None,
        idle: false,
    };
    scan(&found.files, &options, &Progress::default(), || {})
}

/// (label, page, fault, expected, found) of all suspects.
fn told(found: &Found, scanned: &Scanned) -> Vec<(String, u32, Fault, u32, u32)> {
    let suspects = scanned.suspects.iter();
    suspects
        .map(|s| {
            let label = found.files[s.file].label.clone();
            (
                label,
                s.page,
                s.wrong.fault,
                s.wrong.expected,
                s.wrong.found,
            )
        })
        .collect()
}

#[test]
fn sound_files_of_all_kinds_are_sound() {
    let directory = Directory::new("sound");
    directory.write("ibdata1", &pages(0, 900)[..600]);
    directory.write("ibdata2", &pages(0, 900)[600..]);
    directory.write("d/t.ibd", &pages(5, 40));
    directory.write("undo001", &pages(2, 9));
    directory.write("ibtmp1", &pages(9, 1));
    directory.write("ib_logfile0", &[vec![7; 100]]);
    fs::write(directory.0.join("d/far.isl"), "gone.ibd\n").expect("it can be written");
    let (found, scanned) = scanned(&directory.0);
    assert_eq!(told(&found, &scanned), []);
    let labels: Vec<&str> = found.files.iter().map(|f| f.label.as_str()).collect();
    assert_eq!(labels, ["d/t.ibd", "undo001", "ibdata1", "ibdata2"]);
    assert_eq!(found.files[3].first_page, 600);
    assert_eq!(found.skipped.len(), 1);
    assert_eq!(found.denied.len(), 1);
    let crc32 = |file: usize| scanned.counts[file][Carried::Crc32 as usize];
    assert_eq!((crc32(0), crc32(1), crc32(2), crc32(3)), (40, 9, 600, 300));
}

#[test]
fn of_encrypted_and_compressed_pages_none_says_whose_the_file_is() {
    let directory = Directory::new("hidden");
    directory.write("ibdata1", &pages(0, 9));
    let encrypted = full_crc32(5, 20, |number, page| {
        page[3] = 1;
        page[26..].fill(number as u8);
    });
    directory.write("d/encrypted.ibd", &encrypted);
    // Rows alike are compressed alike: more pages say these bytes than the first says its number.
    let compressed = full_crc32(6, 20, |_, page| {
        page[24..26].copy_from_slice(&(1u16 << 15 | 4).to_be_bytes());
        page[26..1024].fill(0xAB);
    });
    directory.write("d/compressed.ibd", &compressed);
    let mut headless = encrypted;
    headless[0].fill(0xA5);
    directory.write("d/headless.ibd", &headless);
    let (found, scanned) = scanned(&directory.0);
    let wrong: Vec<_> = told(&found, &scanned)
        .into_iter()
        .map(|(label, page, fault, ..)| (label, page, fault))
        .collect();
    let first = ("d/headless.ibd".to_owned(), 0, Fault::Checksum);
    assert_eq!(wrong, [first]);
    let spaces: Vec<_> = found.files.iter().map(|file| file.space).collect();
    assert_eq!(spaces, [Some(6), Some(5), None, Some(0)]);
}

#[test]
fn what_a_link_names_is_read_wherever_the_link_is() {
    let directory = Directory::new("links");
    let elsewhere = Directory::new("linked");
    directory.write("ibdata1", &pages(0, 9));
    directory.write("d/t.ibd", &pages(5, 4));
    for (space, link) in [(6, "d/far.isl"), (7, "general.isl")] {
        let name = format!("{space}.ibd");
        elsewhere.write(&name, &pages(space, 4));
        let path = elsewhere.0.join(name);
        let text = path.to_str().expect("it is UTF-8");
        fs::write(directory.0.join(link), text).expect("it can be written");
    }
    let (found, scanned) = scanned(&directory.0);
    assert_eq!(told(&found, &scanned), []);
    let labels: Vec<&str> = found.files.iter().map(|f| f.label.as_str()).collect();
    assert_eq!(labels, ["d/far.isl", "d/t.ibd", "general.isl", "ibdata1"]);
}

#[test]
fn what_stands_in_directories_below_is_read_however_deep() {
    let directory = Directory::new("below");
    for below in ["undo", "far/shop", "system", "old/d", "#temporary"] {
        fs::create_dir_all(directory.0.join(below)).expect("a directory can be made");
    }
    directory.write("ibdata1", &pages(0, 900)[..600]);
    directory.write("system/ibdata2", &pages(0, 900)[600..]);
    directory.write("undo/undo_001", &pages(2, 9));
    directory.write("undo/more.ibu", &pages(3, 9));
    directory.write("d/undo002", &pages(4, 9));
    let mut damaged = pages(5, 40);
    damaged[11][1000] ^= 4;
    directory.write("far/shop/t.ibd", &damaged);
    directory.write("#temporary/t.ibd", &damaged);
    directory.write("old/ibdata1", &damaged);
    directory.write("old/d/t.ibd", &damaged);
    directory.write("far/x.dblwr", &damaged);
    let elsewhere = Directory::new("elsewhere");
    elsewhere.write("u.ibd", &pages(6, 4));
    elsewhere.write("d/u.ibd", &damaged);
    let linked = elsewhere.0.as_path();
    for (link, to) in [
        ("far/shop/again", Path::new("..")),
        ("loop", Path::new(".")),
        ("linked", linked),
    ] {
        std::os::unix::fs::symlink(to, directory.0.join(link)).expect("it can be linked");
    }
    let (found, scanned) = scanned(&directory.0);
    let labels: Vec<&str> = found.files.iter().map(|f| f.label.as_str()).collect();
    let wanted = [
        "d/undo002",
        "far/shop/t.ibd",
        "linked/u.ibd",
        "undo/more.ibu",
        "undo/undo_001",
        "ibdata1",
        "system/ibdata2",
    ];
    assert_eq!(labels, wanted);
    let wrong: Vec<_> = told(&found, &scanned)
        .into_iter()
        .map(|(label, page, fault, ..)| (label, page, fault))
        .collect();
    assert_eq!(wrong, [("far/shop/t.ibd".to_owned(), 11, Fault::Checksum)]);
    let skipped: Vec<&str> = found.skipped.iter().map(|s| s.label.as_str()).collect();
    assert_eq!(skipped, ["far/x.dblwr", "linked/d", "old"]);
    assert_eq!(found.denied, []);
}

#[test]
fn the_doublewrite_area_is_where_its_page_says() {
    let directory = Directory::new("doublewrite");
    let mut made = pages(0, 900);
    for (at, value) in [(10, 536_853_855u32), (14, 300), (18, 600)] {
        let at = PAGE - 200 + at;
        made[5][at..at + 4].copy_from_slice(&value.to_be_bytes());
    }
    seal(&mut made[5]);
    // Copies of other pages, torn ones among them.
    made[300] = page(5, 7, 0);
    made[855] = vec![9; PAGE];
    made[856] = vec![9; PAGE];
    directory.write("ibdata1", &made);
    let (found, scanned) = scanned(&directory.0);
    let wrong: Vec<u32> = scanned.suspects.iter().map(|s| s.page).collect();
    assert_eq!(wrong, [856], "{:?}", found.files[0].doublewrite);
    let copies = scanned.counts[0][Carried::Doublewrite as usize];
    assert_eq!(copies, 512);
}

#[test]
fn damage_is_found_in_its_place_alone() {
    let directory = Directory::new("damage");
    let mut made = pages(5, 40);
    made[11][1000] ^= 4;
    made.swap(20, 30);
    made[33] = page(6, 33, 0);
    made[35] = vec![0; PAGE];
    directory.write("d/t.ibd", &made);
    let (found, scanned) = scanned(&directory.0);
    let label = || "d/t.ibd".to_owned();
    let all = told(&found, &scanned);
    assert_eq!((all[0].1, all[0].2), (11, Fault::Checksum));
    assert_eq!(
        all[1..],
        [
            (label(), 20, Fault::Misplaced, 20, 30),
            (label(), 30, Fault::Misplaced, 30, 20),
            (label(), 33, Fault::OtherTablespace, 5, 6),
        ]
    );
    assert_eq!(scanned.counts[0][Carried::Zero as usize], 1);
}

#[test]
fn a_lost_or_foreign_first_page_does_not_hide_the_others() {
    let directory = Directory::new("first");
    let mut garbage = pages(5, 40);
    garbage[0] = vec![0xA5; PAGE];
    directory.write("d/garbage.ibd", &garbage);
    let mut zeroed = pages(6, 40);
    zeroed[0] = vec![0; PAGE];
    directory.write("d/zeroed.ibd", &zeroed);
    let mut foreign = pages(7, 40);
    foreign[0] = page(8, 0, 40);
    directory.write("d/foreign.ibd", &foreign);
    let (found, scanned) = scanned(&directory.0);
    let all: Vec<_> = told(&found, &scanned)
        .into_iter()
        .map(|(label, page, fault, ..)| (label, page, fault))
        .collect();
    assert_eq!(
        all,
        [
            ("d/foreign.ibd".to_owned(), 0, Fault::OtherTablespace),
            ("d/garbage.ibd".to_owned(), 0, Fault::Checksum),
            ("d/zeroed.ibd".to_owned(), 0, Fault::Header),
        ]
    );
}

#[test]
fn files_that_end_too_early_are_seen() {
    let directory = Directory::new("short");
    directory.write("d/cut.ibd", &pages(5, 40)[..30]);
    directory.write("d/torn.ibd", &pages(6, 40)[..31]);
    let torn = directory.0.join("d/torn.ibd");
    let file = fs::OpenOptions::new().write(true).open(&torn);
    let cut = file.and_then(|file| file.set_len(30 * PAGE as u64 + 100));
    cut.expect("it can be cut");
    directory.write("d/empty.ibd", &[]);
    let (found, scanned) = scanned(&directory.0);
    let short = |label: &str, page, expected, found| {
        (label.to_owned(), page, Fault::Short, expected, found)
    };
    assert_eq!(
        told(&found, &scanned),
        [
            short("d/cut.ibd", 30, 40, 30),
            short("d/empty.ibd", 0, 1, 0),
            short("d/torn.ibd", 30, 31, 30),
        ]
    );
}

#[test]
fn what_is_right_at_a_later_look_is_dismissed() {
    let directory = Directory::new("again");
    let mut made = pages(5, 40);
    made[3][1000] ^= 4;
    made[4][1000] ^= 4;
    directory.write("d/t.ibd", &made);
    directory.write("d/gone.ibd", &made);
    directory.write("d/rebuilt.ibd", &made);
    let (found, scanned) = scanned(&directory.0);
    assert_eq!(scanned.suspects.len(), 6);
    made[3] = page(5, 3, 0);
    directory.write("d/t.ibd", &made);
    directory.write("d/rebuilt.ibd", &pages(9, 12));
    fs::remove_file(directory.0.join("d/gone.ibd")).expect("it is there");
    let gaps = [Duration::from_millis(1), Duration::from_millis(1)];
    let never = AtomicBool::new(false);
    let (wrong, dismissed) = recheck(scanned.suspects, &found.files, &gaps, &never, |_| {});
    assert_eq!(dismissed.len(), 5);
    assert_eq!((wrong[0].page, wrong.len()), (4, 1));
    assert_eq!(found.files[wrong[0].file].label, "d/t.ibd");
}

#[test]
fn a_tablespace_that_was_truncated_meanwhile_is_as_long_as_its_first_page_says() {
    let directory = Directory::new("truncated");
    directory.write("undo001", &pages(2, 40));
    directory.write("undo002", &pages(3, 40));
    let found = walk(&directory.0).expect("it can be walked");
    directory.write("undo001", &pages(2, 12));
    directory.write("undo002", &pages(3, 40)[..12]);
    let suspects = read(&found).suspects;
    assert_eq!(suspects.len(), 2);
    let gaps = [Duration::from_millis(1), Duration::from_millis(1)];
    let never = AtomicBool::new(false);
    let (wrong, dismissed) = recheck(suspects, &found.files, &gaps, &never, |_| {});
    assert_eq!((wrong.len(), dismissed.len()), (1, 1));
    assert_eq!((wrong[0].page, wrong[0].wrong.fault), (12, Fault::Short));
    assert_eq!(found.files[wrong[0].file].label, "undo002");
}
