//! What the operations of a program do.

use super::super::{Dag, OpId};

/// A program with what each of its operations does on each rank.
pub trait Workload {
    /// The program.
    fn dag(&self) -> &Dag;

    /// How many ranks run it together.
    fn ranks(&self) -> usize;

    /// What an operation does on a rank, in order: an operation of the GPU in its stream, one of the CPU in the host's
    /// thread.
    ///
    /// The `k`-th message that rank `a` sends to rank `b` in an exchange is the `k`-th that `b` receives from `a` in
    /// it.
    fn work(&self, rank: usize, op: OpId) -> Vec<Task>;
}

/// A part of what an operation does.
#[derive(Clone, Debug, PartialEq)]
pub enum Task {
    /// Keeps the host's thread busy. For operations of the CPU.
    Host {
        /// For how long.
        seconds: f64,
    },
    /// A kernel of known duration. For operations of the GPU.
    Kernel {
        /// How long it takes when it has the GPU for itself.
        seconds: f64,
        /// The part of the GPU that it then uses, more than 0 and at most 1. Where those of several kernels add up to
        /// more than 1, all get slower by that factor.
        share: f64,
    },
    /// A kernel that memory limits. For operations of the GPU. It takes
    /// [`Gpu::kernel_floor`](super::Gpu::kernel_floor), and the bytes at its share of the memory's bandwidth; the share
    /// is that of its threads in [`Gpu::threads`](super::Gpu::threads).
    MemoryKernel {
        /// How much it reads and writes.
        bytes: u64,
        /// How many threads it has.
        threads: u64,
    },
    /// A kernel that writes page-locked memory of the host in place. For operations of the GPU. It takes
    /// [`Gpu::kernel_floor`](super::Gpu::kernel_floor) and [`Gpu::copy_latency`](super::Gpu::copy_latency), and the
    /// bytes at the bandwidth of copies to the host; its share is that of its threads.
    KernelToHost {
        /// How much it writes.
        bytes: u64,
        /// How many threads it has.
        threads: u64,
    },
    /// An asynchronous copy from the device to page-locked memory. For operations of the GPU.
    CopyToHost {
        /// How much.
        bytes: u64,
    },
    /// An asynchronous copy from page-locked memory to the device. For operations of the GPU.
    CopyToDevice {
        /// How much.
        bytes: u64,
    },
    /// `MPI_Isend` for each message, in order. For operations of the CPU, as the following.
    PostSend {
        /// Which exchange the messages belong to.
        exchange: usize,
        /// Where to, and how much.
        messages: Vec<MessageSize>,
    },
    /// `MPI_Irecv` for each message, in order.
    PostReceive {
        /// Which exchange the messages belong to.
        exchange: usize,
        /// Where from, and how much.
        messages: Vec<MessageSize>,
    },
    /// `MPI_Waitall` for all that this rank has sent in an exchange so far.
    WaitSend {
        /// Which.
        exchange: usize,
    },
    /// `MPI_Waitall` for all receives that this rank has posted in an exchange so far.
    WaitReceive {
        /// Which.
        exchange: usize,
    },
}

/// What one rank sends to, or receives from, another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageSize {
    /// The other rank.
    pub rank: usize,
    /// How much.
    pub bytes: u64,
}
