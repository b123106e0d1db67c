//! One block: its threads' turns on one OS thread.
//!
//! Threads run one after another on the worker's own stack, called like a function. When one of them waits, its wait
//! *is* the scheduler ([`Block::drive`]): it runs the others as fibres, each on its own stack, and
//! returns when the thread's turn comes again. A fibre that waits switches back to the driver: the
//! wait of the thread on the worker's stack or, after that thread has returned, [`Block::run`]. So
//! there is at most one thread on the worker's stack, and fibres exist only for threads that run
//! while another waits.
//!
//! In checked runs every thread is a fibre.
//!
//! A failure is noted in the block, and from then on every wait unwinds its thread: first that on the worker's stack,
//! then each fibre. A thread that unwinds never switches, since the standard library counts panics for an OS thread.

mod cluster;
mod sync;

pub(crate) use sync::BarrierKind;

#[cfg(simt_check)]
use crate::check::{BlockChecks, Checks, ClusterChecks};
use crate::cluster::Member;
use crate::error::{Place, SimtError};
use crate::grid::{Grid, Schedule};
use crate::sched::Turns;
#[cfg(unix)]
use crate::shared;
use crate::shared::Shared;
use crate::stack::{self, Stack};
use crate::{Dim3, MAX_BLOCK_THREADS, panics};
use corosensei::stack::Stack as _;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::any::Any;
use std::cell::{Cell, OnceCell, RefCell, UnsafeCell};
#[cfg(unix)]
use std::fmt;
use std::ops::Deref;
#[cfg(simt_check)]
use std::ops::Range;
use std::panic::{self, AssertUnwindSafe};
use std::ptr;
use std::thread;
use sync::{Barrier, NamedBarrier, Warp};

type Fibre = Coroutine<(), (), (), Stack>;

/// Number of preemption points that a thread may pass in one turn under [`Schedule::InOrder`].
const TURN: u32 = 1 << 16;

/// After this many turns a worker checks whether the launch has failed elsewhere.
const TURNS_TO_STOP: u32 = 1024;

/// A block of the grid, over and over: one worker's view of a launch.
pub(crate) struct Block<'a> {
    grid: &'a Grid<'a>,
    buffers: &'a Buffers,
    threads: u32,
    seed: Option<u64>,
    /// The block's place in its cluster, if it is in one.
    member: Option<Member<'a>>,
    /// Of threads that have arrived at the cluster's barrier and not waited; shorter where nobody has come there.
    arrivals: RefCell<Vec<cluster::Arrival>>,
    /// Number of threads that wait at the cluster's barrier.
    at_cluster: Cell<u32>,
    /// The launch came from a destructor during a panic, which says nothing about this block's threads.
    launched_in_panic: bool,

    block_idx: Cell<Dim3>,
    /// The thread whose turn it is.
    thread: Cell<u32>,
    thread_idx: Cell<Dim3>,
    turn_left: Cell<u32>,

    /// Some thread has waited, so that `Sched` and the slots are valid.
    scheduled: Cell<bool>,
    /// Number of threads that have started; only while not `scheduled`.
    started: Cell<u32>,
    /// Number of threads that have returned.
    done: Cell<u32>,
    turns: Cell<u32>,

    failed: Cell<bool>,
    error: RefCell<Option<SimtError>>,
    /// The last panic: its message, and where in the source.
    last_panic: RefCell<Option<(String, Option<String>)>>,

    #[cfg(simt_check)]
    checks: BlockChecks,
    /// The thread that was stopped had panicked.
    #[cfg(simt_check)]
    aborted: Cell<bool>,
}

/// Buffers that a worker keeps from block to block and, in a thread-local, from launch to launch.
#[derive(Default)]
pub(crate) struct Buffers {
    slots: OnceCell<Box<[Slot]>>,
    sched: RefCell<Sched>,
    shared: RefCell<Shared>,
    stacks: RefCell<Vec<Stack>>,
}

/// A thread of the block, once there is a scheduler.
struct Slot {
    index: Cell<Dim3>,
    /// The fibre, if the thread is one. Only the driving thread touches it: see [`Block::resume`].
    fibre: UnsafeCell<Option<Fibre>>,
    /// Its means to suspend, if it is a fibre. Null while it has not started, has returned, or runs
    /// on the worker's stack.
    yielder: Cell<*const Yielder<(), ()>>,
    /// The addresses of the fibre's stack, from the guard page's first.
    stack: Cell<(usize, usize)>,
    /// True if it was abandoned before a wrong access.
    #[cfg(simt_check)]
    stopped: Cell<bool>,
}

