//! What a client and a server say arrives at the other one, whole.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use steelyard_proxy::{Proxy, ProxyOptions};

const PATIENCE: Duration = Duration::from_secs(20);
/// Nothing more is taken, or happens, after so long without any.
const STILL: Duration = Duration::from_millis(300);
/// More than buffers of sockets hold.
const MOST_BYTES: usize = 64 << 20;
const SSL_REQUEST: i32 = 80_877_103;
const GSS_REQUEST: i32 = 80_877_104;

/// A server of one client behind a proxy, in a directory that goes with it.
struct Behind {
    proxy: Proxy,
    server: JoinHandle<()>,
    directory: PathBuf,
}

impl Behind {
    fn start(name: &str, serve: impl FnOnce(UnixStream) + Send + 'static) -> Behind {
        let directory =
            std::env::temp_dir().join(format!("syt-proxy-{}-{name}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let listener = UnixListener::bind(directory.join(".s.PGSQL.5432")).unwrap();
        let server = thread::spawn(move || serve(listener.accept().unwrap().0));
        let host = directory.to_str().unwrap();
        let proxy = Proxy::start(ProxyOptions {
            listen: "127.0.0.1:0".parse().unwrap(),
            arm: format!(
                r#"{{"name": "a", "host": "{host}", "port": 5432, "user": "u", "database": "d",
                     "password": null, "clients": 1}}"#
            ),
            certificate: None,
            spool: spool(&directory),
            most_bytes: 1 << 20,
            most_connections: 10,
        })
        .unwrap();
        Behind {
            proxy,
            server,
            directory,
        }
    }

    fn client(&self) -> TcpStream {
        let client = TcpStream::connect(self.proxy.address).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        client
    }

    fn end(self) {
        self.server.join().unwrap();
        fs::remove_dir_all(self.directory).unwrap();
    }
}

fn spool(directory: &std::path::Path) -> File {
    let path = directory.join("spool");
    OpenOptions::new()
        .create_new(true)
        .read(true)
        .write(true)
        .open(path)
        .unwrap()
}

fn request(code: i32) -> Vec<u8> {
    [8_i32.to_be_bytes(), code.to_be_bytes()].concat()
}

fn startup() -> Vec<u8> {
    let words = b"user\0u\0database\0d\0\0";
    let length = i32::try_from(8 + words.len()).unwrap();
    [&length.to_be_bytes()[..], &196_608_i32.to_be_bytes(), words].concat()
}

fn read_startup(server: &mut UnixStream) -> Vec<u8> {
    let mut came = vec![0; startup().len()];
    server.read_exact(&mut came).unwrap();
    came
}

#[test]
fn a_client_that_asks_for_any_encryption_is_told_no_and_goes_on() {
    for asked in [
        vec![GSS_REQUEST],
        vec![SSL_REQUEST],
        vec![GSS_REQUEST, SSL_REQUEST],
    ] {
        let name = format!("asks-{}-{}", asked.len(), asked[0]);
        let behind = Behind::start(&name, |mut server| {
            assert_eq!(read_startup(&mut server), startup());
            server.write_all(b"hello").unwrap();
        });
        let mut client = behind.client();
        for code in asked {
            client.write_all(&request(code)).unwrap();
            let mut answer = [0];
            client.read_exact(&mut answer).unwrap();
            assert_eq!(&answer, b"N");
        }
        client.write_all(&startup()).unwrap();
        let mut said = Vec::new();
        client.read_to_end(&mut said).unwrap();
        assert_eq!(said, b"hello");
        behind.end();
    }
}

#[test]
fn what_a_server_said_last_arrives_at_a_client_that_takes_slowly() {
    let (gone, is_gone) = mpsc::channel();
    let behind = Behind::start("slow", move |mut server| {
        read_startup(&mut server);
        server.set_write_timeout(Some(STILL)).unwrap();
        let block = [b'x'; 1 << 16];
        let mut total = 0;
        // Until nothing is taken any more: the proxy, and all that lies before it, is full.
        while let Ok(bytes) = server.write(&block) {
            total += bytes;
            assert!(total < MOST_BYTES, "what is not taken yet has no bound");
        }
        drop(server);
        gone.send(total).unwrap();
    });
    let mut client = behind.client();
    client.write_all(&startup()).unwrap();
    let total = is_gone.recv().unwrap();
    thread::sleep(STILL); // the proxy hears that the server hung up
    let mut said = Vec::new();
    client.read_to_end(&mut said).unwrap();
    assert_eq!(said.len(), total);
    behind.end();
}

#[test]
fn what_an_open_connection_has_counted_is_in_the_status() {
    let (full, is_full) = mpsc::channel();
    let (end, may_end) = mpsc::channel::<()>();
    let behind = Behind::start("open", move |mut server| {
        read_startup(&mut server);
        server.set_write_timeout(Some(STILL)).unwrap();
        let block = [b'x'; 1 << 16];
        while server.write(&block).is_ok() {}
        full.send(()).unwrap();
        may_end.recv().unwrap();
    });
    let mut client = behind.client();
    client.write_all(&startup()).unwrap();
    client.write_all(&[0; 64]).unwrap(); // no message has a length of nothing
    is_full.recv().unwrap();
    let begun = Instant::now();
    assert!(behind.proxy.stop());
    assert!(begun.elapsed() < STILL, "its notes had ended already");
    let status = behind.proxy.status();
    assert_eq!((status.open, status.unreadable), (1, 1));
    assert!(status.slow > 0);
    end.send(()).unwrap();
    drop(client);
    behind.end();
}
