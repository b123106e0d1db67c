//! A cluster: blocks that run at once, meet, and access each other's shared memory.

use crate::{Dim3, Launch};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};

/// The most blocks of a cluster that every GPU with clusters takes.
pub const MAX_CLUSTER: u64 = 8;

/// State shared by the OS threads that run clusters together, one after another.
pub(crate) struct Cluster {
    pub(crate) dim: Dim3,
    /// Number of the running cluster; beyond the last if there is none.
    next: AtomicU64,
    /// Barrier of the OS threads.
    gate: Barrier,
    /// The shared memory of each block, by rank.
    shared: Box<[AtomicPtr<u8>]>,
    /// Number of completed meetings of all threads.
    met: AtomicU64,
    meeting: Mutex<Meeting>,
    #[cfg(simt_check)]
    pub(crate) checks: crate::check::ClusterChecks,
}

#[derive(Default)]
struct Meeting {
    /// Threads of all blocks.
    threads: u64,
    arrived: u64,
    returned: u64,
}

impl Cluster {
    pub(crate) fn new(dim: Dim3) -> Self {
        let size = dim.count() as usize;
        Cluster {
            dim,
            next: AtomicU64::new(0),
            gate: Barrier::new(size),
            shared: (0..size).map(|_| AtomicPtr::new(ptr::null_mut())).collect(),
            met: AtomicU64::new(0),
            meeting: Mutex::default(),
            #[cfg(simt_check)]
            checks: crate::check::ClusterChecks::new(size),
        }
    }

    /// Waits for the OS threads of the other blocks.
    pub(crate) fn wait_for_others(&self) {
        self.gate.wait();
    }

    /// Chooses the next cluster, while nobody uses the one before. It is for one of the OS threads.
    pub(crate) fn begin(&self, number: u64, threads: u64) {
        self.next.store(number, Ordering::Relaxed);
        #[cfg(simt_check)]
        self.checks.reset();
        *self.meeting.lock().unwrap_or_else(PoisonError::into_inner) = Meeting { threads, ..Meeting::default() };
    }

    /// The linear index of the cluster's block of this rank; none behind the last cluster.
    pub(crate) fn block(&self, launch: &Launch<'_>, rank: u32) -> Option<u64> {
        let (grid, dim) = (launch.grid, self.dim);
        let clusters = Dim3::new(grid.x / dim.x, grid.y / dim.y, grid.z / dim.z);
        let number = self.next.load(Ordering::Relaxed);
        if number >= clusters.count() {
            return None;
        }
        let (first, place) = (clusters.at(number), dim.at(u64::from(rank)));
        let [x, y, z] = [(first.x, dim.x, place.x), (first.y, dim.y, place.y), (first.z, dim.z, place.z)]
            .map(|(i, n, k)| u64::from(i * n + k));
        Some(x + u64::from(grid.x) * (y + u64::from(grid.y) * z))
    }

    /// Says where the block's shared memory is.
    pub(crate) fn set_shared(&self, rank: u32, base: *mut u8) {
        self.shared[rank as usize].store(base, Ordering::Relaxed);
    }

    /// Returns the base of the shared memory of the block of this rank.
    pub(crate) fn shared(&self, rank: u32) -> Option<*mut u8> {
        self.shared.get(rank as usize).map(|base| base.load(Ordering::Relaxed))
    }

    pub(crate) fn met(&self) -> u64 {
        self.met.load(Ordering::Acquire)
    }

    /// A thread comes to the cluster's barrier; how often all had met before.
    pub(crate) fn arrive(&self) -> u64 {
        self.change(|meeting| meeting.arrived += 1)
    }

    /// A thread has returned.
    pub(crate) fn leave(&self) {
        self.change(|meeting| meeting.returned += 1);
    }

    fn change(&self, change: impl FnOnce(&mut Meeting)) -> u64 {
        let mut meeting = self.meeting.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut meeting);
        let before = self.met.load(Ordering::Relaxed);
        if meeting.arrived > 0 && meeting.arrived + meeting.returned == meeting.threads {
            meeting.arrived = 0;
            self.met.store(before + 1, Ordering::Release);
        }
        before
    }
}

/// A block's part of its cluster.
#[derive(Clone, Copy)]
pub(crate) struct Member<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) rank: u32,
}
