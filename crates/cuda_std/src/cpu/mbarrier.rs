//! Barriers as words. The threads that use one are of one block, and so take turns on one OS thread.

use core::sync::atomic::{
    AtomicU64,
    Ordering::{AcqRel, Acquire},
};
use simt::{
    Scope,
    current::{self, fault, preemption_point, yield_now},
};

/// Counts of arrivals, and bytes, are below this.
const LIMIT: u64 = 1 << 20;

/// Contents of the barrier's word.
pub(super) struct State {
    /// Arrivals of each phase, and those that the current one lacks.
    count: u64,
    lacking: u64,
    /// Bytes that it lacks. Copies may bring them before they are expected.
    bytes: i64,
    parity: u64,
}

impl State {
    fn of(word: u64) -> Self {
        State {
            count: word & (LIMIT - 1),
            lacking: word >> 20 & (LIMIT - 1),
            // The sign is the highest of 22 bits.
            bytes: (word << 2) as i64 >> 42,
            parity: word >> 62 & 1,
        }
    }

    /// A copy has brought so many bytes.
    pub(super) fn bring(&mut self, bytes: usize) {
        self.bytes -= bytes as i64;
    }

    fn word(&self) -> u64 {
        // The bits from 62 on are the parity's.
        self.count | self.lacking << 20 | (self.bytes as u64 & (4 * LIMIT - 1)) << 40 | self.parity << 62
    }
}

/// # Safety
/// The barrier has been made.
pub(super) unsafe fn change(barrier: *mut u64, change: impl FnOnce(&mut State)) {
    preemption_point();
    let _under_way = current::atomic(Scope::Block);
    // SAFETY: the caller has promised a live barrier, and all threads use it as an atomic.
    let word = unsafe { AtomicU64::from_ptr(barrier) };
    // Other threads of the block don't run meanwhile.
    let mut state = State::of(word.load(Acquire));
    change(&mut state);
    if state.bytes.unsigned_abs() >= LIMIT {
        fault(format!("a barrier can't wait for {} bytes: fewer than {LIMIT} are possible", state.bytes));
    }
    if state.lacking == 0 && state.bytes == 0 {
        state.lacking = state.count;
        state.parity ^= 1;
    }
    word.swap(state.word(), AcqRel);
}

pub unsafe fn init(barrier: *mut u64, count: u32) {
    if !(1..LIMIT).contains(&u64::from(count)) {
        fault(format!("a barrier of {count} arrivals: it takes from 1 to {}", LIMIT - 1));
    }
    let state = State { count: count.into(), lacking: count.into(), bytes: 0, parity: 0 };
    // SAFETY: the caller has promised that the place is the barrier's.
    unsafe { barrier.write(state.word()) }
}

/// Takes an arrival off what the phase lacks.
fn arrived(state: &mut State) {
    match state.lacking.checked_sub(1) {
        Some(lacking) => state.lacking = lacking,
        None => fault(format!("a thread arrives at a barrier whose phase has all of its {} arrivals", state.count)),
    }
}

pub unsafe fn arrive(barrier: *mut u64) {
    // SAFETY: the caller has promised a live barrier.
    unsafe { change(barrier, arrived) }
}

pub unsafe fn arrive_and_expect(barrier: *mut u64, bytes: u32) {
    // SAFETY: the caller has promised a live barrier.
    unsafe {
        change(barrier, |state| {
            state.bytes += i64::from(bytes);
            arrived(state);
        });
    }
}

pub unsafe fn test(barrier: *mut u64, parity: u32) -> bool {
    let under_way = current::atomic(Scope::Block);
    // SAFETY: the caller has promised a live barrier, and all threads use it as an atomic.
    let word = unsafe { AtomicU64::from_ptr(barrier) }.load(Acquire);
    drop(under_way);
    let complete = State::of(word).parity != u64::from(parity & 1);
    if !complete {
        yield_now();
    }
    complete
}

pub unsafe fn copy(barrier: *mut u64, shared: *mut u8, global: *const u8, bytes: u32) {
    // SAFETY: the caller has promised valid memory and a live barrier.
    unsafe {
        copy_at_once(shared, global, bytes);
        change(barrier, |state| state.bring(bytes as usize));
    }
}

pub unsafe fn store(global: *mut u8, shared: *const u8, bytes: u32) {
    // SAFETY: the caller has promised valid memory.
    unsafe { copy_at_once(global, shared, bytes) }
}

/// # Safety
/// As many bytes are valid at both addresses.
unsafe fn copy_at_once(to: *mut u8, from: *const u8, bytes: u32) {
    if !bytes.is_multiple_of(16) || !to.addr().is_multiple_of(16) || !from.addr().is_multiple_of(16) {
        fault(format!("a bulk copy of {bytes} bytes from {from:p} to {to:p}: all three have to be multiples of 16"));
    }
    // SAFETY: the caller has promised valid memory.
    unsafe { from.copy_to_nonoverlapping(to, bytes as usize) }
}

pub fn store_commit() {}

pub fn store_wait() {}
