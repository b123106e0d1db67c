//! Number of threads that do the CPU's work.
//!
//! Kernels on the CPU backend run on the threads of [`simt`], and what the host does itself (files,
//! generators, matrices put in place) on those of `rayon`. Both pools belong to the process and
//! have [`count`] threads. The first of these that is set decides:
//! 1. what [`start`] was called with, such as an option of the program;
//! 2. the environment variable `WARPSMITH_THREADS`, from 1 to [`MOST`];
//! 3. `RAYON_NUM_THREADS`;
//! 4. the number of cores that the process may use, or fewer where its addresses are limited (`ulimit -v`).
//!
//! A program calls [`start`] once, before anything else, and so learns what is wrong with the number or with starting
//! the threads. Without it the first use starts them: then `rayon` doesn't know of `WARPSMITH_THREADS`, and panics
//! where it can't have its threads. Results don't depend on the number.

use crate::memory::own_limits;
use memmap2::MmapOptions;
use std::{
    env,
    error::Error,
    ffi::OsStr,
    io,
    num::NonZero,
    sync::{Mutex, PoisonError},
    thread,
};

/// The most threads that can be asked for.
pub const MOST: usize = simt::MAX_WORKERS;

/// The environment variable.
const VARIABLE: &str = "WARPSMITH_THREADS";

/// The size of a thread's stack, in bytes.
const STACK: usize = 2 << 20;
/// Further address space that a thread takes at its start, in bytes.
const BESIDE: usize = 256 << 10;
/// Address space that the C library's allocator reserves per thread, in bytes. It matters if
/// addresses are limited.
const ARENA: usize = 64 << 20;
/// Address space to leave beside threads, in bytes.
const REST: usize = 64 << 20;

/// The chosen number, once it is chosen.
static CHOSEN: Mutex<Option<usize>> = Mutex::new(None);

/// Why the CPU can't work with so many threads.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a message says what its fields are")]
pub enum ThreadsError {
    /// The given value isn't a number of threads.
    #[error("{what} is {value:?}; it is a number of threads from 1 to {MOST}")]
    Number { what: &'static str, value: String },
    /// The pools have another number of threads since their first use.
    #[error("{wanted} threads are asked for, but the CPU's work is done by {chosen} since its start")]
    Late { wanted: usize, chosen: usize },
    /// The system doesn't start so many threads.
    #[error(
        "can't start {wanted} thread{}: {reason}; ask for fewer ({VARIABLE}), or raise the limits on threads and memory \
         (ulimit -u, ulimit -v)",
        if *wanted == 1 { "" } else { "s" }
    )]
    NotStarted { wanted: usize, reason: String },
}

/// Chooses the number of threads, and starts `rayon`'s. `wish` comes before the environment. Returns the number.
///
/// Call it once, at the program's start. If the program has made `rayon`'s global pool itself, that
/// pool stays.
///
/// # Errors
/// [`ThreadsError`]: the wish or the environment variable isn't a number of threads, another number was chosen before,
/// or the threads can't be started.
pub fn start(wish: Option<usize>) -> Result<usize, ThreadsError> {
    if let Some(wanted) = wish
        && !(1..=MOST).contains(&wanted)
    {
        return Err(ThreadsError::Number { what: "the number of threads", value: wanted.to_string() });
    }
    let wanted = choose(wish)?;
    let not_started = |error: &dyn Error| ThreadsError::NotStarted { wanted, reason: error.to_string() };
    // Both pools'.
    check_room(2 * wanted).map_err(|error| not_started(&error))?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(wanted).stack_size(STACK);
    match pool.thread_name(|index| format!("rayon-{index}")).build_global() {
        Ok(()) => Ok(wanted),
        // Only the system's errors have a source. The other one is that there is a pool already.
        Err(error) => error.source().map_or(Ok(wanted), |source| Err(not_started(source))),
    }
}

/// Returns the number of threads that do the CPU's work.
///
/// # Errors
/// [`ThreadsError::Number`] where `WARPSMITH_THREADS` is not a valid number and [`start`] was called without one.
pub fn count() -> Result<usize, ThreadsError> {
    choose(None)
}

