//! What happened to a page is guessed from what is left of it.

use steelyard_pages::{guess, page_checksum};

const BLOCK: u32 = 70_000;

/// A page of 100 tuples of 40 bytes, and nothing between them and their pointers.
fn page() -> Vec<u8> {
    let mut page = vec![0u8; 8192];
    for n in 0..100u32 {
        let at = 8192 - 40 * (n + 1);
        let pointer = at | 1 << 15 | 40 << 17;
        page[24 + 4 * n as usize..28 + 4 * n as usize].copy_from_slice(&pointer.to_ne_bytes());
        for (index, byte) in page[at as usize..at as usize + 40].iter_mut().enumerate() {
            *byte = (n as u8).wrapping_mul(31).wrapping_add(index as u8) | 1;
        }
    }
    for (at, value) in [(4, 77), (12, 424), (14, 4192), (16, 8192), (18, 8196)] {
        page[at..at + 2].copy_from_slice(&u16::to_ne_bytes(value));
    }
    let checksum = page_checksum(&page, BLOCK);
    page[8..10].copy_from_slice(&checksum.to_ne_bytes());
    page
}

fn guessed(change: impl FnOnce(&mut Vec<u8>)) -> (&'static str, String) {
    let mut page = page();
    change(&mut page);
    let found = guess(&page, BLOCK);
    (found.kind, found.detail)
}

#[test]
fn plain_damage_is_called_by_its_name() {
    assert_eq!(guessed(|page| page.fill(0xff)).0, "overwritten");
    let (kind, detail) = guessed(|page| page[6144..6656].fill(0));
    assert_eq!(
        (kind, detail.as_str()),
        ("zeroed sector", "bytes 6144 to 6655 are zero")
    );
    assert_eq!(guessed(|page| page[..512].fill(0)).0, "zeroed sector");
    let (kind, detail) = guessed(|page| page.rotate_right(17));
    assert_eq!(
        (kind, detail.as_str()),
        ("shifted", "a page header stands at byte 17")
    );
    let (kind, detail) = guessed(|page| page[8] ^= 4);
    assert_eq!(kind, "misplaced");
    assert!(
        detail.contains("one bit of the checksum itself"),
        "{detail}"
    );
    let (kind, detail) = guessed(|page| page[7992..8032].fill(0));
    assert_eq!(kind, "torn", "{detail}");
}

#[test]
fn a_page_of_another_block_is_called_misplaced() {
    for block in [BLOCK - 1, BLOCK + 8, BLOCK - 4096] {
        let found = guess(&page(), block);
        assert_eq!(found.kind, "misplaced");
        assert!(found.detail.contains("block 70000"), "{}", found.detail);
    }
    // 2^16 is 1 more than 65535: the checksum cannot tell which of the two it was.
    assert_eq!(guess(&page(), BLOCK + 65_536).kind, "misplaced");
}

#[test]
fn a_flipped_bit_is_always_among_those_that_would_explain_it() {
    let mut none = 0;
    for at in (5000..8192).step_by(211) {
        assert_eq!(guessed(|page| page[at] ^= 1 << (at % 8)).0, "one bit");
        let several = guessed(|page| page[at - 100..at].iter_mut().for_each(|b| *b ^= 0x55));
        none += usize::from(several.0 == "several bits");
    }
    assert!(none > 0, "proof that it was no single bit: {none} times"); // 1/e of 16
}