#[derive(Default)]
struct Sched {
    turns: Turns,
    barrier: Barrier,
    /// The block's other barriers; none as long as nobody has come to one.
    named: Vec<NamedBarrier>,
    warps: Vec<Warp>,
    /// One of the threads that have returned.
    left: Option<u32>,
}

impl<'a> Block<'a> {
    pub(crate) fn new(grid: &'a Grid<'a>, buffers: &'a Buffers) -> Self {
        Self {
            grid,
            buffers,
            // The launch was checked to have at most 1024.
            threads: grid.launch.block.count() as u32,
            seed: match grid.schedule {
                Schedule::InOrder => None,
                Schedule::Random { seed } => Some(seed),
            },
            member: None,
            arrivals: RefCell::default(),
            at_cluster: Cell::new(0),
            launched_in_panic: thread::panicking(),
            block_idx: Cell::new(Dim3::new(0, 0, 0)),
            thread: Cell::new(0),
            thread_idx: Cell::new(Dim3::new(0, 0, 0)),
            turn_left: Cell::new(TURN),
            scheduled: Cell::new(false),
            started: Cell::new(0),
            done: Cell::new(0),
            turns: Cell::new(0),
            failed: Cell::new(false),
            error: RefCell::new(None),
            last_panic: RefCell::new(None),
            #[cfg(simt_check)]
            checks: BlockChecks::new(),
            #[cfg(simt_check)]
            aborted: Cell::new(false),
        }
    }

