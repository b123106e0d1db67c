//! Step 1 and what else comes before the walk: heads, and the copy for the strategy `packed`.

use bytemuck::{Pod, Zeroable};
use cuda_std::prelude::*;

use super::{BROKEN, NONE, Status, TAIL, Value};
use crate::collectives::{
    Sum,
    block::{Block, STORAGE},
};

/// Progress of the search for a head. All 0 between searches.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct HeadSearch {
    /// The sum of the successors.
    pub sum: i64,
    /// Number of blocks that have added their sums.
    pub blocks: u32,
    /// Always 0: pads the structure.
    pub reserved: u32,
}

/// The start of a list, given or to be found.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Start<'a> {
    /// The list whose head is to be found, or nothing.
    pub next: &'a [i32],
    /// For that.
    pub search: *mut HeadSearch,
    /// The head, if it is given; else -1.
    pub head: i32,
    /// Result: the head. With nothing to find and none given, it stays as it is.
    pub heads: *mut i32,
}

/// Blocks of [`reset()`] and [`mark_successors()`] that a multiprocessor has at a time.
pub const READ_BLOCKS: u32 = 6;
/// Vectors of successors that a thread loads at a time.
const LOADS: usize = 4;

/// Initialises a ranking: no node has a base or a visit, nothing is counted. A head is found by the
/// sum of all successors: in a list, every element but the head is the successor of one other, so
/// that the head is what the sum lacks from `n (n - 1) / 2`; 0 where that gives none (the list is
/// bad then). Any grid of whole warps.
///
/// # Safety
/// `start.search` must be valid for atomic access, and all 0; `start.next` aligned to 16 bytes; `status` and `start.heads`
/// valid for a write.
#[kernel(for V in [i32, i64, f32, f64], max_threads = 256, min_blocks = 6)]
pub unsafe fn reset<V: Value>(
    start: Start<'_>,
    mut bases: DisjointSlice<<V as Value>::Record>,
    mut visits: DisjointSlice<<V as Value>::Record>,
    mut counters: DisjointSlice<u32>,
    status: *mut Status,
) {
    let Start { next, search, mut head, heads } = start;
    for (_, base) in bases.grid_stride_mut() {
        *base = V::record(NONE, V::ZERO);
    }
    for (_, visit) in visits.grid_stride_mut() {
        *visit = V::record(NONE, V::ZERO);
    }
    for (_, counter) in counters.grid_stride_mut() {
        *counter = 0;
    }
    if !next.is_empty() {
        // SAFETY: all threads of the block are here, once; `search` is valid for atomic access, and the block that adds its
        // sum last has it for itself (this kernel's contract).
        unsafe {
            let sum = sum_of_block(next);
            if thread::thread_idx_x() != 0 {
                return;
            }
            atomic::device::fetch_add(&raw mut (*search).sum, sum);
            if atomic::device::fetch_add_acq_rel(&raw mut (*search).blocks, 1) + 1 < thread::grid_dim_x() {
                return;
            }
            head = head_of(next.len(), atomic::device::load(&raw const (*search).sum));
            search.write(HeadSearch::default());
        }
    } else if thread::index_1d() > 0 {
        return;
    }
    // SAFETY: both pointers are valid for a write (this kernel's contract), and one thread alone comes here.
    unsafe {
        status.write(Status { head, ..Status::default() });
        if head >= 0 {
            heads.write(head);
        }
    }
}

/// The sum of the successors that the block's threads load, in its first thread; those of all blocks are all of the list's.
///
/// # Safety
/// `next` must be aligned to 16 bytes. All threads of the block call it, once; the grid has four threads at least.
#[inline(always)]
pub(super) unsafe fn sum_of_block(next: &[i32]) -> i64 {
    let mut own = 0;
    // SAFETY: the array is aligned to vectors, and only read, and all threads are here (this function's contract).
    unsafe {
        each_successor(
            next,
            |vector| mem::load_nc(vector),
            |some| own += some.into_iter().map(|next| next.max(0) as i64).sum::<i64>(),
        );
        Block::new(shared_array![i64; STORAGE]).reduce(own, Sum)
    }
}

/// The head of a list of `n` elements, if its successors add up to `sum`: every other element is a successor, once. 0 if
/// that gives none, as in a bad list.
#[inline(always)]
pub(super) fn head_of(n: usize, sum: i64) -> i32 {
    let n = n as i64;
    let lacking = n * (n - 1) / 2 - sum;
    if (0..n).contains(&lacking) { lacking as i32 } else { 0 }
}

