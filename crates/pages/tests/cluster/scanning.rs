//! Tests that a scan reads every page once, with any number of threads, and finds planted faults
//! only.

use std::fs;
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use steelyard_pages::{recheck, scan, Event, Fault, Look, Progress, Suspect, Wrong};

use crate::made::{options, plant, scanned, sealed, sound_page, Made, PAGE, SEGMENT_BLOCKS};

#[test]
fn sound_and_empty_pages_are_let_pass_in_every_segment() {
    let made = Made::new();
    made.relation("base/5/16384", 0, SEGMENT_BLOCKS, 9);
    made.relation("base/5/16384.1", SEGMENT_BLOCKS, SEGMENT_BLOCKS, 9);
    let last = made.relation("base/5/16384.2", 2 * SEGMENT_BLOCKS, 5, 9);
    plant(&last, PAGE, &[0; PAGE]);
    let segments = made.walk().segments;
    for threads in [1, 2, 7] {
        assert_eq!(scanned(&segments, &options(threads)), (vec![], 37));
    }
}

#[test]
fn every_kind_of_fault_is_found_in_its_block() {
    let made = Made::new();
    let path = made.relation("base/5/16384.1", SEGMENT_BLOCKS, 8, 9);
    plant(&path, PAGE + 5000, &[0xff, 0x13]);
    let mut insane = sound_page(SEGMENT_BLOCKS + 2, 9);
    insane[12..14].copy_from_slice(&5000u16.to_ne_bytes()); // begins behind its end
    plant(&path, 2 * PAGE, &sealed(insane, SEGMENT_BLOCKS + 2));
    plant(&path, 3 * PAGE + 14, &[0, 0]);
    plant(&path, 4 * PAGE, &sound_page(4, 9)); // another block's page
    let mut bytes = fs::read(&path).expect("read");
    bytes.extend([1; 100]);
    fs::write(&path, bytes).expect("written");
    let label = || "base/5/16384.1".to_owned();
    let (found, blocks) = scanned(&made.walk().segments, &options(2));
    assert_eq!(blocks, 8);
    assert_eq!(
        found,
        [
            (label(), SEGMENT_BLOCKS + 1, Fault::Checksum),
            (label(), SEGMENT_BLOCKS + 2, Fault::Header),
            (label(), SEGMENT_BLOCKS + 3, Fault::NotEmpty),
            (label(), SEGMENT_BLOCKS + 4, Fault::Checksum),
            (label(), SEGMENT_BLOCKS + 8, Fault::Short),
        ]
    );
}

#[test]
fn inside_an_archive_a_short_last_page_is_short_and_nothing_behind_it_is_read() {
    let made = Made::new();
    let path = made.relation("base/5/16384", 0, 3, 9);
    let mut archive = vec![b'h'; 512];
    archive.extend(&fs::read(&path).expect("read")[..2 * PAGE + 5000]);
    archive.resize(512 + 4 * PAGE, 0); // padding, and the next member
    fs::write(&path, archive).expect("written");
    let mut segments = made.walk().segments;
    segments[0].offset = 512;
    segments[0].bytes = 2 * PAGE as u64 + 5000;
    let label = "base/5/16384".to_owned();
    let wanted = (vec![(label, 2, Fault::Short)], 2);
    assert_eq!(scanned(&segments, &options(1)), wanted);
}

#[test]
fn without_checksums_headers_are_still_looked_at() {
    let made = Made::new();
    let path = made.relation("base/5/16384", 0, 4, 9);
    plant(&path, 5000, &[0xff, 0x13]);
    plant(&path, PAGE + 10, &[0xff, 0xff]);
    plant(&path, 2 * PAGE + 14, &[0, 0]);
    let mut chosen = options(1);
    chosen.judge.checksums = false;
    let (found, _) = scanned(&made.walk().segments, &chosen);
    let found: Vec<_> = found
        .iter()
        .map(|(_, block, fault)| (*block, *fault))
        .collect();
    assert_eq!(found, [(1, Fault::Header), (2, Fault::NotEmpty)]);
}

