//! Tests InnoDB's pages: recorded ones of real servers, textbook checksums, made-up directories.

mod checksums;
mod directories;
mod layouts;
mod recorded;
mod verdicts;
