//! Plants a fault many times in memory, and counts how often each check lets it pass.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::algorithm::{Algorithm, Identity, Scheme};
use crate::checksum::page_checksum;
use crate::fault::{PageFault, Planted, Random, Versions};
use crate::header::Header;
use crate::judge::Judge;
use crate::lanes::Kernel;

/// Sequences of random numbers: as many whatever the threads, so that a seed means the same faults.
const STREAMS: u64 = 64;

/// A check that sees one page at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// The checksum alone, whatever else the server would see.
    Checksum,
    /// What the server refuses without checksums too: an insane header, an empty page that is not.
    Header,
    /// pg_checksums --check: pages whose pd_upper is 0 are let pass.
    PgChecksums,
    /// BASE_BACKUP: these, and pages whose LSN lies behind the backup's start.
    BaseBackup,
    Scrub,
    /// A catalogue of the LSNs that were written, and nothing else.
    Catalogue,
}

impl Check {
    pub const ALL: [Self; 6] = [
        Self::Checksum,
        Self::Header,
        Self::PgChecksums,
        Self::BaseBackup,
        Self::Scrub,
        Self::Catalogue,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Checksum => "page checksum",
            Self::Header => "header sanity",
            Self::PgChecksums => "pg_checksums",
            Self::BaseBackup => "pg_basebackup",
            Self::Scrub => "scrub",
            Self::Catalogue => "catalogue",
        }
    }
}

/// How often each of `Check::ALL` let the fault pass, and how often it was planted.
///
/// `start` is where a base backup begins: pages that changed since are not verified by it.
pub fn check_trials(
    fault: PageFault,
    pages: &[Versions],
    start: u64,
    trials: u64,
    (seed, threads): (u64, usize),
    stop: &AtomicBool,
) -> (Vec<u64>, u64) {
    let scheme = Scheme {
        algorithm: Algorithm::Postgres,
        identity: Identity::Block,
        kernel: Kernel::best(),
    };
    side_by_side(
        trials,
        (seed, threads),
        Check::ALL.len(),
        stop,
        |random, missed| {
            let Some(planted) = planted(fault, &scheme, pages, random) else {
                return false;
            };
            let lets_pass = verdicts(&planted, start);
            for (count, passed) in missed.iter_mut().zip(lets_pass) {
                *count += u64::from(passed);
            }
            true
        },
    )
}

/// How often each scheme lets the fault pass, and how often it was planted.
pub fn algorithm_trials(
    fault: PageFault,
    scheme: Scheme,
    pages: &[Versions],
    trials: u64,
    (seed, threads): (u64, usize),
    stop: &AtomicBool,
) -> (u64, u64) {
    let (missed, planted_times) =
        side_by_side(trials, (seed, threads), 1, stop, |random, missed| {
            let Some(planted) = planted(fault, &scheme, pages, random) else {
                return false;
            };
            let Planted { place, disk, .. } = planted;
            missed[0] += u64::from(scheme.takes_for_sound(&disk, place));
            true
        });
    (missed[0], planted_times)
}

/// A fault in one of the pages; another of them is what may come in its place.
fn planted(
    fault: PageFault,
    scheme: &Scheme,
    pages: &[Versions],
    random: &mut Random,
) -> Option<Planted> {
    let number = random.below(pages.len());
    let further = 1 + random.below((pages.len() - 1).max(1));
    let other = (number + further) % pages.len();
    fault.plant(scheme, &pages[number], &pages[other], random)
}

/// Which of the checks let a page pass, in the order of `Check::ALL`.
fn verdicts(planted: &Planted, start: u64) -> [bool; 6] {
    let (disk, block) = (planted.disk.as_slice(), planted.place.block);
    let judge = Judge {
        kernel: Kernel::best(),
        page_bytes: disk.len(),
        checksums: false,
    };
    let header = Header::of(disk);
    let sane = judge.page(disk, block).is_none();
    let right = header.is_new() || page_checksum(disk, block) == header.checksum;
    let backup = right || header.lsn >= start;
    let backwards = header.lsn > 0 && header.lsn < Header::of(&planted.written).lsn;
    [right, sane, right, backup, right && sane, !backwards]
}

fn side_by_side(
    trials: u64,
    (seed, threads): (u64, usize),
    checks: usize,
    stop: &AtomicBool,
    trial: impl Fn(&mut Random, &mut [u64]) -> bool + Sync,
) -> (Vec<u64>, u64) {
    let threads = threads.max(1) as u64;
    let part = |number: u64| {
        let (mut missed, mut done) = (vec![0; checks], 0);
        for stream in (number..STREAMS).step_by(threads as usize) {
            let mut random =
                Random::new(seed.wrapping_add(stream.wrapping_mul(0xD1B5_4A32_D192_ED03)));
            for _ in 0..trials / STREAMS + u64::from(stream < trials % STREAMS) {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                done += u64::from(trial(&mut random, &mut missed));
            }
        }
        (missed, done)
    };
    let parts: Vec<_> = std::thread::scope(|scope| {
        let part = &part;
        let started: Vec<_> = (0..threads).map(|n| scope.spawn(move || part(n))).collect();
        started
            .into_iter()
            .filter_map(|thread| thread.join().ok())
            .collect()
    });
    let mut missed = vec![0; checks];
    let mut done = 0;
    for (part, times) in parts {
        missed
            .iter_mut()
            .zip(part)
            .for_each(|(sum, count)| *sum += count);
        done += times;
    }
    (missed, done)
}