#[test]
fn files_that_vanish_shrink_or_grow_are_no_damage() {
    let made = Made::new();
    let gone = made.relation("base/5/1", 0, 4, 9);
    let shrunk = made.relation("base/5/2", 0, 4, 9);
    let grown = made.relation("base/5/3", 0, 4, 9);
    let segments = made.walk().segments;
    fs::remove_file(gone).expect("removed");
    made.relation("base/5/2", 0, 2, 9);
    made.relation("base/5/3", 0, 9, 9);
    let _ = (shrunk, grown);
    let progress = Progress::default();
    let mut told = Vec::new();
    scan(
        &segments,
        &[],
        &options(2),
        &progress,
        |event| told.push(event),
        || {},
    );
    let vanished = told
        .iter()
        .filter(|e| matches!(e, Event::Vanished { .. }))
        .count();
    let done = told
        .iter()
        .filter(|e| matches!(e, Event::Done { .. }))
        .count();
    assert_eq!((vanished, done, told.len()), (1, 2, 3));
    assert_eq!(progress.blocks.load(Ordering::Relaxed), 6);
}

#[test]
fn dropping_behind_and_a_rate_change_nothing_of_what_is_found() {
    let made = Made::new();
    let path = made.relation("base/5/16384", 0, 16, 9);
    plant(&path, 6 * PAGE + 300, &[1, 2, 3]);
    let mut chosen = options(2);
    chosen.drop_behind = true;
    chosen.max_rate = Some(1e9);
    chosen.idle = true;
    let (found, blocks) = scanned(&made.walk().segments, &chosen);
    assert_eq!(blocks, 16);
    assert_eq!(found, [("base/5/16384".to_owned(), 6, Fault::Checksum)]);
}

#[test]
fn a_scan_that_is_stopped_calls_nothing_done_that_is_not() {
    let made = Made::new();
    made.relation("base/5/16384", 0, 16, 9);
    let progress = Progress::default();
    progress.stop.store(true, Ordering::Relaxed);
    let mut told = 0;
    scan(
        &made.walk().segments,
        &[],
        &options(2),
        &progress,
        |_| told += 1,
        || {},
    );
    assert_eq!(told, 0);
}

fn suspect(block: u32) -> Suspect {
    let wrong = Wrong {
        fault: Fault::Checksum,
        expected: 1,
        found: 2,
        lsn: 0,
        before: 0,
    };
    Suspect {
        segment: 0,
        block,
        wrong,
    }
}

#[test]
fn a_suspect_that_is_sound_later_is_dismissed_and_one_that_stays_is_not() {
    let made = Made::new();
    let path = made.relation("base/5/16384", 0, 4, 9);
    plant(&path, PAGE + 5000, &[0xff, 0x13]); // stays
    plant(&path, 2 * PAGE + 5000, &[0xff, 0x13]); // is written soon
    let segments = made.walk().segments;
    let judge = options(1).judge;
    let look = Look {
        segments: &segments,
        earlier: &[],
        judge,
        segment_blocks: SEGMENT_BLOCKS,
    };
    let gaps = [Duration::from_millis(20); 3];
    let mut looks = 0;
    let found = recheck(
        (1..=4).map(suspect).collect(), // the fourth lies behind the end
        &look,
        &gaps,
        &AtomicBool::new(false),
        |_| {
            looks += 1;
            if looks == 3 {
                plant(&path, 2 * PAGE, &sound_page(2, 10));
            }
        },
    );
    let blocks = |of: &[Suspect]| of.iter().map(|s| s.block).collect::<Vec<_>>();
    assert_eq!(blocks(&found.wrong), [1]);
    let mut dismissed = blocks(&found.dismissed);
    dismissed.sort_unstable();
    assert_eq!(dismissed, [2, 3, 4]);
}

