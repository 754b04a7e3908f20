//! Tests how flags are read: of MySQL, and of MariaDB with and without full_crc32.

use steelyard_pages::innodb::{Encryption, Layout};

#[test]
fn flags_of_both_servers_are_read() {
    let plain = |bytes| Some(Layout::plain(bytes));
    let full = |bytes| {
        Some(Layout {
            full_crc32: true,
            ..Layout::plain(bytes)
        })
    };
    let zip = |page_bytes, logical_bytes| {
        Some(Layout {
            page_bytes,
            zip: true,
            ..Layout::plain(logical_bytes)
        })
    };
    assert_eq!(Layout::of_flags(0), plain(16384));
    assert_eq!(Layout::of_flags(0x21), plain(16384)); // DYNAMIC
    assert_eq!(Layout::of_flags(3 << 6 | 0x21), plain(4096));
    assert_eq!(Layout::of_flags(7 << 6), plain(65536));
    assert_eq!(Layout::of_flags(0x21 | 1 << 1), zip(1024, 16384));
    assert_eq!(Layout::of_flags(0x21 | 5 << 1), zip(16384, 16384));
    assert_eq!(Layout::of_flags(3 << 6 | 0x21 | 2 << 1), zip(2048, 4096));
    assert_eq!(Layout::of_flags(0x15), full(16384));
    assert_eq!(Layout::of_flags(0x17), full(65536));
    let encrypted = Layout::of_flags(1 << 13 | 0x21).map(|layout| layout.encryption);
    assert_eq!(encrypted, Some(Encryption::Mysql));
    assert_eq!(
        Layout::of_flags(1 << 16 | 0x21).map(|l| l.compressed),
        Some(true)
    );
}

#[test]
fn flags_that_no_server_writes_are_refused() {
    // Sizes of pages that there are not, and compressed pages larger than the others.
    for flags in [1 << 6, 2 << 6, 8 << 6, 0x11, 0x18, 3 << 6 | 0x21 | 4 << 1] {
        assert_eq!(Layout::of_flags(flags), None, "{flags:#x}");
    }
}

#[test]
fn any_flags_give_a_layout_that_is_one_of_all_or_none() {
    for flags in 0..1 << 17 {
        let Some(layout) = Layout::of_flags(flags) else {
            continue;
        };
        let bare = Layout {
            encryption: Encryption::None,
            compressed: false,
            ..layout
        };
        assert!(Layout::all().any(|known| known == bare), "{flags:#x}");
    }
}

#[test]
fn an_extent_has_a_megabyte_and_64_pages_at_least() {
    let pages = |bytes| Layout::plain(bytes).extent_pages();
    assert_eq!(
        [4096, 8192, 16384, 32768, 65536].map(pages),
        [256, 128, 64, 64, 64]
    );
}