    /// Runs the grid's `linear`-th block. The error is `None` where the block only followed another block's failure.
    pub(crate) fn run(&self, linear: u64) -> Result<(), Option<SimtError>> {
        self.block_idx.set(self.grid_dim().at(linear));
        self.scheduled.set(false);
        self.started.set(0);
        self.done.set(0);
        self.turns.set(0);
        let poison = cfg!(debug_assertions) || self.seed.is_some();
        self.buffers.shared.borrow_mut().reset(self.dynamic_shared_size(), poison, self.member.is_some());
        self.arrivals.borrow_mut().clear();
        self.at_cluster.set(0);
        if let Some(member) = self.member {
            // From here on others may access its shared memory.
            member.cluster.wait_for_others();
        }
        #[cfg(simt_check)]
        self.checks.reset(linear, self.threads);
        if self.seed.is_some() || cfg!(simt_check) {
            self.schedule(self.seed.map(|seed| seed ^ linear.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        }

        let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
            if !self.scheduled.get() {
                self.run_in_order();
            }
            if self.scheduled.get() {
                self.drive(None);
            }
        }));
        if let Err(payload) = outcome {
            self.panicked(payload);
        }
        if self.failed.get() {
            self.unwind_fibres();
            return Err(self.error.take());
        }
        #[cfg(simt_check)]
        self.give_up_shared()?;
        Ok(())
    }

    /// Calls the body for thread after thread, until one has waited (and returned since).
    fn run_in_order(&self) {
        let mut index = Dim3::new(0, 0, 0);
        for thread in 0..self.threads {
            self.set_running(thread, index);
            self.started.set(thread + 1);
            (self.grid.body)();
            if self.scheduled.get() {
                self.finish(thread);
                return;
            }
            if self.failed.get() {
                return;
            }
            self.leave_cluster(thread);
            self.done.set(thread + 1);
            index = self.block_dim().next(index);
        }
    }

    /// Sets up the scheduler: in order when the first thread waits, and at random before any thread starts.
    #[cold]
    fn schedule(&self, seed: Option<u64>) {
        let mut index = Dim3::new(0, 0, 0);
        for slot in &self.slots()[..self.threads as usize] {
            slot.index.set(index);
            slot.yielder.set(ptr::null());
            index = self.block_dim().next(index);
        }
        let mut sched = self.buffers.sched.borrow_mut();
        let sched = &mut *sched;
        sched.turns.reset(self.threads, self.started.get(), seed);
        sched.barrier = Barrier::default();
        sched.named.clear();
        sched.warps.truncate(self.threads.div_ceil(crate::WARP_SIZE) as usize);
        sched.warps.iter_mut().for_each(Warp::reset);
        sched.warps.resize_with(self.threads.div_ceil(crate::WARP_SIZE) as usize, Warp::default);
        sched.left = None;
        for thread in 0..self.done.get() {
            sched.warps[(thread / crate::WARP_SIZE) as usize].leave(thread % crate::WARP_SIZE);
            sched.left = Some(thread);
        }
        self.scheduled.set(true);
    }

    /// Gives threads their turns: until it is that of `until`, which is the caller's and on the worker's stack, or else
    /// until all have returned. Returns at once when the block has failed.
    fn drive(&self, until: Option<u32>) {
        loop {
            if self.failed.get() {
                return;
            }
            self.turns.set(self.turns.get().wrapping_add(1));
            if self.turns.get().is_multiple_of(TURNS_TO_STOP) && self.grid.stopped() {
                self.failed.set(true);
                return;
            }
            let next = self.buffers.sched.borrow_mut().turns.next();
            let Some(thread) = next else {
                if self.done.get() < self.threads {
                    self.note(self.stuck());
                }
                return;
            };
            let slot = &self.slots()[thread as usize];
            self.set_running(thread, slot.index.get());
            if until == Some(thread) {
                return;
            }
            if !self.resume(slot) {
                if until.is_none() && !cfg!(simt_check) {
                    // The worker's stack is free.
                    (self.grid.body)();
                    self.finish(thread);
                } else if self.make_fibre(thread, slot) {
                    self.resume(slot);
                }
            }
        }
    }

    /// Passes the turn on, and returns when it is the caller's again.
    ///
    /// Inlined into the kernel as far as the switch of stacks, as `resume` is into `drive`: the processor predicts
    /// returns by the calls before them, and is wrong about each return that has a switch between it and its call. That
    /// would cost more than the switch.
    #[inline(always)]
    fn wait(&self) {
        let yielder = self.wait_on_worker_stack();
        if !yielder.is_null() {
            // SAFETY: the running thread is a fibre, which stored this pointer when it started and clears it before it
            // returns; the yielder is on the fibre's stack for all that time.
            unsafe { (*yielder).suspend(()) };
        }
        if self.failed.get() {
            panics::abandon();
        }
    }

    /// Waits, if the running thread is on the worker's stack; else returns what it must suspend with.
    #[inline(never)]
    fn wait_on_worker_stack(&self) -> *const Yielder<(), ()> {
        let thread = self.thread.get();
        let slot = &self.slots()[thread as usize];
        let yielder = slot.yielder.get();
        if yielder.is_null() {
            self.drive(Some(thread));
            if self.failed.get() {
                self.set_running(thread, slot.index.get());
            }
        }
        yielder
    }

    /// Makes `thread`, which has not started, a fibre; false where the block fails for want of a stack.
    fn make_fibre(&self, thread: u32, slot: &Slot) -> bool {
        let mut stacks = self.buffers.stacks.borrow_mut();
        if stacks.is_empty()
            && let Err(error) = stack::take(&mut stacks)
        {
            self.note(SimtError::Fault { at: self.place(), message: format!("no stack to run it on: {error}") });
        }
        let Some(stack) = stacks.pop() else {
            return false;
        };
        slot.stack.set((stack.limit().get(), stack.base().get()));
        let this: *const Block<'static> = ptr::from_ref(self).cast();
        let fibre = Fibre::with_stack(stack, move |yielder, ()| {
            // SAFETY: the fibre runs only while `run` does, on this block: `run` returns when all threads have
            // returned, or have been unwound.
            let block = unsafe { &*this };
            let slot = &block.slots()[thread as usize];
            slot.yielder.set(yielder);
            let outcome = panic::catch_unwind(AssertUnwindSafe(block.grid.body));
            slot.yielder.set(ptr::null());
            if let Err(payload) = outcome {
                block.panicked(payload);
            }
            block.finish(thread);
        });
        // SAFETY: the thread has no fibre yet that could run and touch this place, all others are suspended, and
        // nothing is called while the place is written.
        unsafe { *slot.fibre.get() = Some(fibre) };
        true
    }

    /// Runs a fibre until it waits or returns; false where the thread is not a fibre.
    #[inline(always)]
    fn resume(&self, slot: &Slot) -> bool {
        // SAFETY: the reference is the only one. While the fibre runs nobody else asks for it: the fibre itself does
        // not, since a wait on a fibre drives nothing, and the others are suspended.
        let place = unsafe { &mut *slot.fibre.get() };
        let Some(fibre) = place else {
            return false;
        };
        if let CoroutineResult::Return(()) = fibre.resume(()) {
            self.buffers.stacks.borrow_mut().extend(place.take().map(Fibre::into_stack));
        }
        true
    }

    /// Lets every fibre of a block that has failed run to its end, which is near, since no thread of such a block can
    /// wait.
    fn unwind_fibres(&self) {
        if self.scheduled.get() {
            for (thread, slot) in (0..self.threads).zip(self.slots()) {
                self.set_running(thread, slot.index.get());
                #[cfg(simt_check)]
                self.bury(slot);
                while self.resume(slot) {}
            }
        }
    }

    /// The running thread has returned, or has been unwound.
    fn finish(&self, thread: u32) {
        // Others of the cluster don't go on as if a block that fails had returned.
        if !self.failed.get() {
            self.leave_cluster(thread);
        }
        self.done.set(self.done.get() + 1);
        if !self.failed.get()
            && let Some(error) = self.leave(thread)
        {
            self.note(error);
        }
    }

    #[inline]
    fn set_running(&self, thread: u32, index: Dim3) {
        self.thread.set(thread);
        self.thread_idx.set(index);
        self.turn_left.set(TURN);
    }

    fn slots(&self) -> &[Slot] {
        self.buffers.slots.get_or_init(|| (0..MAX_BLOCK_THREADS).map(|_| Slot::new()).collect())
    }

    /// Notes why the block fails, if it has not yet.
    fn note(&self, error: SimtError) {
        if !self.failed.replace(true) {
            *self.error.borrow_mut() = Some(error);
        }
    }

    /// Notes why the block fails, and unwinds the running thread.
    fn fail(&self, error: SimtError) -> ! {
        self.note(error);
        panics::abandon()
    }

    /// The running thread's body panicked, or was abandoned.
    fn panicked(&self, payload: Box<dyn Any + Send>) {
        if let Some(message) = panics::message(payload) {
            let location = self.last_panic.take().and_then(|(_, location)| location);
            self.note(SimtError::Panic { at: self.place(), message, location });
        }
    }

    /// Returns false if the running thread may not wait because it unwinds. If the block has
    /// failed, unwinds it.
    #[inline]
    fn may_wait(&self) -> bool {
        if thread::panicking() && !self.launched_in_panic {
            return false;
        }
        if self.failed.get() {
            panics::abandon();
        }
        if !self.scheduled.get() {
            self.schedule(None);
        }
        true
    }

    fn place_of(&self, thread: u32) -> Box<Place> {
        Box::new(Place {
            kernel: self.grid.launch.kernel.to_owned(),
            block: self.block_idx.get(),
            thread: self.block_dim().at(u64::from(thread)),
        })
    }
}

