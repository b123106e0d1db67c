//! Separates the copies of packings that overlap, by moving one copy after the other to the place
//! where it overlaps least.
//!
//! This is a guided local search (C. Voudouris and E. Tsang, *Guided Local Search and its
//! Application to the Traveling Salesman Problem*, 1999; of pieces of cloth, J. Egeblad et al.,
//! *Fast Neighborhood Search for Two- and Three-Dimensional Nesting Problems*, 2007). Each pair of
//! copies has a *weight*. The search minimizes the sum of the weights times the square roots of the
//! areas of overlap. Weights grow while their pairs overlap, so that these come apart in the end,
//! at the cost of other overlaps. Once all copies of a packing are apart, the packing is kept, its
//! container shrinks, and the search continues.
//!
//! A block has a packing, and tries many places for the copy that is moved at a time. They are in groups: one looks around
//! where the copy is, the others anywhere in the container; then each looks around the best place that it has found,
//! nearer and nearer. Overlaps are measured in either of two ways:
//! - by areas, at any angle. A thread has a place; or several have it, which share the other copies among them.
//! - by [`fields`](super::fields) of depths, times the geometric mean of the two radii, if shapes have few angles. Without
//!   radii, large copies would give way to small ones. A warp has a group, or on CPUs one thread has all.

use super::{
    Scalar,
    clip::Point,
    fields::{Fields, View},
    layout::{Circle, Piece, Place},
    transform::Source,
};
use crate::collectives::block::{Block, STORAGE, Storage};
use areas::{Areas, COSTS, TRIES, Tries};
use cuda_std::prelude::*;
use depths::{BEST, CIRCLES, Depths, Groups, VIEWS};

mod areas;
mod depths;

/// Number of places tried at once.
pub const PLACES: u32 = 64;
/// Largest number of threads of a block that separates by fields.
pub const MOST_THREADS: u32 = 256;
/// Largest number of threads per place.
pub const MOST_PARTS: u32 = 4;
/// Largest cost, relative to the present place's, at which a random place is refined.
const WORTH: f64 = 3.0;
/// One in this many tries around the present place is at another angle.
const TURNED: u32 = 8;
/// Reach of the first refinement, in units of the shape's radius.
const NEAR: f64 = 0.25;
/// Largest number of times that a copy is moved inside.
const PUSHES: u32 = 3;
/// Weights grow by this factor, that of the pair that overlaps most by [`MOST_GROWTH`] more; of pairs that are apart,
/// they fall by [`DECAY`] down to 1.
const GROWTH: f64 = 1.2;
const MOST_GROWTH: f64 = 0.8;
const DECAY: f64 = 0.95;
const MOST_WEIGHT: f64 = 1e9;
/// Largest number of copies of a packing. It is less than the primes in `STRIDES`, which determine
/// the order of copies.
pub const MOST_COPIES: u32 = 1024;
const STRIDES: [u32; 8] = [1031, 1033, 1039, 1049, 1051, 1061, 1063, 1069];

/// The packings, and how their copies may move.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Packings<'a, T> {
    /// Start of each packing's poses, and the end of the last.
    pub offsets: &'a [u32],
    /// Largest number of copies of a packing.
    pub longest: u32,
    /// The container's half-planes.
    pub half_planes: &'a [T],
    /// The least and the greatest x and y of the container at scale 1.
    pub extent: &'a [T],
    /// 1 if only y is scaled.
    pub strip: u32,
    /// First angle of each shape, and the end of the last one's. A shape without angles may have any.
    pub first_angles: &'a [u32],
    /// The allowed angles.
    pub angles: &'a [T],
    /// Factor by which each packing's scale is multiplied once its copies are apart.
    pub factors: &'a [T],
    /// For each packing, 1 if its weights begin at 1, or 0 if they are as they were.
    pub forgets: &'a [u32],
}

/// Copies after phase one, in the order of poses.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Copies<T> {
    /// x, y and theta of each.
    pub poses: *mut T,
    /// Their enclosing circles.
    pub circles: *mut Circle<T>,
    /// Their positions and pieces.
    pub places: *mut Place<T>,
    /// All pieces.
    pub pieces: *mut Piece<T>,
    /// Each packing's scale.
    pub scales: *mut T,
}

