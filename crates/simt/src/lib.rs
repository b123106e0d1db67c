//! Runs a grid of GPU-style threads on the CPU.
//!
//! An [`Executor`] takes a [`Launch`] (grid, block, dynamic shared memory) and a body, and calls
//! the body once for each thread of the grid. While the body runs it queries [`current`] for its
//! indices, and waits there at block barriers and warp exchanges, which mean the same as on a GPU.
//! If a GPU would hang, the launch ends with a [`SimtError`]: a barrier that a thread never reaches
//! because it waits elsewhere, a shuffle from a lane that left, lanes that disagree about a mask.
//!
//! Blocks run in parallel over OS threads. [`Executor::run_cooperative`] runs all of a launch's blocks at once, which
//! can then wait for each other; [`Executor::run_clusters`] does so with clusters of a few blocks. The threads of one
//! block take turns on one OS thread: each runs until it waits, and only from then on are the others run on stacks of
//! their own. A kernel without barriers costs one call per thread. [`Schedule::Random`] draws the order of the turns from
//! a seed, so that a barrier left out shows as a wrong answer.
//!
//! A thread that runs while others wait has a stack of 256 KiB with a guard page below it. Errors
//! end a launch by unwinding its threads, so a program needs `panic = "unwind"` to get them. The
//! message of a body's panic is not printed: it is in the error. If a signal ends the process (an
//! invalid access, a stack overflow, `abort`), a line on stderr names kernel, block and thread.
//!
//! # Checked runs
//! A crate whose kernels are compiled by `cargo check-kernels` has every access of theirs checked: a race, or an access
//! beyond the memory that the launch has, ends it with [`SimtError::Race`] or [`SimtError::BadAccess`]. Every thread is
//! a fibre then. Otherwise nothing of this is compiled.
//!
//! # Example
//! ```
//! use simt::{Executor, Launch, current};
//! use std::sync::atomic::{AtomicU32, Ordering};
//!
//! let sum = AtomicU32::new(0);
//! let launch = Launch { kernel: "sum", grid: 4.into(), block: 64.into(), dynamic_shared: 0 };
//! Executor::default().run(&launch, &|| {
//!     let positive = current::sync_threads_count(current::thread_idx().x > 0);
//!     if current::thread_idx().x == 0 {
//!         sum.fetch_add(positive, Ordering::Relaxed);
//!     }
//! })?;
//! assert_eq!(sum.into_inner(), 4 * 63);
//! # Ok::<(), simt::SimtError>(())
//! ```

mod block;
#[cfg(simt_check)]
mod check;
mod cluster;
pub mod current;
mod dim;
mod error;
mod executor;
mod grid;
pub mod memory;
mod panics;
mod pool;
mod sched;
mod shared;
#[cfg(unix)]
mod signals;
mod stack;
mod stop;

pub use cluster::MAX_CLUSTER;
pub use dim::Dim3;
pub use error::{BadAccess, Place, Race, SimtError};
pub use executor::Executor;
pub use grid::{Launch, Schedule};
pub use stop::Stop;

/// For whom an atomic operation is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The threads of the same block.
    Block,
    /// All threads.
    Device,
}

/// The number of lanes of a warp.
pub const WARP_SIZE: u32 = 32;

/// The most threads that a block may have.
pub const MAX_BLOCK_THREADS: u32 = 1024;

/// The most blocks that an executor runs at a time.
pub const MAX_WORKERS: usize = 4096;

/// The most shared memory that a block may have, static and dynamic together, in bytes.
pub const MAX_SHARED: usize = 227 * 1024;

/// The most static shared memory that a block may have, in bytes: `ptxas` refuses more.
pub const MAX_STATIC_SHARED: usize = 48 * 1024;
