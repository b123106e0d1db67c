//! Errors of programs, schedules, runs and platforms.

use crate::device::DeviceError;
use crate::io::files::FileError;

/// Errors of programs, schedules, runs and platforms.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a message says what its fields are")]
pub enum RulesError {
    /// The operations and edges are no program.
    #[error("program `{program}`: {reason}")]
    Dag { program: String, reason: String },
    /// A sequence of steps is no schedule of the program.
    #[error("the schedule `{schedule}` of program `{program}`: {reason}")]
    Schedule { program: String, schedule: String, reason: String },
    /// The number of streams can't be used.
    #[error("{found} streams are not possible: it takes 1 to {}", super::schedule::MAX_STREAMS)]
    Streams { found: usize },
    /// There are more schedules than can be counted.
    #[error("program `{program}` has more than 10^{exponent} schedules on {streams} streams: too many to count")]
    TooMany { program: String, streams: usize, exponent: u32 },
    /// A number isn't a time.
    #[error("{seconds} s is not a time")]
    Time { seconds: f64 },
    /// There are too few runs, or they don't differ, so that there is nothing to learn.
    #[error("nothing to learn: {0}")]
    Learning(String),
    /// A program can't be set up as asked.
    #[error("{0}")]
    Setup(String),
    /// A rank could not do its part.
    #[error("rank {rank}: {reason}")]
    Rank { rank: usize, reason: String },
    /// A schedule gave a wrong result.
    #[error("a wrong result of the schedule `{schedule}`: {reason}")]
    Wrong { schedule: String, reason: String },
    /// A program of somebody else's could not measure a schedule.
    #[error("the program failed on the schedule `{schedule}`: {reason}")]
    Failed { schedule: String, reason: String },
    /// A program of somebody else's wrote a line that nothing had asked for: its answers may be those to other questions.
    #[error("{program}: it wrote {line} without being asked, so that its answers can't be told apart")]
    Unasked { program: String, line: String },
    /// The work was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// The ranks.
    #[error(transparent)]
    Ranks(#[from] crate::ranks::RanksError),
    /// Sparse matrices.
    #[error(transparent)]
    Spmv(#[from] crate::spmv::SpmvError),
    /// The device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A file can't be written, or a file of runs can't be used.
    #[error(transparent)]
    File(#[from] FileError),
}

/// That something can take so long, in seconds.
pub(super) fn check_time(seconds: f64) -> Result<(), RulesError> {
    if seconds.is_finite() && seconds >= 0.0 { Ok(()) } else { Err(RulesError::Time { seconds }) }
}
