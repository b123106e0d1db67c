//! Ranks: several processes, or threads of one, that run a program together and send each other messages.
//!
//! - [`threads`]: ranks are threads of this process, each with a GPU or sharing one; nothing else is needed. Messages
//!   may be in the GPUs' memory.
//! - `mpi`: ranks are processes that `mpirun` started, in builds with the feature `mpi`.

#[cfg(feature = "mpi")]
pub mod mpi;
mod plan;
pub mod threads;

pub use plan::{Message, Plan, Region};

use std::sync::Arc;

use crate::device::DeviceError;

/// Errors between ranks.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a message says what its fields are")]
pub enum RanksError {
    /// Another rank gave up.
    #[error("rank {rank} gave up: {reason}")]
    Aborted { rank: usize, reason: String },
    /// A message can't be sent or received.
    #[error("{0}")]
    Message(String),
    /// A message in a GPU's memory can't be copied.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The MPI library can't be used, or reports an error.
    #[error("MPI: {0}")]
    Mpi(String),
}

/// One rank's connection to the others. All ranks call each collective method in the same order. All methods, also those of
/// [`Counter`] and [`Link`], fail with [`RanksError::Aborted`] once another rank has given up, and with [`RanksError::Mpi`] if
/// the MPI library reports an error.
pub trait Communicator: Send + Sync {
    /// This rank, from 0.
    fn rank(&self) -> usize;

    /// Returns the number of ranks.
    fn size(&self) -> usize;

    /// Returns the way of communication: `threads` or `MPI`.
    fn kind(&self) -> &'static str;

    /// Returns true if messages may be in GPU memory.
    fn takes_device_memory(&self) -> bool;

    /// Returns when all ranks have called it.
    fn barrier(&self) -> Result<(), RanksError>;

    /// Returns the greatest of all ranks' values, on all ranks.
    fn max(&self, value: f64) -> Result<f64, RanksError>;

    /// Returns the bytes of rank 0, on all ranks.
    fn broadcast(&self, bytes: Vec<u8>) -> Result<Vec<u8>, RanksError>;

    /// Returns the bytes of all ranks, in order, on rank 0; nothing on the others.
    fn gather(&self, bytes: Vec<u8>) -> Result<Vec<Vec<u8>>, RanksError>;

    /// Sends the ranks equal parts of `bytes`, in order, and gives what they send this one (`MPI_Alltoall`). All ranks
    /// give as many bytes, which their number divides.
    ///
    /// # Errors
    /// [`RanksError::Message`] where these don't divide.
    fn all_to_all(&self, bytes: &[u8]) -> Result<Vec<u8>, RanksError>;

    /// A number that starts at 0 and that all ranks share, on rank 0. Collective.
    fn counter(&self) -> Result<Box<dyn Counter>, RanksError>;

    /// Messages that are sent again and again, from and into the same memory. Not a collective call, but the ranks'
    /// plans must match.
    ///
    /// # Errors
    /// [`RanksError::Message`] where the plan names ranks or bytes that aren't there.
    ///
    /// # Safety
    /// The regions are live as long as the link. From a post to the end of the wait for it, nobody writes what is sent,
    /// nor reads or writes what is received.
    unsafe fn link(&self, plan: Plan) -> Result<Box<dyn Link>, RanksError>;

    /// Sends and receives the messages of a plan, once (`MPI_Alltoallv`). Collective: all ranks call it, with plans
    /// that match. Messages may be of any length.
    ///
    /// # Safety
    /// The regions are live, nobody writes what is sent, nor reads or writes what is received, until it returns.
    unsafe fn exchange(&self, plan: &Plan) -> Result<(), RanksError> {
        for piece in plan.pieces() {
            // SAFETY: this function's contract; the link is dropped before it returns.
            let link = unsafe { self.link(piece)? };
            link.post_receives()?;
            link.post_sends()?;
            link.wait_receives()?;
            link.wait_sends()?;
        }
        Ok(())
    }

    /// Lets all ranks know that this one gives up; their waits fail. With MPI it ends all processes.
    fn abort(&self, reason: &str);
}

/// A number that ranks share: see [`Communicator::counter`].
pub trait Counter: Send + Sync {
    /// The number; the next rank that asks gets the next one.
    fn next(&self) -> Result<u64, RanksError>;

    /// Gives it back. Collective. One that is dropped instead, since its rank has failed, is leaked:
    /// to give it back would be to wait for the other ranks.
    fn end(self: Box<Self>) {}
}

/// Messages between this rank and others: see [`Communicator::link`]. Each post is followed by its wait before the
/// next.
pub trait Link: Send + Sync {
    /// Starts to send all messages (`MPI_Isend`).
    fn post_sends(&self) -> Result<(), RanksError>;

    /// Makes room for all messages (`MPI_Irecv`).
    fn post_receives(&self) -> Result<(), RanksError>;

    /// Returns when the sent memory may be written again (`MPI_Wait`).
    fn wait_sends(&self) -> Result<(), RanksError>;

    /// Returns when all messages have been received (`MPI_Wait`).
    fn wait_receives(&self) -> Result<(), RanksError>;
}

/// Lets the other ranks know when this one's thread ends by a panic.
pub(crate) struct AbortOnPanic(pub Arc<dyn Communicator>);

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.abort("its thread has panicked");
        }
    }
}

/// Checks that bytes can be divided equally among ranks.
fn check_parts(bytes: &[u8], size: usize) -> Result<(), RanksError> {
    if bytes.len().is_multiple_of(size) {
        return Ok(());
    }
    Err(RanksError::Message(format!("{} bytes can't be divided among {size} ranks", bytes.len())))
}
