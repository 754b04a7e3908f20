//! Listens for clients, and gives each a connection to the server and a thread.

use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{eventfd, poll, EventfdFlags, PollFd, PollFlags};
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use rustls::ServerConfig;
use steelyard_driver::{now_ns, DriveError, Latencies, Socket, Upstream};

use crate::client_tls::server_config;
use crate::end::{Cipher, End};
use crate::mechanisms::Mechanisms;
use crate::observer::Observer;
use crate::opening::{fatal, read_opening, Opening, Refused, SessionStart};
use crate::passage::{Events, Noting, Passage, Totals};
use crate::spool::Spool;

/// Of a connection's thread: it holds its buffers on the heap.
const STACK: usize = 256 << 10;
/// How long threads may take to see an event.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);
/// For a cancel request: the server answers by closing the connection.
const CANCEL_TIME: Duration = Duration::from_secs(5);
/// Descriptors of a connection, and those of the process.
const FILES_OF_A_CONNECTION: u64 = 2;
const OTHER_FILES: u64 = 64;

/// How a proxy is set up.
pub struct ProxyOptions {
    pub listen: SocketAddr,
    /// The server, as JSON of an arm.
    pub arm: String,
    /// A certificate and its key, for clients that encrypt.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// Where notes go, and how many bytes of them at most.
    pub spool: File,
    pub most_bytes: u64,
    /// More are refused.
    pub most_connections: usize,
}

/// Counts so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    pub connections: u64,
    pub open: usize,
    pub refused: u64,
    pub unreachable: u64,
    pub cancels: u64,
    /// Of streams of the log, which are not noted.
    pub replication: u64,
    pub encrypted: u64,
    /// Whose bytes could not be followed to their end.
    pub unreadable: u64,
    /// Forwards that waited for an end that takes slowly.
    pub slow: u64,
    pub lost_statements: u64,
    pub lost_ns: u64,
    pub full: bool,
}

#[derive(Default)]
struct Counts {
    connections: AtomicU64,
    open: AtomicUsize,
    noted: AtomicUsize,
    refused: AtomicU64,
    unreachable: AtomicU64,
    cancels: AtomicU64,
    replication: AtomicU64,
    encrypted: AtomicU64,
}

struct Shared {
    upstream: Upstream,
    certificate: Option<Arc<ServerConfig>>,
    spool: Spool,
    most_connections: usize,
    counts: Counts,
    totals: Totals,
    stop: OwnedFd,
    close: OwnedFd,
    stopped: AtomicBool,
}

/// A proxy that listens. Threads end with it.
pub struct Proxy {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

impl Proxy {
    /// Listens at once; the server is not connected to before the first client is.
    pub fn start(options: ProxyOptions) -> Result<Proxy, DriveError> {
        let certificate = options
            .certificate
            .as_ref()
            .map(|(certificate, key)| server_config(certificate, key));
        let failed = |what: &str, error: io::Error| {
            DriveError::new(format!("could not {what}")).detail(error)
        };
        let event = || eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let shared = Arc::new(Shared {
            upstream: Upstream::new(&options.arm)?,
            certificate: certificate.transpose()?,
            spool: Spool::new(options.spool, options.most_bytes)
                .map_err(|error| failed("start a thread", error))?,
            most_connections: raise_file_limit(options.most_connections),
            counts: Counts::default(),
            totals: Totals {
                latencies: Mutex::new(Latencies::empty()),
                slow: AtomicU64::new(0),
                unreadable: AtomicU64::new(0),
            },
            stop: event().map_err(|error| failed("make an event", error.into()))?,
            close: event().map_err(|error| failed("make an event", error.into()))?,
            stopped: AtomicBool::new(false),
        });
        let listener = TcpListener::bind(options.listen).map_err(|error| {
            DriveError::new(format!("could not listen on {}: {error}", options.listen))
                .hint("Another port may be free: --listen PORT.")
        })?;
        let address = listener
            .local_addr()
            .map_err(|error| failed("listen", error))?;
        let accepting = Arc::clone(&shared);
        spawn("listener", move || accept_all(&listener, &accepting))
            .map_err(|error| failed("start a thread", error))?;
        Ok(Proxy { address, shared })
    }