/// State of a search, kept from launch to launch.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Record<T> {
    /// For each packing and pair of its copies, the square root of the area of overlap; on the
    /// diagonal, of the outside area.
    pub overlaps: *mut T,
    /// The same pairs' weights.
    pub weights: *mut T,
    /// Best poses of each packing: the last ones with all copies apart, or otherwise those with the
    /// least overlap.
    pub poses: *mut T,
    /// Their scales.
    pub scales: *mut T,
    /// The sums of the roots of their overlaps: 0 where copies are apart.
    pub least: *mut T,
}

/// Random numbers (G. L. Steele et al., *Fast Splittable Pseudorandom Number Generators*, 2014).
#[derive(Clone, Copy)]
pub struct Random(u64);

impl Random {
    #[inline(always)]
    pub(super) fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed >> 32) as u32
    }

    /// Random stream `number` of `seed`.
    #[inline(always)]
    fn new(seed: u64, number: u64) -> Self {
        let mut random = Random(seed ^ number.wrapping_mul(0xd1b5_4a32_d192_ed03));
        random.next();
        random
    }

    /// From 0 to 1.
    #[inline(always)]
    fn unit<T: Scalar>(&mut self) -> T {
        T::from_u32(self.next() >> 8) * T::from_f64(1.0 / 16_777_216.0)
    }

    /// From -1 to 1.
    #[inline(always)]
    pub(super) fn sign<T: Scalar>(&mut self) -> T {
        let unit = self.unit::<T>();
        unit + unit - T::ONE
    }

    /// Below `n`.
    #[inline(always)]
    pub(super) fn below(&mut self, n: u32) -> u32 {
        ((u64::from(self.next()) * u64::from(n)) >> 32) as u32
    }
}

/// Number of threads of the block, all of which share the work that doesn't belong to a place.
#[inline(always)]
fn threads() -> usize {
    thread::block_dim_x() as usize
}

/// A place for a copy, and its cost.
#[derive(Clone, Copy)]
struct Try<T> {
    position: Point<T>,
    theta: T,
    cost: T,
}

/// Measures how copies overlap, and what is outside.
///
/// # Safety
/// All unsafe methods take shapes, angles and copies that exist; some ask for more.
trait Measure<T: Scalar>: Copy {
    /// A shape.
    type Shape: Copy;
    /// A shape at an angle.
    type Turned: Copy;
    /// Shared memory of a block.
    type Shared;
    /// Threads whose numbers differ by a multiple of this try the same places.
    const PLACES: u32;
    /// True if a shape may have any angle.
    fn free(&self, shape: &Self::Shape) -> bool;
    /// The radius of a shape's circle.
    unsafe fn radius(&self, shape: &Self::Shape) -> T;
    /// The measure of a depth outside, like that of an overlap.
    fn outside(&self, turned: &Self::Turned, depth: T) -> T;

    /// A copy's shape.
    unsafe fn shape(&self, copy: usize) -> Self::Shape;

    /// A random allowed angle.
    unsafe fn angle(&self, shape: &Self::Shape, random: &mut Random) -> T;

    /// A shape at an angle.
    unsafe fn turned(&self, shape: &Self::Shape, theta: T) -> Self::Turned;

