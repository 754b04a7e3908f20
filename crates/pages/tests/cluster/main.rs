//! Tests walks, scans, rechecks and comparisons on a made-up cluster on disk.

mod backwards;
mod made;
mod scanning;
mod walking;
