//! Meetings of a block's threads: its barrier, and the exchanges of its warps.

use super::{Block, Sched, TURN, TURNS_TO_STOP, Turns};
use crate::WARP_SIZE;
use crate::error::SimtError;
use std::panic::Location;
use std::ptr;

/// The barriers that a thread can wait at. All threads of a block must come to the same kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    #[default]
    Sync,
    Count,
    And,
    Or,
    Grid,
    Cluster,
}

impl BarrierKind {
    fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync_threads",
            Self::Count => "sync_threads_count",
            Self::And => "sync_threads_and",
            Self::Or => "sync_threads_or",
            Self::Grid => "sync_grid",
            Self::Cluster => "the cluster's barrier",
        }
    }
}

/// The block's barrier: that of all threads which haven't returned, as on GPUs from compute capability 7.0 on.
#[derive(Default)]
pub(super) struct Barrier {
    kind: BarrierKind,
    waiting: u32,
    /// First thread to arrive, and its place in the source; `None` before the first arrival at any
    /// barrier of the block.
    first: Option<(u32, &'static Location<'static>)>,
    /// For each warp, the place in the source at which its lanes have come to a barrier with a result.
    places: Vec<Option<&'static Location<'static>>>,
    /// Number of waiting threads that passed true.
    positive: u32,
    /// Result of the last completed barrier. It stays until the next one completes, by when all
    /// threads have read it.
    result: u32,
}

/// The numbers of a block's barriers are below this.
const BARRIERS: u32 = 16;

/// A barrier for a part of the block. As on a GPU, a warp comes once all of its lanes have come that haven't returned,
/// and counts for 32 threads.
#[derive(Default)]
pub(super) struct NamedBarrier {
    /// Number of threads to wait for, as given by the first; 0 before.
    threads: u32,
    arrived: u32,
    /// The warps that have come, a bit for each.
    warps: u32,
    /// For each thread of the block, how often it has come since its warp has.
    come: Vec<u32>,
    waiting: Vec<(u32, &'static Location<'static>)>,
}

/// The exchanges of one warp.
#[derive(Default)]
pub(super) struct Warp {
    /// The lanes that have returned.
    left: u32,
    exchanges: Vec<Exchange>,
}

/// A rendezvous of some lanes of a warp.
struct Exchange {
    mask: u32,
    op: &'static str,
    /// Source location of the first to arrive.
    location: &'static Location<'static>,
    arrived: u32,
    /// The lanes that have not taken the result; with none the exchange can serve anew.
    unread: u32,
    values: Values,
}

/// Values that the lanes of a warp have passed to an exchange. Lanes outside its mask have old values.
#[derive(Default)]
struct Values {
    lanes: [u64; WARP_SIZE as usize],
    /// The lanes that have passed another value than 0, a bit for each.
    nonzero: u32,
}

impl Values {
    fn set(&mut self, lane: u32, value: u64) {
        self.lanes[lane as usize] = value;
        self.nonzero = self.nonzero & !(1 << lane) | u32::from(value != 0) << lane;
    }
}

impl Exchange {
    fn pending(&self) -> bool {
        self.arrived != self.mask
    }

    /// Says that one of its lanes waits for a lane that waits for it in another exchange.
    fn opposed_by(&self, other: &Exchange, location: &Location<'_>) -> String {
        format!(
            "{} with mask {:#010x} ({location}) waits for a lane that waits for it in {} with mask {:#010x}; all lanes of a mask \
             must name the same operation and the same mask",
            self.op, self.mask, other.op, other.mask
        )
    }

    /// Returns one of the waiting threads, in the warp whose lane 0 is thread `lane0`.
    fn first(&self, lane0: u32) -> u32 {
        lane0 + self.arrived.trailing_zeros()
    }
}

impl Warp {
    pub(super) fn reset(&mut self) {
        self.left = 0;
        self.exchanges.clear();
    }

    pub(super) fn leave(&mut self, lane: u32) {
        self.left |= 1 << lane;
    }

    /// An exchange that waits for a lane of the `i`-th, which waits for a lane of that one.
    ///
    /// Masks that merely overlap are right: half a warp may meet in a branch while the other half waits for all after
    /// it.
    fn opposed(&self, i: usize) -> Option<&Exchange> {
        let this = &self.exchanges[i];
        let opposes = |e: &Exchange| e.mask & this.arrived != 0 && this.mask & e.arrived != 0;
        (0..).zip(&self.exchanges).find_map(|(j, e)| (j != i && e.pending() && opposes(e)).then_some(e))
    }

