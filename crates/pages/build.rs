//! Detects whether the compiler has AVX-512 intrinsics: they are stable since Rust 1.89.

use std::process::Command;

const FIRST_WITH_AVX512: u32 = 89;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(stable_avx512)");
    if minor_version().is_some_and(|minor| minor >= FIRST_WITH_AVX512) {
        println!("cargo:rustc-cfg=stable_avx512");
    }
}

/// 95 of "rustc 1.95.0 (…)".
fn minor_version() -> Option<u32> {
    let compiler = std::env::var("RUSTC").ok()?;
    let output = Command::new(compiler).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.split('.').nth(1)?.parse().ok()
}
