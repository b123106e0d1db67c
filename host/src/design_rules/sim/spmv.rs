//! The distributed sparse matrix-vector multiplication of [`programs::spmv`](super::super::programs::spmv), as a
//! workload.

use super::super::platform::Staging;
use super::super::programs::spmv;
use super::super::{Dag, OpId};
use super::{MessageSize, Task, Workload};
use crate::spmv::{self as matrix, RankTraffic, Traffic};

/// The most nonzeros that a thread has.
const NONZEROS_PER_THREAD: u64 = 4;
/// The bytes of a value.
const VALUE: u64 = 4;

/// The multiplication of a distributed matrix with a vector.
///
/// By way of the host, `Pack` is a kernel that gathers into the host's memory, and `y_R` a copy to the device and a
/// kernel. Else both are kernels only, and the machine's network is to be that between GPUs.
#[derive(Clone, Debug)]
pub struct SpmvModel {
    dag: Dag,
    traffic: Traffic,
    on_device: bool,
}

impl SpmvModel {
    /// The multiplication in `f32`, with messages in the host's memory.
    pub fn new(traffic: Traffic) -> Self {
        SpmvModel { dag: spmv::dag(), traffic, on_device: false }
    }

    /// With messages where this says; [`Staging::Auto`] is the host's memory.
    pub fn with_staging(mut self, staging: Staging) -> Self {
        self.on_device = staging == Staging::Device;
        self
    }

    /// A kernel that multiplies with this many nonzeros: an index, a value and an entry of x for each, and for each row
    /// an offset and an entry of y.
    fn multiply(&self, rows: u64, nonzeros: u64) -> Task {
        let bytes = nonzeros * (4 + 2 * VALUE) + rows * (4 + VALUE);
        Task::MemoryKernel { bytes, threads: rows.max(nonzeros.div_ceil(NONZEROS_PER_THREAD)) }
    }

    fn messages(&self, messages: &[matrix::Transfer]) -> Vec<MessageSize> {
        let size = |message: &matrix::Transfer| MessageSize { rank: message.rank, bytes: message.entries as u64 * VALUE };
        messages.iter().map(size).collect()
    }
}

impl Workload for SpmvModel {
    fn dag(&self) -> &Dag {
        &self.dag
    }

    fn ranks(&self) -> usize {
        self.traffic.ranks.len()
    }

    fn work(&self, rank: usize, op: OpId) -> Vec<Task> {
        let traffic = &self.traffic.ranks[rank];
        let RankTraffic { rows, local_nnz, remote_nnz, sends, receives } = traffic;
        let (rows, sent, received) = (*rows as u64, traffic.sent() as u64, traffic.received() as u64);
        match self.dag.name_of(op) {
            // An index, what is read and what is written.
            "Pack" if sent > 0 && self.on_device => vec![Task::MemoryKernel { bytes: sent * (4 + 2 * VALUE), threads: sent }],
            "Pack" if sent > 0 => vec![Task::KernelToHost { bytes: sent * VALUE, threads: sent }],
            "PostSend" => vec![Task::PostSend { exchange: 0, messages: self.messages(sends) }],
            "PostRecv" => vec![Task::PostReceive { exchange: 0, messages: self.messages(receives) }],
            "WaitSend" => vec![Task::WaitSend { exchange: 0 }],
            "WaitRecv" => vec![Task::WaitReceive { exchange: 0 }],
            "y_L" => vec![self.multiply(rows, *local_nnz as u64)],
            "y_R" if received > 0 => {
                let copy = (!self.on_device).then_some(Task::CopyToDevice { bytes: received * VALUE });
                copy.into_iter().chain([self.multiply(rows, *remote_nnz as u64)]).collect()
            }
            "add" => vec![Task::MemoryKernel { bytes: 3 * rows * VALUE, threads: rows }],
            _ => Vec::new(),
        }
    }
}
