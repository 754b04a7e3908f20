//! The whole driver against a server that does as it is told.

mod fake;
mod misbehaviour;
mod slices;
