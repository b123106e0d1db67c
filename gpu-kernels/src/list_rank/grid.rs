//! Strategy `grid`: one launch ranks a list, and its blocks wait for each other between the steps.
//!
//! A walk tells the splitter at its end which sublist comes before, and how many elements that has. Pointer jumping then
//! finds what comes before each sublist (Wyllie 1979). Its rounds need no barriers: a record is one word, and what it says
//! holds at any time, so that reading a newer one than expected only saves steps.

use cuda_std::prelude::*;

use super::{
    Expected, NONE, Status, TAIL, Value,
    prepare::{HeadSearch, head_of, sum_of_block},
    splitters::Splitters,
    walk::Walk,
};
use crate::collectives::{
    Sum,
    block::{Block, STORAGE},
};

/// Largest number of threads of a block.
pub const THREADS: u32 = 512;
/// In a record in place of a sublist: the sum is that of all elements before.
const FIRST: i32 = -2;

/// Arrays of [`rank()`].
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Arrays {
    /// The sublist and the offset of each element.
    pub placed: *mut U32x2,
    /// For each sublist an earlier one, and the number of elements from the start of that one on. The last sublist is the head's.
    pub before: *mut U32x2,
    /// Number of elements of each sublist, negative if the list ends there.
    pub lengths: *mut i32,
    /// For the head. All 0, before and after.
    pub search: *mut HeadSearch,
    /// Result: the ranks.
    pub ranks: *mut i32,
    /// Result: findings about the list.
    pub status: *mut Status,
}

/// Ranks a list. The head is found if it is -1. Ranks are written if the list is as expected.
///
/// # Safety
/// A grid of as many blocks as run at once, of whole warps, [`THREADS`] at most. `placed` and `ranks` have as many elements as
/// `next`, which is aligned to 16 bytes; `before` and `lengths` have one more than there are splitters. All arrays are
/// different, and `search` and `status` valid for atomic access.
#[kernel(max_threads = 512, cooperative)]
pub unsafe fn rank(next: &[i32], mut head: i32, splitters: Splitters, arrays: Arrays, expected: Expected) {
    let Arrays { placed, before, lengths, search, ranks, status } = arrays;
    let (n, sublists) = (next.len(), splitters.count as usize + 1);
    let thread = thread::thread_idx_x();
    let load = |sublist: usize| {
        // SAFETY: sublists are below their number. Others write records by `store` at most, which are words of 8 bytes.
        let record: U32x2 = bytemuck::cast(unsafe { atomic::device::load(before.add(sublist).cast::<u64>()) });
        i32::parts(record)
    };
    let store = |sublist: usize, jump: i32, sum: i32| {
        // SAFETY: as above.
        unsafe { atomic::device::store(before.add(sublist).cast::<u64>(), bytemuck::cast(i32::record(jump, sum))) };
    };
    // SAFETY: this kernel's contract. Walks step on elements below `n`, and end at splitters. A grid's barrier lies between the
    // steps: what one writes is read by the others, or changed by atomics. In a bad list several walks may pass an element.
    unsafe {
        for sublist in thread::grid_stride(sublists) {
            before.add(sublist).write(i32::record(NONE, 0));
        }
        if thread::index_1d() == 0 {
            status.write(Status::default());
        }
        if head < 0 {
            let sum = sum_of_block(next);
            if thread == 0 {
                atomic::device::fetch_add(&raw mut (*search).sum, sum);
            }
        }
        thread::sync_grid();

        if head < 0 {
            head = head_of(n, atomic::device::load(&raw const (*search).sum));
        }
        // Neighbouring warps are in different blocks: few sublists keep all multiprocessors busy, too.
        let warp = thread / warp::WARP_SIZE * thread::grid_dim_x() + thread::block_idx_x();
        let own =
            || thread::strided((warp * warp::WARP_SIZE + warp::lane_id()) as usize..sublists, thread::grid_stride_1d() as usize);
        let of_head = splitters.number(head as u32).map_or(sublists - 1, |number| number as usize);
        for sublist in own() {
            let mut start = splitters.element(sublist as u32);
            if sublist == of_head {
                start = head as u32;
                store(sublist, FIRST, 0);
            } else if sublist == sublists - 1 || start as usize >= n {
                continue;
            }
            let element = |element: u32| (*next.get_unchecked(element as usize), 1);
            let mut walk = Walk::new(start, 0, element);
            let end = loop {
                let loaded = walk.load_ahead(n as u32, element);
                mem::store_relaxed(placed.add(walk.element as usize), i32::record(sublist as i32, walk.sum));
                if let Some(end) = walk.pass(loaded, n as u32, splitters, status) {
                    break end;
                }
            };
            lengths.add(sublist).write(if end == TAIL { -walk.length } else { walk.length });
            if end >= 0 {
                store(end as usize, sublist as i32, walk.length);
            }
        }
        thread::sync_grid();

        // The path from the head passes those sublists whose path back reaches it; on a path that ends they are different ones.
        let mut totals = 0;
        for sublist in own() {
            let (mut jump, mut sum) = load(sublist);
            // In a circle a path has no end.
            let mut left = sublists;
            while jump >= 0 && left > 0 {
                let (farther, more) = load(jump as usize);
                (jump, sum) = (farther, sum.wrapping_add(more));
                store(sublist, jump, sum);
                left -= 1;
            }
            if jump == FIRST {
                let length = *lengths.add(sublist);
                totals += u64::from(length.unsigned_abs()) | u64::from(length < 0) << 32;
            }
        }
        totals = Block::new(shared_array![u64; STORAGE]).reduce(totals, Sum);
        if thread == 0 {
            atomic::device::fetch_add(&raw mut (*status).ranked, totals & u64::from(u32::MAX));
            atomic::device::fetch_add(&raw mut (*status).ends, (totals >> 32) as u32);
            if thread::block_idx_x() == 0 {
                (*status).head = head;
                search.write(HeadSearch::default());
            }
        }
        thread::sync_grid();

        let ranked = atomic::device::load(&raw const (*status).ranked);
        let ends = atomic::device::load(&raw const (*status).ends);
        if expected.is_met(&Status { ranked, ends, ..Status::default() }) {
            for i in thread::grid_stride(n) {
                let (sublist, offset) = i32::parts(*placed.add(i));
                if (sublist as u32 as usize) < sublists {
                    ranks.add(i).write(load(sublist as usize).1.wrapping_add(offset));
                }
            }
        }
    }
}
