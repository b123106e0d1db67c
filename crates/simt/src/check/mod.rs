//! Checked runs: each access of a kernel is looked at before it happens.
//!
//! The wrapper of rustc that `cargo check-kernels` is has kernels compiled with calls to [`hooks`] before their
//! accesses. This crate itself is compiled without. Under `cfg(simt_check)` each thread of a block is a fibre, so that
//! one whose access is wrong can be left where it is: it never gets to the access.

mod hooks;
mod order;
mod shadow;

use crate::block::Block;
use crate::error::{BadAccess, Race, SimtError};
use crate::memory::Memory;
use crate::shared::{self, Written};
use crate::{Place, Scope};
use order::{Meeting, Operation, Order, Released, Time};
use shadow::{Access, Atomicity, Callers, Kind, Shadow};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

/// No memory lies below.
const LOWEST: usize = 1 << 16;

/// An allocation that kernels may get to see.
struct Region {
    bytes: Range<usize>,
    live: AtomicBool,
    /// A bit for each byte that has been written.
    written: Vec<AtomicU8>,
}

impl Region {
    /// Iterates over the eight-byte words that overlap `bytes`, with a mask of the bytes in each.
    fn parts(&self, bytes: &Range<usize>) -> impl Iterator<Item = (&AtomicU8, u8)> {
        let (start, end) = (bytes.start - self.bytes.start, bytes.end - self.bytes.start);
        (start / 8..end.div_ceil(8)).map(move |part| {
            let (before, behind) = (start.saturating_sub(8 * part), (8 * part + 8).saturating_sub(end));
            (&self.written[part], 0xFF << before & 0xFF >> behind)
        })
    }

    fn write(&self, bytes: &Range<usize>) {
        self.parts(bytes).for_each(|(written, mask)| _ = written.fetch_or(mask, Relaxed));
    }

    fn is_written(&self, bytes: &Range<usize>) -> bool {
        self.parts(bytes).all(|(written, mask)| written.load(Relaxed) & mask == mask)
    }
}