    /// Moves a position inside half-planes. Returns it with the depth by which it is still outside.
    unsafe fn inside(&self, turned: &Self::Turned, position: Point<T>, packings: &Packings<'_, T>, scale: T) -> (Point<T>, T);

    /// The overlap of a copy at this place with copy `other`.
    ///
    /// # Safety
    /// Nobody changes that copy.
    unsafe fn overlap(&self, turned: &Self::Turned, position: Point<T>, other: usize) -> T;

    /// Records the new position of a copy that keeps its angle. One thread comes here.
    ///
    /// # Safety
    /// As of [`put`](Self::put).
    unsafe fn moved(&self, copy: usize, turned: &Self::Turned, position: Point<T>);

    /// Records the new position and angle of a copy. All threads of the block come here.
    ///
    /// # Safety
    /// No thread reads or writes this copy.
    unsafe fn put(&self, copy: usize, turned: &Self::Turned, position: Point<T>);

    /// Returns the best of all places tried for copy `own`, which is `there`. All threads of the
    /// block come here, after a barrier.
    ///
    /// # Safety
    /// As of [`overlap`](Self::overlap), of all copies, and the memory is the block's.
    unsafe fn place(
        own: &Own<'_, T, Self>,
        copy: usize,
        shape: &Self::Shape,
        there: Try<T>,
        random: &mut Random,
        shared: &mut Self::Shared,
    ) -> Try<T>;

    /// The number that stands for an angle while this measures, and back.
    unsafe fn coded(&self, copy: usize, theta: T) -> T;
    /// See [`coded`](Self::coded).
    unsafe fn decoded(&self, copy: usize, theta: T) -> T;
}

/// A block's packing.
#[derive(Clone, Copy)]
struct Own<'a, T, M> {
    measure: M,
    packings: Packings<'a, T>,
    poses: *mut T,
    /// Its first copy, and how many it has.
    first: usize,
    count: usize,
    overlaps: *mut T,
    weights: *mut T,
    scale: T,
}

