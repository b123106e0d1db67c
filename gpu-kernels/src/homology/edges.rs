//! Distances, edges by ascending length, and lunes.

use cuda_std::{
    prelude::*,
    warp::{FULL_MASK, WARP_SIZE, lane_mask_lt, match_any, shuffle_idx, sync_warp},
};

use super::{Bars, Cloud, Found, Link, NONE, Scalar, ends, precedes};
use crate::collectives::{
    Sum,
    block::{Block, STORAGE},
};

/// Numbers from `first` on that this thread takes of `count`, where a column of blocks is a cloud's.
#[inline(always)]
fn of_cloud(count: u32) -> impl Iterator<Item = u32> {
    let first = thread::block_idx_y() * thread::block_dim_x() + thread::thread_idx_x();
    let stride = thread::grid_dim_y() * thread::block_dim_x();
    thread::strided(first..count, stride)
}

/// Distances of points with `dimension` coordinates each: a column of blocks for each cloud.
///
/// # Safety
/// There are the points of all clouds, and room for their squares of distances.
#[kernel(for T in [f32, f64], max_threads = 256)]
pub unsafe fn measure<T: Scalar>(clouds: &[Cloud], points: &[T], dimension: u32, distances: *mut T) {
    let cloud = &clouds[thread::block_idx_x() as usize];
    let (n, dimension) = (cloud.vertices, dimension as usize);
    let row = |u: u32| (cloud.vertex + u) as usize * dimension;
    for pair in of_cloud(n * n) {
        let (u, v) = (pair / n, pair % n);
        let (first, second) = (row(u), row(v));
        let length = |scale: T| {
            let mut sum = T::ZERO;
            for k in 0..dimension {
                // SAFETY: both are points of the cloud (this kernel's contract).
                let by = unsafe { *points.get_unchecked(first + k) - *points.get_unchecked(second + k) } * scale;
                // Rounded before it is added, as on CPUs: a product alone may be fused with the sum on a GPU.
                sum = sum + if is_gpu() { math::mul_add(by, by, T::ZERO) } else { by * by };
            }
            math::sqrt(sum) / scale
        };
        let mut distance = length(T::ONE);
        // Squares may have underflowed or overflowed.
        if distance * distance * T::SCALE < T::ONE {
            distance = length(T::SCALE);
        } else if distance == T::INFINITY {
            distance = length(T::ONE / T::SCALE);
        }
        // SAFETY: there is a distance for each two vertices, and each is written by one thread.
        unsafe { distances.add(cloud.distance(u, v)).write(distance) };
    }
}

/// Thresholds: each cloud's enclosing radius, the least distance within which one vertex reaches all others, or `limit`
/// if that is less. A block per cloud.
///
/// # Safety
/// There are the squares of distances of all clouds, and room for a threshold each.
#[kernel(for T in [f32, f64], max_threads = 1024)]
pub unsafe fn thresholds<T: Scalar>(clouds: &[Cloud], distances: &[T], limit: T, thresholds: *mut T) {
    let cloud = &clouds[thread::block_idx_x() as usize];
    let n = cloud.vertices;
    let (lane, lanes) = (thread::thread_idx_x(), thread::block_dim_x());
    let mut least = limit;
    for v in thread::strided(lane..n, lanes) {
        let mut most = T::ZERO;
        for u in 0..n {
            // SAFETY: both are vertices (this kernel's contract).
            let distance = unsafe { *distances.get_unchecked(cloud.distance(u, v)) };
            most = if distance > most { distance } else { most };
        }
        least = if most < least { most } else { least };
    }
    let of_threads = shared_array![T; 1024];
    // SAFETY: a block has at most 1024 threads; each writes its own element, and reads others' after a barrier.
    unsafe {
        of_threads.write(lane as usize, least);
        thread::sync_threads();
        if lane == 0 {
            for other in 1..lanes as usize {
                let other = of_threads.read(other);
                least = if other < least { other } else { least };
            }
            thresholds.add(thread::block_idx_x() as usize).write(least);
        }
    }
}

