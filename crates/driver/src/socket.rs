//! A stream socket, Unix or TCP: blocking for the handshake, then without blocking.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Where a server listens.
#[derive(Clone, Debug)]
pub struct Target {
    /// A socket directory (begins with `/`) or a host name.
    pub host: String,
    pub port: u16,
}

impl Target {
    pub fn is_local(&self) -> bool {
        self.host.starts_with('/')
    }

    fn socket_path(&self) -> PathBuf {
        PathBuf::from(format!("{}/.s.PGSQL.{}", self.host, self.port))
    }

    /// As an error message names it.
    pub fn shown(&self) -> String {
        if self.is_local() {
            format!("socket \"{}\"", self.socket_path().display())
        } else {
            format!("\"{}\", port {}", self.host, self.port)
        }
    }
}

/// The address arguments of a connected socket.
const NO_ADDRESS: *const libc::c_void = std::ptr::null();

/// A connected stream. Bytes go by the bare system calls: the C library's are points where a
/// thread can be cancelled, which costs two atomic operations a call.
#[derive(Debug)]
pub struct Socket(OwnedFd);

impl Socket {
    /// Connects by `deadline` at the latest.
    pub fn connect(target: &Target, deadline: Instant) -> io::Result<Socket> {
        if target.is_local() {
            return Ok(Socket(UnixStream::connect(target.socket_path())?.into()));
        }
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the host name has no address");
        for address in (target.host.as_str(), target.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, remaining(deadline)?) {
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
        let time = libc::timeval {
            tv_sec: left.as_secs() as libc::time_t,
            tv_usec: left.subsec_micros().max(1) as libc::suseconds_t,
        };
        for option in [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO] {
            // SAFETY: `time` is a timeval and its size is passed; the descriptor is ours.
            let result = unsafe {
                libc::setsockopt(
                    self.0.as_raw_fd(),
                    libc::SOL_SOCKET,
                    option,
                    std::ptr::from_ref(&time).cast(),
                    std::mem::size_of_val(&time) as libc::socklen_t,
                )
            };
            if result != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }

    /// Makes every later call return at once.
    pub fn set_nonblocking(&self) -> io::Result<()> {
        let mut on: libc::c_int = 1;
        // SAFETY: FIONBIO reads one int at the address given.
        let result = unsafe { libc::ioctl(self.0.as_raw_fd(), libc::FIONBIO, &mut on) };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Sends what fits; never raises SIGPIPE.
    #[inline]
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            // SAFETY: the pointer and length are those of a live slice; there is no address.
            let sent = unsafe {
                libc::syscall(
                    libc::SYS_sendto,
                    self.0.as_raw_fd(),
                    bytes.as_ptr(),
                    bytes.len(),
                    libc::MSG_NOSIGNAL,
                    NO_ADDRESS,
                    0,
                )
            };
            if sent >= 0 {
                return Ok(sent as usize);
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }

    /// Ends the stream both ways: whoever waits on it hears its end.
    pub fn shut(&self) {
        // SAFETY: no pointers are passed; a stream that has ended already is as good.
        unsafe { libc::shutdown(self.0.as_raw_fd(), libc::SHUT_RDWR) };
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
        loop {
            // SAFETY: the pointer and length are those of a live, writable slice; no address is
            // asked for.
            let received = unsafe {
                libc::syscall(
                    libc::SYS_recvfrom,
                    self.0.as_raw_fd(),
                    buffer.as_mut_ptr(),
                    buffer.len(),
                    0,
                    NO_ADDRESS,
                    NO_ADDRESS,
                )
            };
            if received >= 0 {
                return Ok(received as usize);
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
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
