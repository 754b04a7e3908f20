//! Tests the whole driver against a fake server, by io_uring where the kernel permits it.

mod aborts;
mod fake;
mod language;
mod misbehaviour;
mod pace;
mod slices;
mod staged;
mod states;
mod together;

/// What the plans of these tests ask for.
const IO: &str = "auto";
