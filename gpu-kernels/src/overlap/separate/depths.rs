//! Depths of overlaps by fields, and a search for places that tries many at once.

use super::{
    super::{
        Scalar,
        boundary::HALF_PLANE,
        clip::Point,
        fields::{BOX, Fields, PARTS, SIZE, TURN},
    },
    MOST_COPIES, MOST_THREADS, Measure, NEAR, Own, PUSHES, Packings, Random, Try, WORTH,
};
use crate::collectives::warp::{self, Lanes};
use cuda_std::{
    prelude::*,
    warp::{ballot, sync_warp},
};

/// Number of places tried for a copy.
#[derive(Clone, Copy)]
struct Effort {
    /// Number of groups. A warp has one at a time.
    groups: u32,
    /// Number of places that a group starts from, and number of those around its best one in each refinement.
    starts: u32,
    places: u32,
}

const GPU: Effort = Effort { groups: 8, starts: 32, places: 32 };
/// On CPUs, places cost more than barriers.
const CPU: Effort = Effort { groups: 4, starts: 16, places: 6 };
/// Number of refinements. Their reach shrinks by the factor `NEARER` each time.
const REFINEMENTS: u32 = 10;
const NEARER: f64 = 0.5;
/// Number of depths that are looked up at once.
const TOGETHER: usize = 4;
const WARPS: usize = (MOST_THREADS / 32) as usize;
/// Shared memory for lists of copies, and for the best places of warps in alternating calls.
pub(super) const NEAR_ONES: usize = WARPS * MOST_COPIES as usize;
pub(super) const BEST: usize = 2 * 4 * WARPS;

/// Shared memory of a block.
pub(super) struct Groups<T> {
    pub near: SharedArray<u16, NEAR_ONES>,
    pub best: SharedArray<T, BEST>,
    /// True in every second call.
    pub odd: bool,
}

impl<T: Scalar> Groups<T> {
    /// Start of the list of this thread's warp, for packings of `count` copies.
    #[inline(always)]
    fn start(count: usize) -> usize {
        (thread::thread_idx_x() / 32) as usize * count
    }
}

/// Measures depths by fields.
#[derive(Clone, Copy)]
pub(super) struct Depths<'a, T> {
    pub fields: Fields<'a, T>,
    /// x, y, and the variant's number.
    pub poses: *mut T,
}

/// A variant with its angle's sine and cosine, and its radius.
#[derive(Clone, Copy)]
pub(super) struct Variant<T> {
    number: usize,
    rotation: (T, T),
    radius: T,
}