/// Computes the keys that edges are sorted by. Finds the first edge whose distances are NaN, negative, above `most`, or not
/// the same in both directions. A column of blocks for each cloud. `high` is used if `T` is `f64`.
///
/// # Safety
/// There are the squares of distances, room for each edge's key, and `wrong` is valid for atomic access.
#[kernel(for T in [f32, f64], max_threads = 256)]
pub unsafe fn keys<T: Scalar>(clouds: &[Cloud], distances: &[T], most: T, low: *mut u32, high: *mut u32, wrong: *mut u32) {
    let cloud = &clouds[thread::block_idx_x() as usize];
    for number in of_cloud(cloud.edges()) {
        let (u, v) = ends(number);
        let at = (cloud.edge + number) as usize;
        // SAFETY: both are vertices, there is room for each edge's key, and `wrong` is valid (this kernel's contract).
        unsafe {
            let length = *distances.get_unchecked(cloud.distance(u, v));
            if !(length >= T::ZERO && length <= most && length == *distances.get_unchecked(cloud.distance(v, u))) {
                atomic::device::fetch_min(wrong, at as u32);
            }
            let [lower, upper] = length.key();
            low.add(at).write(lower);
            if size_of::<T>() > size_of::<u32>() {
                high.add(at).write(upper);
            }
        }
    }
}

/// Largest number of threads per block of [`sort()`].
pub const SORT_THREADS: u32 = 256;

/// Counters of such a block: a warp has one for each value of a digit.
const COUNTERS: u32 = 2048;

