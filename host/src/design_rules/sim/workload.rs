//! Workloads: the work of a program's operations.

use super::super::{Dag, OpId};

/// A program with what each of its operations does on each rank.
pub trait Workload {
    /// The program.
    fn dag(&self) -> &Dag;

    /// Returns the number of ranks that run it together.
    fn ranks(&self) -> usize;

    /// Returns the work of an operation on a rank, in order: of a GPU operation in its stream, of a
    /// CPU operation in the host's thread.
    ///
    /// The `k`-th message that rank `a` sends to rank `b` in an exchange is the `k`-th that `b` receives from `a` in
    /// it.
    fn work(&self, rank: usize, op: OpId) -> Vec<Task>;
}

/// A part of the work of an operation: of the CPU, keeping the host's thread busy and messages, which belong to a numbered
/// exchange; of the GPU, kernels and copies.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the variants' documentation covers the fields")]
pub enum Task {
    /// Keeps the host's thread busy.
    Host { seconds: f64 },
    /// A kernel that takes so long if it has the GPU for itself. `share` is the part of the GPU that it uses, more than 0
    /// and at most 1. If the shares of several kernels add up to more than 1, all are slowed down by that factor.
    Kernel { seconds: f64, share: f64 },
    /// A kernel that memory limits. It takes [`Gpu::kernel_floor`](super::Gpu::kernel_floor), and the bytes that it reads
    /// and writes at its share of the memory's bandwidth; the share is that of its threads in
    /// [`Gpu::threads`](super::Gpu::threads).
    MemoryKernel { bytes: u64, threads: u64 },
    /// A kernel that writes page-locked memory of the host in place. It takes
    /// [`Gpu::kernel_floor`](super::Gpu::kernel_floor) and [`Gpu::copy_latency`](super::Gpu::copy_latency), and the
    /// bytes at the bandwidth of copies to the host; its share is that of its threads.
    KernelToHost { bytes: u64, threads: u64 },
    /// An asynchronous copy from the device to page-locked memory.
    CopyToHost { bytes: u64 },
    /// An asynchronous copy from page-locked memory to the device.
    CopyToDevice { bytes: u64 },
    /// `MPI_Isend` for each message, in order.
    PostSend { exchange: usize, messages: Vec<MessageSize> },
    /// `MPI_Irecv` for each message, in order.
    PostReceive { exchange: usize, messages: Vec<MessageSize> },
    /// `MPI_Waitall` for all that this rank has sent in an exchange so far.
    WaitSend { exchange: usize },
    /// `MPI_Waitall` for all receives that this rank has posted in an exchange so far.
    WaitReceive { exchange: usize },
}

/// The size of a message, and the rank at its other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageSize {
    /// The other rank.
    pub rank: usize,
    /// Number of bytes.
    pub bytes: u64,
}
