//! Strategy `block`: one block ranks a list in its shared memory, in one launch.
//!
//! A thread has a splitter or the head, and walks its sublist twice: first for its length, then, once pointer jumping has found
//! what comes before the sublist, for the results. Successors in shared memory tell where sublists end. A list is valid if the
//! sublists from the head to the end have all elements.

use cuda_std::prelude::*;

use super::{ABSENT, BROKEN, Status, TAIL, Value, splitters::Splitters};
use crate::collectives::{
    Sum,
    block::{Block, STORAGE},
};

/// Largest number of sublists, of which the head's is one.
pub const SUBLISTS: u32 = 1024;
/// In place of a sublist's predecessor: none is known, and the sublist is the head's.
const UNKNOWN: u32 = u32::MAX;
const FIRST: u32 = u32::MAX - 1;
/// In place of a successor that is splitter k: this less k. Walks then need no hashes.
const SPLITTER: i32 = -8;
/// Number of successors that a thread loads at a time.
const LOADS: usize = 4;

/// Static shared memory for values of `size` bytes, in bytes: at most so much.
pub const fn static_shared(size: usize) -> usize {
    SUBLISTS as usize * (2 * size_of::<u32>() + size) + 1024
}

/// Dynamic shared memory per element, in bytes. `size` is that of its weight, or 0.
pub const fn dynamic_shared_each(size: usize) -> usize {
    size_of::<i32>() + size
}

/// Ranks a list. `results[i]` is the sum of the weights before element i, or its rank if there are no weights. The head is found
/// if it is -1. Results are written if the list is valid, or `trusted` is 1; where it isn't valid then, they are garbage.
///
/// # Safety
/// One block of whole warps, with a thread for each splitter and one more, and with [`dynamic_shared_each`] bytes for each
/// element. `weights` are as many as elements or none, `results` has as many elements and overlaps no other array, and `status`
/// is valid for writes.
#[kernel(for V in [i32, i64, f32, f64], max_threads = 1024, min_blocks = 1)]
pub unsafe fn rank<V: Value>(
    next: &[i32],
    weights: &[V],
    mut head: i32,
    splitters: Splitters,
    trusted: u32,
    results: *mut V,
    status: *mut Status,
) {
    let (n, thread, threads) = (next.len(), thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    let (before, counts) = (shared_array![u32; SUBLISTS as usize], shared_array![u32; SUBLISTS as usize]);
    let (sums, valid) = (shared_array![V; SUBLISTS as usize], shared_array![u32; 1]);
    // The widest first, so that all are aligned.
    let values = dynamic_shared::<V>();
    // SAFETY: memory is the block's, as this kernel's contract says. Barriers stand between a thread's writes and others' reads;
    // elements are below `n` where walks end only at a successor out of range, and numbers of sublists below their count. The
    // walks of a bad list may meet, and where it is trusted, results are stored atomically.
    unsafe {
        let list = values.add(weights.len()).cast::<i32>();
        let (mut own, mut wrong) = (0, 0);
        let mut put = |i: usize, successor: i32| {
            let mut entry = successor;
            if successor as u32 as usize >= n {
                if successor != TAIL {
                    entry = BROKEN;
                    wrong += 1;
                }
            } else if let Some(number) = splitters.number(successor as u32) {
                entry = SPLITTER - number as i32;
            }
            list.add(i).write(entry);
            own += i64::from(successor.max(0));
        };
        for first in (thread..n).step_by(LOADS * threads) {
            let at = |k: usize| first + k * threads;
            let some: [i32; LOADS] = core::array::from_fn(|k| if at(k) < n { *next.get_unchecked(at(k)) } else { TAIL });
            (0..LOADS).filter(|&k| at(k) < n).for_each(|k| put(at(k), some[k]));
        }
        for i in (thread..weights.len()).step_by(threads) {
            values.add(i).write(weights[i]);
        }
        if head < 0 {
            // Every other element is a successor, once.
            let lacking = n as i64 * (n as i64 - 1) / 2 - Block::new(shared_array![i64; STORAGE]).reduce(own, Sum);
            head = if (0..n as i64).contains(&lacking) { lacking as i32 } else { 0 };
        }
        if thread == 0 {
            status.write(Status { head, ..Status::default() });
            valid.write(0, trusted);
        }
        before.write(thread, UNKNOWN);
        thread::sync_threads();

        let value = |element: u32| if weights.is_empty() { V::count(1) } else { *values.add(element as usize) };
        let of_head = splitters.number(head as u32);
        let start = match thread as u32 {
            number if number < splitters.count => splitters.element(number),
            // The head's sublist, unless it is a splitter's.
            number if number == splitters.count && of_head.is_none() => head as u32,
            _ => u32::MAX,
        };
        let (mut end, mut length, mut sum, mut element) = (ABSENT, 0, V::ZERO, start);
        if (start as usize) < n {
            // A circle without a splitter has no end.
            end = 0;
            while end >= 0 && length < n as u32 {
                end = *list.add(element as usize);
                sum = sum.plus(value(element));
                length += 1;
                element = end as u32;
            }
        }
        if wrong > 0 {
            atomic::device::fetch_add(&raw mut (*status).out_of_range, wrong);
        }
        sums.write(thread, sum);
        counts.write(thread, length);
        if end <= SPLITTER {
            // Two sublists with one successor: either may win, as the list is bad.
            atomic::block::exchange(before.as_mut_ptr().add((SPLITTER - end) as usize), thread as u32);
        }
        thread::sync_threads();

        // Sums over the sublists before each, from `jump` on.
        let is_first = thread as u32 == of_head.unwrap_or(splitters.count);
        let mut jump = if is_first { FIRST } else { before.read(thread) };
        let (mut base, mut count) = (V::ZERO, 0u32);
        if jump < SUBLISTS {
            (base, count) = (sums.read(jump as usize), counts.read(jump as usize));
        }
        let mut reach = 1;
        loop {
            thread::sync_threads();
            before.write(thread, jump);
            sums.write(thread, base);
            counts.write(thread, count);
            thread::sync_threads();
            if reach > splitters.count {
                break;
            }
            if jump < SUBLISTS {
                let from = jump as usize;
                base = sums.read(from).plus(base);
                // In a circle of a bad list they may wrap.
                count = count.wrapping_add(counts.read(from));
                jump = before.read(from);
            }
            reach *= 2;
        }
        // At most one sublist ends the list that begins at the head.
        if end == TAIL && jump == FIRST {
            let ranked = count + length;
            (*status).ranked = u64::from(ranked);
            (*status).ends = 1;
            if ranked as usize == n {
                valid.write(0, 1);
            }
        }
        thread::sync_threads();
        if valid.read(0) == 1 {
            let (mut element, mut offset) = (start, V::ZERO);
            for _ in 0..length {
                let successor = *list.add(element as usize);
                mem::store_relaxed(results.add(element as usize), base.plus(offset));
                offset = offset.plus(value(element));
                element = successor as u32;
            }
        }
    }
}
