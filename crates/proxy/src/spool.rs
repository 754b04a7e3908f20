//! Writes what connections note to a file, on a thread of its own: no connection waits for a disk.

use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::notes::Notes;

/// Pieces that wait for the disk, of at most some hundred kB each.
const MOST_WAITING: usize = 256;

/// What was not written, for the disk was too slow or the file as long as it may be.
#[derive(Default)]
pub struct Lost {
    pub statements: AtomicU64,
    pub time_ns: AtomicU64,
    /// The file got as long as it may be, or writing failed.
    pub full: AtomicBool,
}

impl Lost {
    fn count(&self, notes: &Notes) {
        self.statements
            .fetch_add(notes.statements, Ordering::Relaxed);
        self.time_ns.fetch_add(notes.time_ns, Ordering::Relaxed);
    }
}

struct Piece {
    connection: u32,
    notes: Notes,
}

/// The file, by its thread.
pub struct Spool {
    pieces: Mutex<Option<SyncSender<Piece>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    pub lost: Arc<Lost>,
}

impl Spool {
    /// Writes no more than `most` bytes.
    pub fn new(file: File, most: u64) -> std::io::Result<Spool> {
        let (pieces, taken) = sync_channel(MOST_WAITING);
        let lost = Arc::new(Lost::default());
        let counted = Arc::clone(&lost);
        let writer = thread::Builder::new()
            .name("spool".to_owned())
            .spawn(move || write_pieces(file, most, &taken, &counted))?;
        Ok(Spool {
            pieces: Mutex::new(Some(pieces)),
            writer: Mutex::new(Some(writer)),
            lost,
        })
    }

    /// A way into it for one connection; `None`: it is closed.
    pub fn entry(&self, connection: u32) -> Option<Entry> {
        let pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        pieces.clone().map(|pieces| Entry {
            connection,
            pieces,
            lost: Arc::clone(&self.lost),
        })
    }

    /// Returns when everything is in the file. Every entry must be gone before.
    pub fn close(&self) {
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        drop(pieces.take());
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(writer) = writer.take() {
            // A writer that panicked has lost what it had: its words are on standard error.
            let _ = writer.join();
        }
    }
}

/// One connection's way into the file.
pub struct Entry {
    connection: u32,
    pieces: SyncSender<Piece>,
    lost: Arc<Lost>,
}

impl Entry {
    /// Hands notes on without waiting; what finds no room is counted as lost.
    pub fn hand_on(&self, notes: Notes) {
        let piece = Piece {
            connection: self.connection,
            notes,
        };
        match self.pieces.try_send(piece) {
            Ok(()) => {}
            Err(TrySendError::Full(piece) | TrySendError::Disconnected(piece)) => {
                self.lost.count(&piece.notes);
                // What it defined is missing from now on.
                self.lost.full.store(true, Ordering::Relaxed);
            }
        }
    }
}

fn write_pieces(mut file: File, most: u64, pieces: &Receiver<Piece>, lost: &Lost) {
    let mut written = 0;
    let mut whole = Vec::new();
    while let Ok(piece) = pieces.recv() {
        let length = piece.notes.bytes.len();
        if lost.full.load(Ordering::Relaxed) || written + length as u64 > most {
            lost.full.store(true, Ordering::Relaxed);
            lost.count(&piece.notes);
            continue;
        }
        whole.clear();
        whole.extend_from_slice(&piece.connection.to_le_bytes());
        whole.extend_from_slice(&(length as u32).to_le_bytes());
        whole.extend_from_slice(&piece.notes.bytes);
        if file.write_all(&whole).is_err() {
            lost.full.store(true, Ordering::Relaxed);
            lost.count(&piece.notes);
            continue;
        }
        written += whole.len() as u64;
    }
}
