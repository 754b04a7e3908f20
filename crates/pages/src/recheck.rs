//! Reads damaged pages again after growing delays: a page that was being written is not damaged.
//!
//! A write of 8 kB is not atomic, and a writer may be held up between its halves for longer than
//! 100 ms (balance_dirty_pages). A page counts as damaged only when it was wrong at every look,
//! the last one at least 5 s after the first, and did not change between the last two; one that
//! keeps changing is looked at some more times.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::catalogue::{read_entry, ENTRY_BYTES};
use crate::header::Header;
use crate::judge::{Fault, Judge, Wrong};
use crate::reading::OpenStretch;
use crate::walk::Segment;

const NAP: Duration = Duration::from_millis(50);
/// Looks at a page that changes from one to the next before it is called wrong all the same.
const MOST_LOOKS: usize = 8;

/// A block that was wrong when it was read first.
#[derive(Debug, Clone)]
pub struct Suspect {
    pub segment: usize,
    pub block: u32,
    pub wrong: Wrong,
}

/// What became of suspects.
#[derive(Debug, Default)]
pub struct Rechecked {
    pub wrong: Vec<Suspect>,
    /// They were sound at a later look, or gone.
    pub dismissed: Vec<Suspect>,
}

/// What a second look needs beside the suspects.
pub struct Look<'a> {
    pub segments: &'a [Segment],
    pub earlier: &'a [Option<&'a [u8]>],
    pub judge: Judge,
    pub segment_blocks: u32,
}

/// Looks at every suspect again after each of the `gaps`. Stopped early, those that are still
/// wrong are returned as such.
pub fn recheck(
    suspects: Vec<Suspect>,
    look: &Look<'_>,
    gaps: &[Duration],
    stop: &AtomicBool,
    tick: impl FnMut(usize),
) -> Rechecked {
    let again = |suspect: &Suspect| {
        let (wrong, hash) = look.again(suspect)?;
        Some((
            Suspect {
                wrong,
                ..suspect.clone()
            },
            hash,
        ))
    };
    let (wrong, dismissed) = look_again(suspects, again, gaps, stop, tick);
    Rechecked { wrong, dismissed }
}

/// Those that stay wrong, as they were at the last look, and those that do not. `again` gives what
/// a suspect is now, with a hash of its bytes; None: it is sound, or gone.
pub(crate) fn look_again<S>(
    suspects: Vec<S>,
    again: impl Fn(&S) -> Option<(S, u64)>,
    gaps: &[Duration],
    stop: &AtomicBool,
    mut tick: impl FnMut(usize),
) -> (Vec<S>, Vec<S>) {
    let (mut wrong, mut dismissed) = (Vec::new(), Vec::new());
    let mut left: Vec<(S, Option<u64>)> = suspects.into_iter().map(|s| (s, None)).collect();
    let longest = gaps.iter().max().copied().unwrap_or_default();
    for number in 0..MOST_LOOKS {
        if left.is_empty() {
            break;
        }
        wait(gaps.get(number).copied().unwrap_or(longest), stop, || {
            tick(left.len())
        });
        let mut still = Vec::with_capacity(left.len());
        for (suspect, before) in left {
            match again(&suspect) {
                None => dismissed.push(suspect),
                Some((suspect, hash)) => {
                    if number + 1 >= gaps.len() && before == Some(hash) {
                        wrong.push(suspect);
                    } else {
                        still.push((suspect, Some(hash)));
                    }
                }
            }
        }
        left = still;
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    wrong.extend(left.into_iter().map(|(suspect, _)| suspect));
    (wrong, dismissed)
}

fn wait(gap: Duration, stop: &AtomicBool, mut tick: impl FnMut()) {
    let until = Instant::now() + gap;
    loop {
        tick();
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || stop.load(Ordering::Relaxed) {
            return;
        }
        std::thread::sleep(left.min(NAP));
    }
}

impl Look<'_> {
    /// What is still wrong with it, and a hash of its bytes; None: nothing, or it is gone.
    fn again(&self, suspect: &Suspect) -> Option<(Wrong, u64)> {
        let segment = &self.segments[suspect.segment];
        let index = u64::from(suspect.block % self.segment_blocks);
        let page_bytes = self.judge.page_bytes;
        let mut page = vec![0; page_bytes];
        let unreadable = Wrong {
            fault: Fault::Unreadable,
            ..suspect.wrong
        };
        let open = OpenStretch::open(&segment.path, segment.offset, segment.bytes, false);
        let open = match open {
            Ok(open) => open,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(_) => return Some((unreadable, 0)),
        };
        let bytes = match open.read(index * page_bytes as u64, &mut page) {
            Ok(bytes) => bytes,
            Err(_) => return Some((unreadable, 0)),
        };
        let bytes = match segment.offset {
            0 => bytes,
            // Inside an archive what follows is not this file's.
            _ => bytes.min(segment.bytes.saturating_sub(index * page_bytes as u64) as usize),
        };
        if bytes < page_bytes {
            let short = Wrong {
                fault: Fault::Short,
                ..suspect.wrong
            };
            return (bytes > 0).then(|| (short, hash(&page[..bytes])));
        }
        let wrong = self.judge.page(&page, suspect.block);
        let wrong = wrong.or_else(|| self.backwards(suspect, index as usize, &page))?;
        Some((wrong, hash(&page)))
    }

    fn backwards(&self, suspect: &Suspect, index: usize, page: &[u8]) -> Option<Wrong> {
        let entries = self.earlier.get(suspect.segment).copied().flatten()?;
        let before = read_entry(entries.chunks_exact(ENTRY_BYTES).nth(index)?);
        let now = Header::of(page);
        (now.lsn > 0 && now.lsn < before.lsn).then_some(Wrong {
            fault: Fault::Backwards,
            expected: before.checksum,
            found: now.checksum,
            lsn: now.lsn,
            before: before.lsn,
        })
    }
}

pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// Whether files are as they were at a walk: for what is wrong with files, not with pages.
pub fn still_of_size(segment: &Segment) -> bool {
    fs::metadata(&segment.path).is_ok_and(|status| status.len() == segment.bytes)
}