/// Keyed by address. Freed regions stay until another takes their place.
static REGIONS: Mutex<BTreeMap<usize, Arc<Region>>> = Mutex::new(BTreeMap::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The region with the first of these bytes.
fn region(bytes: &Range<usize>) -> Option<Arc<Region>> {
    let regions = lock(&REGIONS);
    let (_, region) = regions.range(..=bytes.start).next_back()?;
    (bytes.end <= region.bytes.end).then(|| Arc::clone(region))
}

pub(crate) fn allocated(bytes: Range<usize>) {
    let mut regions = lock(&REGIONS);
    let behind = regions.range(..bytes.end).next_back().map(|(_, last)| Arc::clone(last));
    if behind.is_some_and(|last| last.bytes.end > bytes.start) {
        regions.retain(|_, old| old.bytes.end <= bytes.start || bytes.end <= old.bytes.start);
    }
    let written = (0..bytes.len().div_ceil(8)).map(|_| AtomicU8::new(0)).collect();
    regions.insert(bytes.start, Arc::new(Region { bytes, live: AtomicBool::new(true), written }));
}

pub(crate) fn written(bytes: Range<usize>) {
    if let Some(region) = region(&bytes) {
        region.write(&bytes);
    }
}

pub(crate) fn freed(address: usize) {
    if let Some(region) = lock(&REGIONS).get(&address) {
        region.live.store(false, Relaxed);
    }
}

/// Record of a launch.
pub(crate) struct Checks {
    /// Memory that the kernel may access, with its allocations. `None` if all memory of the process
    /// is allowed.
    arguments: Option<Vec<(Memory, Option<Arc<Region>>)>>,
    global: Mutex<Global>,
}

/// The accesses to memory that all blocks share, or those of a cluster, or the threads of a block.
#[derive(Default)]
struct Global {
    shadow: Shadow,
    released: Released,
    /// Of blocks that meet, or threads of a cluster: this meeting, and that before it or after it.
    meetings: [Meeting; 2],
    /// The shared memory of blocks that have returned.
    gone: Vec<Range<usize>>,
}

/// Record of the running cluster.
pub(crate) struct ClusterChecks {
    /// All accesses to shared memory of its blocks.
    global: Mutex<Global>,
    /// Base of each block's shared memory, by rank, and its written bytes.
    shared: Box<[OnceLock<(usize, Written)>]>,
}

impl ClusterChecks {
    pub(crate) fn new(size: usize) -> Self {
        ClusterChecks { global: Mutex::default(), shared: (0..size).map(|_| OnceLock::new()).collect() }
    }

    pub(crate) fn set_shared(&self, rank: u32, (base, written): (usize, &Written)) {
        let known = self.shared[rank as usize].set((base, written.clone()));
        assert!(known.is_ok(), "each block's memory is made known once");
    }

    /// Another cluster begins.
    pub(crate) fn reset(&self) {
        *lock(&self.global) = Global::default();
    }

    pub(crate) fn shared(&self) -> impl Iterator<Item = (usize, &Written)> {
        self.shared.iter().filter_map(OnceLock::get).map(|(base, written)| (*base, written))
    }
}

impl Checks {
    pub(crate) fn new(memory: Option<&[Memory]>, body: Range<usize>) -> Self {
        // The body is no buffer, though one may have been at its address.
        let body = (Memory { bytes: body, writes: false }, None);
        let arguments =
            memory.map(|memory| memory.iter().map(|memory| (memory.clone(), region(&memory.bytes))).chain([body]).collect());
        Checks { arguments, global: Mutex::default() }
    }

    /// Checks that the kernel may access these bytes, and returns the allocation's record. The
    /// error is a clause.
    fn find(&self, bytes: &Range<usize>, writes: bool) -> Result<Option<&Region>, String> {
        if bytes.start < LOWEST {
            return Err(if bytes.start == 0 { "which is null".to_owned() } else { "where there is no memory".to_owned() });
        }
        let Some(arguments) = &self.arguments else {
            return Ok(None);
        };
        let within = |memory: &Memory| memory.bytes.start <= bytes.start && bytes.end <= memory.bytes.end;
        let mut found = None;
        for (memory, region) in arguments.iter().filter(|(memory, _)| within(memory)) {
            if region.as_ref().is_some_and(|region| !region.live.load(Relaxed)) {
                return Err(format!("in a buffer of {} that has been freed", Bytes(memory.bytes.len())));
            }
            found = Some(region.as_deref());
            if memory.writes {
                break;
            }
        }
        if let Some(region) = found {
            if writes && !arguments.iter().any(|(memory, _)| memory.writes && within(memory)) {
                return Err("in an argument that the kernel must not write to (`&[T]`, `&T` or `*const T`)".to_owned());
            }
            return Ok(region);
        }
        if image().iter().any(|part| part.start <= bytes.start && bytes.end <= part.end) {
            return Ok(None);
        }
        Err(self.beyond(bytes))
    }

    /// Describes the place of bytes outside of all arguments.
    fn beyond(&self, bytes: &Range<usize>) -> String {
        let arguments = self.arguments.iter().flatten().map(|(memory, _)| &memory.bytes);
        let nearest = arguments.filter(|known| !known.is_empty()).map(|known| {
            if bytes.end > known.end {
                (bytes.end - known.end, format!("ends {} behind", Bytes(bytes.end - known.end)), known.len())
            } else {
                (
                    known.start - bytes.start.min(known.start),
                    format!("starts {} before", Bytes(known.start - bytes.start.min(known.start))),
                    known.len(),
                )
            }
        });
        match nearest.min_by_key(|(distance, ..)| *distance).filter(|(distance, ..)| *distance < 1 << 24) {
            Some((_, place, len)) => {
                format!("in none of the launch's arguments: it {place} the nearest one, which has {}", Bytes(len))
            }
            None => "in none of the launch's arguments".to_owned(),
        }
    }
}

/// A number of bytes, in words.
struct Bytes(usize);

impl std::fmt::Display for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} byte{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

/// Returns the address ranges of the program and its libraries, with their statics.
fn image() -> &'static [Range<usize>] {
    static IMAGE: OnceLock<Vec<Range<usize>>> = OnceLock::new();
    IMAGE.get_or_init(|| {
        unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, parts: *mut libc::c_void) -> i32 {
            // SAFETY: `dl_iterate_phdr` passes a valid description, and the vector that it was given.
            let (info, parts) = unsafe { (&*info, &mut *parts.cast::<Vec<Range<usize>>>()) };
            // SAFETY: the description says how many headers there are.
            let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
            parts.extend(headers.iter().filter(|header| header.p_type == libc::PT_LOAD).map(|header| {
                let start = (info.dlpi_addr + header.p_vaddr) as usize;
                start..start + header.p_memsz as usize
            }));
            0
        }
        let mut parts = Vec::new();
        // SAFETY: the function is of the type that is called for, and the vector lives during the call.
        unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut parts).cast()) };
        parts
    })
}

