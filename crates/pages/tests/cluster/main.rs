//! Tests walks, scans, rechecks, comparisons and the writing of checksums on a made-up cluster on
//! disk.

mod backwards;
mod made;
mod scanning;
mod sealing;
mod walking;