    pub fn status(&self) -> Status {
        let (counts, lost) = (&self.shared.counts, &self.shared.spool.lost);
        let read = |of: &AtomicU64| of.load(Ordering::Relaxed);
        Status {
            connections: read(&counts.connections),
            open: counts.open.load(Ordering::Relaxed),
            refused: read(&counts.refused),
            unreachable: read(&counts.unreachable),
            cancels: read(&counts.cancels),
            replication: read(&counts.replication),
            encrypted: read(&counts.encrypted),
            unreadable: read(&self.shared.totals.unreadable),
            slow: read(&self.shared.totals.slow),
            lost_statements: read(&lost.statements),
            lost_ns: read(&lost.time_ns),
            full: lost.full.load(Ordering::Relaxed),
        }
    }

    /// Ends the notes: everything is in the file afterwards. Connections are still passed through,
    /// and new ones refused by a closed port. False: a connection did not end its notes in time.
    pub fn stop(&self) -> bool {
        self.shared.stopped.store(true, Ordering::SeqCst);
        signal(&self.shared.stop);
        let deadline = Instant::now() + PATIENCE;
        let noted = &self.shared.counts.noted;
        while noted.load(Ordering::SeqCst) > 0 && Instant::now() < deadline {
            thread::sleep(PAUSE);
        }
        let all = noted.load(Ordering::SeqCst) == 0;
        if all {
            self.shared.spool.close();
        }
        all
    }

    /// The time from receipt to forward of all bytes, by connections that have handed it on: an
    /// encoded histogram of nanoseconds.
    pub fn latencies(&self) -> Result<String, DriveError> {
        let latencies = &self.shared.totals.latencies;
        latencies
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .encoded()
    }

    /// Ends every connection, which clients and the server see as closed.
    pub fn close(&self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        signal(&self.shared.stop);
        signal(&self.shared.close);
        let deadline = Instant::now() + PATIENCE;
        let open = &self.shared.counts.open;
        while open.load(Ordering::SeqCst) > 0 && Instant::now() < deadline {
            thread::sleep(PAUSE);
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.close();
    }
}

fn signal(event: &OwnedFd) {
    // An event that was signalled already is as good.
    let _ = rustix::io::write(event, &1_u64.to_ne_bytes());
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let builder = thread::Builder::new().name(name.to_owned());
    builder.stack_size(STACK).spawn(work).map(drop)
}

/// How many connections may be open: as many as are asked for, where the process may.
fn raise_file_limit(connections: usize) -> usize {
    let needed = connections as u64 * FILES_OF_A_CONNECTION + OTHER_FILES;
    let limit = getrlimit(Resource::Nofile);
    let had = limit.current.unwrap_or(u64::MAX);
    if had >= needed {
        return connections;
    }
    let most = needed.min(limit.maximum.unwrap_or(u64::MAX));
    let raised = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(most),
            maximum: limit.maximum,
        },
    );
    let files = if raised.is_ok() { most } else { had };
    (files.saturating_sub(OTHER_FILES) / FILES_OF_A_CONNECTION) as usize
}