#[test]
fn a_suspect_whose_file_cannot_be_opened_any_more_is_not_dismissed_unless_it_is_gone() {
    let made = Made::new();
    let path = made.relation("base/5/16384", 0, 4, 9);
    let segments = made.walk().segments;
    let look = Look {
        segments: &segments,
        earlier: &[],
        judge: options(1).judge,
        segment_blocks: SEGMENT_BLOCKS,
    };
    let again = || {
        let gaps = [Duration::from_millis(1); 2];
        let never = AtomicBool::new(false);
        recheck(vec![suspect(1)], &look, &gaps, &never, |_| {})
    };
    fs::remove_file(&path).expect("removed");
    let gone = again();
    assert_eq!((gone.wrong.len(), gone.dismissed.len()), (0, 1));
    fs::create_dir(&path).expect("made");
    let refused = again();
    assert_eq!((refused.wrong.len(), refused.dismissed.len()), (1, 0));
    assert_eq!(refused.wrong[0].wrong.fault, Fault::Unreadable);
}

#[test]
fn what_was_cached_stays_and_what_was_not_is_dropped_again() {
    let made = Made::new();
    let cold = made.relation("base/5/1", 0, 600, 9);
    let warm = made.relation("base/5/2", 0, 600, 9);
    for path in [&cold, &warm] {
        fs::File::open(path)
            .expect("open")
            .sync_all()
            .expect("synced");
    }
    drop_cache(&cold);
    fs::read(&warm).expect("read");
    let before = (cached(&cold), cached(&warm));
    let (Some(0), Some(all)) = before else {
        return; // a file system in memory, or a kernel that would not say: nothing to keep apart
    };
    let mut chosen = options(2);
    chosen.drop_behind = true;
    assert_eq!(scanned(&made.walk().segments, &chosen), (vec![], 1200));
    assert_eq!((cached(&cold), cached(&warm)), (Some(0), Some(all)));
}

#[test]
fn of_an_archive_only_the_stretch_is_dropped_again() {
    let made = Made::new();
    let path = made.relation("base/5/1", 0, 300, 9);
    let member = fs::read(&path).expect("read");
    let warm = vec![b'h'; 100 * PAGE + 512]; // no multiple of a memory page
    fs::write(&path, [warm.clone(), member].concat()).expect("written");
    fs::File::open(&path)
        .and_then(|file| file.sync_all())
        .expect("synced");
    drop_cache(&path);
    if cached(&path) != Some(0) {
        return; // a file system in memory, or a kernel that would not say
    }
    let mut file = fs::File::open(&path).expect("open");
    // What is read ahead may come after it was counted.
    advise(&file, libc::POSIX_FADV_RANDOM);
    file.read_exact(&mut vec![0; warm.len()]).expect("read");
    let mut segments = made.walk().segments;
    segments[0].offset = warm.len() as u64;
    segments[0].bytes = 300 * PAGE as u64;
    let before = cached(&path).expect("known");
    let mut chosen = options(1);
    chosen.drop_behind = true;
    assert_eq!(scanned(&segments, &chosen), (vec![], 300));
    let after = cached(&path).expect("known");
    assert!(after >= warm.len() / 4096, "what was cached before stays");
    // The kernel may keep what it read in one piece with pages that stay.
    assert!(after < before + 64, "{after} of {before} pages");
}

fn drop_cache(path: &std::path::Path) {
    advise(
        &fs::File::open(path).expect("open"),
        libc::POSIX_FADV_DONTNEED,
    );
}

fn advise(file: &fs::File, advice: libc::c_int) {
    use std::os::fd::AsRawFd;
    // SAFETY: a system call with numbers alone.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, advice) };
}

/// Pages of a file that the page cache holds, by mincore(2).
fn cached(path: &std::path::Path) -> Option<usize> {
    use std::os::fd::AsRawFd;
    let file = fs::File::open(path).expect("open");
    let length = file.metadata().expect("status").len() as usize;
    let mut pages = vec![0u8; length.div_ceil(4096)];
    // SAFETY: a mapping that is never touched, and a byte for each of its pages.
    let done = unsafe {
        let descriptor = file.as_raw_fd();
        let mapped = libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_READ,
            libc::MAP_SHARED,
            descriptor,
            0,
        );
        if mapped == libc::MAP_FAILED {
            return None;
        }
        let done = libc::mincore(mapped, length, pages.as_mut_ptr().cast());
        libc::munmap(mapped, length);
        done
    };
    (done == 0).then(|| pages.iter().filter(|page| **page & 1 == 1).count())
}
