//! Tests the same without io_uring, and that the driver detects where it is missing.

#[path = "../against_a_fake/aborts.rs"]
mod aborts;
#[path = "../against_a_fake/fake.rs"]
mod fake;
mod forbidden;
#[path = "../against_a_fake/language.rs"]
mod language;
#[path = "../against_a_fake/misbehaviour.rs"]
mod misbehaviour;
#[path = "../against_a_fake/pace.rs"]
mod pace;
#[path = "../against_a_fake/slices.rs"]
mod slices;
#[path = "../against_a_fake/staged.rs"]
mod staged;
#[path = "../against_a_fake/states.rs"]
mod states;
#[path = "../against_a_fake/together.rs"]
mod together;

/// What the plans of these tests ask for.
const IO: &str = "epoll";
