//! Reads how a tablespace's pages are laid out from the flags in its first page.

use super::checksum::DATA;

/// Sizes of pages, in bytes (innodb_page_size).
pub const PAGE_SIZES: [usize; 5] = [4096, 8192, 16384, 32768, 65536];
/// Where the flags of a tablespace are in its first page (FSP_SPACE_FLAGS of fsp0fsp.h).
const FLAGS_AT: usize = DATA + 16;
/// Set in the flags of files of MariaDB's innodb_checksum_algorithm=full_crc32.
const FULL_CRC32: u32 = 1 << 4;
/// MySQL 5.7 and later: pages may be encrypted.
const MYSQL_ENCRYPTION: u32 = 1 << 13;
/// MariaDB, without full_crc32: pages may be compressed page by page.
const MARIADB_COMPRESSION: u32 = 1 << 16;
/// What MariaDB keeps about the encryption of a tablespace begins with this (fil0crypt.cc).
const MARIADB_CRYPT: [u8; 6] = [b's', 0x0e, 0x0c, b'R', b'E', b't'];
/// Bytes before the extent descriptors of a first page: file header, and the tablespace's.
const DESCRIPTORS_AT: usize = DATA + 112;

/// Encryption that a tablespace's first page speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encryption {
    None,
    Mysql,
    /// Without full_crc32, whose checksum covers what was encrypted.
    Mariadb,
}

/// How the pages of one tablespace are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Bytes of a page in the file.
    pub page_bytes: usize,
    /// Bytes of a page in memory; more than in the file under ROW_FORMAT=COMPRESSED.
    pub logical_bytes: usize,
    /// ROW_FORMAT=COMPRESSED: other bytes are covered, and there is no trailer.
    pub zip: bool,
    /// MariaDB's full_crc32.
    pub full_crc32: bool,
    /// How pages may be encrypted so that no known checksum of what is in the file is left.
    pub encryption: Encryption,
    /// Pages may be compressed page by page, as MariaDB does it without full_crc32.
    pub compressed: bool,
}

impl Layout {
    /// Uncompressed pages of a size, with one of the older checksums.
    pub fn plain(page_bytes: usize) -> Self {
        Self {
            page_bytes,
            logical_bytes: page_bytes,
            zip: false,
            full_crc32: false,
            encryption: Encryption::None,
            compressed: false,
        }
    }

    /// The layout that flags describe; None: no server writes such flags.
    pub fn of_flags(flags: u32) -> Option<Self> {
        if flags & FULL_CRC32 != 0 {
            let page_bytes = sized(flags & 15)?;
            return Some(Self {
                full_crc32: true,
                ..Self::plain(page_bytes)
            });
        }
        let logical_bytes = match flags >> 6 & 15 {
            0 => 16384,
            shift => sized(shift)?,
        };
        let zip = flags >> 1 & 15;
        let page_bytes = match zip {
            0 => logical_bytes,
            shift => 512 << shift,
        };
        // Neither MySQL nor MariaDB compresses rows of pages above 16 kB.
        let possible = page_bytes <= logical_bytes && (zip == 0 || logical_bytes <= 16384);
        possible.then_some(Self {
            page_bytes,
            logical_bytes,
            zip: zip != 0,
            full_crc32: false,
            encryption: match flags & MYSQL_ENCRYPTION {
                0 => Encryption::None,
                _ => Encryption::Mysql,
            },
            compressed: flags & MARIADB_COMPRESSION != 0,
        })
    }

    /// The layout of the file that begins with these bytes, 64 bytes or more.
    pub fn of_first_page(bytes: &[u8]) -> Option<Self> {
        let flags = super::judge::word(bytes, FLAGS_AT);
        let layout = Self::of_flags(flags)?;
        let encryption = match layout.encryption {
            Encryption::None if !layout.full_crc32 && layout.has_crypt_data(bytes) => {
                Encryption::Mariadb
            }
            known => known,
        };
        Some(Self {
            encryption,
            ..layout
        })
    }

    /// Pages of an extent (FSP_EXTENT_SIZE): 1 MB of them, and 64 at least.
    pub fn extent_pages(&self) -> u32 {
        ((1 << 20) / self.logical_bytes).max(64) as u32
    }

    /// MariaDB keeps the key's number behind the extent descriptors of the first page.
    fn has_crypt_data(&self, bytes: &[u8]) -> bool {
        let extent = self.extent_pages() as usize;
        let descriptor_bytes = 24 + extent * 2 / 8;
        let at = DESCRIPTORS_AT + self.page_bytes / extent * descriptor_bytes;
        bytes
            .get(at..at + MARIADB_CRYPT.len())
            .is_some_and(|found| found == MARIADB_CRYPT)
    }

    /// Every layout that a file may have, without encryption: for one whose flags are lost.
    pub fn all() -> impl Iterator<Item = Self> {
        let plain = PAGE_SIZES.into_iter().map(Self::plain);
        let full = PAGE_SIZES.into_iter().map(|size| Self {
            full_crc32: true,
            ..Self::plain(size)
        });
        let zips = PAGE_SIZES.into_iter().take(3).flat_map(|logical_bytes| {
            (1..=5)
                .map(|shift| 512 << shift)
                .filter(move |page_bytes| *page_bytes <= logical_bytes)
                .map(move |page_bytes| Self {
                    page_bytes,
                    zip: true,
                    ..Self::plain(logical_bytes)
                })
        });
        plain.chain(full).chain(zips)
    }
}

/// 4096 to 65536 for 3 to 7: how flags give the size of pages.
fn sized(shift: u32) -> Option<usize> {
    (3..=7).contains(&shift).then(|| 512 << shift)
}