/// Calls `visit` for successors, each in one thread of the grid, which has four threads at least. They come in fours, with
/// [`BROKEN`] in place of missing ones.
///
/// # Safety
/// `next` must be aligned to 16 bytes, and `load` sound for its vectors.
#[inline(always)]
unsafe fn each_successor(next: &[i32], load: impl Fn(*const I32x4) -> I32x4, mut visit: impl FnMut([i32; 4])) {
    let (first, stride) = (thread::index_1d() as usize, thread::grid_stride_1d() as usize);
    let vectors = next.len() / 4;
    // SAFETY: vectors below their number, of an array that is aligned to them (this function's contract).
    let load = |vector: usize| load(unsafe { next.as_ptr().cast::<I32x4>().add(vector) });
    let mut vector = first;
    while vector + (LOADS - 1) * stride < vectors {
        let some: [I32x4; LOADS] = core::array::from_fn(|k| load(vector + k * stride));
        some.into_iter().for_each(|of_vector| visit(of_vector.to_array()));
        vector += LOADS * stride;
    }
    while vector < vectors {
        visit(load(vector).to_array());
        vector += stride;
    }
    if let Some(&last) = next.get(4 * vectors + first) {
        visit([last, BROKEN, BROKEN, BROKEN]);
    }
}

/// Step 1 of the strategy `packed`: records of the successors.
#[kernel(max_threads = 256)]
pub fn copy_next(next: &[i32], mut placed: DisjointSlice<U32x2>) {
    let i = thread::index_1d() as usize;
    if i < next.len() {
        placed.set(i32::record(next[i], 0));
    }
}

/// The most buckets of [`count_successors()`].
pub const BUCKETS: usize = 24 << 10;

/// Threads of a block of [`count_successors()`].
pub const COUNT_THREADS: u32 = 1024;

/// A cut of `n` elements into buckets of `1 << bits`, at least 64 elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, KernelParam)]
pub struct Buckets {
    /// The number of elements.
    pub n: u32,
    /// Binary logarithm of a bucket's elements.
    pub bits: u32,
}

impl Buckets {
    /// Cuts `n` elements into at most `most` buckets.
    pub fn new(n: u32, most: usize) -> Self {
        let bits = (6..31).find(|bits| (n as usize).div_ceil(1 << bits) <= most).unwrap_or(31);
        Buckets { n, bits }
    }

    /// Returns the number of buckets.
    #[inline(always)]
    pub const fn count(self) -> u32 {
        self.n.div_ceil(1 << self.bits)
    }

    /// Returns true if a bucket with so many successors may have a head.
    #[inline(always)]
    const fn is_open(self, bucket: u32, successors: u32) -> bool {
        let rest = self.n - (bucket << self.bits);
        successors != if rest >> self.bits == 0 { rest } else { 1 << self.bits }
    }
}

/// Adds to `counts`, which start at 0, how many elements of each bucket are successors. Any grid of whole warps, with a
/// word of dynamic shared memory for each bucket.
///
/// # Safety
/// `next` must be aligned to 16 bytes, and `counts` valid for atomic access to a word for each bucket.
#[kernel(max_threads = 1024, min_blocks = 2)]
pub unsafe fn count_successors(next: &[i32], buckets: Buckets, counts: *mut u32) {
    let (thread, threads) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    let of_block = dynamic_shared::<u32>();
    // SAFETY: there is room for each bucket (this kernel's contract), and elements are compared with their number; threads
    // write words of their own or by atomics, with barriers between; the array is aligned to vectors, and only read.
    unsafe {
        for bucket in thread::strided(thread..buckets.count() as usize, threads) {
            of_block.add(bucket).write(0);
        }
        thread::sync_threads();
        let add = |element: i32, count| {
            if (element as u32) < buckets.n {
                atomic::block::fetch_add(of_block.add((element as u32 >> buckets.bits) as usize), count);
            }
        };
        let visit = |[a, b, c, d]: [i32; 4]| {
            if ((a ^ b) | (a ^ c) | (a ^ d)) >> buckets.bits == 0 {
                add(a, 4);
            } else {
                [a, b, c, d].into_iter().for_each(|element| add(element, 1));
            }
        };
        each_successor(next, |vector| mem::load_streaming(vector), visit);
        thread::sync_threads();
        for bucket in thread::strided(thread..buckets.count() as usize, threads) {
            let count = *of_block.add(bucket);
            if count > 0 {
                atomic::device::fetch_add(counts.add(bucket), count);
            }
        }
    }
}

