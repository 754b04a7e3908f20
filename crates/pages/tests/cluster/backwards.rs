//! Tests that a catalogue finds pages whose LSN went backwards, and raises no false alarm.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use steelyard_pages::{
    is_catalogued, recheck, scan, Catalogue, Event, Fault, Look, Origin, Progress, Segment,
    Suspect, Writer, Wrong,
};

use crate::made::{options, plant, sound_page, Made, PAGE};

const ORIGIN: Origin = Origin {
    system_identifier: 7_000_000_000_000_000_001,
    timeline: 1,
    page_bytes: 8192,
    segment_blocks: 16,
    checkpoint: 0x1_0000_0028,
    time: 1_790_000_000,
    digest: 0xDEAD_BEEF,
};

const MOST_LSN: u64 = 1 << 40;

/// Scans with the catalogue at `path`, if there is one, and leaves a new one; what is wrong.
fn scrubbed(segments: &[Segment], path: &Path) -> Vec<(u32, Fault)> {
    let before = path.exists().then(|| Catalogue::read(path).expect("read"));
    let covered = |s: &&Segment| is_catalogued(s, false);
    let earlier: Vec<Option<&[u8]>> = segments
        .iter()
        .map(|s| {
            before
                .as_ref()
                .filter(|_| covered(&s))
                .and_then(|c| c.entries(s))
        })
        .collect();
    let mut writer = Writer::create(path, &ORIGIN, MOST_LSN).expect("created");
    let mut chosen = options(2);
    chosen.entries = true;
    let mut found = Vec::new();
    let event = |event| match event {
        Event::Wrong { block, wrong, .. } => found.push((block, wrong.fault)),
        Event::Done {
            segment, entries, ..
        } => {
            writer
                .add(&segments[segment], &entries, earlier[segment])
                .expect("added");
        }
        other => panic!("{other:?}"),
    };
    scan(
        segments,
        &earlier,
        &chosen,
        &Progress::default(),
        event,
        || {},
    );
    writer.finish().expect("finished");
    found.sort();
    found
}

#[test]
fn a_page_with_an_older_lsn_is_found_until_it_is_newer_again() {
    let made = Made::new();
    let path = made.relation("base/5/16384.1", 16, 8, 500);
    let catalogue = made.0.join("catalogue");
    let segments = made.walk().segments;
    assert_eq!(scrubbed(&segments, &catalogue), []);
    assert_eq!(scrubbed(&segments, &catalogue), []);
    plant(&path, 3 * PAGE, &sound_page(19, 499)); // stale: sound, and older
    plant(&path, 4 * PAGE, &sound_page(20, 501)); // written since
    plant(&path, 5 * PAGE, &[0; PAGE]); // truncated, and extended again
    assert_eq!(scrubbed(&segments, &catalogue), [(19, Fault::Backwards)]);
    assert_eq!(scrubbed(&segments, &catalogue), [(19, Fault::Backwards)]);
    plant(&path, 3 * PAGE, &sound_page(19, 502));
    assert_eq!(scrubbed(&segments, &catalogue), []);
}

#[test]
fn only_a_page_that_is_older_than_it_was_stays_suspected() {
    let made = Made::new();
    let path = made.relation("base/5/16384.1", 16, 4, 500);
    let catalogue = made.0.join("catalogue");
    let segments = made.walk().segments;
    assert_eq!(scrubbed(&segments, &catalogue), []);
    plant(&path, PAGE, &sound_page(17, 499)); // older
    plant(&path, 2 * PAGE, &sound_page(18, 501)); // newer; the others are as they were
    let known = Catalogue::read(&catalogue).expect("read");
    let earlier: Vec<_> = segments.iter().map(|one| known.entries(one)).collect();
    let look = Look {
        segments: &segments,
        earlier: &earlier,
        judge: options(1).judge,
        segment_blocks: 16,
    };
    let suspects = (16..20).map(|block| Suspect {
        segment: 0,
        block,
        wrong: Wrong {
            fault: Fault::Backwards,
            expected: 0,
            found: 0,
            lsn: 1,
            before: 2,
        },
    });
    let found = recheck(
        suspects.collect(),
        &look,
        &[Duration::ZERO; 2],
        &AtomicBool::new(false),
        |_| {},
    );
    let blocks = |of: &[Suspect]| of.iter().map(|one| one.block).collect::<Vec<_>>();
    assert_eq!(blocks(&found.wrong), [17]);
    assert_eq!(found.dismissed.len(), 3);
}