/// Queries of checked runs.
#[cfg(simt_check)]
impl Block<'_> {
    pub(crate) fn checks(&self) -> &BlockChecks {
        &self.checks
    }

    pub(crate) fn grid_checks(&self) -> &Checks {
        &self.grid.checks
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failed.get()
    }

    /// The addresses of the running thread's stack.
    pub(crate) fn stack(&self) -> Range<usize> {
        let (limit, base) = self.slots()[self.thread.get() as usize].stack.get();
        limit..base
    }

    pub(crate) fn cluster_checks(&self) -> Option<&ClusterChecks> {
        self.member.map(|member| &member.cluster.checks)
    }

    /// An access to the block's shared memory, or to that of another one of its cluster, which has the same parts.
    pub(crate) fn shared_access(&self, bytes: &Range<usize>, writes: bool) -> Option<Result<bool, String>> {
        let own = self.buffers.shared.borrow();
        let others = self.cluster_checks().into_iter().flat_map(ClusterChecks::shared);
        own.known().into_iter().chain(others).find_map(|known| own.access(bytes, writes, known))
    }

    pub(crate) fn shared_name(&self, address: usize) -> Option<String> {
        let own = self.buffers.shared.borrow();
        if let Some(name) = own.known().and_then(|(base, _)| own.name(address, base)) {
            return Some(name);
        }
        let others = self.cluster_checks().into_iter().flat_map(ClusterChecks::shared).enumerate();
        others
            .into_iter()
            .find_map(|(rank, (base, _))| Some(format!("{} of block {rank} of the cluster", own.name(address, base)?)))
    }

    /// Returns the other block of the cluster whose shared memory holds the address.
    pub(crate) fn owner(&self, address: usize) -> Option<u64> {
        let Member { cluster, rank: own } = self.member?;
        let rank = cluster.checks.shared().position(|(base, _)| shared::addresses(base).contains(&address))? as u32;
        cluster.block(self.grid.launch, rank).filter(|_| rank != own)
    }

    #[cfg(simt_check)]
    pub(crate) fn shared_base(&self) -> Option<usize> {
        self.buffers.shared.borrow().known().map(|(base, _)| base)
    }

    /// The block fails, and the running thread goes no further. It isn't unwound: calls of the hooks are not among those
    /// that may unwind.
    pub(crate) fn stop(&self, error: SimtError) -> ! {
        self.note(error);
        let slot = &self.slots()[self.thread.get() as usize];
        slot.stopped.set(true);
        loop {
            // SAFETY: the running thread is a fibre, as all are in a checked run, and so the yielder is on its stack.
            unsafe { (*slot.yielder.get()).suspend(()) };
        }
    }

    /// Stops the running thread if one of rustc's checks of pointers is about to end the process: the handler of SIGABRT
    /// calls this, and need not return.
    pub(crate) fn stop_aborted(&self) {
        let is_of_pointer = |message: &str| panics::POINTERS.iter().any(|beginning| message.starts_with(beginning));
        let last = self.last_panic.borrow().clone().filter(|(message, _)| is_of_pointer(message));
        if let (Some((message, location)), false) = (last, self.failed.get()) {
            self.aborted.set(true);
            let message = message.lines().next().unwrap_or_default().to_owned();
            self.stop(SimtError::Panic { at: self.place(), message, location });
        }
    }

    /// Gives up the fibre of a thread that has been stopped.
    fn bury(&self, slot: &Slot) {
        if slot.stopped.take()
            // SAFETY: the fibre is suspended, and so is any other: nobody else has a reference to this place.
            && let Some(mut fibre) = unsafe { (*slot.fibre.get()).take() }
        {
            slot.yielder.set(ptr::null());
            if self.aborted.take() {
                panics::forget();
            }
            // SAFETY: what is on its stack is forgotten, as by `mem::forget`. It is never run again.
            unsafe { fibre.force_reset() };
            self.buffers.stacks.borrow_mut().push(fibre.into_stack());
            self.done.set(self.done.get() + 1);
        }
    }
}