/// Starts the bitmap of [`mark_successors()`]: elements of a bucket with as many successors as elements are marked, and
/// others not. Sets a bit in `open` for each of the other buckets.
#[kernel(max_threads = 256)]
pub fn start_marks(counts: &[u32], buckets: Buckets, mut marked: DisjointSlice<u32>, mut open: DisjointSlice<u32>) {
    let word = thread::index_1d();
    let is_open = |bucket: u32| counts.get(bucket as usize).is_some_and(|&count| buckets.is_open(bucket, count));
    if (word as usize) < marked.len() {
        marked.set(if is_open(word >> (buckets.bits - 5)) { 0 } else { u32::MAX });
    }
    if (word as usize) < open.len() {
        open.set((0..32).fold(0, |bits, k| bits | (is_open(32 * word + k) as u32) << k));
    }
}

/// Marks every element from `first` on, `count` of them, that is some element's successor, in a bitmap of a bit per
/// element. Unless `open` is empty, only elements of the buckets whose bit is set there. With `first` 0, adds to `tails`,
/// which starts at 0, how many elements have no successor. Any grid of whole warps.
///
/// # Safety
/// `next` must be aligned to 16 bytes, `open` be empty or have a bit for each bucket, at most [`BUCKETS`], `marked` have one
/// for each of the elements up to `first + count`, and `tails` be valid for atomic access.
#[kernel(max_threads = 256, min_blocks = 6)]
pub unsafe fn mark_successors(
    next: &[i32],
    first: u32,
    count: u32,
    buckets: Buckets,
    open: &[u32],
    marked: *mut u32,
    tails: *mut u32,
) {
    let of_block = shared_array![u32; BUCKETS / 32];
    let mut own = 0;
    // SAFETY: threads write words of their own, before the barrier; buckets are below their number, and words of the bitmap
    // below its length (this kernel's contract), which is changed by atomics alone; the array is aligned to vectors, and
    // only read.
    unsafe {
        for word in thread::strided(thread::thread_idx_x() as usize..open.len(), thread::block_dim_x() as usize) {
            of_block.write(word, open[word]);
        }
        thread::sync_threads();
        let is_open = |bucket: u32| open.is_empty() || of_block.read(bucket as usize / 32) >> (bucket % 32) & 1 == 1;
        let mut mark = |successor: i32| {
            let element = successor as u32;
            if element.wrapping_sub(first) < count && is_open(element >> buckets.bits) {
                atomic::device::fetch_or(marked.add(element as usize / 32), 1 << (element % 32));
            }
            own += (successor == TAIL) as u32;
        };
        // Streaming: the bitmap stays in the L2 cache.
        each_successor(next, |vector| mem::load_streaming(vector), |some| some.into_iter().for_each(&mut mark));
    }
    own = warp::reduce_add(warp::FULL_MASK, own);
    if first == 0 && warp::lane_id() == 0 {
        // SAFETY: `tails` is valid for atomic access (this kernel's contract).
        unsafe { atomic::device::fetch_add(tails, own) };
    }
}

/// Counts the heads, the elements without a bit, in each word of a bitmap: `counts[w]` of the elements `32 w .. 32 w + 32`
/// below `n`. There is one more count, which is 0.
#[kernel(max_threads = 256)]
pub fn count_heads(marked: &[u32], n: u32, mut counts: DisjointSlice<u32>) {
    let word = thread::index_1d();
    if (word as usize) < counts.len() {
        counts.set(marked.get(word as usize).map_or(0, |&bits| unmarked(bits, word, n).count_ones()));
    }
}

/// Writes the heads in ascending order; `places` is the exclusive scan of [`count_heads()`]' counts.
///
/// # Safety
/// `heads` must be as long as there are heads.
#[kernel(max_threads = 256)]
pub unsafe fn collect_heads(marked: &[u32], n: u32, places: &[u32], heads: *mut i32) {
    let word = thread::index_1d();
    if (word as usize) >= marked.len() {
        return;
    }
    let mut bits = unmarked(marked[word as usize], word, n);
    let mut place = places[word as usize] as usize;
    while bits != 0 {
        // SAFETY: there are as many places as bits.
        unsafe { heads.add(place).write((word * 32 + bits.trailing_zeros()) as i32) };
        place += 1;
        bits &= bits - 1;
    }
}

/// The bits of a word that are not set and stand for elements below `n`.
#[inline(always)]
fn unmarked(word: u32, index: u32, n: u32) -> u32 {
    let elements = n - index * 32;
    let valid = if elements >= 32 { u32::MAX } else { (1 << elements) - 1 };
    !word & valid
}
