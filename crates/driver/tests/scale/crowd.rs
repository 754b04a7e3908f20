//! Serves many connections from one thread: all are answered alike, and none allocates memory.

use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

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
    server: Option<JoinHandle<io::Result<()>>>,
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
        let server = thread::spawn(move || served.and_then(|served| served.serve(&sampled)));
        Crowd {
            directory,
            live,
            server: Some(server),
        }
    }

    /// Waits until every client has gone and the server has closed its files; the live bytes of
    /// the process when half of the requests had come.
    pub fn end(mut self) -> usize {
        let server = self.server.take().expect("it ends once");
        server.join().unwrap().unwrap();
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
    /// Each with whether it was welcomed; none once the client has gone.
    streams: Vec<Option<(UnixStream, bool)>>,
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
                gone += usize::from(self.answer(event.token().0, &mut buffer, &mut requests)?);
                if requests >= 5 * self.clients && sampled.load(Ordering::SeqCst) == 0 {
                    sampled.store(live(), Ordering::SeqCst);
                }
            }
        }
        Ok(())
    }

    /// Reads all that is there, as an edge-triggered event demands; true: the client has gone.
    fn answer(
        &mut self,
        number: usize,
        buffer: &mut [u8],
        requests: &mut usize,
    ) -> io::Result<bool> {
        let Some((stream, welcomed)) = &mut self.streams[number] else {
            return Ok(false);
        };
        loop {
            match stream.read(buffer) {
                Ok(0) => break,
                Ok(_) if buffer[0] == b'X' => {}
                Ok(_) if *welcomed => {
                    *requests += 1;
                    if buffer[0] == b'P' {
                        stream.write_all(b"1\0\0\0\x04")?;
                    }
                    stream.write_all(ROW)?;
                }
                Ok(_) => {
                    *welcomed = true;
                    stream.write_all(WELCOME)?;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(_) => break,
            }
        }
        self.streams[number] = None;
        Ok(true)
    }

    fn accept(&mut self) -> io::Result<()> {
        while let Ok((stream, _)) = self.listener.accept() {
            stream.set_nonblocking(true)?;
            let fd = stream.as_raw_fd();
            let token = Token(self.streams.len());
            self.poll
                .registry()
                .register(&mut SourceFd(&fd), token, Interest::READABLE)?;
            self.streams.push(Some((stream, false)));
        }
        Ok(())
    }
}
