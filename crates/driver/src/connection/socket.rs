//! Wraps a stream socket, Unix or TCP: it blocks for the handshake, and not afterwards.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::io::{ioctl_fionbio, retry_on_intr};
use rustix::net::sockopt::{set_socket_timeout, Timeout};
use rustix::net::{recv, send, shutdown, RecvFlags, SendFlags, Shutdown};

/// Of the time in which one of several addresses may answer.
const LEAST_SHARE: Duration = Duration::from_millis(1);

/// A connected stream. Bytes go by bare system calls, as rustix makes them: the C library's are
/// points where a thread can be cancelled, which costs two atomic operations a call.
#[derive(Debug)]
pub struct Socket(OwnedFd);

impl Socket {
    /// Connects to a Unix socket.
    pub fn connect_local(path: &Path) -> io::Result<Socket> {
        Ok(Socket(UnixStream::connect(path)?.into()))
    }

    /// Connects by TCP to the first address of a host that accepts, by `deadline` at the latest.
    pub fn connect_remote(host: &str, port: u16, deadline: Instant) -> io::Result<Socket> {
        let addresses: Vec<_> = (host, port).to_socket_addrs()?.collect();
        Socket::connect_first(&addresses, deadline)
    }

    /// An address that answers nothing takes its share of the time, and no more: where a host has
    /// one of IPv6 that leads nowhere, the other is still tried.
    fn connect_first(addresses: &[SocketAddr], deadline: Instant) -> io::Result<Socket> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the host name has no address");
        for (tried, address) in addresses.iter().enumerate() {
            let left = (addresses.len() - tried) as u32;
            let share = (remaining(deadline)? / left).max(LEAST_SHARE);
            match TcpStream::connect_timeout(address, share) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(Socket(stream.into()));
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Lets blocking calls end at `deadline` with an error.
    pub fn set_deadline(&self, deadline: Instant) -> io::Result<()> {
        let left = remaining(deadline)?;
        for timeout in [Timeout::Recv, Timeout::Send] {
            set_socket_timeout(&self.0, timeout, Some(left))?;
        }
        Ok(())
    }

    /// Makes every later call return at once.
    pub fn set_nonblocking(&self) -> io::Result<()> {
        Ok(ioctl_fionbio(&self.0, true)?)
    }

    /// Makes later calls wait, until `deadline` at the latest.
    pub fn set_blocking(&self, deadline: Instant) -> io::Result<()> {
        ioctl_fionbio(&self.0, false)?;
        self.set_deadline(deadline)
    }

    /// Sends what fits; never raises SIGPIPE.
    #[inline]
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(retry_on_intr(|| send(&self.0, bytes, SendFlags::NOSIGNAL))?)
    }

    /// Sends everything, blocking.
    pub fn send_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let sent = self.send(bytes)?;
            bytes = &bytes[sent..];
        }
        Ok(())
    }

    /// Receives what is there; 0 at the end of the stream.
    #[inline]
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let (received, _) = retry_on_intr(|| recv(&self.0, &mut *buffer, RecvFlags::empty()))?;
        Ok(received)
    }

    /// Ends the stream both ways: its end will be received.
    pub fn shut_down(&self) {
        // A stream that has ended already is as good.
        let _ = shutdown(&self.0, Shutdown::Both);
    }
}

impl From<TcpStream> for Socket {
    fn from(stream: TcpStream) -> Socket {
        Socket(stream.into())
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

fn remaining(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::Error::from(io::ErrorKind::TimedOut));
    }
    Ok(left)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A listener that takes no connection any more, and refuses none: what comes is dropped.
    fn silent() -> (TcpListener, Vec<TcpStream>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let address = listener.local_addr().unwrap();
        let connect = || TcpStream::connect_timeout(&address, Duration::from_millis(100));
        let waiting = std::iter::from_fn(|| connect().ok()).take(1000).collect();
        (listener, waiting)
    }

    #[test]
    fn an_address_that_is_silent_leaves_time_for_the_next_one() {
        let (silent, _waiting) = silent();
        let answering = TcpListener::bind("127.0.0.1:0").unwrap();
        let addresses = [&silent, &answering].map(|one| one.local_addr().unwrap());
        let within = |ms| Instant::now() + Duration::from_millis(ms);
        let socket = Socket::connect_first(&addresses, within(2000)).unwrap();
        let peer = rustix::net::getpeername(&socket).unwrap().unwrap();
        assert_eq!(SocketAddr::try_from(peer).unwrap(), addresses[1]);
        let error = Socket::connect_first(&addresses[..1], within(200)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let error = Socket::connect_first(&[], within(200)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
