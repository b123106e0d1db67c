//! Programs that tests send signals to.

use std::{os::unix::process::CommandExt as _, process::Command};

/// Has the program heed SIGINT: a shell that starts the tests in the background has them ignore it, and what is ignored stays so.
pub fn heed_interrupts(command: &mut Command) -> &mut Command {
    let heed = || {
        // SAFETY: no handler is called, and nothing depends on the one that was there.
        unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
        Ok(())
    };
    // SAFETY: between fork and exec it makes one call, which is allowed there.
    unsafe { command.pre_exec(heed) }
}
