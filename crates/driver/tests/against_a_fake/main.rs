//! The whole driver against a server that does as it is told.

mod fake;
mod language;
mod misbehaviour;
mod pace;
mod slices;