/// Accepts clients until the notes end; then the port is closed.
fn accept_all(listener: &TcpListener, shared: &Arc<Shared>) {
    if listener.set_nonblocking(true).is_err() {
        return;
    }
    let mut number = 0;
    loop {
        let mut polled = [
            PollFd::from_borrowed_fd(shared.stop.as_fd(), PollFlags::IN),
            PollFd::new(listener, PollFlags::IN),
        ];
        if poll(&mut polled, None).is_err_and(|error| error != rustix::io::Errno::INTR)
            || shared.stopped.load(Ordering::SeqCst)
        {
            return;
        }
        match listener.accept() {
            Ok((stream, _)) => {
                number += 1;
                serve(stream, number, shared);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // No descriptors, or a client that is gone: others may be served later.
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

fn serve(stream: TcpStream, number: u32, shared: &Arc<Shared>) {
    let open = shared.counts.open.fetch_add(1, Ordering::SeqCst);
    let is_one_too_many = open >= shared.most_connections;
    let own = Arc::clone(shared);
    let served = spawn("passage", move || {
        if stream.set_nonblocking(false).is_ok() && stream.set_nodelay(true).is_ok() {
            let client = Socket::from(stream);
            if is_one_too_many {
                refuse_one(&client, &own);
            } else {
                open_passage(client, number, &own);
            }
        }
        own.counts.open.fetch_sub(1, Ordering::SeqCst);
    });
    if served.is_err() {
        shared.counts.open.fetch_sub(1, Ordering::SeqCst);
        shared.counts.refused.fetch_add(1, Ordering::Relaxed);
    }
}

fn refuse_one(client: &Socket, shared: &Shared) {
    shared.counts.refused.fetch_add(1, Ordering::Relaxed);
    let words = format!(
        "sorry, too many clients already: {} are passed through",
        shared.most_connections
    );
    let _ = client.set_deadline(Instant::now() + Duration::from_secs(1));
    let _ = client.send_all(&fatal("53300", &words));
}

fn open_passage(socket: Socket, number: u32, shared: &Arc<Shared>) {
    let counts = &shared.counts;
    let mut client = End::new(socket, Cipher::Plain);
    match read_opening(&mut client, shared.certificate.as_ref()) {
        Ok(Opening::Session(start)) => pass_session(client, &start, number, shared),
        Ok(Opening::Cancel(request)) => {
            counts.cancels.fetch_add(1, Ordering::Relaxed);
            // A cancel request has no answer, whatever becomes of it.
            let _ = pass_cancel(&request, shared);
        }
        Err(Refused::Protocol(_)) => {
            counts.refused.fetch_add(1, Ordering::Relaxed);
        }
        // A look whether the port is open, or a client that has given up.
        Err(Refused::Gone) => {}
    }
}

fn pass_cancel(request: &[u8], shared: &Shared) -> io::Result<()> {
    let (socket, tls) = shared.upstream.open().map_err(io::Error::other)?;
    let mut request = request.to_vec();
    if let Some(mut tls) = tls {
        tls.encrypt(&mut request)?;
    }
    socket.set_deadline(Instant::now() + CANCEL_TIME)?;
    socket.send_all(&request)?;
    while socket.receive(&mut [0; 256])? > 0 {}
    Ok(())
}

/// `behind`: what the client sent behind its startup message.
fn observer_of(names: &[u8], behind: &[u8]) -> Observer {
    let mut observer = Observer::new(names);
    observer.from_client(behind, now_ns());
    observer
}

fn pass_session(mut client: End, start: &SessionStart, number: u32, shared: &Arc<Shared>) {
    let counts = &shared.counts;
    let (socket, tls) = match shared.upstream.open() {
        Ok(opened) => opened,
        Err(error) => {
            counts.unreachable.fetch_add(1, Ordering::Relaxed);
            let words = format!("could not connect to the server: {error}");
            let _ = client.socket.set_deadline(Instant::now() + PATIENCE);
            let _ = client.send(&fatal("08001", &words));
            return;
        }
    };
    counts.connections.fetch_add(1, Ordering::Relaxed);
    if !matches!(client.cipher, Cipher::Plain) {
        counts.encrypted.fetch_add(1, Ordering::Relaxed);
    }
    if start.replication {
        counts.replication.fetch_add(1, Ordering::Relaxed);
    }
    let mut server = End::new(socket, tls.map_or(Cipher::Plain, Cipher::Server));
    let nonblocking =
        client.socket.set_nonblocking().is_ok() && server.socket.set_nonblocking().is_ok();
    if !nonblocking || server.send(&start.startup).is_err() || server.send(&start.behind).is_err() {
        return;
    }
    counts.noted.fetch_add(1, Ordering::SeqCst);
    let entry = match start.replication || shared.stopped.load(Ordering::SeqCst) {
        true => None,
        false => shared.spool.entry(number),
    };
    let noting = entry.map(|entry| Noting {
        observer: observer_of(&start.names, &start.behind),
        entry,
    });
    let mut is_counted = true;
    let mut uncount = || {
        if std::mem::take(&mut is_counted) {
            counts.noted.fetch_sub(1, Ordering::SeqCst);
        }
    };
    if noting.is_none() {
        uncount();
    }
    let is_half_encrypted =
        matches!(client.cipher, Cipher::Plain) && !matches!(server.cipher, Cipher::Plain);
    let mut passage = Passage {
        client,
        server,
        noting,
        mechanisms: is_half_encrypted.then(Mechanisms::default),
        latencies: Latencies::empty(),
        slow: 0,
        unreadable: false,
    };
    let events = Events {
        stop: shared.stop.as_fd(),
        close: shared.close.as_fd(),
    };
    passage.run(&events, &shared.totals, &mut uncount);
    uncount();
}