impl<T: Scalar, M: Measure<T>> Own<'_, T, M> {
    /// Moves a place for copy `own` inside, and returns its cost among the copies of `part`: one
    /// in `parts` of the others. The cost may be any number of at least `limit` if it reaches
    /// that.
    ///
    /// # Safety
    /// As of [`Measure::overlap`], of all copies.
    #[inline(always)]
    unsafe fn cost(
        &self,
        own: usize,
        shape: &M::Shape,
        (position, theta): (Point<T>, T),
        (part, parts): (usize, usize),
        limit: T,
    ) -> Try<T> {
        // SAFETY: as said (this function's contract).
        unsafe {
            let turned = self.measure.turned(shape, theta);
            let (position, depth) = self.measure.inside(&turned, position, &self.packings, self.scale);
            let weights = self.weights.add(own * self.count);
            let outside = if part == 0 { self.measure.outside(&turned, depth) } else { T::ZERO };
            let mut cost = *weights.add(own) * outside;
            for other in thread::strided(part..self.count, parts) {
                if cost >= limit {
                    break;
                }
                if other != own {
                    let overlap = self.measure.overlap(&turned, position, self.first + other);
                    if overlap > T::ZERO {
                        cost = *weights.add(other) * overlap + cost;
                    }
                }
            }
            Try { position, theta, cost }
        }
    }

    /// A place in the box around the container.
    ///
    /// # Safety
    /// As of [`Measure`].
    #[inline(always)]
    unsafe fn anywhere(&self, shape: &M::Shape, random: &mut Random) -> (Point<T>, T) {
        let Packings { extent, strip, .. } = self.packings;
        let across = if strip == 1 { T::ONE } else { self.scale };
        let x = (random.unit::<T>() * (extent[2] - extent[0]) + extent[0]) * across;
        let y = (random.unit::<T>() * (extent[3] - extent[1]) + extent[1]) * self.scale;
        // SAFETY: as said (this function's contract).
        (Point::new(x, y), unsafe { self.measure.angle(shape, random) })
    }

    /// A place within `reach` of one, sometimes at another angle altogether if `turned`.
    ///
    /// # Safety
    /// As of [`Measure`].
    #[inline(always)]
    unsafe fn around(&self, place: &Try<T>, reach: T, turned: bool, shape: &M::Shape, random: &mut Random) -> (Point<T>, T) {
        let by = Point::new(random.sign(), random.sign()).times(reach);
        let theta = if turned && random.below(TURNED) == 0 {
            // SAFETY: as said (this function's contract).
            unsafe { self.measure.angle(shape, random) }
        } else if self.measure.free(shape) {
            // SAFETY: as said (this function's contract).
            place.theta + random.sign::<T>() * reach / unsafe { self.measure.radius(shape) }
        } else {
            place.theta
        };
        (place.position.plus(by), theta)
    }

    /// Puts copy `own` there. All threads of the block come here; a barrier follows.
    ///
    /// # Safety
    /// As of [`Measure::put`].
    #[inline(always)]
    unsafe fn put(&self, own: usize, shape: &M::Shape, position: Point<T>, theta: T) {
        let copy = self.first + own;
        // SAFETY: as said (this function's contract).
        unsafe {
            if thread::thread_idx_x() == 0 {
                self.write(copy, position, theta);
            }
            self.measure.put(copy, &self.measure.turned(shape, theta), position);
        }
    }

    /// Writes a copy's pose.
    ///
    /// # Safety
    /// There is such a copy, and no other thread uses it.
    #[inline(always)]
    unsafe fn write(&self, copy: usize, position: Point<T>, theta: T) {
        // SAFETY: three numbers for each copy.
        unsafe {
            let pose = self.poses.add(3 * copy);
            *pose = position.x;
            *pose.add(1) = position.y;
            *pose.add(2) = theta;
        }
    }

    /// Writes the overlap of copy `own` with the others from `from` on, and its outside area, to
    /// the table. All threads of the block come here; barriers before and after.
    ///
    /// # Safety
    /// As of [`overlap`](Self::overlap), and the table has room.
    #[inline(always)]
    unsafe fn note(&self, own: usize, from: usize) {
        // SAFETY: as said (this function's contract); each thread writes numbers of its own.
        unsafe {
            let (shape, (position, theta)) = (self.measure.shape(self.first + own), self.pose(own));
            let turned = self.measure.turned(&shape, theta);
            for other in thread::strided(from + thread::thread_idx_x() as usize..self.count, threads()) {
                let common = if other == own {
                    self.measure.outside(&turned, self.measure.inside(&turned, position, &self.packings, self.scale).1)
                } else {
                    self.measure.overlap(&turned, position, self.first + other)
                };
                *self.overlaps.add(own * self.count + other) = common;
                *self.overlaps.add(other * self.count + own) = common;
            }
        }
    }

    /// The position and angle of a copy.
    ///
    /// # Safety
    /// There is such a copy.
    #[inline(always)]
    unsafe fn pose(&self, own: usize) -> (Point<T>, T) {
        // SAFETY: three numbers for each copy.
        unsafe {
            let pose = self.poses.add(3 * (self.first + own));
            (Point::new(*pose, *pose.add(1)), *pose.add(2))
        }
    }

    /// Moves all copies inside, and writes the overlap of each pair to the table. All threads of
    /// the block come here, after a barrier; another follows.
    ///
    /// # Safety
    /// As of [`overlap`](Self::overlap), and the table has room.
    #[inline(always)]
    unsafe fn begin(&self) {
        // SAFETY: as said (this function's contract); between barriers, copies are either read or written, by one thread each.
        unsafe {
            for own in thread::strided(thread::thread_idx_x() as usize..self.count, threads()) {
                let copy = self.first + own;
                let (shape, (position, theta)) = (self.measure.shape(copy), self.pose(own));
                let turned = self.measure.turned(&shape, theta);
                let (position, _) = self.measure.inside(&turned, position, &self.packings, self.scale);
                self.write(copy, position, theta);
                self.measure.moved(copy, &turned, position);
            }
            thread::sync_threads();
            for own in 0..self.count {
                self.note(own, own);
            }
            thread::sync_threads();
        }
    }

    /// The sum of the table. All threads of the block come here; a barrier follows.
    ///
    /// # Safety
    /// The table was written before a barrier, and the storage is free.
    #[inline(always)]
    unsafe fn total(&self, storage: Storage<T>) -> T {
        let mut sum = T::ZERO;
        // SAFETY: as said (this function's contract).
        unsafe {
            for pair in thread::strided(thread::thread_idx_x() as usize..self.count * self.count, threads()) {
                sum = sum + *self.overlaps.add(pair);
            }
            let total = Block::new(storage).reduce(sum, T::add);
            thread::sync_threads();
            total
        }
    }

    /// Sets all weights to 1.
    ///
    /// # Safety
    /// The table is valid; barriers before and after.
    #[inline(always)]
    unsafe fn forget(&self) {
        for pair in thread::strided(thread::thread_idx_x() as usize..self.count * self.count, threads()) {
            // SAFETY: the pair's weight, which is this thread's alone (this function's contract).
            unsafe { *self.weights.add(pair) = T::ONE };
        }
    }

    /// Updates the weights after a round.
    ///
    /// # Safety
    /// The tables were written before a barrier, and the storage is free; a barrier follows.
    #[inline(always)]
    unsafe fn weigh(&self, storage: Storage<T>) {
        // SAFETY: as said (this function's contract); each thread writes weights of its own.
        unsafe {
            let pairs = || thread::strided(thread::thread_idx_x() as usize..self.count * self.count, threads());
            let mut most = T::ZERO;
            for pair in pairs() {
                most = math::max(most, *self.overlaps.add(pair));
            }
            let most = Block::new(storage).reduce(most, math::max);
            for pair in pairs() {
                let (overlap, weight) = (*self.overlaps.add(pair), self.weights.add(pair));
                *weight = if overlap > T::ZERO {
                    let growth = T::from_f64(MOST_GROWTH) * (overlap / most) + T::from_f64(GROWTH);
                    math::min(*weight * growth, T::from_f64(MOST_WEIGHT))
                } else {
                    math::max(*weight * T::from_f64(DECAY), T::ONE)
                };
            }
            thread::sync_threads();
        }
    }
}

