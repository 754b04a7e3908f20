//! A server for a crowd: one thread, every connection answered alike, nothing allocated for one.

use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};

use crate::counted::live;

const WELCOME: &[u8] = b"R\0\0\0\x08\0\0\0\0\
    S\0\0\0\x18server_version\x0018.4\0\
    K\0\0\0\x0c\0\0\x04\0\0\0\0\x63\
    Z\0\0\0\x05I";
const ROW: &[u8] = b"2\0\0\0\x04D\0\0\0\x0b\0\x01\0\0\0\x017C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";

static CROWDS: AtomicU32 = AtomicU32::new(0);

/// A server that has room for so many.
pub struct Crowd {
    pub directory: PathBuf,
    live: Arc<AtomicUsize>,
}

impl Crowd {
    pub fn gather(clients: usize) -> Crowd {
        let number = CROWDS.fetch_add(1, Ordering::Relaxed);
        let name = format!("steelyard-crowd-{}-{number}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        // A process of this number may have left one when it was killed.
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir(&directory).unwrap();
        let listener = UnixListener::bind(directory.join(".s.PGSQL.5432")).unwrap();
        let sampled = Arc::new(AtomicUsize::new(0));
        let live = Arc::clone(&sampled);
        let served = Served::new(listener, clients);
        // It ends when every client has gone.
        thread::spawn(move || served.and_then(|served| served.serve(&sampled)));
        Crowd { directory, live }
    }

    /// Live bytes of the process when half of the requests had come.
    pub fn live_in_the_middle(&self) -> usize {
        self.live.load(Ordering::SeqCst)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

struct Served {
    listener: UnixListener,
    streams: Vec<(UnixStream, bool)>,
    poll: Poll,
    clients: usize,
}

impl Served {
    fn new(listener: UnixListener, clients: usize) -> io::Result<Served> {
        let poll = Poll::new()?;
        listener.set_nonblocking(true)?;
        let fd = listener.as_raw_fd();
        let readable = Interest::READABLE;
        poll.registry()
            .register(&mut SourceFd(&fd), Token(usize::MAX), readable)?;
        Ok(Served {
            listener,
            streams: Vec::with_capacity(clients),
            poll,
            clients,
        })
    }

    fn serve(mut self, sampled: &AtomicUsize) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        let mut buffer = vec![0; 64 << 10];
        let (mut requests, mut gone) = (0, 0);
        while gone < self.clients {
            self.poll.poll(&mut events, None)?;
            for event in &events {
                if event.token() == Token(usize::MAX) {
                    self.accept()?;
                    continue;
                }
                let (stream, welcomed) = &mut self.streams[event.token().0];
                match stream.read(&mut buffer) {
                    Ok(0) => gone += 1,
                    Ok(_) if buffer[0] == b'X' => {}
                    Ok(_) if *welcomed => {
                        requests += 1;
                        if requests == 5 * self.clients {
                            sampled.store(live(), Ordering::SeqCst);
                        }
                        if buffer[0] == b'P' {
                            stream.write_all(b"1\0\0\0\x04")?;
                        }
                        stream.write_all(ROW)?;
                    }
                    Ok(_) => {
                        *welcomed = true;
                        stream.write_all(WELCOME)?;
                    }
                    Err(_) => {}
                }
            }
        }
        Ok(())
    }

    fn accept(&mut self) -> io::Result<()> {
        while let Ok((stream, _)) = self.listener.accept() {
            stream.set_nonblocking(true)?;
            let fd = stream.as_raw_fd();
            let token = Token(self.streams.len());
            self.poll
                .registry()
                .register(&mut SourceFd(&fd), token, Interest::READABLE)?;
            self.streams.push((stream, false));
        }
        Ok(())
    }
}
