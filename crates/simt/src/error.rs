//! Errors of launches.

use crate::Dim3;
use std::fmt;

/// A thread of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The kernel's name.
    pub kernel: String,
    /// The block's index.
    pub block: Dim3,
    /// The thread's index in the block.
    pub thread: Dim3,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel `{}`, block {}, thread {}", self.kernel, self.block, self.thread)
    }
}

/// Reason for a failed launch. If several blocks fail, it is the first block's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a message says what its fields are")]
pub enum SimtError {
    /// The launch's extents or its shared memory are out of bounds.
    #[error("kernel `{kernel}` cannot be launched: {reason}")]
    InvalidLaunch { kernel: String, reason: String },

    /// The executor was asked to end launches early ([`Executor::stopped_by`](crate::Executor::stopped_by)).
    #[error("kernel `{kernel}` was stopped before its end")]
    Stopped { kernel: String },

    /// The body panicked.
    #[error("{at}: panicked{}: {message}", location.as_deref().map(|l| format!(" at {l}")).unwrap_or_default())]
    Panic { at: Box<Place>, message: String, location: Option<String> },

    /// A thread did what a GPU leaves undefined or hangs at, the system gave no stack for it, or the body ended the launch
    /// with [`current::fault`](crate::current::fault).
    #[error("{at}: {message}")]
    Fault { at: Box<Place>, message: String },

    /// Two unordered accesses to the same bytes, at least one of them a write. [Checked
    /// runs](crate#checked-runs) find it.
    #[error(transparent)]
    Race(Box<Race>),

    /// An access to memory that the kernel must not access, or that nobody has written. [Checked
    /// runs](crate#checked-runs) find it.
    #[error(transparent)]
    BadAccess(Box<BadAccess>),
}

/// Two accesses in a race: `at` is the thread whose turn came later in this run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{at}: {access} {memory} ({location}), which block {}, thread {} {other_access} ({other_location}): {cause}",
    other.block,
    other.thread
)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a message says what its fields are")]
pub struct Race {
    pub at: Place,
    pub access: &'static str,
    pub location: String,
    pub other: Place,
    pub other_access: &'static str,
    pub other_location: String,
    pub memory: String,
    pub cause: &'static str,
}

/// An access that must not be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {access} {bytes} bytes at {memory} ({location}), {problem}")]
#[non_exhaustive]
#[allow(missing_docs, reason = "a message says what its fields are")]
pub struct BadAccess {
    pub at: Place,
    pub access: &'static str,
    pub bytes: usize,
    pub address: usize,
    pub memory: String,
    pub location: String,
    pub problem: String,
}
