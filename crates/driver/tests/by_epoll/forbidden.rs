//! Tests a kernel that forbids io_uring, as containers do.

use crate::fake::{drive, rows, slices, FakeServer, Reply};
use serde_json::json;

const SELECT: &str = "SELECT 1;\n";

/// Makes io_uring_setup fail in this thread and in those that it starts, as seccomp profiles of
/// containers do.
fn forbid_io_uring() {
    const ARGUMENT_LOADED: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURNED: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let number_of_the_call = 0;
    let mut steps = [
        step(ARGUMENT_LOADED, 0, 0, number_of_the_call),
        step(IF_EQUAL, 0, 1, libc::SYS_io_uring_setup as u32),
        step(RETURNED, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        step(RETURNED, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: steps.len() as u16,
        filter: steps.as_mut_ptr(),
    };
    // SAFETY: the program and its steps live through the calls.
    let forbidden = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                std::ptr::from_ref(&program),
            ) == 0
    };
    assert!(forbidden);
}

fn where_forbidden<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::spawn(|| {
        forbid_io_uring();
        act()
    });
    thread.join().unwrap()
}

#[test]
fn a_kernel_that_forbids_io_uring_is_driven_by_epoll() {
    let server = FakeServer::start(|_| Reply::Bytes(rows(1, b'I')));
    let plan = server.plan(SELECT, json!({"io": "auto"}));
    let answers = where_forbidden(move || drive(&plan, &[json!([{"arm": 0, "count": 20}])]));
    assert_eq!(answers[0]["io"], "epoll");
    assert_eq!(slices(&answers)[0]["transactions"], 20);
}

#[test]
fn io_uring_that_was_asked_for_and_is_forbidden_is_an_error() {
    let server = FakeServer::start(|_| Reply::Bytes(rows(1, b'I')));
    let plan = server.plan(SELECT, json!({"io": "io_uring"}));
    let answers = where_forbidden(move || drive(&plan, &[json!([{"arm": 0, "count": 20}])]));
    let error = &answers[0]["error"];
    assert_eq!(
        error["primary"],
        "could not prepare to wait for connections"
    );
    assert!(
        error["detail"].as_str().unwrap().contains("not permitted"),
        "{error}"
    );
}

#[test]
fn epoll_is_used_where_it_is_asked_for() {
    let server = FakeServer::start(|_| Reply::Bytes(rows(1, b'I')));
    let answers = drive(&server.plan(SELECT, json!({})), &[]);
    assert_eq!(answers[0]["io"], "epoll");
}
