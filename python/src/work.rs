//! Runs the library's work without the interpreter's lock. Ctrl-C ends it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    process,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use pyo3::prelude::*;
use warpsmith::{
    device::Backend,
    engine::{Cancel, Control},
    threads::{self, ThreadsError},
};

use crate::{device::Device, error::Failure};

/// Interval of checks for signals and of progress reports during work. Ctrl-C should end a call within 0.2 s.
const TICK: Duration = Duration::from_millis(25);

/// Largest work that runs on the calling thread, in array elements that are read or written once.
const FEW: usize = 20_000;

/// Does short work on the calling thread, without the interpreter's lock.
pub fn brief<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, Failure> + Send) -> PyResult<T> {
    py.detach(|| start().and_then(|()| unwound(work)).map_err(PyErr::from))
}

/// Does work that owns its data, on a thread of its own unless there are few `elements`. If a signal handler raises, as
/// for Ctrl-C, the thread is abandoned and its result dropped.
pub fn owned<T: Send + 'static>(
    py: Python<'_>,
    elements: usize,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    if elements < FEW {
        return brief(py, work);
    }
    py.detach(|| {
        start()?;
        let (sender, receiver) = mpsc::channel();
        let work = move || drop(sender.send(unwound(work)));
        let started = thread::Builder::new().name("warpsmith".to_owned()).spawn(work);
        started.map_err(|error| ThreadsError::NotStarted { wanted: 1, reason: error.to_string() })?;
        watch(&receiver, &mut || Ok(()))?
    })
    .map_err(|failure: Failure| failure.into())
}

/// [`owned`], for work on a device. A GPU does as much in the time that a thread takes to start.
pub fn owned_on<T: Send + 'static>(
    py: Python<'_>,
    device: &Device,
    elements: usize,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    const FACTOR: usize = 64;
    owned(py, if device.device.backend() == Backend::Cuda { elements / FACTOR } else { elements }, work)
}

/// Does work that listens to a [`Control`] on a thread of its own. When a signal's handler raises, or the callback that
/// is told of progress, the work is cancelled and waited for.
pub fn cancellable<T: Send>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(Control<'_>) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let cancel = Cancel::new();
    let (done, total) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let note = |now: usize, all: usize| {
        total.store(all, Ordering::Relaxed);
        done.fetch_max(now, Ordering::Relaxed);
    };
    let mut told = None;
    let mut tell = || {
        let now = (done.load(Ordering::Relaxed), total.load(Ordering::Relaxed));
        match progress {
            Some(callback) if now.1 > 0 && told.replace(now) != Some(now) => {
                Python::attach(|py| callback.call1(py, now).map(drop))
            }
            _ => Ok(()),
        }
    };
    let result = py.detach(|| {
        start()?;
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            let control = Control { progress: progress.is_some().then_some(&note), cancel: Some(&cancel), ..Control::default() };
            let work = move || drop(sender.send(unwound(|| work(control))));
            threads::spawn(scope, "warpsmith".to_owned(), work)?;
            watch(&receiver, &mut tell).inspect_err(|_| cancel.cancel())?
        })
    });
    let value = result.map_err(|failure: Failure| PyErr::from(failure))?;
    tell()?;
    Ok(value)
}

/// Waits for the work's result, and looks after Python meanwhile. The error is an exception that was raised there.
fn watch<T>(
    receiver: &Receiver<Result<T, Failure>>,
    tell: &mut dyn FnMut() -> PyResult<()>,
) -> Result<Result<T, Failure>, Failure> {
    loop {
        match receiver.recv_timeout(TICK) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => {
                Python::attach(|py| py.check_signals())?;
                tell()?;
            }
            // Sending is the last thing that the thread does.
            Err(RecvTimeoutError::Disconnected) => return Err(Failure::runtime("a thread ended without a result")),
        }
    }
}

/// Does work whose panic, a bug of the library, is an exception like others.
fn unwound<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Failure::runtime(format_args!("a bug in warpsmith: {}", text.unwrap_or("a panic"))))
    })
}

/// Starts the threads that the CPU's work is done by, at the first work. A process that was forked from one that has
/// them doesn't, and would wait for them for ever.
fn start() -> Result<(), Failure> {
    static STARTED: Mutex<Option<u32>> = Mutex::new(None);
    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    match *started {
        Some(id) if id == process::id() => Ok(()),
        Some(_) => Err(Failure::runtime(
            "this process was forked from one that had used warpsmith, and lacks its threads: start processes by \
             multiprocessing's method \"spawn\" or \"forkserver\"",
        )),
        None => {
            threads::start(None)?;
            *started = Some(process::id());
            Ok(())
        }
    }
}