    /// The lanes that wait in exchanges.
    fn waiting(&self) -> u32 {
        self.exchanges.iter().filter(|e| e.pending()).fold(0, |lanes, e| lanes | e.arrived)
    }

    /// Begins an exchange without arrivals.
    fn begin(&mut self, mask: u32, op: &'static str, location: &'static Location<'static>) -> usize {
        if let Some(free) = self.exchanges.iter().position(|e| e.unread == 0) {
            let exchange = &mut self.exchanges[free];
            (exchange.mask, exchange.op, exchange.location) = (mask, op, location);
            (exchange.arrived, exchange.unread) = (0, mask);
            return free;
        }
        self.exchanges.push(Exchange { mask, op, location, arrived: 0, unread: mask, values: Values::default() });
        self.exchanges.len() - 1
    }
}

impl Block<'_> {
    /// Waits for all threads of the block that haven't returned. Of [`BarrierKind::And`] the result is whether all pass
    /// `p`, else how many do.
    #[inline(always)]
    pub(crate) fn barrier(&self, kind: BarrierKind, p: bool, location: &'static Location<'static>) -> u32 {
        if self.threads == 1 && self.passes_alone() {
            return u32::from(p);
        }
        if !self.come_to_barrier(kind, p, location) {
            return 0;
        }
        self.wait();
        self.barrier_result()
    }

    /// Begins the next turn of a block's only thread. Returns false if it has to wait like others: in checked runs, after a
    /// failure, and each time that the worker looks for one elsewhere.
    #[inline(always)]
    fn passes_alone(&self) -> bool {
        let turns = self.turns.get().wrapping_add(1);
        if cfg!(simt_check) || self.failed.get() || turns.is_multiple_of(TURNS_TO_STOP) {
            return false;
        }
        self.turns.set(turns);
        self.turn_left.set(TURN);
        true
    }

    /// Notes that the running thread is at the barrier; false where it must not wait.
    #[inline(never)]
    fn come_to_barrier(&self, kind: BarrierKind, p: bool, location: &'static Location<'static>) -> bool {
        if !self.may_wait() {
            return false;
        }
        let mut sched = self.buffers.sched.borrow_mut();
        let left = sched.left;
        let barrier = &mut sched.barrier;
        if barrier.waiting > 0 && barrier.kind != kind {
            let (other, waiting) = (barrier.kind, barrier.waiting);
            let elsewhere = barrier.first.map_or(location, |(_, location)| location);
            drop(sched);
            self.fault(format!(
                "reached {} ({location}) while {} of its block waited at {} ({elsewhere}); all threads of a block must reach the \
                 same barrier",
                kind.name(),
                threads(waiting),
                other.name()
            ));
        }
        if barrier.waiting == 0 {
            barrier.kind = kind;
            barrier.first = Some((self.thread.get(), location));
        }
        if matches!(kind, BarrierKind::Count | BarrierKind::And | BarrierKind::Or) {
            barrier.places.resize(self.threads.div_ceil(WARP_SIZE) as usize, None);
            let place = *barrier.places[(self.thread.get() / WARP_SIZE) as usize].get_or_insert(location);
            if place != location {
                drop(sched);
                self.fault(format!(
                    "reached {} ({location}) while lanes of its warp waited at another one ({place}); a GPU gives the result \
                     only to lanes that come together",
                    kind.name()
                ));
            }
        }
        barrier.waiting += 1;
        barrier.positive += u32::from(p);
        if let (BarrierKind::Grid, Some(left)) = (kind, left) {
            let error = self.abandoned(barrier, left);
            drop(sched);
            self.fail(error.unwrap_or_else(|| self.stuck()));
        }
        // The last to come waits too, so that the threads go on in the order of their indices.
        self.pass_barrier(&mut sched);
        true
    }

    /// Lets those at the barrier go on where no other thread of the block can still come.
    fn pass_barrier(&self, sched: &mut Sched) {
        let Sched { turns, barrier, warps, .. } = sched;
        if barrier.waiting == 0 || barrier.waiting + self.done.get() < self.threads {
            return;
        }
        let positive = std::mem::take(&mut barrier.positive);
        barrier.result = if barrier.kind == BarrierKind::And { u32::from(positive == barrier.waiting) } else { positive };
        barrier.waiting = 0;
        barrier.places.clear();
        #[cfg(simt_check)]
        self.checks.barrier();
        let has_left = |thread: u32| warps[(thread / WARP_SIZE) as usize].left >> (thread % WARP_SIZE) & 1 == 1;
        (0..self.threads).filter(|&thread| !has_left(thread)).for_each(|thread| turns.release(thread));
    }

    /// The error of those at `sync_grid` where `left` has returned, which every thread of the grid has to come to.
    fn abandoned(&self, barrier: &Barrier, left: u32) -> Option<SimtError> {
        let (first, location) = barrier.first.filter(|_| barrier.kind == BarrierKind::Grid && barrier.waiting > 0)?;
        let message = format!(
            "waits at {} ({location}), {} in all, but thread {} has returned and will never reach it",
            barrier.kind.name(),
            threads(barrier.waiting),
            self.place_of(left).thread
        );
        Some(SimtError::Fault { at: self.place_of(first), message })
    }

    /// Waits for all threads of the grid: the block meets, one of its threads meets those of other blocks, and the
    /// block meets again.
    pub(crate) fn sync_grid(&self, location: &'static Location<'static>) {
        if !self.grid.cooperative {
            self.fault(format!("sync_grid ({location}) is for cooperative launches, whose blocks all run at once"));
        }
        self.barrier(BarrierKind::Grid, false, location);
        if self.thread.get() == 0 {
            #[cfg(simt_check)]
            let number = self.grid.met();
            #[cfg(simt_check)]
            self.come_to_meeting(false, number);
            if self.grid.meet(|| self.yield_now()).is_err() {
                self.fault(format!("waits at sync_grid ({location}), but another block has returned and will never reach it"));
            }
            #[cfg(simt_check)]
            self.go_from_meeting(false, number);
        }
        self.barrier(BarrierKind::Grid, false, location);
    }

    /// Comes to one of the block's other barriers, and waits there if asked to.
    #[inline(always)]
    pub(crate) fn named_barrier(&self, number: u32, threads: u32, wait: bool, location: &'static Location<'static>) {
        if self.come_to_named(number, threads, wait, location) {
            self.wait();
        }
    }

    /// Notes that the running thread is at a named barrier; says whether it has to wait.
    #[inline(never)]
    fn come_to_named(&self, number: u32, threads: u32, wait: bool, location: &'static Location<'static>) -> bool {
        if !self.may_wait() {
            return false;
        }
        if !(1..BARRIERS).contains(&number) {
            self.fault(format!("there is no named barrier {number} ({location}): their numbers are 1 to {}", BARRIERS - 1));
        }
        if threads == 0 || !threads.is_multiple_of(WARP_SIZE) || threads > self.threads.next_multiple_of(WARP_SIZE) {
            self.fault(format!(
                "barrier {number} is for {threads} threads ({location}): it has to be a multiple of {WARP_SIZE}, and no more \
                 than the block's {}",
                self.threads
            ));
        }
        let thread = self.thread.get();
        let mut sched = self.buffers.sched.borrow_mut();
        let sched = &mut *sched;
        sched.named.resize_with(BARRIERS as usize, NamedBarrier::default);
        let barrier = &mut sched.named[number as usize];
        if barrier.threads == 0 {
            barrier.threads = threads;
        } else if barrier.threads != threads {
            let others = barrier.threads;
            self.fault(format!(
                "barrier {number} is for {threads} threads here ({location}), and for {others} where others came"
            ));
        }
        barrier.come.resize(self.threads as usize, 0);
        barrier.come[thread as usize] += 1;
        if wait {
            barrier.waiting.push((thread, location));
        }
        self.pass_named(barrier, thread / WARP_SIZE, &sched.warps, &mut sched.turns);
        wait
    }

    /// Counts a warp if it has come to a named barrier, and lets those there go on if it was the last.
    fn pass_named(&self, barrier: &mut NamedBarrier, warp: u32, warps: &[Warp], turns: &mut Turns) {
        let first = (warp * WARP_SIZE) as usize;
        let Some(come) = barrier.come.get_mut(first..self.threads.min((warp + 1) * WARP_SIZE) as usize) else {
            return;
        };
        let left = warps[warp as usize].left;
        let remaining = (0..).zip(&*come).filter(|(lane, _)| left >> lane & 1 == 0);
        if remaining.map(|(_, times)| times).min().or(come.iter().max()) == Some(&0) {
            return;
        }
        come.iter_mut().for_each(|times| *times = times.saturating_sub(1));
        barrier.warps |= 1 << warp;
        barrier.arrived += WARP_SIZE;
        if barrier.arrived < barrier.threads {
            return;
        }
        barrier.arrived = 0;
        let all = std::mem::take(&mut barrier.warps);
        let is_there = |thread: &u32| all >> (thread / WARP_SIZE) & 1 == 1;
        // Also those that don't wait: of these, fewer races are found.
        #[cfg(simt_check)]
        self.checks.meet((0..self.threads).filter(is_there));
        barrier.waiting.extract_if(.., |(thread, _)| is_there(thread)).for_each(|(thread, _)| turns.release(thread));
        if barrier.waiting.is_empty() {
            barrier.threads = 0;
        }
    }

    #[inline(never)]
    fn barrier_result(&self) -> u32 {
        self.buffers.sched.borrow().barrier.result
    }

    /// Waits for the lanes of `mask`, and returns what each passed, or 0 for others.
    #[inline(always)]
    pub(crate) fn exchange(
        &self,
        mask: u32,
        op: &'static str,
        value: u64,
        location: &'static Location<'static>,
    ) -> [u64; WARP_SIZE as usize] {
        let exchange = self.come_and_wait(mask, op, value, location);
        let mut all = [0; WARP_SIZE as usize];
        self.read_all(exchange, value, mask, &mut all);
        all
    }

    /// Waits for the lanes of `mask`. Returns what lane `source` of them passed, and a bit for each that passed another value
    /// than 0.
    #[inline(always)]
    pub(crate) fn exchange_one(
        &self,
        mask: u32,
        op: &'static str,
        value: u64,
        source: u32,
        location: &'static Location<'static>,
    ) -> (u64, u32) {
        let exchange = self.come_and_wait(mask, op, value, location);
        self.read_one(exchange, value, mask, source)
    }

    #[inline(always)]
    fn come_and_wait(&self, mask: u32, op: &'static str, value: u64, location: &'static Location<'static>) -> Option<usize> {
        let exchange = self.come_to_exchange(mask, op, value, location);
        if exchange.is_some() {
            self.wait();
        }
        exchange
    }

    #[inline(never)]
    fn read_all(&self, exchange: Option<usize>, own: u64, mask: u32, all: &mut [u64; WARP_SIZE as usize]) {
        self.read(exchange, own, |values| lanes(mask).for_each(|lane| all[lane as usize] = values.lanes[lane as usize]));
    }

    #[inline(never)]
    fn read_one(&self, exchange: Option<usize>, own: u64, mask: u32, source: u32) -> (u64, u32) {
        self.read(exchange, own, |values| (values.lanes[source as usize], values.nonzero & mask))
    }

    /// Notes that the running thread is at an exchange, and returns it. Returns `None` if the thread need not or must not
    /// wait.
    #[inline(never)]
    fn come_to_exchange(&self, mask: u32, op: &'static str, value: u64, location: &'static Location<'static>) -> Option<usize> {
        if !self.may_wait() {
            return None;
        }
        let thread = self.thread.get();
        let (warp, lane) = ((thread / WARP_SIZE) as usize, thread % WARP_SIZE);
        let first = thread - lane;
        if mask & 1 << lane == 0 {
            self.fault(format!("{op} with mask {mask:#010x} ({location}), which lacks the thread's own lane {lane}"));
        }
        let missing = u64::from(mask) >> (self.threads - first).min(WARP_SIZE);
        if missing != 0 {
            let lane = self.threads - first + missing.trailing_zeros();
            self.fault(format!(
                "{op} with mask {mask:#010x} ({location}) names lane {lane} of its warp, which does not exist in this block ({} \
                 threads)",
                self.threads
            ));
        }
        if mask == 1 << lane {
            return None;
        }

        let mut sched = self.buffers.sched.borrow_mut();
        let here = &mut sched.warps[warp];
        if let Some(lane) = lanes(mask & here.left).next() {
            drop(sched);
            self.fault(lane_left(op, mask, location, lane));
        }
        // The exchange that lanes have already joined with this mask and name.
        let joined = |e: &Exchange| e.pending() && e.mask == mask && (ptr::eq(e.op, op) || e.op == op);
        let i = here.exchanges.iter().position(joined).unwrap_or_else(|| here.begin(mask, op, location));
        let exchange = &mut here.exchanges[i];
        exchange.arrived |= 1 << lane;
        exchange.values.set(lane, value);
        let complete = !exchange.pending();
        if let Some(other) = here.opposed(i) {
            let message = here.exchanges[i].opposed_by(other, location);
            drop(sched);
            self.fault(message);
        }
        if complete {
            // Shuffles and votes don't order accesses to memory.
            #[cfg(simt_check)]
            if op == "sync_warp" {
                self.checks.meet(lanes(mask).map(|lane| first + lane));
            }
            for lane in lanes(mask) {
                sched.turns.release(first + lane);
            }
        }
        Some(i)
    }

    /// Gives `read` the values of an exchange, or the thread's own.
    fn read<R>(&self, exchange: Option<usize>, own: u64, read: impl FnOnce(&Values) -> R) -> R {
        let thread = self.thread.get();
        let (warp, lane) = ((thread / WARP_SIZE) as usize, thread % WARP_SIZE);
        let Some(i) = exchange else {
            let mut values = Values::default();
            values.set(lane, own);
            return read(&values);
        };
        let mut sched = self.buffers.sched.borrow_mut();
        let exchange = &mut sched.warps[warp].exchanges[i];
        exchange.unread &= !(1 << lane);
        read(&exchange.values)
    }

    /// Takes `thread`, which has returned, out of its warp and the block; gives an error where somebody waits for it that
    /// can't go on without.
    pub(super) fn leave(&self, thread: u32) -> Option<SimtError> {
        let lane = thread % WARP_SIZE;
        let mut sched = self.buffers.sched.borrow_mut();
        sched.left = Some(thread);
        let warp = &mut sched.warps[(thread / WARP_SIZE) as usize];
        warp.leave(lane);
        // The lane has not arrived anywhere.
        if let Some(exchange) = warp.exchanges.iter().find(|e| e.pending() && e.mask >> lane & 1 == 1) {
            let message = lane_left(exchange.op, exchange.mask, exchange.location, lane);
            return Some(SimtError::Fault { at: self.place_of(exchange.first(thread - lane)), message });
        }
        let error = self.abandoned(&sched.barrier, thread);
        if error.is_none() {
            let sched = &mut *sched;
            self.pass_barrier(sched);
            for barrier in &mut sched.named {
                self.pass_named(barrier, thread / WARP_SIZE, &sched.warps, &mut sched.turns);
            }
        }
        error
    }

    /// Why those that wait will wait for ever, once nobody can run.
    pub(super) fn stuck(&self) -> SimtError {
        let sched = self.buffers.sched.borrow();
        let warps = || (0..).step_by(WARP_SIZE as usize).zip(&sched.warps);
        let pending =
            || warps().flat_map(|(lane0, warp)| warp.exchanges.iter().filter(|e| e.pending()).map(move |e| (lane0, warp, e)));

        if let Barrier { kind, waiting: waiting @ 1.., first: Some((first, location)), .. } = sched.barrier {
            let at = self.place_of(first);
            // The lanes that an exchange lacks have not returned; each waits in another exchange or
            // at the barrier.
            for (lane0, warp, exchange) in pending() {
                if let Some(lane) = lanes(exchange.mask & !warp.waiting()).next() {
                    let Exchange { op, mask, location: elsewhere, .. } = exchange;
                    let message = format!(
                        "waits at {} ({location}), {} in all, while thread {} waits in {op} ({elsewhere}, mask {mask:#010x}), {} in \
                         all exchanges, for lane {lane}, which is at the barrier: nobody can go on",
                        kind.name(),
                        threads(waiting),
                        self.place_of(exchange.first(lane0)).thread,
                        threads(warps().map(|(_, warp)| warp.waiting().count_ones()).sum())
                    );
                    return SimtError::Fault { at, message };
                }
            }
        }
        let incomplete = |(_, barrier): &(u32, &NamedBarrier)| !barrier.waiting.is_empty();
        if let Some((number, NamedBarrier { threads, arrived, waiting, .. })) = (0..).zip(&sched.named).find(incomplete) {
            let (first, location) = waiting[0];
            return SimtError::Fault {
                at: self.place_of(first),
                message: format!(
                    "waits at barrier {number} ({location}) for {threads} threads, of which {arrived} have come, by whole \
                     warps, and nobody can go on"
                ),
            };
        }
        // The remaining case is a warp whose exchanges wait for each other in a ring. `opposed`
        // finds rings of two.
        let (lane0, warp, exchange) = pending().next().expect("those who cannot run wait somewhere");
        let lacking = exchange.mask & !exchange.arrived;
        let other = warp.exchanges.iter().find(|e| e.pending() && e.arrived & lacking != 0).unwrap_or(exchange);
        let message = exchange.opposed_by(other, exchange.location);
        SimtError::Fault { at: self.place_of(exchange.first(lane0)), message }
    }
}

/// Says that an exchange lacks a lane that has returned.
fn lane_left(op: &str, mask: u32, location: &Location<'_>, lane: u32) -> String {
    format!("{op} with mask {mask:#010x} ({location}) is a shuffle from a lane that left: lane {lane} has returned")
}

fn threads(n: u32) -> String {
    if n == 1 { "1 thread".into() } else { format!("{n} threads") }
}

/// The lanes of a mask, ascending.
fn lanes(mut mask: u32) -> impl Iterator<Item = u32> + Clone {
    std::iter::from_fn(move || {
        let lane = (mask != 0).then(|| mask.trailing_zeros())?;
        mask &= mask - 1;
        Some(lane)
    })
}
