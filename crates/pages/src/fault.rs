//! Plants faults into single pages: what a disk may return instead of what was written.

use std::ops::Range;

use crate::algorithm::{Place, Scheme};

const SECTOR_BYTES: usize = 512;
/// Numbers that a block may have here: those of a fork of 128 GB. What a sum of 16 bits misses of
/// writes far away depends on the number's bits, so it is drawn for each fault.
const BLOCKS: usize = 1 << 24;

/// A page as it was written last, and as it was before that; as any block of its relation.
#[derive(Debug, Clone)]
pub struct Versions {
    pub now: Vec<u8>,
    pub before: Vec<u8>,
    pub relation: u32,
}

/// What a fault left on disk of what was written to a place.
#[derive(Debug, Clone)]
pub struct Planted {
    pub place: Place,
    pub written: Vec<u8>,
    pub disk: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageFault {
    OneBit,
    TwoBits,
    BitRun,
    ZeroedSector,
    ZeroedPage,
    Ones,
    Garbage,
    TornSector,
    TornHalf,
    Shifted,
    Misplaced,
    /// Exactly so many blocks away in the same fork.
    MisplacedBy(u32),
    OtherRelation,
    LostWrite,
    EmptyHeader,
}

impl PageFault {
    pub const ALL: [Self; 17] = [
        Self::OneBit,
        Self::TwoBits,
        Self::BitRun,
        Self::ZeroedSector,
        Self::ZeroedPage,
        Self::Ones,
        Self::Garbage,
        Self::TornSector,
        Self::TornHalf,
        Self::Shifted,
        Self::Misplaced,
        Self::MisplacedBy(65_535),
        Self::MisplacedBy(65_536),
        Self::MisplacedBy(65_537),
        Self::OtherRelation,
        Self::LostWrite,
        Self::EmptyHeader,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::OneBit => "one bit",
            Self::TwoBits => "two bits",
            Self::BitRun => "run of bits",
            Self::ZeroedSector => "zeroed sector",
            Self::ZeroedPage => "zeroed page",
            Self::Ones => "sector of ones",
            Self::Garbage => "garbage",
            Self::TornSector => "torn page, 512 B",
            Self::TornHalf => "torn page, 4 kB",
            Self::Shifted => "shifted page",
            Self::Misplaced => "misdirected write",
            Self::MisplacedBy(65_535) => "misdirected by 65,535 blocks",
            Self::MisplacedBy(65_536) => "misdirected by 65,536 blocks",
            Self::MisplacedBy(_) => "misdirected by 65,537 blocks",
            Self::OtherRelation => "from another relation",
            Self::LostWrite => "lost write",
            Self::EmptyHeader => "pd_upper zeroed",
        }
    }

    /// What is read back of `page`; None when that happens to be what was written.
    ///
    /// The same draws make the same fault under every scheme, and none of them when it is None.
    pub fn plant(
        self,
        scheme: &Scheme,
        page: &Versions,
        other: &Versions,
        random: &mut Random,
    ) -> Option<Planted> {
        let place = Place {
            relation: page.relation,
            block: random.below(BLOCKS) as u32,
        };
        let sealed = |content: &[u8], place, write| {
            let mut content = content.to_vec();
            scheme.seal(&mut content, place, write);
            content
        };
        let written = sealed(&page.now, place, 1);
        let disk = match self {
            Self::TornSector | Self::TornHalf => {
                let old = self.torn_part(page, random)?;
                let before = sealed(&page.before, place, 0);
                let mut disk = written.clone();
                disk[old.clone()].copy_from_slice(&before[old]);
                disk
            }
            Self::LostWrite => sealed(&page.before, place, 0),
            Self::Misplaced | Self::MisplacedBy(_) | Self::OtherRelation => {
                let home = self.home(place, random);
                sealed(&other.now, home, random.below(2) as u32)
            }
            _ => {
                let mut disk = written.clone();
                self.damage(random, &mut disk);
                disk
            }
        };
        (disk != written).then_some(Planted {
            place,
            written,
            disk,
        })
    }

    /// Where a page that was misdirected belongs.
    fn home(self, place: Place, random: &mut Random) -> Place {
        let block = match self {
            Self::OtherRelation => {
                let relation = place.relation ^ (1 + random.below(1 << 20) as u32);
                return Place { relation, ..place };
            }
            Self::MisplacedBy(distance) => distance_from(place.block, distance),
            _ => place.block.wrapping_add(1 + random.below(60_000) as u32),
        };
        Place { block, ..place }
    }

    /// Which part stays old; None when all that had changed is old again, or new: then nothing is
    /// torn. That is asked of what the server wrote, so that it does not depend on the scheme.
    fn torn_part(self, page: &Versions, random: &mut Random) -> Option<Range<usize>> {
        let bytes = page.now.len();
        let at = match self {
            Self::TornHalf => bytes / 2,
            _ => SECTOR_BYTES * (1 + random.below(bytes / SECTOR_BYTES - 1)),
        };
        // Either end of the page may have been written first.
        let parts = [at..bytes, 0..at];
        let same = |part: &Range<usize>| page.now[part.clone()] == page.before[part.clone()];
        let torn = !parts.iter().any(same);
        let [end, beginning] = parts;
        let old = if random.below(2) == 0 { end } else { beginning };
        torn.then_some(old)
    }

    fn damage(self, random: &mut Random, disk: &mut [u8]) {
        let bits = disk.len() * 8;
        let sector = SECTOR_BYTES * random.below(disk.len() / SECTOR_BYTES);
        match self {
            Self::OneBit => flip(disk, random.below(bits)),
            Self::TwoBits => {
                let first = random.below(bits);
                flip(disk, first);
                flip(disk, (first + 1 + random.below(bits - 1)) % bits);
            }
            Self::BitRun => {
                let length = 3 + random.below(62);
                let first = random.below(bits - length);
                (first..first + length)
                    .filter(|_| random.below(2) == 1)
                    .for_each(|at| flip(disk, at));
            }
            Self::ZeroedSector => disk[sector..sector + SECTOR_BYTES].fill(0),
            Self::ZeroedPage => disk.fill(0),
            Self::Ones => disk[sector..sector + SECTOR_BYTES].fill(0xff),
            Self::Shifted => disk.rotate_right(1 + random.below(SECTOR_BYTES)),
            Self::EmptyHeader => {
                disk[14..16].fill(0);
                random.fill(&mut disk[sector.max(SECTOR_BYTES)..sector.max(SECTOR_BYTES) + 64]);
            }
            _ => random.fill(disk),
        }
    }
}

/// The block so far behind this one, or before it where the fork begins too late for that.
fn distance_from(block: u32, distance: u32) -> u32 {
    block.checked_sub(distance).unwrap_or(block + distance)
}

fn flip(page: &mut [u8], bit: usize) {
    page[bit / 8] ^= 1 << (bit % 8);
}

/// SplitMix64 (Steele, Lea and Flood, 2014): small, seedable, and good enough to draw faults.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ word >> 31
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }

    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let word = self.next().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
}
