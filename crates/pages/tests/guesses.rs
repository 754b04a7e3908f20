//! Tests guesses about damaged pages, and that none is made where the cause cannot be known.

use steelyard_pages::{guess, page_checksum, Random};

const BLOCK: u32 = 70_000;
const BLOCKS: u32 = 90_000;

/// A page of 100 rows of 40 bytes that name their block, and nothing between them and their
/// pointers.
fn page_of(block: u32) -> Vec<u8> {
    let mut page = vec![0u8; 8192];
    for n in 0..100u32 {
        let at = 8192 - 40 * (n + 1);
        put(&mut page, 24 + 4 * n as usize, &(at | 1 << 15 | 40 << 17));
        let row = &mut page[at as usize..at as usize + 40];
        for (index, byte) in row.iter_mut().enumerate() {
            *byte = (n as u8).wrapping_mul(31).wrapping_add(index as u8) | 1;
        }
        let ctid = [(block >> 16) as u16, block as u16, n as u16 + 1];
        let header = ctid.into_iter().chain([2, 0x0800]);
        for (index, half) in header.enumerate() {
            row[12 + 2 * index..14 + 2 * index].copy_from_slice(&half.to_ne_bytes());
        }
        row[22] = 24;
    }
    sealed(page, 8192, block)
}

/// The same as an index has it: rows that name nothing, and a special space.
fn index_page(block: u32) -> Vec<u8> {
    let mut page = page_of(block);
    page[8176..8192].fill(7);
    sealed(page, 8176, block)
}

fn sealed(mut page: Vec<u8>, special: u16, block: u32) -> Vec<u8> {
    for (at, value) in [(4, 77), (12, 424), (14, 4192), (16, special), (18, 8196)] {
        page[at..at + 2].copy_from_slice(&u16::to_ne_bytes(value));
    }
    let checksum = page_checksum(&page, block);
    page[8..10].copy_from_slice(&checksum.to_ne_bytes());
    page
}

fn put(page: &mut [u8], at: usize, word: &u32) {
    page[at..at + 4].copy_from_slice(&word.to_ne_bytes());
}

fn flipped(mut page: Vec<u8>, bit: usize) -> Vec<u8> {
    page[bit / 8] ^= 1 << (bit % 8);
    page
}

fn guessed(page: &[u8]) -> (&'static str, String) {
    let found = guess(page, BLOCK, BLOCKS);
    (found.kind, found.detail)
}

fn changed(change: impl FnOnce(&mut Vec<u8>)) -> (&'static str, String) {
    let mut page = page_of(BLOCK);
    change(&mut page);
    guessed(&page)
}

#[test]
fn plain_damage_is_called_by_its_name() {
    assert_eq!(changed(|page| page.fill(0xff)).0, "overwritten");
    let (kind, detail) = changed(|page| page[6144..6656].fill(0));
    assert_eq!(
        (kind, detail.as_str()),
        ("zeroed sector", "bytes 6144 to 6655 are zero")
    );
    assert_eq!(changed(|page| page[..512].fill(0)).0, "zeroed sector");
    let (kind, detail) = changed(|page| page.rotate_right(17));
    assert_eq!(
        (kind, detail.as_str()),
        ("shifted", "a page header stands at byte 17")
    );
    let (kind, detail) = changed(|page| page[7992..8032].fill(0));
    assert_eq!(kind, "torn", "{detail}");
}

#[test]
fn a_page_of_another_block_is_known_by_its_rows_however_far_it_is() {
    for block in [
        BLOCK - 1,
        BLOCK + 8,
        BLOCK - 4096,
        BLOCK - 65_537,
        3,
        BLOCKS + 5,
    ] {
        let found = guess(&page_of(block), BLOCK, BLOCKS);
        assert_eq!(found.kind, "misplaced");
        let named = format!("its rows name block {block}, and");
        assert!(found.detail.starts_with(&named), "{}", found.detail);
    }
}

