//! Starts programs that tests send signals to.

use std::{
    fs,
    os::unix::process::CommandExt as _,
    process::{Child, Command},
    thread,
    time::{Duration, Instant},
};

/// Has the program heed the signals that ask for its end: a shell that starts the tests in the background has them
/// ignore SIGINT, and what is ignored stays so.
pub fn heed_interrupts(command: &mut Command) -> &mut Command {
    let heed = || {
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            // SAFETY: no handler is called, and nothing depends on the one that was there.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: between fork and exec it makes calls that are allowed there.
    unsafe { command.pre_exec(heed) }
}

/// Waits until the program is ready for signals: before that, it is still being loaded.
#[allow(dead_code, reason = "most programs show by other things how far they are")]
pub fn wait_until_handled(child: &Child) {
    let start = Instant::now();
    let path = format!("/proc/{}/status", child.id());
    loop {
        let status = fs::read_to_string(&path).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap().trim();
        if u64::from_str_radix(caught, 16).unwrap() >> (libc::SIGHUP - 1) & 1 == 1 {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "no handler: {status}");
        thread::sleep(Duration::from_millis(1));
    }
}
