//! Errors of launches.

use crate::Dim3;
use std::fmt;
use std::panic::Location;

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
pub enum SimtError {
    /// The launch's extents or its shared memory are out of bounds.
    #[error("kernel `{kernel}` cannot be launched: {reason}")]
    InvalidLaunch {
        /// The kernel's name.
        kernel: String,
        /// The reason, as a clause.
        reason: String,
    },

    /// The executor was asked to end launches early ([`Executor::stopped_by`](crate::Executor::stopped_by)).
    #[error("kernel `{kernel}` was stopped before its end")]
    Stopped {
        /// The kernel's name.
        kernel: String,
    },

    /// A kernel launched a kernel.
    #[error("{at}: a kernel cannot launch another one (`{inner}`)")]
    NestedLaunch {
        /// The thread that tried.
        at: Box<Place>,
        /// The kernel that it tried to launch.
        inner: String,
    },

    /// Threads wait at the barrier of all blocks, which every thread must reach, and another has returned.
    #[error(
        "{at}: waits at {barrier} ({location}), {} in all, but thread {left} has returned and will never reach it",
        threads(*waiting)
    )]
    BarrierAbandoned {
        /// One of the threads that wait.
        at: Box<Place>,
        /// The barrier's name.
        barrier: &'static str,
        /// Source location where that thread waits.
        location: &'static Location<'static>,
        /// Number of threads that wait.
        waiting: u32,
        /// One of the threads that have returned.
        left: Dim3,
    },

    /// Threads of one block reached barriers of different kinds.
    #[error(
        "{at}: reached {barrier} ({location}) while {} of its block waited at {other} ({other_location}); \
         all threads of a block must reach the same barrier",
        threads(*waiting)
    )]
    BarrierMismatch {
        /// The thread that came later.
        at: Box<Place>,
        /// The barrier that it reached.
        barrier: &'static str,
        /// Source location.
        location: &'static Location<'static>,
        /// Barrier where other threads waited.
        other: &'static str,
        /// Source location of one of the waiting threads.
        other_location: &'static Location<'static>,
        /// Number of waiting threads.
        waiting: u32,
    },

    /// Some threads of a block wait at its barrier, others in warp exchanges, and nobody can go on.
    #[error(
        "{at}: waits at {barrier} ({barrier_location}), {} in all, while thread {exchanging} waits in {op} ({location}, \
         mask {mask:#010x}), {} in all exchanges, for lane {lane}, which is at the barrier: nobody can go on",
        threads(*at_barrier),
        threads(*in_exchanges)
    )]
    Deadlock {
        /// One of the threads at the barrier.
        at: Box<Place>,
        /// The barrier's name.
        barrier: &'static str,
        /// Source location where that thread waits.
        barrier_location: &'static Location<'static>,
        /// Number of threads at the barrier.
        at_barrier: u32,
        /// One of the threads that wait in an exchange.
        exchanging: Dim3,
        /// The exchange's name.
        op: &'static str,
        /// Source location where that thread waits.
        location: &'static Location<'static>,
        /// The exchange's mask.
        mask: u32,
        /// A lane of the mask that has not come.
        lane: u32,
        /// Number of threads that wait in exchanges.
        in_exchanges: u32,
    },

    /// A lane of an exchange's mask has returned.
    #[error("{at}: {op} with mask {mask:#010x} ({location}) is a shuffle from a lane that left: lane {lane} has returned")]
    LaneLeft {
        /// A thread that takes part in the exchange.
        at: Box<Place>,
        /// The exchange's name.
        op: &'static str,
        /// Source location where that thread waits.
        location: &'static Location<'static>,
        /// The exchange's mask.
        mask: u32,
        /// The lane that has returned.
        lane: u32,
    },

    /// A lane of an exchange's mask is beyond the block's last thread.
    #[error(
        "{at}: {op} with mask {mask:#010x} ({location}) names lane {lane} of its warp, which does not exist in this block \
         ({threads} threads)"
    )]
    NoSuchLane {
        /// The thread that named it.
        at: Box<Place>,
        /// The exchange's name.
        op: &'static str,
        /// Source location.
        location: &'static Location<'static>,
        /// The exchange's mask.
        mask: u32,
        /// The lane that does not exist.
        lane: u32,
        /// Number of threads of the block.
        threads: u32,
    },

    /// A thread's own lane is not in the mask that it passed.
    #[error("{at}: {op} with mask {mask:#010x} ({location}), which lacks the thread's own lane {lane}")]
    NotInMask {
        /// The thread.
        at: Box<Place>,
        /// The exchange's name.
        op: &'static str,
        /// Source location.
        location: &'static Location<'static>,
        /// The exchange's mask.
        mask: u32,
        /// The thread's lane.
        lane: u32,
    },

    /// Lanes of one warp wait for each other in different exchanges: their masks or their names differ.
    ///
    /// Masks may overlap otherwise, as when half a warp meets in a branch while the other half waits for all after it.
    #[error(
        "{at}: {op} with mask {mask:#010x} ({location}) waits for a lane that waits for it in {other} with mask \
         {other_mask:#010x}; all lanes of a mask must name the same operation and the same mask"
    )]
    ExchangeMismatch {
        /// A thread of the one exchange.
        at: Box<Place>,
        /// The exchange that it entered.
        op: &'static str,
        /// Source location.
        location: &'static Location<'static>,
        /// Its mask.
        mask: u32,
        /// Exchange in which the missing lanes waited.
        other: &'static str,
        /// Its mask.
        other_mask: u32,
    },

    /// The body panicked.
    #[error("{at}: panicked{}: {message}", location.as_deref().map(|l| format!(" at {l}")).unwrap_or_default())]
    Panic {
        /// The thread that panicked.
        at: Box<Place>,
        /// The panic's message.
        message: String,
        /// Source location (`file:line:column`), if known.
        location: Option<String>,
    },

    /// The body ended the launch with [`current::fault`](crate::current::fault), or asked for shared memory that a
    /// block cannot have.
    #[error("{at}: {message}")]
    Fault {
        /// The thread.
        at: Box<Place>,
        /// The panic's message.
        message: String,
    },

    /// Two unordered accesses to the same bytes, at least one of them a write. [Checked
    /// runs](crate#checked-runs) find it.
    #[error(transparent)]
    Race(Box<Race>),

    /// An access to memory that the kernel must not access, or that nobody has written. [Checked
    /// runs](crate#checked-runs) find it.
    #[error(transparent)]
    BadAccess(Box<BadAccess>),

    /// The system gave no stack for a thread that must run while others wait.
    #[error("{at}: no stack to run it on: {reason}")]
    NoStack {
        /// The thread.
        at: Box<Place>,
        /// The system's reason.
        reason: String,
    },
}

/// Two accesses in a race.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{at}: {access} {memory} ({location}), which block {}, thread {} {other_access} ({other_location}): {cause}",
    other.block,
    other.thread
)]
#[non_exhaustive]
pub struct Race {
    /// The thread whose turn came later in this run.
    pub at: Place,
    /// The access, as a verb.
    pub access: &'static str,
    /// Source location.
    pub location: String,
    /// The other thread.
    pub other: Place,
    /// The other access, as a verb.
    pub other_access: &'static str,
    /// Source location of the other access.
    pub other_location: String,
    /// The memory, in words.
    pub memory: String,
    /// Why the two are in no order, as a clause.
    pub cause: &'static str,
}

/// An access that must not be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {access} {bytes} bytes at {address:#x} ({location}), {problem}")]
#[non_exhaustive]
pub struct BadAccess {
    /// The thread.
    pub at: Place,
    /// The access, as a verb.
    pub access: &'static str,
    /// Number of bytes.
    pub bytes: usize,
    /// The address of the first.
    pub address: usize,
    /// Source location.
    pub location: String,
    /// The problem, as a clause.
    pub problem: String,
}

fn threads(n: u32) -> String {
    match n {
        1 => "1 thread".into(),
        n => format!("{n} threads"),
    }
}
