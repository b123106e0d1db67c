//! Distances, edges by ascending length, and lunes.

use cuda_std::prelude::*;

use super::{Bars, Cloud, Found, Link, NONE, Scalar, ends, precedes};

/// Numbers from `first` on that this thread takes of `count`, where a column of blocks is a cloud's.
#[inline(always)]
fn of_cloud(count: u32) -> impl Iterator<Item = u32> {
    let first = thread::block_idx_y() * thread::block_dim_x() + thread::thread_idx_x();
    let stride = thread::grid_dim_y() * thread::block_dim_x();
    (first..count).step_by(stride as usize)
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
        let mut sum = T::ZERO;
        for k in 0..dimension {
            // SAFETY: both are points of the cloud (this kernel's contract).
            let by = unsafe { *points.get_unchecked(first + k) - *points.get_unchecked(second + k) };
            sum = sum + by * by;
        }
        // SAFETY: there is a distance for each two vertices, and each is written by one thread.
        unsafe { distances.add(cloud.distance(u, v)).write(math::sqrt(sum)) };
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
    for v in (lane..n).step_by(lanes as usize) {
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

/// Keys by which edges are sorted, and the first edge whose distances are no lengths: NaN, negative, above `most`, or not
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
        for position in of_cloud(cloud.edges()) {
            let at = (cloud.edge + position) as usize;
            let edge = *order.get_unchecked(at) - cloud.edge;
            let (u, v) = ends(edge);
            let length = *distances.get_unchecked(cloud.distance(u, v));
            if length > threshold {
                break;
            }
            let before =
                |w| precedes(distances, cloud, (u, w), (length, edge)) && precedes(distances, cloud, (v, w), (length, edge));
            let witness = (0..cloud.vertices).find(|&w| w != u && w != v && before(w));
            links.add(at).write(Link::new((u, v), witness.unwrap_or(NONE)));
            atomic::device::fetch_max(&raw mut (*found).within, position + 1);
            if witness.is_none() {
                atomic::device::fetch_add(&raw mut (*found).empty, 1);
                atomic::device::fetch_max(&raw mut (*found).last, position + 1);
            }
        }
    }
}

/// Bars of degree 0 that end and all bars of degree 1, from the positions of their edges: for each cloud, `merged` has its
/// first position at the cloud's first vertex, `born` and `died` at its first class. A column of blocks for each cloud.
///
/// # Safety
/// The positions are those that `reduce` has left, with its clouds, links and findings, and there is room for as many bars.
#[kernel(for T in [f32, f64], max_threads = 256)]
pub unsafe fn bars<T: Scalar>(
    clouds: &[Cloud],
    distances: &[T],
    links: &[Link],
    found: &[Found],
    positions: Positions<'_>,
    components: Bars<T>,
    cycles: Bars<T>,
) {
    let index = thread::block_idx_x() as usize;
    let (cloud, found) = (&clouds[index], &found[index]);
    let value = |position: u32| {
        if position == NONE {
            return (T::INFINITY, [0; 2]);
        }
        // SAFETY: links are of edges, whose ends are vertices (this kernel's contract).
        unsafe {
            let (u, v) = links.get_unchecked((cloud.edge + position) as usize).ends();
            (*distances.get_unchecked(cloud.distance(u, v)), [u as u16, v as u16])
        }
    };
    // SAFETY: there are positions and room for as many bars (this kernel's contract); each is written by one thread.
    unsafe {
        for merge in of_cloud(found.merges) {
            let at = (cloud.vertex + merge) as usize;
            let (death, [u, v]) = value(*positions.merged.get_unchecked(at));
            components.values.add(at).write([T::ZERO, death]);
            components.edges.add(at).write([0, 0, u, v]);
        }
        for class in of_cloud(found.classes) {
            let at = (cloud.class + class) as usize;
            let (birth, [a, b]) = value(*positions.born.get_unchecked(at));
            let (death, [u, v]) = value(*positions.died.get_unchecked(at));
            cycles.values.add(at).write([birth, death]);
            cycles.edges.add(at).write([a, b, u, v]);
        }
    }
}

/// Positions of the edges that start and end bars.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Positions<'a> {
    /// Position of the edge of each merge of two components.
    pub merged: &'a [u32],
    /// Position of the edge that starts each class.
    pub born: &'a [u32],
    /// Position of the edge that ends each class, or [`NONE`].
    pub died: &'a [u32],
}