/// Sorts parts of keys by radix, from the lowest digit up. A block for each part, of 1 thread, as on CPUs, or of 32 times a
/// power of two. Part i begins `width` times `firsts[i]` keys from the start, and ends where the next one begins. Dynamic
/// shared memory of 8 bytes per key, if there is so much, serves for the passes before the last one.
///
/// # Safety
/// There are keys of all parts, upper halves too or none, and room for the numbers of all keys in `order` and `spare`.
#[kernel(max_threads = 256)]
pub unsafe fn sort(firsts: &[u32], width: u32, low: &[u32], high: &[u32], order: *mut u32, spare: *mut u32) {
    let index = thread::block_idx_x() as usize;
    let [first, end] = [index, index + 1].map(|index| firsts[index] * width);
    let (thread, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    let (lanes, warps) = (threads.min(WARP_SIZE), threads.div_ceil(WARP_SIZE));
    let (warp, lane) = (thread / lanes, thread % lanes);
    let is_alone = threads == 1;
    // A warp takes consecutive keys.
    let (count, share) = (end - first, (end - first).div_ceil(warps));
    let (from_here, to_here) = ((warp * share).min(count), ((warp + 1) * share).min(count));
    let len = count as usize;
    // SAFETY: there is room for the part's numbers (this kernel's contract), or in shared memory.
    let [result, one, other] = unsafe {
        let result = order.add(first as usize);
        match dynamic_shared_size() >= 2 * len * size_of::<u32>() {
            true => [result, dynamic_shared(), dynamic_shared::<u32>().add(len)],
            false => [result, result, spare.add(first as usize)],
        }
    };
    let counters = shared_array![u32; COUNTERS as usize];
    let bits = COUNTERS.ilog2() - warps.ilog2();
    let of_word = u32::BITS.div_ceil(bits);
    let passes = if high.is_empty() { of_word } else { 2 * of_word };
    for pass in 0..passes {
        let keys = if pass < of_word { low } else { high };
        let (from, to) = if (passes - pass) % 2 == 1 { (other, one) } else { (one, other) };
        let to = if pass + 1 == passes { result } else { to };
        // SAFETY: keys and digits are within their arrays (this kernel's contract). Counters are accessed by atomics, by one
        // lane of a warp, or by their thread alone, between two barriers; places are the part's, each of one key.
        unsafe {
            let key = |i: u32| if pass == 0 { first + i } else { *from.add(i as usize) };
            // Warps have neighbouring counters.
            let counter = |key: u32| {
                let digit = *keys.get_unchecked(key as usize) >> (pass % of_word * bits) & ((1 << bits) - 1);
                (digit * warps + warp) as usize
            };
            for i in thread::strided(thread..COUNTERS, threads) {
                counters.write(i as usize, 0);
            }
            thread::sync_threads();
            for i in thread::strided(from_here + lane..to_here, lanes) {
                // If there is one warp, it counts the keys in any order.
                add(counters.at(counter(if warps == 1 { first + i } else { key(i) })), 1, is_alone);
            }
            thread::sync_threads();
            let own = COUNTERS / threads;
            let own = (thread * own) as usize..((thread + 1) * own) as usize;
            let count = own.clone().map(|i| counters.read(i)).sum::<u32>();
            let block = Block::with_threads(shared_array![u32; STORAGE], threads);
            let mut start = block.exclusive_scan(count, Sum).prefix;
            for i in own {
                let count = counters.read(i);
                counters.write(i, start);
                start += count;
            }
            thread::sync_threads();
            let mut batch = from_here;
            while batch < to_here {
                let is_key = batch + lane < to_here;
                let key = if is_key { key(batch + lane) } else { NONE };
                let counter = if is_key { counter(key) } else { COUNTERS as usize };
                let place = match lanes {
                    1 => add(counters.at(counter), 1, is_alone),
                    _ => {
                        let equal = match_any(FULL_MASK, counter as u32);
                        let below = (equal & lane_mask_lt()).count_ones();
                        let is_first = is_key && below == 0;
                        let before = if is_first { add(counters.at(counter), equal.count_ones(), is_alone) } else { 0 };
                        let before = shuffle_idx(FULL_MASK, before, equal.trailing_zeros());
                        sync_warp(FULL_MASK);
                        before + below
                    }
                };
                if is_key {
                    to.add(place as usize).write(key);
                }
                batch += lanes;
            }
            thread::sync_threads();
        }
    }
}

/// Adds to a counter in shared memory. Returns its value before.
///
/// # Safety
/// The counter is accessed by this function alone until the next barrier, and by one thread if the block `is_alone`.
#[inline(always)]
unsafe fn add(counter: *mut u32, count: u32, is_alone: bool) -> u32 {
    // SAFETY: other threads access the counter by atomics alone, if there are any (this function's contract).
    unsafe {
        if !is_alone {
            return atomic::block::fetch_add(counter, count);
        }
        let before = counter.read();
        counter.write(before + count);
        before
    }
}

/// Keys in the order of earlier passes: `out[i]` is `keys[order[i]]`. Any grid.
#[kernel(max_threads = 256)]
pub fn gather(keys: &[u32], order: &[u32], mut out: DisjointSlice<u32>) {
    for (i, out) in out.grid_stride_mut() {
        *out = keys[order[i] as usize];
    }
}

/// The clouds of edges: `out[i]` is the number of the cloud that has edge `order[i]`. Any grid.
#[kernel(max_threads = 256)]
pub fn owners(clouds: &[Cloud], order: &[u32], mut out: DisjointSlice<u32>) {
    for (i, out) in out.grid_stride_mut() {
        let edge = order[i];
        *out = clouds.partition_point(|cloud| cloud.edge <= edge) as u32 - 1;
    }
}

/// Links of all edges within the thresholds, in the order of the filtration, and what was found of them: all of `found`
/// must be 0. A column of blocks for each cloud.
///
/// # Safety
/// `order` has each cloud's edges by ascending length and number, there are the squares of distances and a threshold for
/// each cloud, and room for a link of each edge and for the findings of each cloud.
#[kernel(for T in [f32, f64], max_threads = 256)]
pub unsafe fn lunes<T: Scalar>(
    clouds: &[Cloud],
    distances: &[T],
    thresholds: &[T],
    order: &[u32],
    links: *mut Link,
    found: *mut Found,
) {
    let index = thread::block_idx_x() as usize;
    let (cloud, threshold) = (&clouds[index], thresholds[index]);
    // SAFETY: positions are below the number of edges, whose ends are vertices (this kernel's contract); each link is
    // written by one thread, and findings are accessed by atomics alone.
    unsafe {
        let found = found.add(index);
        let (mut within, mut empty, mut last) = (0, 0, 0);
        for position in of_cloud(cloud.edges()) {
            let at = (cloud.edge + position) as usize;
            let edge = *order.get_unchecked(at) - cloud.edge;
            let (u, v) = ends(edge);
            let length = *distances.get_unchecked(cloud.distance(u, v));
            if length > threshold {
                break;
            }
            let before = |w, end| w != end && precedes(distances, cloud, (end, w), (length, edge));
            let witness = (0..cloud.vertices).find(|&w| before(w, u) && before(w, v));
            links.add(at).write(Link::new((u, v), witness.unwrap_or(NONE)));
            within = position + 1;
            if witness.is_none() {
                empty += 1;
                last = within;
            }
        }
        atomic::device::fetch_max(&raw mut (*found).within, within);
        if empty > 0 {
            atomic::device::fetch_add(&raw mut (*found).empty, empty);
            atomic::device::fetch_max(&raw mut (*found).last, last);
        }
    }
}

/// Positions of the edges that start and end bars.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Positions<'a> {
    /// Position of the edge of each merge of two components, from each cloud's first vertex on.
    pub merged: &'a [u32],
    /// Position of the edge that starts each class, from each cloud's first class on.
    pub born: &'a [u32],
    /// Position of the edge that ends each class, or [`NONE`].
    pub died: &'a [u32],
    /// The same of degree 2, from each cloud's first class of that on.
    pub opened: &'a [u32],
    /// See `opened`.
    pub filled: &'a [u32],
}