/// Looks at each copy of every packing `rounds` times, and moves those that overlap others. With
/// `fresh`, the record is overwritten; otherwise the search continues from it. One block per
/// packing. Afterwards, poses and scales are the search's last ones, and the record has the best.
///
/// # Safety
/// Copies are as phase one left them, in the order of poses, with the source's shapes. Each shape has a first angle and an
/// end. There are a scale, a factor and a flag for each packing. Each packing has at most `longest` copies, which are at most
/// [`MOST_COPIES`]. The record has `longest` squared overlaps and weights for each packing, three numbers for each pose, and a
/// scale and a least sum for each packing. Blocks are one-dimensional, of 1 to [`MOST_PARTS`] times [`PLACES`] threads.
#[kernel(for T in [f32 { min_blocks = 2 }, f64], max_threads = 256)]
pub unsafe fn separate<T: Scalar>(
    source: Source<'_, T>,
    packings: Packings<'_, T>,
    copies: Copies<T>,
    record: Record<T>,
    rounds: u32,
    seed: u64,
    fresh: u32,
) {
    let tries = Tries { costs: shared_array![T; COSTS], places: shared_array![T; TRIES], odd: false };
    let measure = Areas { source, copies, first_angles: packings.first_angles, angles: packings.angles };
    // SAFETY: this kernel's contract.
    unsafe {
        search(
            measure,
            packings,
            (copies.poses, copies.scales),
            record,
            (rounds, u32::MAX, seed, fresh),
            shared_array![T; STORAGE],
            tries,
        )
    }
}

/// The same, by fields in place of areas. A packing also ends after a round once it has looked for `moves` places. All
/// packings then take about equally long.
///
/// # Safety
/// As of [`separate()`], and the fields are those of the packings' shapes and half-planes. Blocks have whole warps, or one
/// thread.
#[kernel(max_threads = 256, min_blocks = 2)]
#[allow(clippy::too_many_arguments)]
pub unsafe fn separate_by_fields(
    fields: Fields<'_>,
    packings: Packings<'_, f32>,
    poses: *mut f32,
    scales: *mut f32,
    record: Record<f32>,
    rounds: u32,
    moves: u32,
    seed: u64,
    fresh: u32,
) {
    let groups = Groups {
        circles: shared_array![f32; CIRCLES],
        views: shared_array![View; VIEWS],
        best: shared_array![f32; BEST],
        odd: false,
    };
    // SAFETY: this kernel's contract.
    unsafe {
        search(
            Depths { fields, poses },
            packings,
            (poses, scales),
            record,
            (rounds, moves, seed, fresh),
            shared_array![f32; STORAGE],
            groups,
        )
    }
}