#[test]
fn an_lsn_behind_the_end_of_the_log_is_not_remembered() {
    let made = Made::new();
    let path = made.relation("base/5/16384", 0, 4, 500);
    let catalogue = made.0.join("catalogue");
    let segments = made.walk().segments;
    plant(&path, PAGE, &sound_page(1, MOST_LSN + 500)); // a bit of it flipped, before its checksum
    assert_eq!(scrubbed(&segments, &catalogue), []);
    plant(&path, PAGE, &sound_page(1, 501));
    assert_eq!(scrubbed(&segments, &catalogue), []);
    plant(&path, PAGE, &sound_page(1, 500));
    assert_eq!(scrubbed(&segments, &catalogue), [(1, Fault::Backwards)]);
}

#[test]
fn what_a_bad_page_was_is_remembered_over_it() {
    let made = Made::new();
    let path = made.relation("base/5/16384", 0, 4, 500);
    let catalogue = made.0.join("catalogue");
    let segments = made.walk().segments;
    scrubbed(&segments, &catalogue);
    plant(&path, PAGE + 100, &[1, 2, 3]);
    assert_eq!(scrubbed(&segments, &catalogue), [(1, Fault::Checksum)]);
    plant(&path, PAGE, &sound_page(1, 400)); // put right by an old copy
    assert_eq!(scrubbed(&segments, &catalogue), [(1, Fault::Backwards)]);
}

#[test]
fn maps_temporary_and_unlogged_relations_are_not_catalogued() {
    let made = Made::new();
    for label in [
        "base/5/1_fsm",
        "base/5/1_vm",
        "base/5/t3_1",
        "base/5/1_init",
    ] {
        made.relation(label, 0, 1, 9);
    }
    assert!(!made.walk().segments.iter().any(|s| is_catalogued(s, false)));
    made.relation("base/5/2", 0, 1, 9);
    let segments = made.walk().segments;
    let main = segments
        .iter()
        .find(|s| s.label == "base/5/2")
        .expect("there");
    assert!(is_catalogued(main, false));
    assert!(!is_catalogued(main, true));
}

#[test]
fn a_damaged_catalogue_is_refused_and_an_abandoned_one_leaves_the_old() {
    let made = Made::new();
    made.relation("base/5/16384", 0, 4, 500);
    let path = made.0.join("catalogue");
    scrubbed(&made.walk().segments, &path);
    let sound = fs::read(&path).expect("read");
    assert_eq!(Catalogue::read(&path).expect("read").origin, ORIGIN);
    Writer::create(&path, &ORIGIN, MOST_LSN)
        .expect("created")
        .abandon();
    assert_eq!(fs::read(&path).expect("read"), sound);
    for at in [0, 9, 60, sound.len() - 1] {
        let mut bytes = sound.clone();
        bytes[at] ^= 1;
        fs::write(&path, bytes).expect("written");
        assert!(Catalogue::read(&path).is_err(), "byte {at}");
    }
    fs::write(&path, &sound[..sound.len() - 10]).expect("written");
    assert!(Catalogue::read(&path).is_err());
}

/// Names of files in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("listed");
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("entry")
                .file_name()
                .into_string()
                .expect("UTF-8")
        })
        .collect();
    names.sort();
    names
}

#[test]
fn a_draft_has_a_name_of_its_own_and_goes_through_no_link() {
    let made = Made::new();
    let folder = made.0.join("catalogues");
    fs::create_dir(&folder).expect("made");
    let path = folder.join("catalogue");
    std::os::unix::fs::symlink("victim", folder.join("catalogue.draft")).expect("linked");
    let first = Writer::create(&path, &ORIGIN, MOST_LSN).expect("created");
    let second = Writer::create(&path, &ORIGIN, MOST_LSN).expect("created");
    let drafts = names(&folder);
    assert_eq!(drafts.len(), 3, "{drafts:?}");
    first.finish().expect("finished");
    second.abandon();
    assert_eq!(names(&folder), ["catalogue", "catalogue.draft"]);
    assert!(Catalogue::read(&path).is_ok());
    assert!(!folder.join("victim").exists());
}