#[test]
fn without_rows_a_page_of_another_block_is_looked_for_within_its_fork() {
    for block in [BLOCK + 7, BLOCK - 4096] {
        let found = guess(&index_page(block), BLOCK, BLOCKS);
        let named = format!("the checksum is right for block {block} ");
        assert!(found.detail.contains(&named), "{}", found.detail);
    }
    // A small fork is tried as a whole; 262,148 fits block 0 as 4 does, and is none of it.
    let found = guess(&index_page(4), 0, 300);
    assert!(
        found.detail.contains("right for block 4 of"),
        "{}",
        found.detail
    );
    let found = guess(&index_page(211), 40, 300);
    assert_eq!(found.kind, "misplaced");
    // The second segment put in as the fourth.
    let found = guess(&index_page(131_072 + 9), 3 * 131_072 + 9, 4 * 131_072);
    assert!(found.detail.contains("131081"), "{}", found.detail);
}

#[test]
fn no_single_bit_is_ever_called_more_than_one() {
    for page in [page_of(BLOCK), index_page(BLOCK)] {
        for bit in (0..192).chain((192..65_536).step_by(211)) {
            let found = guess(&flipped(page.clone(), bit), BLOCK, BLOCKS);
            assert!(
                ["one bit", "cannot tell"].contains(&found.kind),
                "bit {bit}: {} {}",
                found.kind,
                found.detail
            );
        }
    }
}

#[test]
fn a_bit_of_the_header_its_checksum_or_a_line_pointer_is_named() {
    for bit in 0..192 {
        let (kind, detail) = guessed(&flipped(page_of(BLOCK), bit));
        let named = format!("bit {} of byte {}", bit % 8, bit / 8);
        assert_eq!(kind, "one bit", "{named}");
        assert!(detail.contains(&named), "{detail}");
    }
    let (kind, detail) = guessed(&flipped(page_of(BLOCK), 40 * 8 + 13));
    assert_eq!(kind, "one bit", "{detail}");
}

#[test]
fn a_bit_of_an_index_page_s_checksum_may_be_a_misplaced_page_as_well() {
    let told: Vec<String> = (64..80)
        .map(|bit| guess(&flipped(index_page(BLOCK), bit), BLOCK, BLOCKS))
        .map(|found| format!("{}: {}", found.kind, found.detail))
        .collect();
    assert!(told
        .iter()
        .all(|told| told.contains("(pd_checksum) explains it")));
    assert!(
        told.iter().any(|told| told.starts_with("cannot tell")),
        "{told:?}"
    );
}

#[test]
fn what_hits_more_than_one_bit_is_hardly_ever_called_one() {
    let mut random = Random::new(1);
    let mut one = 0;
    for _ in 0..100 {
        let mut garbage = vec![0; 8192];
        random.fill(&mut garbage);
        assert_eq!(guessed(&garbage).0, "overwritten");
        let (kind, detail) = changed(|page| page[14..16].fill(0));
        assert_eq!(kind, "more than one bit", "{detail}");
        let at = 4192 + random.below(3900);
        let (kind, detail) = changed(|page| random.fill(&mut page[at..at + 80]));
        assert_eq!(kind, "more than one bit", "{detail}");
        // Within a row chance alone may name a bit of the header: 192 are tried against 65,535.
        let at = 4192 + 40 * random.below(90) + 24;
        one += usize::from(changed(|page| random.fill(&mut page[at..at + 8])).0 == "one bit");
    }
    assert!(one <= 2, "{one} of 100");
}

#[test]
fn halves_of_two_pages_are_told_by_the_blocks_that_their_rows_name() {
    let (kind, detail) = changed(|page| page[6112..].copy_from_slice(&page_of(9)[6112..]));
    assert_eq!(kind, "two pages");
    assert!(
        detail.contains("name block 70000") && detail.ends_with("on 9"),
        "{detail}"
    );
    let (kind, detail) = changed(|page| page[4096..].copy_from_slice(&page_of(9)[4096..]));
    assert_eq!(kind, "two pages");
    assert!(detail.starts_with("its rows name block 9, but"), "{detail}");
}
