//! Converts the library's errors to Python's exceptions, with the library's messages.

use std::error::Error;
use std::io;

use pyo3::{
    PyErr,
    exceptions::{PyIsADirectoryError, PyKeyboardInterrupt, PyMemoryError, PyOSError, PyRuntimeError, PyValueError},
};
use warpsmith::{
    common::chain,
    concurrency::ConcurrencyError,
    design_rules::RulesError,
    device::DeviceError,
    engine::EngineError,
    graph::{EdgeError, GraphError},
    homology::HomologyError,
    io::files::FileError,
    list_rank::ListError,
    overlap::{OverlapError, pack::PackError},
    pcf::{PairwiseError, PcfError},
    spmv::SpmvError,
    threads::ThreadsError,
    trees::TreeError,
};

/// An exception to raise. `?` converts every error of the library to it.
#[derive(Debug)]
pub struct Failure(PyErr);

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        failure.0
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Failure(error)
    }
}

impl Failure {
    /// An invalid argument.
    pub fn value(error: &(dyn Error + 'static)) -> Self {
        Failure(PyValueError::new_err(chain(error)))
    }

    /// A failure of the machine.
    pub fn runtime(text: impl ToString) -> Self {
        Failure(PyRuntimeError::new_err(text.to_string()))
    }

    /// Work that was cancelled by an exception. The caller receives that exception.
    fn interrupt() -> Self {
        Failure(PyKeyboardInterrupt::new_err(()))
    }

    fn memory(text: impl ToString) -> Self {
        Failure(PyMemoryError::new_err(text.to_string()))
    }
}

impl From<FileError> for Failure {
    /// Converts to the matching `OSError`, such as `FileNotFoundError`, if the system failed.
    fn from(error: FileError) -> Self {
        match error.io_error() {
            Some(cause) if cause.kind() == io::ErrorKind::OutOfMemory => Failure::memory(chain(&error)),
            Some(cause) => Failure(io::Error::new(cause.kind(), chain(&error)).into()),
            None if error.is_unwritable() => Failure(PyOSError::new_err(error.to_string())),
            None if error.path().is_dir() => Failure(PyIsADirectoryError::new_err(error.to_string())),
            None => Failure::value(&error),
        }
    }
}

/// Implements the conversion from errors of the library.
macro_rules! failures {
    ($($type:ident($error:ident) { $($arms:tt)* })*) => {$(
        impl From<$type> for Failure {
            fn from($error: $type) -> Self {
                match $error { $($arms)* }
            }
        }
    )*};
}

failures! {
    ThreadsError(error) {
        ThreadsError::NotStarted { ref reason, .. } if *reason == io::ErrorKind::OutOfMemory.to_string() => {
            Failure::memory(error)
        }
        ThreadsError::NotStarted { .. } => Failure::runtime(error),
        error => Failure::value(&error),
    }
    DeviceError(error) {
        DeviceError::Threads(error) => error.into(),
        DeviceError::InvalidBackend { .. } => Failure::value(&error),
        DeviceError::OutOfMemory { .. } => Failure::memory(error),
        // The fault of a kernel on the CPU whose threads get no stacks is told apart by its text.
        DeviceError::Simt(fault) if fault.to_string().contains(": no stack to run it on: ") => Failure::memory(fault),
        error => Failure::runtime(chain(&error)),
    }
    EngineError(error) {
        EngineError::Cancelled => Failure::interrupt(),
        EngineError::Device(error) => error.into(),
        EngineError::Threads(error) => error.into(),
        EngineError::File(error) => error.into(),
        EngineError::OutOfMemory { .. } | EngineError::TooLarge { .. } | EngineError::BudgetTooSmall { .. } => {
            Failure::memory(error)
        }
        EngineError::NoDevices | EngineError::OtherDevices { .. } | EngineError::OutputLength { .. } => {
            Failure::value(&error)
        }
        error => Failure::runtime(chain(&error)),
    }
    PcfError(error) {
        PcfError::File(error) => error.into(),
        PcfError::OutOfMemory { .. } => Failure::memory(error),
        error => Failure::value(&error),
    }
    PairwiseError(error) {
        PairwiseError::Pcf(error) => error.into(),
        PairwiseError::Engine(error) => error.into(),
        error => Failure::value(&error),
    }
    ListError(error) {
        ListError::Device(error) => error.into(),
        ListError::Miscounted { .. } => Failure::runtime(error),
        error => Failure::value(&error),
    }
    EdgeError(error) {
        EdgeError::Device(error) => error.into(),
        error => Failure::value(&error),
    }
    TreeError(error) {
        TreeError::Device(error) => error.into(),
        TreeError::Miscounted { .. } => Failure::runtime(error),
        error => Failure::value(&error),
    }
    GraphError(error) {
        GraphError::Device(error) => error.into(),
        GraphError::Tree(error) => error.into(),
        error => Failure::value(&error),
    }
    HomologyError(error) {
        HomologyError::Device(error) => error.into(),
        HomologyError::Pcf(error) => error.into(),
        HomologyError::Cancelled => Failure::interrupt(),
        error => Failure::value(&error),
    }
    SpmvError(error) {
        SpmvError::Device(error) => error.into(),
        SpmvError::OutOfMemory { .. } => Failure::memory(error),
        error => Failure::value(&error),
    }
    OverlapError(error) {
        OverlapError::Device(error) => error.into(),
        OverlapError::File(error) => error.into(),
        error => Failure::value(&error),
    }
    PackError(error) {
        PackError::Overlap(error) => error.into(),
        PackError::Cancelled => Failure::interrupt(),
        PackError::Invalid { .. } => Failure::runtime(error),
        error => Failure::value(&error),
    }
    ConcurrencyError(error) {
        ConcurrencyError::Device(error) => error.into(),
        ConcurrencyError::Overlap(error) => error.into(),
        ConcurrencyError::Cancelled => Failure::interrupt(),
        ConcurrencyError::Option { .. } => Failure::value(&error),
        error => Failure::runtime(error),
    }
    RulesError(error) {
        RulesError::File(error) => error.into(),
        RulesError::Cancelled => Failure::interrupt(),
        error => Failure::value(&error),
    }
}