/// Length and ends of the edge at a position; infinite if there is none.
///
/// # Safety
/// The cloud has its links and its distances.
#[inline(always)]
unsafe fn length<T: Scalar>(cloud: &Cloud, distances: &[T], links: &[Link], position: u32) -> (T, [u16; 2]) {
    if position == NONE {
        return (T::INFINITY, [0; 2]);
    }
    // SAFETY: links are of edges, whose ends are vertices (this function's contract).
    unsafe {
        let (u, v) = links.get_unchecked((cloud.edge + position) as usize).ends();
        (*distances.get_unchecked(cloud.distance(u, v)), [u as u16, v as u16])
    }
}

/// The classes of degree 1 or 2 of a cloud: the first one, their number, and the positions of the edges that start and end
/// all classes of the degree.
#[inline(always)]
fn classes<'a>(degree: usize, cloud: &Cloud, found: &Found, positions: Positions<'a>) -> (u32, u32, &'a [u32], &'a [u32]) {
    match degree {
        1 => (cloud.class, found.classes, positions.born, positions.died),
        _ => (cloud.cavity, found.cavities, positions.opened, positions.filled),
    }
}

/// Numbers of bars of positive length: those of degree 0 of each cloud, then those of degree 1, then of degree 2. A block for
/// each cloud.
///
/// # Safety
/// The positions are those that `reduce` and `fill` have left, with their clouds, links and findings, and `counts` has room
/// for three numbers per cloud.
#[kernel(for T in [f32, f64], max_threads = 128)]
pub unsafe fn count<T: Scalar>(
    clouds: &[Cloud],
    distances: &[T],
    links: &[Link],
    found: &[Found],
    positions: Positions<'_>,
    counts: *mut u32,
) {
    let index = thread::block_idx_x() as usize;
    let (cloud, found) = (&clouds[index], &found[index]);
    let shared = shared_array![u32; 3];
    // SAFETY: the positions have links (this kernel's contract), and threads share numbers by atomics, between barriers.
    unsafe {
        if thread::thread_idx_x() == 0 {
            shared.write(0, cloud.vertices - found.merges);
            shared.write(1, 0);
            shared.write(2, 0);
        }
        thread::sync_threads();
        let length = |position| length(cloud, distances, links, position).0;
        for merge in of_cloud(found.merges) {
            if length(*positions.merged.get_unchecked((cloud.vertex + merge) as usize)) > T::ZERO {
                atomic::block::fetch_add(shared.at(0), 1);
            }
        }
        for degree in [1, 2] {
            let (first, count, born, died) = classes(degree, cloud, found, positions);
            for class in of_cloud(count) {
                let at = (first + class) as usize;
                if length(*born.get_unchecked(at)) < length(*died.get_unchecked(at)) {
                    atomic::block::fetch_add(shared.at(degree), 1);
                }
            }
        }
        thread::sync_threads();
        if thread::thread_idx_x() == 0 {
            for degree in 0..3 {
                counts.add(degree * clouds.len() + cloud.number as usize).write(shared.read(degree));
            }
        }
    }
}

