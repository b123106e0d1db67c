//! Kernels that end the process: what they leave on stderr. Each case runs in a process of its own.
#![cfg(unix)]

mod common;

use common::launch;
use simt::{Executor, current};
use std::env;
use std::hint::black_box;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

/// Says which case a process is for.
const CASE: &str = "SIMT_TEST_SIGNAL";

/// A kernel that is at `thread` of block 1 when something happens; the others wait at a barrier where `waits`.
fn run(waits: bool, thread: u32, happens: impl Fn() + Sync) {
    let outcome = Executor::new(1).run(&launch(2, 40), &|| {
        if current::block_idx().x == 1 {
            match current::thread_idx().x {
                x if x == thread => happens(),
                x if x < thread && waits => current::sync_threads(),
                _ => {}
            }
        }
    });
    panic!("nothing has happened: {outcome:?}");
}

#[inline(never)]
fn recurse(depth: u64) -> u64 {
    let frame = black_box([depth; 64]);
    if depth == u64::MAX { 0 } else { recurse(depth + 1) + black_box(frame)[3] }
}

extern "C" fn cannot_unwind() {
    panic!("not out of here");
}

fn no_memory() {
    // SAFETY: none; the process ends here.
    unsafe { black_box(std::ptr::without_provenance_mut::<u32>(0x1230)).write_volatile(1) };
}

/// The signal that ends a process, and what it says.
#[track_caller]
fn dies(name: &str, signal: i32, parts: &[&str], case: impl FnOnce()) {
    if env::var(CASE).is_ok_and(|wanted| wanted == name) {
        case();
        return;
    }
    let this = env::current_exe().unwrap();
    let output = Command::new(this).args([name, "--exact", "--nocapture", "--test-threads=1"]).env(CASE, name).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(signal), "{said}");
    for part in parts {
        assert!(said.contains(part), "`{part}` is not in: {said}");
    }
}

const PLACE: &str = "kernel `test`, block (1, 0, 0), thread (17, 0, 0): ";

#[test]
fn an_access_to_no_memory() {
    if cfg!(simt_check) {
        return;
    }
    dies("an_access_to_no_memory", libc::SIGSEGV, &[PLACE, "SIGSEGV at an access to address 0x1230\n"], || {
        run(false, 17, no_memory);
    });
}

#[test]
fn an_access_to_no_memory_while_others_wait() {
    if cfg!(simt_check) {
        return;
    }
    dies("an_access_to_no_memory_while_others_wait", libc::SIGSEGV, &[PLACE, "at an access to address 0x1230\n"], || {
        run(true, 17, no_memory);
    });
}

#[test]
fn an_access_to_dynamic_shared_memory_of_no_bytes() {
    const SAID: &str = "dynamic shared memory, of which the launch gave 0 bytes";
    // SAFETY: none; the thread gets no further.
    let write = || unsafe { black_box(current::dynamic_shared()).cast::<u32>().add(17).write_volatile(1) };
    if cfg!(simt_check) {
        let error = Executor::new(1).run(&launch(1, 1), &write).unwrap_err().to_string();
        assert!(error.contains(SAID), "{error}");
        return;
    }
    let name = "an_access_to_dynamic_shared_memory_of_no_bytes";
    dies(name, libc::SIGSEGV, &[PLACE, "SIGSEGV at an access to ", SAID], || run(true, 17, write));
}

#[test]
fn a_stack_that_overflows_while_others_wait() {
    let parts = [PLACE, "SIGSEGV, as the thread's stack of 256 KiB has overflowed\n"];
    dies("a_stack_that_overflows_while_others_wait", libc::SIGSEGV, &parts, || run(true, 17, || _ = black_box(recurse(0))));
}

/// The standard library's handler has its say after ours.
#[test]
fn the_stack_of_an_os_thread_that_overflows() {
    if cfg!(simt_check) {
        return;
    }
    let parts = [PLACE, "has overflowed its stack"];
    dies("the_stack_of_an_os_thread_that_overflows", libc::SIGABRT, &parts, || run(false, 17, || _ = black_box(recurse(0))));
}

#[test]
fn a_panic_that_cannot_unwind() {
    let parts =
        [PLACE, "SIGABRT, after it panicked at ", "signals.rs:", ": not out of here\n", "panic in a function that cannot unwind"];
    dies("a_panic_that_cannot_unwind", libc::SIGABRT, &parts, || run(true, 17, || cannot_unwind()));
}

/// A handler that was there before is called with what it would have got.
#[test]
fn a_handler_of_the_program() {
    extern "C" fn handler(_: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        // SAFETY: the system passes a description, which has an address for this signal.
        if unsafe { (*info).si_addr() }.addr() == 0x1230 {
            // SAFETY: `_exit` may be called in a handler.
            unsafe { libc::_exit(42) };
        }
    }
    if cfg!(simt_check) {
        return;
    }
    if env::var_os(CASE).is_some() {
        // SAFETY: the action is made of a handler of the type that SA_SIGINFO asks for.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(libc::SIGSEGV, &action, std::ptr::null_mut());
        }
        run(false, 17, no_memory);
    }
    let this = env::current_exe().unwrap();
    let name = "a_handler_of_the_program";
    let output = Command::new(this).args([name, "--exact", "--nocapture", "--test-threads=1"]).env(CASE, name).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(42), "{said}");
    assert!(said.contains(PLACE), "{said}");
}
