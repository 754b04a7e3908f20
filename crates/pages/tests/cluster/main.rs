//! A made-up cluster on disk: walked, scanned, looked at again, and compared with itself.

mod backwards;
mod made;
mod scanning;
mod walking;