impl<T: Scalar> Depths<'_, T> {
    /// A variant.
    ///
    /// # Safety
    /// There is one.
    #[inline(always)]
    unsafe fn variant(&self, number: usize) -> Variant<T> {
        // SAFETY: so many numbers for each.
        let turns = unsafe { self.fields.turns.get_unchecked(TURN * number..TURN * (number + 1)) };
        Variant { number, rotation: (turns[1], turns[2]), radius: turns[3] }
    }

    /// Depth in a field, at least 0.
    ///
    /// # Safety
    /// There is such a field.
    #[inline(always)]
    unsafe fn depth(&self, field: usize, at: Point<T>) -> T {
        let Fields { boxes, sizes, values, .. } = self.fields;
        // SAFETY: the field's numbers; the four values are those of a cell of its grid, as was just checked.
        unsafe {
            let (x, y) = (*boxes.get_unchecked(BOX * field), *boxes.get_unchecked(BOX * field + 1));
            let inverse = *boxes.get_unchecked(BOX * field + 3);
            let (columns, rows) = (*sizes.get_unchecked(SIZE * field + 1), *sizes.get_unchecked(SIZE * field + 2));
            let (u, v) = ((at.x - x) * inverse, (at.y - y) * inverse);
            if !(u >= T::ZERO && v >= T::ZERO && u < T::from_u32(columns - 1) && v < T::from_u32(rows - 1)) {
                return T::ZERO;
            }
            let (i, j) = (u.to_i32(), v.to_i32());
            let (s, t) = (u - T::from_i32(i), v - T::from_i32(j));
            let corner = *sizes.get_unchecked(SIZE * field) as usize + j as usize * columns as usize + i as usize;
            let value = |k: usize| T::from_i32(i32::from(*values.get_unchecked(corner + k)));
            let (a, b, c, d) = (value(0), value(1), value(columns as usize), value(columns as usize + 1));
            let (low, high) = (a + (b - a) * s, c + (d - c) * s);
            let depth = low + (high - low) * t;
            math::max(depth, T::ZERO) * *boxes.get_unchecked(BOX * field + 2) * T::from_f64(1.0 / PARTS)
        }
    }

    #[inline(always)]
    fn better(one: Try<T>, other: Try<T>) -> Try<T> {
        if other.cost < one.cost { other } else { one }
    }

    /// The best of a warp's tries.
    #[inline(always)]
    fn best_of(lanes: Lanes, mine: Try<T>) -> Try<T> {
        if lanes.count() == 1 {
            return mine;
        }
        let least = warp::reduce(lanes, mine.cost, math::min);
        let lane = ballot(lanes.mask(), mine.cost == least).trailing_zeros();
        let [x, y, theta] = [mine.position.x, mine.position.y, mine.theta].map(|number| warp::broadcast(lanes, number, lane));
        Try { position: Point::new(x, y), theta, cost: least }
    }

    /// Returns the best place of a group for a copy. The first group looks around where the copy is, the others anywhere.
    ///
    /// # Safety
    /// As of [`Measure::place`].
    #[inline(always)]
    unsafe fn group(
        own: &Own<'_, T, Self>,
        (copy, shape): (usize, &u32),
        (there, first): (Try<T>, bool),
        random: &mut Random,
        (lanes, effort): (Lanes, Effort),
        groups: &mut Groups<T>,
    ) -> Try<T> {
        let each = |count: u32| count.div_ceil(lanes.count());
        let limit = T::from_f64(WORTH) * there.cost;
        // SAFETY: as said (this function's contract).
        unsafe {
            let radius = own.measure.radius(shape);
            let mut mine = if first { there } else { Try { cost: T::INFINITY, ..there } };
            for _ in 0..each(effort.starts) {
                let to = if first {
                    own.around(&there, T::from_f64(2.0 * NEAR) * radius, true, shape, random)
                } else {
                    own.anywhere(shape, random)
                };
                mine = Self::better(mine, own.cost(copy, shape, to, (0, 1), math::min(limit, mine.cost)));
            }
            let mut best = Self::best_of(lanes, mine);
            let mut reach = T::from_f64(NEAR) * radius;
            for _ in 0..REFINEMENTS {
                if best.cost == T::ZERO || best.cost >= limit && !first {
                    break;
                }
                // A place is off by the reach on each axis.
                let near = Self::near(own, copy, (&best, radius + reach + reach), lanes, groups);
                let mut mine = best;
                for _ in 0..each(effort.places) {
                    let to = own.around(&best, reach, false, shape, random);
                    mine = Self::better(mine, Self::among(own, copy, to, (groups, near), mine.cost));
                }
                best = Self::best_of(lanes, mine);
                reach = reach * T::from_f64(NEARER);
            }
            best
        }
    }

    /// Lists the copies that a copy within `reach` of a place may meet, for the warp. Returns their number.
    ///
    /// # Safety
    /// As of [`Measure::overlap`], of all copies, and the memory is the block's.
    #[inline(always)]
    unsafe fn near(
        own: &Own<'_, T, Self>,
        copy: usize,
        (place, reach): (&Try<T>, T),
        lanes: Lanes,
        groups: &mut Groups<T>,
    ) -> usize {
        let (lane, start) = (thread::thread_idx_x() % 32, Groups::<T>::start(own.count));
        let Depths { fields, poses } = own.measure;
        let mut found = 0;
        for base in (0..own.count).step_by(lanes.count() as usize) {
            let other = base + lane as usize;
            // SAFETY: the copy's numbers, if there is one (this function's contract).
            let near = other < own.count
                && other != copy
                && unsafe {
                    let pose = poses.add(3 * (own.first + other));
                    let by = Point::new(*pose, *pose.add(1)).minus(place.position);
                    let theirs = *fields.turns.get_unchecked(TURN * (*pose.add(2)).to_i32() as usize + 3);
                    let far = theirs + reach;
                    by.x * by.x + by.y * by.y < far * far
                };
            let all = if lanes.count() == 1 { u32::from(near) } else { ballot(lanes.mask(), near) };
            if near {
                let before = (all & ((1 << lane) - 1)).count_ones() as usize;
                // SAFETY: each warp has room for all copies, and each lane an entry of its own.
                unsafe { groups.near.write(start + found + before, other as u16) };
            }
            found += all.count_ones() as usize;
        }
        if lanes.count() > 1 {
            sync_warp(lanes.mask());
        }
        found
    }

    /// The cost of a place for a copy, by the copies listed. May be any number from `limit` on if it reaches that.
    ///
    /// # Safety
    /// As of [`near`](Self::near).
    #[inline(always)]
    unsafe fn among(
        own: &Own<'_, T, Self>,
        copy: usize,
        (position, theta): (Point<T>, T),
        (groups, near): (&Groups<T>, usize),
        limit: T,
    ) -> Try<T> {
        let (measure, start) = (own.measure, Groups::<T>::start(own.count));
        // SAFETY: as said (this function's contract).
        unsafe {
            let turned = measure.variant(theta.to_i32() as usize);
            let (position, depth) = measure.inside(&turned, position, &own.packings, own.scale);
            let weights = own.weights.add(copy * own.count);
            let mut cost = *weights.add(copy) * depth;
            let mut next = 0;
            while next < near && cost < limit {
                let mut costs = [T::ZERO; TOGETHER];
                for (k, cost) in costs.iter_mut().enumerate() {
                    if next + k < near {
                        let other = groups.near.read(start + next + k) as usize;
                        *cost = *weights.add(other) * measure.overlap(&turned, position, own.first + other);
                    }
                }
                for more in costs {
                    cost = cost + more;
                }
                next += TOGETHER;
            }
            Try { position, theta, cost }
        }
    }
}

