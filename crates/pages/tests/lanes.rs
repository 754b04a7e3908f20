//! Tests that every kernel of this processor gives what the textbook version gives.

use steelyard_pages::{page_checksum, page_checksums, Kernel};

fn noise(bytes: usize, seed: u32) -> Vec<u8> {
    let mut word = seed;
    (0..bytes)
        .map(|_| {
            word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (word >> 24) as u8
        })
        .collect()
}

#[test]
fn all_kernels_give_the_same_for_all_page_sizes() {
    let kernels: Vec<Kernel> = Kernel::ALL
        .into_iter()
        .filter(|k| k.is_available())
        .collect();
    assert!(kernels.contains(&Kernel::Scalar));
    for page_bytes in [1024, 2048, 4096, 8192, 16384, 32768] {
        // Seven pages: one group side by side, and a remainder. Unaligned on purpose.
        let bytes = noise(page_bytes * 7 + 3, page_bytes as u32);
        let buffer = &bytes[3..];
        let (mut wanted, mut found) = (Vec::new(), Vec::new());
        page_checksums(
            Kernel::Scalar,
            buffer,
            page_bytes,
            u32::MAX - 2,
            &mut wanted,
        );
        assert_eq!(wanted.len(), 7);
        for kernel in &kernels {
            page_checksums(*kernel, buffer, page_bytes, u32::MAX - 2, &mut found);
            assert_eq!(found, wanted, "{} at {page_bytes}", kernel.name());
        }
    }
}

#[test]
fn a_page_alone_has_the_checksum_it_has_among_others() {
    let buffer = noise(8192 * 5, 7);
    let mut found = Vec::new();
    page_checksums(Kernel::best(), &buffer, 8192, 100, &mut found);
    for (index, page) in buffer.chunks_exact(8192).enumerate() {
        assert_eq!(page_checksum(page, 100 + index as u32), found[index]);
    }
}

#[test]
fn a_kernel_that_is_not_available_is_refused() {
    let missing = Kernel::ALL
        .into_iter()
        .find(|kernel| !kernel.is_available());
    let kernel = missing.expect("no processor has both AVX2 and NEON");
    let page = vec![0u8; 8192];
    assert!(std::panic::catch_unwind(|| kernel.fold(&page)).is_err());
}