/// Queries of [`crate::current`].
impl Block<'_> {
    /// The running thread.
    pub(crate) fn place(&self) -> Box<Place> {
        self.place_of(self.thread.get())
    }

    pub(crate) fn note_panic(&self, message: &str, location: Option<String>) {
        *self.last_panic.borrow_mut() = Some((message.to_owned(), location));
    }

    /// Describes the running thread in a line, for a signal's handler.
    #[cfg(unix)]
    pub(crate) fn report(&self, out: &mut impl fmt::Write, signal: &str, address: Option<usize>) -> fmt::Result {
        let (kernel, block, thread) = (self.grid.launch.kernel, self.block_idx(), self.thread_idx());
        write!(out, "kernel `{kernel}`, block {block}, thread {thread}: {signal}")?;
        let slot = self.buffers.slots.get().map(|slots| &slots[self.thread.get() as usize]);
        let guard = slot.filter(|slot| !slot.yielder.get().is_null()).map(|slot| slot.stack.get().0);
        match (address, guard) {
            (Some(address), Some(guard)) if (guard..guard + stack::GUARD).contains(&address) => {
                write!(out, ", as the thread's stack of {} KiB has overflowed", stack::STACK_SIZE / 1024)?;
            }
            (Some(address), _) if self.is_no_dynamic(address) => write!(out, " at an access to {}", shared::NO_DYNAMIC_NAME)?,
            (Some(address), _) => write!(out, " at an access to address {address:#x}")?,
            (None, _) => {}
        }
        if let Ok(last) = self.last_panic.try_borrow()
            && let (None, Some((message, location))) = (address, &*last)
        {
            write!(out, ", after it panicked at {}: {message}", location.as_deref().unwrap_or("an unknown place"))?;
        }
        out.write_str("\n")
    }

    #[inline]
    pub(crate) fn thread_idx(&self) -> Dim3 {
        self.thread_idx.get()
    }

    #[inline]
    pub(crate) fn block_idx(&self) -> Dim3 {
        self.block_idx.get()
    }

    #[inline]
    pub(crate) fn block_dim(&self) -> Dim3 {
        self.grid.launch.block
    }

    #[inline]
    pub(crate) fn grid_dim(&self) -> Dim3 {
        self.grid.launch.grid
    }

    #[inline]
    pub(crate) fn linear_thread(&self) -> u32 {
        self.thread.get()
    }

    #[inline]
    pub(crate) fn shared_static(&self, key: *const (), size: usize, align: usize) -> *mut u8 {
        let found = self.lay_out(key, size, align);
        found.unwrap_or_else(|message| self.fault(message))
    }

    pub(crate) fn dynamic_shared(&self) -> *mut u8 {
        self.buffers.shared.borrow().dynamic()
    }

    /// Returns true if the launch gave no dynamic shared memory, and the address stands for it.
    #[cfg(unix)]
    pub(crate) fn is_no_dynamic(&self, address: usize) -> bool {
        self.dynamic_shared_size() == 0 && shared::NO_DYNAMIC.contains(&address)
    }

    pub(crate) fn dynamic_shared_size(&self) -> usize {
        self.grid.launch.dynamic_shared
    }

    pub(crate) fn yield_now(&self) {
        if thread::panicking() && !self.launched_in_panic {
            return;
        }
        if self.grid.stopped() {
            self.failed.set(true);
        }
        if !self.may_wait() {
            return;
        }
        let mut sched = self.buffers.sched.borrow_mut();
        if sched.turns.nobody_else() {
            drop(sched);
            thread::yield_now();
        } else {
            sched.turns.give_way(self.thread.get());
            drop(sched);
            self.wait();
        }
    }

    #[inline]
    pub(crate) fn preemption_point(&self) {
        if self.seed.is_some() {
            self.maybe_preempt();
            return;
        }
        let left = self.turn_left.get() - 1;
        self.turn_left.set(left);
        if left == 0 {
            self.turn_left.set(TURN);
            self.yield_now();
        }
    }

    fn maybe_preempt(&self) {
        if self.may_wait() {
            let switch = self.buffers.sched.borrow_mut().turns.preempt(self.thread.get());
            if switch {
                self.wait();
            }
        }
    }

    pub(crate) fn fault(&self, message: String) -> ! {
        self.fail(SimtError::Fault { at: self.place(), message })
    }
}

