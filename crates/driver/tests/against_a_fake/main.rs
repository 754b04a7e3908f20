//! The whole driver against a server that does as it is told, by io_uring where the kernel lets.

mod fake;
mod language;
mod misbehaviour;
mod pace;
mod slices;
mod staged;
mod states;

/// What the plans of these tests ask for.
const IO: &str = "auto";
