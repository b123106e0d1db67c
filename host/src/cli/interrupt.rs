//! Signals that ask for the end: Ctrl-C (SIGINT), SIGTERM, and SIGHUP, which comes when a terminal is closed.

use std::{
    io::{IsTerminal as _, Write as _, stderr},
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
};

use warpsmith::{
    common::{Cancel, Cancelled},
    io::files::remove_temporaries,
};

/// What the first signal sets.
static CANCEL: LazyLock<Cancel> = LazyLock::new(Cancel::new);

static STATE: Mutex<State> = Mutex::new(State { stage: Stage::Ends, code: 128 + SIGINT });

/// SIGINT has this number everywhere.
const SIGINT: u8 = 2;

struct State {
    stage: Stage,
    /// What the process ends with: what shells make of one that the first signal ended.
    code: u8,
}

/// What a signal does.
#[derive(Clone, Copy)]
enum Stage {
    /// It ends the process at once.
    Ends,
    /// The first one but sets the flag; somebody at a terminal is told what happens then.
    Sets(&'static str),
    /// The output is in place: it is too late to cancel.
    TooLate,
}

/// Handles signals from now on, except those that the process was started to ignore, as `nohup` does. To be called
/// once.
///
/// A signal ends the process at once, and no temporary file is left of it, unless the command
/// [asks](Interrupt::first_sets) for more.
pub fn handle() {
    system::handle(signalled);
}

/// The exit code of a command that was cancelled: 128 and the signal's number.
pub fn exit_code() -> u8 {
    state().code
}

/// A command that ends by itself after a first signal. A second one ends it at once.
#[derive(Clone, Copy, Debug)]
pub struct Interrupt(());

impl Interrupt {
    /// From now on the first signal but sets the flag. At a terminal, `what` happens then is said.
    pub fn first_sets(what: &'static str) -> Self {
        state().stage = Stage::Sets(what);
        Interrupt(())
    }

    /// The flag.
    pub fn cancel(&self) -> &'static Cancel {
        &CANCEL
    }

    /// Puts the output in place, unless there was a signal before: there is either an output or a cancellation.
    pub fn commit<E: From<Cancelled>>(&self, finish: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let mut state = state();
        self.cancel().check()?;
        finish()?;
        state.stage = Stage::TooLate;
        Ok(())
    }
}

/// On a thread of its own, not in the signal's handler.
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
    remove_temporaries();
    let _ = writeln!(stderr(), "error: cancelled");
    system::exit(state.code)
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
        // A file that is larger than the process may make one is an error, as a full disk is.
        // SAFETY: no handler is called, and nothing in this program depends on the one that was there.
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

    /// Whether the process ignores a signal.
    fn is_ignored(signal: c_int) -> bool {
        // SAFETY: a `sigaction` is plain numbers and an optional function, which all may be zero.
        let mut action: libc::sigaction = unsafe { mem::zeroed() };
        // SAFETY: without a new action the call changes nothing but `action`, which it fills.
        let result = unsafe { libc::sigaction(signal, ptr::null(), &raw mut action) };
        result == 0 && action.sa_sigaction == SIG_IGN
    }

    /// Ends the process without what is to be done at its end: other threads go on until it is gone, some of them in a
    /// GPU's driver.
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
