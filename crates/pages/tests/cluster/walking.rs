//! Tests that a walk finds every segment once, and reports what it left out.

use std::fs;
use std::os::unix::fs::symlink;

use steelyard_pages::{broken_forks, is_unlogged, Skipped};

use crate::made::{Made, PAGE, SEGMENT_BLOCKS, VERSION};

fn labels(made: &Made) -> Vec<String> {
    made.walk()
        .segments
        .iter()
        .map(|s| s.label.clone())
        .collect()
}

#[test]
fn global_databases_and_tablespaces_of_this_version_are_walked() {
    let made = Made::new();
    made.relation("global/1260", 0, 1, 1);
    made.relation("base/5/16384", 0, 1, 1);
    made.relation("base/5/16384_fsm", 0, 1, 1);
    let elsewhere = Made::new();
    fs::create_dir_all(elsewhere.0.join(VERSION).join("5")).expect("made");
    fs::create_dir_all(elsewhere.0.join("PG_17_202406281/5")).expect("made");
    elsewhere.relation(&format!("{VERSION}/5/16500"), 0, 1, 1);
    elsewhere.relation("PG_17_202406281/5/16501", 0, 1, 1);
    symlink(&elsewhere.0, made.0.join("pg_tblspc/16499")).expect("linked");
    let inside = format!("pg_tblspc/16499/{VERSION}/5/16500");
    assert_eq!(
        labels(&made),
        ["global/1260", "base/5/16384", "base/5/16384_fsm", &inside]
    );
    let found = made.walk();
    let last = found.segments.last().expect("found");
    assert_eq!((last.tablespace, last.database), (16499, 5));
    assert_eq!(found.skipped, []);
}

#[test]
fn links_that_lead_back_and_stray_files_are_skipped_with_a_reason() {
    let made = Made::new();
    made.relation("base/5/16384", 0, 1, 1);
    for known in ["PG_VERSION", "pg_filenode.map", "pg_internal.init"] {
        fs::write(made.0.join("base/5").join(known), "x").expect("written");
    }
    fs::write(made.0.join("base/5/notes.txt"), "x").expect("written");
    fs::create_dir(made.0.join("base/5/16390")).expect("made");
    symlink(made.0.join("base/5"), made.0.join("base/6")).expect("linked");
    symlink("loop", made.0.join("base/5/loop")).expect("linked");
    assert_eq!(labels(&made), ["base/5/16384"]);
    let found = made.walk();
    let wanted = ["base/5/16390", "base/5/loop", "base/5/notes.txt", "base/6"];
    assert_eq!(names(found.skipped), wanted);
    assert_eq!(found.denied, []);
}

fn names(left_out: Vec<Skipped>) -> Vec<String> {
    let mut names: Vec<String> = left_out.into_iter().map(|s| s.label).collect();
    names.sort();
    names
}

#[test]
fn what_belongs_to_the_cluster_and_cannot_be_entered_is_denied() {
    let made = Made::new();
    made.relation("base/5/16384", 0, 1, 1);
    fs::write(made.0.join("base/5/INCREMENTAL.16400.1"), "x").expect("written");
    fs::write(made.0.join("base/5/INCREMENTAL.txt"), "x").expect("written");
    symlink("16399", made.0.join("base/5/16399")).expect("linked"); // leads to itself
    symlink("nowhere", made.0.join("base/7")).expect("linked");
    let unmounted = Made::new();
    symlink(&unmounted.0, made.0.join("pg_tblspc/16500")).expect("linked");
    symlink("nowhere", made.0.join("pg_tblspc/16501")).expect("linked");
    let found = made.walk();
    let wanted = [
        "base/5/16399",
        "base/5/INCREMENTAL.16400.1",
        "base/7",
        &format!("pg_tblspc/16500/{VERSION}"),
        &format!("pg_tblspc/16501/{VERSION}"),
    ];
    assert_eq!(names(found.denied), wanted);
    assert_eq!(names(found.skipped), ["base/5/INCREMENTAL.txt"]);
    fs::remove_dir_all(made.0.join("pg_tblspc")).expect("removed");
    assert!(names(made.walk().denied).contains(&"pg_tblspc".to_owned()));
}

#[test]
fn a_directory_without_base_is_no_cluster() {
    let made = Made::new();
    fs::remove_dir_all(made.0.join("base")).expect("removed");
    assert!(steelyard_pages::walk(&made.0, VERSION).is_err());
}

#[test]
fn segments_that_do_not_follow_each_other_are_found() {
    let made = Made::new();
    let full = SEGMENT_BLOCKS;
    made.relation("base/5/1", 0, full, 1); // sound: full, then a rest
    made.relation("base/5/1.1", full, 3, 1);
    made.relation("base/5/2", 0, full - 1, 1); // cut off
    made.relation("base/5/2.1", full, 3, 1);
    made.relation("base/5/3", 0, full, 1); // the second is missing
    made.relation("base/5/3.2", 2 * full, 3, 1);
    made.relation("base/5/4", 0, 3, 1); // sound: truncation leaves empty segments
    made.relation("base/5/4.1", full, 0, 1);
    made.relation("base/5/5.1", full, 1, 1); // the first is missing
    let found = broken_forks(&made.walk().segments, PAGE as u32, SEGMENT_BLOCKS);
    let found: Vec<_> = found.iter().map(|b| (b.label.as_str(), b.block)).collect();
    assert_eq!(
        found,
        [
            ("base/5/2", full - 1),
            ("base/5/3.2", full),
            ("base/5/5.1", 0)
        ]
    );
}

#[test]
fn relations_with_an_init_fork_are_unlogged() {
    let made = Made::new();
    made.relation("base/5/16384", 0, 1, 1);
    made.relation("base/5/16385", 0, 1, 1);
    made.relation("base/5/16385_init", 0, 1, 1);
    let unlogged = is_unlogged(&made.walk().segments);
    assert_eq!(unlogged.into_iter().collect::<Vec<_>>(), [(1663, 5, 16385)]);
}
