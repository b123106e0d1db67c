//! Signals that end a command: Ctrl-C (SIGINT), SIGTERM, and SIGHUP, which is sent when a terminal
//! is closed.

use std::{
    io::{IsTerminal as _, Write as _, stderr},
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
};

use warpsmith::{
    common::{Cancel, Cancelled},
    design_rules::measure::kill_programs,
    io::files::remove_temporaries,
};

pub use system::exit;

/// The flag that the first signal sets.
static CANCEL: LazyLock<Cancel> = LazyLock::new(Cancel::new);

static STATE: Mutex<State> = Mutex::new(State { stage: Stage::Ends, code: 128 + SIGINT });

/// SIGINT has this number everywhere.
const SIGINT: u8 = 2;

struct State {
    stage: Stage,
    /// Exit code of a process that the first signal ended, as shells number it.
    code: u8,
}

/// Effect of a signal.
#[derive(Clone, Copy)]
enum Stage {
    /// Ends the process at once.
    Ends,
    /// Sets the flag, if it is the first signal, and prints the text at a terminal.
    Sets(&'static str),
    /// Nothing: the output is in place, or the command has ended, and it is too late to cancel.
    TooLate,
}

/// Handles signals from now on, except those that the process was started to ignore, as under
/// `nohup`. Call it once.
///
/// A signal ends the process at once and removes its temporary files, unless the command
/// [asks](Interrupt::first_sets) for a flag instead.
pub fn handle() {
    system::handle(signalled);
}

/// Marks the command as ended: signals no longer cancel it. Waits while one ends the process.
pub fn ended() {
    state().stage = Stage::TooLate;
}

/// Returns the exit code of a cancelled command: 128 plus the signal's number.
pub fn exit_code() -> u8 {
    state().code
}

/// A command that ends by itself after a first signal. A second one ends it at once.
#[derive(Clone, Copy, Debug)]
pub struct Interrupt(());

impl Interrupt {
    /// Makes the first signal set the flag and, at a terminal, print `what` happens then.
    pub fn first_sets(what: &'static str) -> Self {
        state().stage = Stage::Sets(what);
        Interrupt(())
    }

    /// The flag.
    pub fn cancel(&self) -> &'static Cancel {
        &CANCEL
    }

    /// Puts the output in place unless a signal came before: a command either writes its output or
    /// is cancelled.
    pub fn commit<E: From<Cancelled>>(&self, finish: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let mut state = state();
        self.cancel().check()?;
        finish()?;
        state.stage = Stage::TooLate;
        Ok(())
    }
}

/// Reacts to a signal, on a thread of its own and not in the signal's handler.
fn signalled(signal: u8) {
    let mut state = state();
    if !CANCEL.is_cancelled() {
        CANCEL.cancel();
        state.code = 128 + signal;
        match state.stage {
            Stage::Ends => {}
            Stage::Sets(what) => {
                if stderr().is_terminal() {
                    let _ = writeln!(stderr(), "\n{what}; Ctrl-C once more ends at once");
                }
                return;
            }
            Stage::TooLate => return,
        }
    }
    kill_programs();
    remove_temporaries();
    let _ = writeln!(stderr(), "error: cancelled");
    exit(state.code)
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(unix)]
mod system {
    use std::{mem, ptr, sync::mpsc, thread};

    use libc::{SIG_IGN, SIGHUP, SIGINT, SIGTERM, SIGXFSZ, c_int};
    use signal_hook::iterator::Signals;

    /// Calls this with each signal's number.
    pub fn handle(signalled: fn(u8)) {
        // Writing beyond the limit of file sizes becomes an error, like a full disk, instead of a
        // signal.
        // SAFETY: no handler is called, and nothing in this program depends on the one that was
        // there.
        unsafe { libc::signal(SIGXFSZ, SIG_IGN) };
        let heeded: Vec<c_int> = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !is_ignored(signal)).collect();
        let (ready, handled) = mpsc::channel();
        let watch = move || {
            let Ok(mut signals) = Signals::new(heeded) else { return };
            let _ = ready.send(());
            for signal in signals.forever() {
                // There are fewer than 128.
                signalled(signal as u8);
            }
        };
        // Without the thread, signals do what they always do.
        if thread::Builder::new().name("signals".to_owned()).spawn(watch).is_ok() {
            let _ = handled.recv();
        }
    }

    /// Returns true if the process ignores a signal.
    fn is_ignored(signal: c_int) -> bool {
        // SAFETY: a `sigaction` is plain numbers and an optional function, which all may be zero.
        let mut action: libc::sigaction = unsafe { mem::zeroed() };
        // SAFETY: without a new action the call changes nothing but `action`, which it fills.
        let result = unsafe { libc::sigaction(signal, ptr::null(), &raw mut action) };
        result == 0 && action.sa_sigaction == SIG_IGN
    }

    /// Ends the process without running exit handlers: other threads, some of them in a GPU's
    /// driver, still run.
    pub fn exit(code: u8) -> ! {
        // SAFETY: no code of this process runs afterwards.
        unsafe { libc::_exit(code.into()) }
    }
}

#[cfg(not(unix))]
mod system {
    pub fn handle(_: fn(u8)) {}

    pub fn exit(code: u8) -> ! {
        std::process::exit(code.into())
    }
}