impl<T: Scalar> Measure<T> for Depths<'_, T> {
    type Shape = u32;
    type Turned = Variant<T>;
    type Shared = Groups<T>;
    const PLACES: u32 = MOST_THREADS;

    #[inline(always)]
    fn free(&self) -> bool {
        false
    }

    #[inline(always)]
    unsafe fn radius(&self, shape: &u32) -> T {
        // SAFETY: the shape exists, and has a variant (this function's contract).
        unsafe { *self.fields.turns.get_unchecked(TURN * *self.fields.first.get_unchecked(*shape as usize) as usize + 3) }
    }

    #[inline(always)]
    fn outside(&self, _: &u32, depth: T) -> T {
        depth
    }

    #[inline(always)]
    unsafe fn shape(&self, copy: usize) -> u32 {
        // SAFETY: there is such a copy (this function's contract).
        unsafe { if self.fields.shape_of.is_empty() { 0 } else { *self.fields.shape_of.get_unchecked(copy) } }
    }

    #[inline(always)]
    unsafe fn angle(&self, shape: &u32, random: &mut Random) -> T {
        // SAFETY: the shape exists (this function's contract).
        let [first, end] = [0, 1].map(|k| unsafe { *self.fields.first.get_unchecked(*shape as usize + k) });
        T::from_u32(first + random.below(end - first))
    }

    #[inline(always)]
    unsafe fn turned(&self, _: &u32, theta: T) -> Variant<T> {
        // SAFETY: there is this variant (this function's contract).
        unsafe { self.variant(theta.to_i32() as usize) }
    }

    #[inline(always)]
    unsafe fn inside(&self, own: &Variant<T>, mut position: Point<T>, packings: &Packings<'_, T>, scale: T) -> (Point<T>, T) {
        let count = packings.half_planes.len() / HALF_PLANE;
        let mut worst = T::ZERO;
        for push in 0..PUSHES {
            worst = T::ZERO;
            for number in 0..count {
                // SAFETY: there are so many half-planes, and a number for each variant and each of them.
                let (plane, least) = unsafe {
                    let plane = packings.half_planes.get_unchecked(HALF_PLANE * number..HALF_PLANE * (number + 1));
                    (plane, *self.fields.supports.get_unchecked(own.number * count + number))
                };
                let normal = Point::new(plane[0], plane[1]);
                let depth = normal.x * position.x + normal.y * position.y + scale * plane[3] + plane[2] + least;
                if depth < T::ZERO {
                    position = position.minus(normal.times(depth));
                    worst = math::max(worst, -depth);
                }
            }
            if worst == T::ZERO {
                return (position, T::ZERO);
            }
            // Pushes leave rounding errors.
            let far = math::abs(position.x) + math::abs(position.y);
            if push > 0 && worst <= T::from_f64(8.0) * T::EPSILON * far {
                return (position, T::ZERO);
            }
        }
        (position, worst)
    }

    #[inline(always)]
    unsafe fn overlap(&self, own: &Variant<T>, position: Point<T>, other: usize) -> T {
        // SAFETY: the copy exists and has its variant; the table has a field for each two.
        unsafe {
            let pose = self.poses.add(3 * other);
            let by = Point::new(*pose, *pose.add(1)).minus(position);
            let theirs = (*pose.add(2)).to_i32() as usize;
            let far = own.radius + *self.fields.turns.get_unchecked(TURN * theirs + 3);
            if by.x * by.x + by.y * by.y >= far * far {
                return T::ZERO;
            }
            let variants = self.fields.turns.len() / TURN;
            let entry = *self.fields.table.get_unchecked(own.number * variants + theirs);
            let (by, (sine, cosine)) = match entry % 2 {
                0 => (by, own.rotation),
                _ => (Point::ORIGIN.minus(by), self.variant(theirs).rotation),
            };
            self.depth((entry / 2) as usize, Point::new(cosine * by.x + sine * by.y, cosine * by.y - sine * by.x))
        }
    }

    #[inline(always)]
    unsafe fn moved(&self, _: usize, _: &Variant<T>, _: Point<T>) {}

    #[inline(always)]
    unsafe fn put(&self, _: usize, _: &Variant<T>, _: Point<T>) {}

    #[inline(always)]
    unsafe fn place(
        own: &Own<'_, T, Self>,
        copy: usize,
        shape: &u32,
        there: Try<T>,
        random: &mut Random,
        groups: &mut Groups<T>,
    ) -> Try<T> {
        let (thread, lanes) = (thread::thread_idx_x(), Lanes::of_block(thread::block_dim_x()));
        let (warp, warps) = (thread / 32, thread::block_dim_x().div_ceil(32));
        let effort = if lanes.is_full() { GPU } else { CPU };
        let mut chosen = there;
        for group in (warp..effort.groups).step_by(warps as usize) {
            let from = (there, group == 0);
            // SAFETY: as said (this function's contract).
            chosen = Self::better(chosen, unsafe { Self::group(own, (copy, shape), from, random, (lanes, effort), groups) });
            if warps == 1 && chosen.cost == T::ZERO {
                break;
            }
        }
        if warps == 1 {
            return chosen;
        }
        // SAFETY: each warp writes numbers of its own; others read them after the barrier, and come to another before these
        // are written again, two calls on.
        unsafe {
            let half = usize::from(groups.odd) * 4 * WARPS;
            groups.odd = !groups.odd;
            if thread % 32 == 0 {
                let own = half + 4 * warp as usize;
                for (k, number) in [chosen.cost, chosen.position.x, chosen.position.y, chosen.theta].into_iter().enumerate() {
                    groups.best.write(own + k, number);
                }
            }
            thread::sync_threads();
            for warp in 0..warps as usize {
                let number = |k: usize| groups.best.read(half + 4 * warp + k);
                let other = Try { cost: number(0), position: Point::new(number(1), number(2)), theta: number(3) };
                chosen = Self::better(chosen, other);
            }
        }
        chosen
    }

    /// The number of the variant whose angle is nearest.
    #[inline(always)]
    unsafe fn coded(&self, copy: usize, theta: T) -> T {
        let (sine, cosine) = theta.sin_cos();
        let (mut best, mut most) = (0, -T::INFINITY);
        // SAFETY: the shape's variants.
        unsafe {
            let shape = self.shape(copy) as usize;
            let [first, end] = [0, 1].map(|k| *self.fields.first.get_unchecked(shape + k));
            for number in first..end {
                let (s, c) = self.variant(number as usize).rotation;
                let along = s * sine + c * cosine;
                if along > most {
                    (best, most) = (number, along);
                }
            }
        }
        T::from_u32(best)
    }

    /// A variant's angle.
    #[inline(always)]
    unsafe fn decoded(&self, _: usize, theta: T) -> T {
        // SAFETY: there is this variant (this function's contract).
        unsafe { *self.fields.turns.get_unchecked(TURN * theta.to_i32() as usize) }
    }
}