/// Bars of positive length: of degree 0 by ascending death, of others by ascending birth. A block for each cloud.
///
/// # Safety
/// As for [`count()`], whose exclusive sums are `starts`, and there is room for all bars.
#[kernel(for T in [f32, f64], max_threads = 128)]
pub unsafe fn bars<T: Scalar>(
    clouds: &[Cloud],
    distances: &[T],
    links: &[Link],
    found: &[Found],
    positions: Positions<'_>,
    starts: &[u32],
    bars: Bars<T>,
) {
    let index = thread::block_idx_x() as usize;
    let (cloud, found) = (&clouds[index], &found[index]);
    let (lane, lanes) = (thread::thread_idx_x(), thread::block_dim_x());
    let kept = shared_array![u32; 128];
    // SAFETY: the positions have links, and there is room for the bars (this kernel's contract). A thread writes its own
    // flag, and reads others' between two barriers.
    unsafe {
        let write = |at: u32, values: [T; 2], edges: [u16; 4]| {
            bars.values.add(at as usize).write(values);
            bars.edges.add(at as usize).write(edges);
        };
        // Bars of length 0 come first.
        let number = cloud.number as usize;
        let (start, end) = (starts[number], starts[number + 1]);
        let (endless, merges) = (cloud.vertices - found.merges, found.merges);
        let positive = end - start - endless;
        for k in thread::strided(lane..positive, lanes) {
            let position = *positions.merged.get_unchecked((cloud.vertex + merges - positive + k) as usize);
            let (death, [u, v]) = length(cloud, distances, links, position);
            write(start + k, [T::ZERO, death], [0, 0, u, v]);
        }
        for k in thread::strided(lane..endless, lanes) {
            write(start + positive + k, [T::ZERO, T::INFINITY], [0; 4]);
        }
        for degree in [1, 2] {
            let mut at = starts[degree * clouds.len() + number];
            let (of_cloud, count, born, died) = classes(degree, cloud, found, positions);
            let mut first = 0;
            while first < count {
                let class = first + lane;
                let mut bar = ([T::ZERO; 2], [0; 4]);
                if class < count {
                    let at = (of_cloud + class) as usize;
                    let (birth, [a, b]) = length(cloud, distances, links, *born.get_unchecked(at));
                    let (death, [u, v]) = length(cloud, distances, links, *died.get_unchecked(at));
                    bar = ([birth, death], [a, b, u, v]);
                }
                let keeps = bar.0[0] < bar.0[1];
                kept.write(lane as usize, keeps as u32);
                thread::sync_threads();
                let before = |end: u32| (0..end as usize).map(|other| kept.read(other)).sum::<u32>();
                if keeps {
                    write(at + before(lane), bar.0, bar.1);
                }
                at += before(lanes);
                first += lanes;
                thread::sync_threads();
            }
        }
    }
}