fn choose(wish: Option<usize>) -> Result<usize, ThreadsError> {
    let mut chosen = CHOSEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(chosen) = *chosen {
        return match wish {
            Some(wanted) if wanted != chosen => Err(ThreadsError::Late { wanted, chosen }),
            _ => Ok(chosen),
        };
    }
    let of_environment = |name| env::var_os(name).filter(|value| !value.is_empty()).map(|value| parse(name, &value));
    let wanted = match wish.map(Ok).or_else(|| of_environment(VARIABLE)) {
        Some(wanted) => wanted?,
        // `rayon` ignores invalid values.
        None => match of_environment("RAYON_NUM_THREADS") {
            Some(Ok(wanted)) => wanted,
            _ => {
                let cores = thread::available_parallelism().map_or(1, NonZero::get).min(MOST);
                // Nobody asked for so many: fewer where there is no room.
                (1..=cores).rev().find(|&count| check_room(2 * count).is_ok()).unwrap_or(1)
            }
        },
    };
    Ok(*chosen.insert(wanted))
}

/// Fails where there is no address space for so many threads. The system would start one with the last of it, and what
/// the thread then wants itself ends the process.
fn check_room(threads: usize) -> io::Result<()> {
    // A few find room among others.
    if own_limits().is_some_and(|left| left < threads * STACK + threads.saturating_sub(2) * ARENA + REST) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    MmapOptions::new().len(threads * (STACK + BESIDE) + REST).no_reserve_swap().map_anon().map(drop)
}

fn parse(what: &'static str, value: &OsStr) -> Result<usize, ThreadsError> {
    let number = value.to_str().and_then(|value| value.trim().parse().ok());
    let number = number.filter(|number| (1..=MOST).contains(number));
    number.ok_or_else(|| ThreadsError::Number { what, value: value.to_string_lossy().into_owned() })
}

/// Starts a thread of `scope`. [`thread::Scope::spawn`] panics if the system has none left.
///
/// # Errors
/// [`ThreadsError::NotStarted`].
pub fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    name: String,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<thread::ScopedJoinHandle<'scope, T>, ThreadsError> {
    start_one(name, |builder| builder.spawn_scoped(scope, work))
}

/// Starts a detached thread. [`thread::spawn`] panics if the system has none left.
///
/// # Errors
/// [`ThreadsError::NotStarted`].
pub fn spawn_alone(name: String, work: impl FnOnce() + Send + 'static) -> Result<(), ThreadsError> {
    start_one(name, |builder| builder.spawn(work).map(drop))
}

fn start_one<T>(name: String, start: impl FnOnce(thread::Builder) -> io::Result<T>) -> Result<T, ThreadsError> {
    let started = check_room(1).and_then(|()| start(thread::Builder::new().name(name).stack_size(STACK)));
    started.map_err(|error| ThreadsError::NotStarted { wanted: 1, reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_threads() {
        assert_eq!(parse(VARIABLE, OsStr::new(" 12 ")), Ok(12));
        assert_eq!(parse(VARIABLE, OsStr::new("4096")), Ok(4096));
        for garbage in ["0", "4097", "-1", "1e3", "two", " ", "99999999999999999999"] {
            let text = parse(VARIABLE, OsStr::new(garbage)).unwrap_err().to_string();
            assert_eq!(text, format!("WARPSMITH_THREADS is {garbage:?}; it is a number of threads from 1 to 4096"));
        }
    }

    /// In this process the number is chosen once.
    #[test]
    fn a_later_wish_is_refused() {
        let chosen = count().unwrap();
        assert_eq!(start(None), Ok(chosen));
        assert_eq!(start(Some(chosen)), Ok(chosen));
        let wanted = chosen + 1;
        assert_eq!(start(Some(wanted)), Err(ThreadsError::Late { wanted, chosen }));
        assert!(matches!(start(Some(0)), Err(ThreadsError::Number { .. })));
    }
}
