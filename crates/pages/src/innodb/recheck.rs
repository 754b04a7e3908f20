//! Reads wrong pages of a running server again, as the recheck of PostgreSQL's does.

use std::fs;
use std::io;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::files::DataFile;
use super::judge::{judge, Fault, Place, Verdict, Wrong};
use super::scan::{short, unreadable, Suspect};
use super::space::read_space;
use crate::reading::OpenStretch;
use crate::recheck::{hash, look_again};

/// Those that stay wrong over all `gaps`, and those that do not: (wrong, dismissed).
pub fn recheck(
    suspects: Vec<Suspect>,
    files: &[DataFile],
    gaps: &[Duration],
    stop: &AtomicBool,
    tick: impl FnMut(usize),
) -> (Vec<Suspect>, Vec<Suspect>) {
    let again = |suspect: &Suspect| {
        let (wrong, hash) = again(&files[suspect.file], suspect)?;
        let suspect = suspect.clone();
        Some((Suspect { wrong, ..suspect }, hash))
    };
    look_again(suspects, again, gaps, stop, tick)
}

/// What is still wrong, and a hash of the page; None: nothing, or the file is gone.
fn again(file: &DataFile, suspect: &Suspect) -> Option<(Wrong, u64)> {
    // A table that was rebuilt has another number, and may have another layout, under its old name.
    let now = match read_space(&file.path, None) {
        Ok(now) => now,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(_) => return Some((unreadable(), 0)),
    };
    let now = now.filter(|_| file.space != Some(0));
    // A log of undo was truncated, under its number: its first page says so.
    let pages = now.as_ref().and_then(|space| space.pages);
    let (layout, space, least_pages) = match &now {
        Some(now) if now.id != file.space => (now.layout, now.id, pages.unwrap_or(1)),
        _ => (file.layout, file.space, pages.unwrap_or(file.least_pages)),
    };
    let page_bytes = layout.page_bytes as u64;
    let index = suspect.page.wrapping_sub(file.first_page);
    if suspect.wrong.fault == Fault::Short {
        let bytes = fs::metadata(&file.path).ok()?.len();
        let pages = (bytes / page_bytes) as u32;
        let torn = bytes % page_bytes != 0;
        let wrong = short(least_pages.max(pages + u32::from(torn)), pages);
        return (torn || pages < least_pages).then_some((wrong, bytes));
    }
    let open = OpenStretch::open(&file.path, 0, file.bytes, false).ok()?;
    let mut page = vec![0; layout.page_bytes];
    match open.read(u64::from(index) * page_bytes, &mut page) {
        Err(_) => return Some((unreadable(), 0)),
        // A truncated end is reported by the suspect of the short file.
        Ok(bytes) if bytes < page.len() => return None,
        Ok(_) => {}
    }
    let place = Place {
        number: suspect.page,
        space,
    };
    match judge(&page, &layout, place) {
        Verdict::Sound(_) => None,
        Verdict::Wrong(wrong) => Some((wrong, hash(&page))),
    }
}
