//! Cluster operations of a block's threads. A block outside of clusters is a cluster of its own.

use super::{BarrierKind, Block};
use crate::Dim3;
use crate::cluster::Member;
use std::panic::Location;
use std::ptr;

/// State of a thread between its arrival at the cluster's barrier and the end of its wait: the
/// number of meetings completed when it came.
pub(super) type Arrival = Option<u64>;

impl<'a> Block<'a> {
    /// The block as one of a cluster.
    pub(crate) fn in_cluster(mut self, member: Member<'a>) -> Self {
        let mut shared = self.buffers.shared.borrow_mut();
        member.cluster.set_shared(member.rank, shared.base());
        #[cfg(simt_check)]
        member.cluster.checks.set_shared(member.rank, shared.known().expect("it has a base"));
        drop(shared);
        self.member = Some(member);
        self
    }

    pub(crate) fn cluster_dim(&self) -> Dim3 {
        self.member.map_or(Dim3::new(1, 1, 1), |member| member.cluster.dim)
    }

    pub(crate) fn cluster_rank(&self) -> u32 {
        self.member.map_or(0, |member| member.rank)
    }

    /// Maps an address in this block's shared memory to the same place in that of the cluster's
    /// block `rank`.
    pub(crate) fn cluster_map(&self, address: *mut u8, rank: u32, location: &'static Location<'static>) -> *mut u8 {
        let size = self.cluster_dim().count();
        if u64::from(rank) >= size {
            self.fault(format!("asks for the shared memory of block {rank} of its cluster ({location}), which has {size}"));
        }
        let offset = self.buffers.shared.borrow().offset(address);
        let Some(offset) = offset else {
            self.fault(format!("asks where {address:p} is in another block's shared memory ({location}): it isn't in its own"));
        };
        match self.member.and_then(|member| member.cluster.shared(rank)) {
            // SAFETY: all blocks of the cluster have equally large memories, and the offset lies
            // within this one's.
            Some(base) => unsafe { base.add(offset) },
            None => address,
        }
    }

    pub(crate) fn cluster_arrive(&self, location: &'static Location<'static>) {
        if !self.may_wait() {
            return;
        }
        let mut arrivals = self.arrivals.borrow_mut();
        arrivals.resize(self.threads as usize, None);
        let own = &mut arrivals[self.thread.get() as usize];
        if own.is_some() {
            drop(arrivals);
            self.fault(format!("arrives at its cluster's barrier ({location}) before it has waited after its last arrival"));
        }
        *own = Some(self.member.map_or(0, |member| {
            // Nobody is beyond this meeting before this thread has come.
            #[cfg(simt_check)]
            self.come_to_meeting(true, member.cluster.met());
            member.cluster.arrive()
        }));
    }

    pub(crate) fn cluster_wait(&self, location: &'static Location<'static>) {
        if !self.may_wait() {
            return;
        }
        let thread = self.thread.get() as usize;
        let Some(before) = self.arrivals.borrow().get(thread).copied().flatten() else {
            self.fault(format!("waits at its cluster's barrier ({location}) without having arrived there"));
        };
        let Some(member) = self.member else {
            // The block alone is a cluster: its own barrier does.
            self.arrivals.borrow_mut()[thread] = None;
            self.barrier(BarrierKind::Cluster, false, location);
            return;
        };
        self.at_cluster.set(self.at_cluster.get() + 1);
        let mut in_vain = 0;
        while member.cluster.met() == before {
            in_vain = if self.nobody_arrives() { in_vain + 1 } else { 0 };
            if in_vain > 4 * self.threads + 64 {
                self.fault(format!(
                    "waits at its cluster's barrier ({location}) for a thread of its block that waits elsewhere, and nobody \
                     can go on"
                ));
            }
            self.yield_now();
        }
        #[cfg(simt_check)]
        self.go_from_meeting(true, before);
        self.at_cluster.set(self.at_cluster.get() - 1);
        self.arrivals.borrow_mut()[thread] = None;
    }

    /// Returns true if all threads of the block that can run wait at the cluster's barrier while
    /// another has yet to arrive.
    fn nobody_arrives(&self) -> bool {
        let runnable = self.buffers.sched.borrow().turns.others() + 1;
        let arrived = self.arrivals.borrow().iter().flatten().count();
        runnable <= self.at_cluster.get() as usize && arrived + (self.done.get() as usize) < self.threads as usize
    }

    /// `thread` has returned.
    pub(super) fn leave_cluster(&self, thread: u32) {
        let arrival = self.arrivals.borrow().get(thread as usize).copied().flatten();
        if arrival.is_some() {
            self.note(crate::SimtError::Fault {
                at: self.place_of(thread),
                message: "returns between its arrival at its cluster's barrier and its wait there".to_owned(),
            });
        }
        if let Some(member) = self.member {
            member.cluster.leave();
        }
    }

    /// In a cluster, shared arrays come in the same order in every block, so that they have the same addresses there.
    pub(super) fn lay_out(&self, key: *const (), size: usize, align: usize) -> Result<*mut u8, String> {
        let mut shared = self.buffers.shared.borrow_mut();
        if self.member.is_some() && !shared.has(key) {
            for &(key, size, align) in &self.grid.arrays(key.addr(), size, align) {
                shared.for_static(ptr::without_provenance(key), size, align)?;
            }
        }
        shared.for_static(key, size, align)
    }
}