/// A worker's record of the block that it runs.
pub(crate) struct BlockChecks {
    order: RefCell<Order>,
    shared: RefCell<Global>,
    /// Scope of the current atomic operation.
    scope: Cell<Scope>,
}

impl BlockChecks {
    pub(crate) fn new() -> Self {
        BlockChecks { order: RefCell::default(), shared: RefCell::default(), scope: Cell::new(Scope::Device) }
    }

    pub(crate) fn reset(&self, block: u64, threads: u32) {
        self.order.borrow_mut().reset(block as u32, threads);
        let mut shared = self.shared.borrow_mut();
        shared.shadow.clear();
        shared.released.clear();
        self.scope.set(Scope::Device);
    }

    /// All threads have come to the barrier.
    pub(crate) fn barrier(&self) {
        self.order.borrow_mut().barrier();
    }

    /// These threads have come to an exchange.
    pub(crate) fn meet(&self, threads: impl Iterator<Item = u32> + Clone) {
        self.order.borrow_mut().meet(threads);
    }

    pub(crate) fn set_scope(&self, scope: Scope) {
        self.scope.set(scope);
    }
}

impl Block<'_> {
    /// Returns true if an access needs no check: it is to the thread's own stack, or the block is
    /// being unwound.
    fn is_exempt(&self, address: usize) -> bool {
        self.stack().contains(&address) || self.has_failed() || thread::panicking()
    }

    /// The running thread is about to access `size` bytes where the type of the access can't be.
    pub(crate) fn misaligned(&self, address: usize, size: usize, writes: bool, caller: (usize, usize)) {
        if !self.is_exempt(address) {
            let kind = Kind { writes, atomicity: Atomicity::Plain };
            let problem = "which isn't aligned".to_owned();
            self.stop(self.bad_access(&(address..address + size), kind, self.callers(caller), problem));
        }
    }

    /// The running thread is about to access `size` bytes.
    pub(crate) fn access(&self, address: usize, size: usize, writes: bool, caller: (usize, usize)) {
        if size == 0 || self.is_exempt(address) {
            return;
        }
        let bytes = address..address.saturating_add(size);
        let kind = Kind { writes, atomicity: Atomicity::Plain };
        let now = self.checks().order.borrow().now(self.linear_thread());
        let callers = self.callers(caller);
        if let Err(error) = self
            .allowed(&bytes, kind, !writes, writes, callers)
            .and_then(|shared| self.with_memory(shared, |memory| self.touch(memory, bytes, kind, now, callers)))
        {
            self.stop(error);
        }
    }

    /// The running thread's atomic operation on `size` bytes, which `operation` does.
    pub(crate) fn atomic_access<T>(
        &self,
        address: usize,
        size: usize,
        (reads, may_write): (bool, bool),
        caller: (usize, usize),
        operation: impl FnOnce() -> (T, Operation),
    ) -> T {
        if self.is_exempt(address) {
            return operation().0;
        }
        let bytes = address..address.saturating_add(size);
        let callers = self.callers(caller);
        let scope = self.checks().scope.get();
        let kind = |writes| Kind { writes, atomicity: if scope == Scope::Block { Atomicity::Block } else { Atomicity::Device } };
        let finish = |memory: &mut Global| {
            // The release that it may be covers the access itself.
            let now = self.checks().order.borrow().now(self.linear_thread());
            let callers = self.callers(caller);
            let (value, operation) = operation();
            self.checks().order.borrow_mut().atomic(self.linear_thread(), &mut memory.released, address, operation, scope);
            self.touch(memory, bytes.clone(), kind(operation.writes), now, callers).map(|()| value)
        };
        let allowed = self.allowed(&bytes, kind(may_write), reads, may_write, callers);
        let done = allowed.and_then(|shared| self.with_memory(shared, finish));
        done.unwrap_or_else(|error| self.stop(error))
    }

    /// Calls `f` with what is known of shared memory, or of that of all blocks.
    fn with_memory<R>(&self, shared: bool, f: impl FnOnce(&mut Global) -> R) -> R {
        match self.cluster_checks() {
            _ if !shared => f(&mut lock(&self.grid_checks().global)),
            Some(cluster) => f(&mut lock(&cluster.global)),
            None => f(&mut self.checks().shared.borrow_mut()),
        }
    }

    /// The running thread comes to its meeting of this number with threads of other blocks: of all, or of its cluster
    /// (`shared`).
    pub(crate) fn come_to_meeting(&self, shared: bool, number: u64) {
        let mut order = self.checks().order.borrow_mut();
        self.with_memory(shared, |memory| {
            order.come(self.linear_thread(), &mut memory.meetings[number as usize % 2], number);
        });
    }

    /// All have come to that meeting.
    pub(crate) fn go_from_meeting(&self, shared: bool, number: u64) {
        let mut order = self.checks().order.borrow_mut();
        self.with_memory(shared, |memory| order.go(self.linear_thread(), &mut memory.meetings[number as usize % 2]));
    }

    /// All threads of the block have returned, and with it its shared memory is gone, which others of its cluster may
    /// have used. The error says that nothing has put that before the end.
    pub(crate) fn give_up_shared(&self) -> Result<(), SimtError> {
        let (Some(cluster), Some(base)) = (self.cluster_checks(), self.shared_base()) else {
            return Ok(());
        };
        let mut memory = lock(&cluster.global);
        let order = self.checks().order.borrow();
        let bytes = shared::addresses(base);
        if let Some((address, other)) = memory.shadow.of(&bytes).find(|(_, access)| !order.ends_after(access)) {
            let (block, thread) = (self.grid_dim().at(other.block.into()), self.block_dim().at(other.thread.into()));
            let message = format!(
                "returns, and with it goes {}, which block {block}, thread {thread} {} ({}): there is no barrier of the \
                 cluster between",
                self.name(address),
                other.kind.name(),
                location(other.callers),
            );
            return Err(SimtError::Fault { at: self.place(), message });
        }
        memory.gone.push(bytes);
        Ok(())
    }

    /// The running thread is at a fence.
    pub(crate) fn fence(&self, acquires: bool, releases: bool) {
        if !self.has_failed() {
            self.checks().order.borrow_mut().fence(self.linear_thread(), acquires, releases, self.checks().scope.get());
        }
    }

    /// Checks that an access is to valid, written memory. Returns true for shared memory.
    fn allowed(&self, bytes: &Range<usize>, kind: Kind, reads: bool, writes: bool, callers: Callers) -> Result<bool, SimtError> {
        let bad = |problem| self.bad_access(bytes, kind, callers, problem);
        let unwritten = |hint| {
            let kind = Kind { writes: false, ..kind };
            let memory = self.name(bytes.start);
            self.bad_access_to(memory, bytes, kind, callers, format!("which nobody has written yet{hint}"))
        };
        if let Some(block) = self.owner(bytes.start)
            && !self.checks().order.borrow().has_met(self.linear_thread(), block as u32)
        {
            let problem = "in the shared memory of a block of its cluster that may not have started: there is no barrier of \
                the cluster before";
            return Err(bad(problem.to_owned()));
        }
        if let Some(shared) = self.shared_access(bytes, writes) {
            let written = shared.map_err(bad)?;
            return if reads && !written { Err(unwritten(": a barrier may be missing before the read")) } else { Ok(true) };
        }
        if self.is_no_dynamic(bytes.start) {
            return Err(bad(format!("in {}", shared::NO_DYNAMIC_NAME)));
        }
        if let Some(region) = self.grid_checks().find(bytes, writes).map_err(bad)? {
            if reads && !region.is_written(bytes) {
                return Err(unwritten(""));
            }
            if writes {
                region.write(bytes);
            }
        }
        Ok(false)
    }

    fn bad_access(&self, bytes: &Range<usize>, kind: Kind, callers: Callers, problem: String) -> SimtError {
        self.bad_access_to(format!("{:#x}", bytes.start), bytes, kind, callers, problem)
    }

    /// A bad access to memory that has this name.
    fn bad_access_to(&self, memory: String, bytes: &Range<usize>, kind: Kind, callers: Callers, problem: String) -> SimtError {
        SimtError::BadAccess(Box::new(BadAccess {
            at: *self.place(),
            access: kind.name(),
            bytes: bytes.len(),
            address: bytes.start,
            memory,
            location: location(callers),
            problem,
        }))
    }

    /// Describes an address, in words.
    fn name(&self, address: usize) -> String {
        self.shared_name(address).unwrap_or_else(|| self.grid_checks().name(address))
    }

    /// Notes the access, if it is in no race.
    fn touch(&self, memory: &mut Global, bytes: Range<usize>, kind: Kind, now: Time, callers: Callers) -> Result<(), SimtError> {
        if memory.gone.iter().any(|gone| gone.contains(&bytes.start)) {
            let problem = "in the shared memory of a block of its cluster that has returned".to_owned();
            return Err(self.bad_access(&bytes, kind, callers, problem));
        }
        let (thread, order) = (self.linear_thread(), self.checks().order.borrow());
        let access = Access::new(callers, order.block, now, thread, kind);
        match memory.shadow.touch(bytes, access, |earlier| order.knows(thread, earlier)) {
            None => Ok(()),
            Some((address, other)) => Err(self.race(address, &access, &other)),
        }
    }

    fn race(&self, address: usize, access: &Access, other: &Access) -> SimtError {
        let other_place = Place {
            kernel: self.place().kernel,
            block: self.grid_dim().at(other.block.into()),
            thread: self.block_dim().at(other.thread.into()),
        };
        let cause = if access.block != other.block {
            if self.cluster_checks().is_some() && self.shared_name(address).is_some() {
                "there is no barrier of the cluster between"
            } else if access.kind.atomicity != Atomicity::Plain && other.kind.atomicity != Atomicity::Plain {
                "an atomic operation in the scope of a block isn't one for other blocks"
            } else {
                "blocks are in no order, unless one acquires what the other has released, both in the scope of the device"
            }
        } else if access.thread / 32 == other.thread / 32 {
            "there is no barrier between, nor a `sync_warp` of both lanes"
        } else {
            "there is no barrier between"
        };
        SimtError::Race(Box::new(Race {
            at: *self.place(),
            access: access.kind.name(),
            location: location(access.callers),
            other: other_place,
            other_access: other.kind.name(),
            other_location: location(other.callers),
            memory: self.name(address),
            cause,
        }))
    }
}

