//! Ctrl-C, and other signals that ask for the end.

use std::{
    fs,
    io::{IsTerminal as _, Write as _, stderr},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytemuck::Pod;
use ndarray_npy::WritableElement;
use warpsmith::engine::{Cancel, EngineError, NpyFile};

use super::failure::Failure;

/// The exit code of a command that was cancelled: what shells make of a process that Ctrl-C ended.
pub const EXIT_CODE: u8 = 130;

/// Ends a command on SIGINT, SIGTERM and SIGHUP so that no half of an output is left: the first signal stops the computation, a second
/// everything.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    cancel: Cancel,
    stage: Arc<Mutex<Stage>>,
}

/// How far the command is.
#[derive(Debug, Default)]
enum Stage {
    /// There is no output yet: a signal ends the process at once.
    #[default]
    Before,
    /// The output is being written, under this name once there is one.
    Writing(Option<PathBuf>),
    /// The computation ends early with what it has, which then becomes the output.
    EndsEarly,
    /// The output is in place: it is too late to cancel.
    Done,
}

impl Interrupt {
    /// Handles the signals from now on, except those that the process was started to ignore, as `nohup` does. May be called once.
    pub fn handle() -> Result<Self, Failure> {
        let interrupt = Interrupt::default();
        let handler = interrupt.clone();
        let ignored = system::ignored();
        ctrlc::set_handler(move || handler.signalled())
            .map_err(|error| Failure::error(format_args!("signals can't be handled: {error}")))?;
        system::ignore(&ignored);
        Ok(interrupt)
    }

    /// What the first signal sets.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// From now on the first signal but sets the flag: the command looks at it, and then writes what it has.
    pub fn ends_early(&self) {
        *self.stage() = Stage::EndsEarly;
    }

    /// Creates the output.
    pub fn create<T: Pod + WritableElement>(
        &self,
        create: impl FnOnce() -> Result<NpyFile<T>, EngineError>,
    ) -> Result<NpyFile<T>, EngineError> {
        *self.stage() = Stage::Writing(None);
        let file = create()?;
        *self.stage() = Stage::Writing(Some(file.temporary_path().to_owned()));
        self.cancel.check()?;
        Ok(file)
    }

    /// Puts the output in place, unless there was a signal before: there is either an output or a cancellation.
    pub fn commit(&self, finish: impl FnOnce() -> Result<(), EngineError>) -> Result<(), EngineError> {
        let mut stage = self.stage();
        self.cancel.check()?;
        finish()?;
        *stage = Stage::Done;
        Ok(())
    }

    /// On a thread of its own, not in the signal's handler.
    fn signalled(&self) {
        let stage = self.stage();
        let first = !self.cancel.is_cancelled();
        self.cancel.cancel();
        match &*stage {
            Stage::Writing(_) if first => {
                if stderr().is_terminal() {
                    let _ = writeln!(stderr(), "\nstopping after the blocks under way; Ctrl-C once more ends at once");
                }
                return;
            }
            Stage::EndsEarly if first => {
                if stderr().is_terminal() {
                    let _ = writeln!(stderr(), "\nstopping with the best so far; Ctrl-C once more ends at once");
                }
                return;
            }
            Stage::Done if first => return,
            Stage::Writing(Some(path)) => {
                let _ = fs::remove_file(path);
            }
            _ => {}
        }
        let _ = writeln!(stderr(), "error: cancelled");
        system::exit()
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(unix)]
mod system {
    use std::{mem, ptr};

    /// Those of the signals that the process ignores.
    pub fn ignored() -> Vec<libc::c_int> {
        let is_ignored = |signal: &libc::c_int| {
            // SAFETY: a `sigaction` is plain numbers and an optional function, which all may be zero.
            let mut action: libc::sigaction = unsafe { mem::zeroed() };
            // SAFETY: without a new action the call changes nothing but `action`, which it fills.
            let result = unsafe { libc::sigaction(*signal, ptr::null(), &raw mut action) };
            result == 0 && action.sa_sigaction == libc::SIG_IGN
        };
        [libc::SIGINT, libc::SIGTERM, libc::SIGHUP].into_iter().filter(is_ignored).collect()
    }

    /// Ignores them.
    pub fn ignore(signals: &[libc::c_int]) {
        for signal in signals {
            // SAFETY: no handler is called, and nothing depends on the one that was there.
            unsafe { libc::signal(*signal, libc::SIG_IGN) };
        }
    }

    /// Ends the process without what is to be done at its end: other threads go on until it is gone, some of them in a GPU's driver.
    pub fn exit() -> ! {
        // SAFETY: no code of this process runs afterwards.
        unsafe { libc::_exit(super::EXIT_CODE.into()) }
    }
}

#[cfg(not(unix))]
mod system {
    pub fn ignored() {}

    pub fn ignore((): &()) {}

    pub fn exit() -> ! {
        std::process::exit(super::EXIT_CODE.into())
    }
}