/// The search of a block.
///
/// # Safety
/// As of [`separate()`].
#[inline(always)]
unsafe fn search<T: Scalar, M: Measure<T>>(
    measure: M,
    packings: Packings<'_, T>,
    (poses, scales): (*mut T, *mut T),
    record: Record<T>,
    (rounds, moves, seed, fresh): (u32, u32, u64, u32),
    storage: Storage<T>,
    mut shared: M::Shared,
) {
    let (packing, thread) = (thread::block_idx_x() as usize, thread::thread_idx_x());
    // SAFETY: the arrays fit each other (this kernel's contract). Only this block uses its packing;
    // a barrier stands between a thread's writes of a copy or a pair and other threads' reads.
    // Branches around barriers depend on values that are the same for all threads: sums, places
    // chosen from shared memory, and numbers of `common`.
    unsafe {
        let first = *packings.offsets.get_unchecked(packing) as usize;
        let count = *packings.offsets.get_unchecked(packing + 1) as usize - first;
        let table = packing * (packings.longest as usize * packings.longest as usize);
        let (overlaps, weights) = (record.overlaps.add(table), record.weights.add(table));
        let mut own = Own { measure, packings, poses, first, count, overlaps, weights, scale: *scales.add(packing) };
        let mut least = if fresh == 1 { T::INFINITY } else { *record.least.add(packing) };
        let mut common = Random::new(seed, packing as u64);
        // The same for all threads of a place.
        let mut random = Random::new(!seed, packing as u64 * u64::from(M::PLACES) + u64::from(thread % M::PLACES));
        if fresh == 1 && *packings.forgets.get_unchecked(packing) == 1 {
            own.forget();
        }
        for copy in thread::strided(thread as usize..count, threads()) {
            let theta = poses.add(3 * (first + copy) + 2);
            *theta = measure.coded(first + copy, *theta);
        }
        thread::sync_threads();
        own.begin();
        let mut looked = 0;
        for round in 0..=rounds {
            let total = own.total(storage);
            // Once copies were apart, a packing is better only if its copies are apart, too.
            if total == T::ZERO || total < least {
                for copy in thread::strided(thread as usize..count, threads()) {
                    let (from, to) = (poses.add(3 * (first + copy)), record.poses.add(3 * (first + copy)));
                    (*to, *to.add(1)) = (*from, *from.add(1));
                    *to.add(2) = measure.decoded(first + copy, *from.add(2));
                }
                if thread == 0 {
                    *record.scales.add(packing) = own.scale;
                }
                least = total;
            }
            if round == rounds || looked >= moves {
                break;
            }
            if total == T::ZERO {
                let factor = *packings.factors.get_unchecked(packing);
                own.scale = own.scale * factor;
                let across = if packings.strip == 1 { T::ONE } else { factor };
                // Poses were read to be kept.
                thread::sync_threads();
                // Each thread's copies are its own here as in `begin`.
                for copy in thread::strided(thread as usize..count, threads()) {
                    let pose = poses.add(3 * (first + copy));
                    *pose = *pose * across;
                    *pose.add(1) = *pose.add(1) * factor;
                }
                own.forget();
                thread::sync_threads();
                own.begin();
            }
            let (start, stride) = (common.below(count as u32), STRIDES[(common.next() % 8) as usize]);
            for turn in 0..count as u32 {
                let copy = ((start + turn * stride) % count as u32) as usize;
                let row = copy * count;
                let mut now = T::ZERO;
                for other in thread::strided(thread as usize..count, threads()) {
                    now = *weights.add(row + other) * *overlaps.add(row + other) + now;
                }
                let now = Block::new(storage).reduce(now, T::add);
                thread::sync_threads();
                if now == T::ZERO {
                    continue;
                }
                looked += 1;
                let shape = measure.shape(first + copy);
                let (position, theta) = own.pose(copy);
                let chosen = M::place(&own, copy, &shape, Try { position, theta, cost: now }, &mut random, &mut shared);
                if chosen.cost < now {
                    own.put(copy, &shape, chosen.position, chosen.theta);
                    thread::sync_threads();
                    own.note(copy, 0);
                    thread::sync_threads();
                }
            }
            own.weigh(storage);
        }
        for copy in thread::strided(thread as usize..count, threads()) {
            let theta = poses.add(3 * (first + copy) + 2);
            *theta = measure.decoded(first + copy, *theta);
        }
        if thread == 0 {
            *scales.add(packing) = own.scale;
            *record.least.add(packing) = least;
        }
    }
}
