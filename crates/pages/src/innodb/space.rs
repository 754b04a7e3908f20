//! Reads of what layout and tablespace a file is: from its first page, and from those behind it.
//!
//! The first page alone is not trusted: it may be damaged, or another file's. The majority of the
//! first pages decides.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::Path;

use steelyard_buffer::on_a_page;

use super::checksum::DATA;
use super::judge::{judge, space_of, word, Place, Verdict};
use super::layout::Layout;
use crate::header::is_all_zero;
use crate::reading::OpenStretch;

/// Pages that are looked at.
const PROBED_PAGES: usize = 8;
/// Where the number of pages of a tablespace is in its first page (FSP_SIZE).
const PAGES_AT: usize = DATA + 8;
/// The page of the system tablespace that says where the doublewrite area is (FSP_TRX_SYS_PAGE_NO).
const TRX_SYS_PAGE: u32 = 5;
/// What it says, from its end (TRX_SYS_DOUBLEWRITE of trx0sys.h).
const DOUBLEWRITE_FROM_END: usize = 200;
const DOUBLEWRITE_MAGIC: u32 = 536_853_855;

/// What is known of a tablespace before its pages are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Space {
    pub layout: Layout,
    /// Its number; None: no page says it.
    pub id: Option<u32>,
    /// The number of the file's first page: not 0 in later files of the system tablespace.
    pub first_page: u32,
    /// Pages that the tablespace has, by its first page; None: not known.
    pub pages: Option<u32>,
    /// Pages of the doublewrite area.
    pub doublewrite: Vec<Range<u32>>,
}

/// What the pages that were looked at say under one layout.
#[derive(Default)]
struct Probe {
    sound: usize,
    wrong: usize,
    spaces: HashMap<u32, usize>,
    firsts: HashMap<u32, usize>,
}

/// Reads the first pages of a file. None: it is empty, or no page of it says anything.
/// `layout` is that of a file before it of the same tablespace.
pub fn read_space(path: &Path, layout: Option<Layout>) -> io::Result<Option<Space>> {
    let most = 65536 * PROBED_PAGES;
    let open = OpenStretch::open(path, 0, most as u64, true)?;
    let found = probe(&open, layout, most);
    // A scan that follows finds the page cache as it was.
    open.drop_behind(0, most as u64);
    found
}

fn probe(open: &OpenStretch, layout: Option<Layout>, most: usize) -> io::Result<Option<Space>> {
    let mut buffer = on_a_page(most);
    let length = open.read(0, &mut buffer[..16384 * PROBED_PAGES])?;
    let bytes = &buffer[..length];
    let flagged = layout.or_else(|| (length >= 64).then(|| Layout::of_first_page(bytes))?);
    if let Some(layout) = flagged {
        let probe = probed(bytes, layout);
        if probe.sound > probe.wrong {
            return Ok(Some(described(open, bytes, layout, &probe)));
        }
    }
    let length = open.read(0, &mut buffer)?;
    let bytes = &buffer[..length];
    let all = flagged.into_iter().chain(Layout::all());
    let probes = all.map(|layout| (layout, probed(bytes, layout)));
    let best = probes.max_by_key(|(layout, probe)| (probe.sound, layout.page_bytes, !layout.zip));
    Ok(best
        .filter(|(_, probe)| probe.sound > 0)
        .map(|(layout, probe)| described(open, bytes, layout, &probe)))
}

fn probed(bytes: &[u8], layout: Layout) -> Probe {
    let mut probe = Probe::default();
    let pages = bytes.chunks_exact(layout.page_bytes).take(PROBED_PAGES);
    for (index, page) in pages.enumerate() {
        if is_all_zero(page) {
            continue;
        }
        let number = word(page, 4);
        let space = space_of(page, &layout);
        // Any number will do: where a page belongs is what is asked.
        let place = Place { number, space };
        match judge(page, &layout, place) {
            Verdict::Sound(_) => {
                probe.sound += 1;
                if let Some(space) = space {
                    *probe.spaces.entry(space).or_default() += 1;
                }
                *probe
                    .firsts
                    .entry(number.wrapping_sub(index as u32))
                    .or_default() += 1;
            }
            Verdict::Wrong(_) => probe.wrong += 1,
        }
    }
    probe
}

fn described(open: &OpenStretch, bytes: &[u8], layout: Layout, probe: &Probe) -> Space {
    let id = most_frequent(&probe.spaces, word(bytes, 34));
    let first_page = most_frequent(&probe.firsts, word(bytes, 4)).unwrap_or(0);
    let header = &bytes[..layout.page_bytes.min(bytes.len())];
    let place = Place {
        number: 0,
        space: id,
    };
    let has_header = first_page == 0
        && header.len() == layout.page_bytes
        && matches!(judge(header, &layout, place), Verdict::Sound(_));
    Space {
        layout,
        id,
        first_page,
        pages: has_header.then(|| word(header, PAGES_AT)),
        doublewrite: match (id, first_page) {
            (Some(0), 0) => doublewrite(open, &layout),
            _ => Vec::new(),
        },
    }
}

/// The value found most often; of those found as often, the one preferred.
fn most_frequent(counts: &HashMap<u32, usize>, preferred: u32) -> Option<u32> {
    let by_count = |(value, count): &(&u32, &usize)| (**count, **value == preferred, **value);
    counts.iter().max_by_key(by_count).map(|(value, _)| *value)
}

/// The two extents of the doublewrite area, as the transaction system's page says; where that is
/// damaged, those where servers make them.
fn doublewrite(open: &OpenStretch, layout: &Layout) -> Vec<Range<u32>> {
    let extent = layout.extent_pages();
    let mut page = vec![0; layout.page_bytes];
    let at = u64::from(TRX_SYS_PAGE) * layout.page_bytes as u64;
    if !matches!(open.read(at, &mut page), Ok(bytes) if bytes == page.len()) {
        return Vec::new();
    }
    let place = Place {
        number: TRX_SYS_PAGE,
        space: Some(0),
    };
    if matches!(judge(&page, layout, place), Verdict::Wrong(_)) {
        return vec![extent..extent * 2, extent * 2..extent * 3];
    }
    let header = page.len() - DOUBLEWRITE_FROM_END;
    if word(&page, header + 10) != DOUBLEWRITE_MAGIC {
        return Vec::new();
    }
    let blocks = [word(&page, header + 14), word(&page, header + 18)];
    blocks
        .into_iter()
        .map(|first| first..first.saturating_add(extent))
        .collect()
}