impl Checks {
    /// Describes an address, in words.
    fn name(&self, address: usize) -> String {
        let mut arguments = self.arguments.iter().flatten().map(|(memory, _)| &memory.bytes);
        match arguments.find(|bytes| bytes.contains(&address)) {
            Some(bytes) => format!("byte {} of the {} of an argument", address - bytes.start, bytes.len()),
            None => format!("memory at {address:#x}"),
        }
    }
}

/// Origin of the distances in [`Callers`].
fn anchor() -> usize {
    (&raw const REGIONS).addr()
}

impl Block<'_> {
    /// The callers of the function that returns to `pc` and has this frame pointer, by the frames on the thread's stack.
    fn callers(&self, (pc, mut frame): (usize, usize)) -> Callers {
        let stack = self.stack();
        let mut callers = [pc.wrapping_sub(anchor()) as i32, 0, 0];
        for caller in &mut callers[1..] {
            if frame < stack.start || frame > stack.end - 16 || frame % 8 != 0 {
                break;
            }
            // SAFETY: two words of the thread's stack, whose frames are all alive; instrumented code keeps frame
            // pointers, and of other code's words nothing is made but a number.
            let [next, back] = unsafe { *ptr::with_exposed_provenance::<[usize; 2]>(frame) };
            *caller = back.wrapping_sub(anchor()) as i32;
            frame = next;
        }
        callers
    }
}

/// Returns an access's source location: the innermost one outside of the standard library,
/// `cuda_std` and this crate, otherwise the innermost of all.
fn location(callers: Callers) -> String {
    const LIBRARIES: [&str; 4] = ["/rustlib/src/rust/library/", "/rustc/", "crates/cuda_std/src/", "crates/simt/src/"];
    let mut innermost = None;
    for caller in callers.into_iter().filter(|&caller| caller != 0) {
        let mut found = None;
        // The call is before the address that it returns to.
        let address = anchor().wrapping_add_signed(caller as isize) - 1;
        backtrace::resolve(ptr::without_provenance_mut(address), |symbol| {
            if let (Some(file), Some(line)) = (symbol.filename(), symbol.lineno())
                && found.is_none()
            {
                let place = format!("{}:{line}", file.display());
                if LIBRARIES.iter().any(|library| place.contains(library)) {
                    innermost.get_or_insert(place);
                } else {
                    found = Some(place);
                }
            }
        });
        if let Some(found) = found {
            return found;
        }
    }
    innermost.unwrap_or_else(|| "at an unknown place".to_owned())
}