impl Slot {
    fn new() -> Self {
        Self {
            index: Cell::new(Dim3::new(0, 0, 0)),
            fibre: UnsafeCell::new(None),
            yielder: Cell::new(ptr::null()),
            stack: Cell::default(),
            #[cfg(simt_check)]
            stopped: Cell::new(false),
        }
    }
}

thread_local! {
    static KEPT: Cell<Option<Box<Buffers>>> = const { Cell::new(None) };
}

impl Buffers {
    /// This OS thread's buffers, or new ones.
    pub(crate) fn take() -> Taken {
        // A thread's destructors find no buffers either.
        Taken(Some(KEPT.try_with(Cell::take).ok().flatten().unwrap_or_default()))
    }
}

/// Buffers in use. Dropping them keeps them for this OS thread's next launch, except for the stacks, which are scarce.
pub(crate) struct Taken(Option<Box<Buffers>>);

impl Deref for Taken {
    type Target = Buffers;

    fn deref(&self) -> &Buffers {
        self.0.as_ref().expect("they are there until the drop")
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if let Some(buffers) = self.0.take() {
            stack::give(&mut buffers.stacks.borrow_mut());
            // If the thread's locals are gone already, so are the buffers.
            let _ = KEPT.try_with(|kept| kept.set(Some(buffers)));
        }
    }
}
