//! Areas of overlaps at any angle, and a search for places by all threads of a block.

use super::{
    super::{
        Scalar,
        boundary::HALF_PLANE,
        clip::{Point, intersect, moved},
        layout::ShapeSpan,
        transform::{self, Source, extent, turn},
        walk::near,
    },
    Copies, MOST_PARTS, Measure, NEAR, Own, PLACES, PUSHES, Packings, Random, Try, WORTH, threads,
};
use cuda_std::prelude::*;

/// Number of places per group.
const GROUP: u32 = 16;
/// Number of times that a group looks around its best place. Its reach shrinks by the factor `NEARER` each time.
const REFINEMENTS: u32 = 8;
const NEARER: f64 = 0.6;
/// Depths up to this, relative to the radius, plus the rounding of positions, count as 0.
const NO_DEPTH: f64 = 1e-5;

/// Threads for each place.
#[inline(always)]
fn parts() -> usize {
    threads() / PLACES as usize
}

/// Numbers in shared memory for the tries of two alternating steps, so that one barrier per step is
/// enough.
pub(super) const COSTS: usize = (2 * MOST_PARTS * PLACES) as usize;
pub(super) const TRIES: usize = 6 * PLACES as usize;

/// The tries of a block's threads, in shared memory.
pub(super) struct Tries<T> {
    /// Cost of each thread's part.
    pub costs: SharedArray<T, COSTS>,
    /// x, y and theta of each place.
    pub places: SharedArray<T, TRIES>,
    /// True in every second step.
    pub odd: bool,
}

impl<T: Scalar> Tries<T> {
    /// Shares a thread's try with its block, and returns the best of its group and of all. A try
    /// replaces a given one if it costs less; in the group, it must also cost less than `limit`.
    /// All threads of the block come here.
    ///
    /// # Safety
    /// Only this block uses it, and its number of threads is a multiple of [`PLACES`].
    #[inline(always)]
    unsafe fn exchange(&mut self, own: Try<T>, (mut best, mut chosen): (Try<T>, Try<T>), limit: T) -> (Try<T>, Try<T>) {
        let thread = thread::thread_idx_x() as usize;
        let (place, group) = (thread % PLACES as usize, thread % PLACES as usize / GROUP as usize);
        let half = usize::from(self.odd);
        let (costs, places) = (half * threads(), half * 3 * PLACES as usize);
        self.odd = !self.odd;
        // SAFETY: each thread writes numbers of its own, or of its place if it is the first that has it. Others read them
        // after the barrier, and come to another before these are written again, two steps on.
        unsafe {
            self.costs.write(costs + thread, own.cost);
            if thread == place {
                self.places.write(places + 3 * place, own.position.x);
                self.places.write(places + 3 * place + 1, own.position.y);
                self.places.write(places + 3 * place + 2, own.theta);
            }
            thread::sync_threads();
            let tried = |place: usize, cost: T| {
                let number = |k: usize| self.places.read(places + 3 * place + k);
                Try { position: Point::new(number(0), number(1)), theta: number(2), cost }
            };
            for place in 0..PLACES as usize {
                let mut cost = self.costs.read(costs + place);
                for part in 1..parts() {
                    cost = cost + self.costs.read(costs + part * PLACES as usize + place);
                }
                if place / GROUP as usize == group && cost < best.cost && cost < limit {
                    best = tried(place, cost);
                }
                if cost < chosen.cost {
                    chosen = tried(place, cost);
                }
            }
        }
        (best, chosen)
    }
}

/// Measures areas, at any angles.
#[derive(Clone, Copy)]
pub(super) struct Areas<'a, T> {
    pub source: Source<'a, T>,
    pub copies: Copies<T>,
    pub first_angles: &'a [u32],
    pub angles: &'a [T],
}

/// A shape with its first angle and the number of its angles: 0 if it may have any.
#[derive(Clone, Copy)]
pub(super) struct Kind<T> {
    span: ShapeSpan<T>,
    first_angle: u32,
    angles: u32,
}

impl<'a, T: Scalar> Measure<T> for Areas<'a, T> {
    type Shape = Kind<T>;
    type Turned = (ShapeSpan<T>, (T, T));
    type Shared = Tries<T>;
    const PLACES: u32 = PLACES;

    #[inline(always)]
    fn free(&self, shape: &Kind<T>) -> bool {
        shape.angles == 0
    }

    #[inline(always)]
    unsafe fn radius(&self, shape: &Kind<T>) -> T {
        shape.span.radius
    }

    #[inline(always)]
    fn outside(&self, (span, _): &Self::Turned, depth: T) -> T {
        math::sqrt(depth * span.radius)
    }

    #[inline(always)]
    unsafe fn shape(&self, copy: usize) -> Kind<T> {
        let shape_of = self.source.shape_of;
        // SAFETY: there is such a copy, and its shape (this function's contract).
        unsafe {
            let shape = if shape_of.is_empty() { 0 } else { *shape_of.get_unchecked(copy) as usize };
            let [first_angle, end] = [0, 1].map(|k| *self.first_angles.get_unchecked(shape + k));
            Kind { span: self.source.shape(copy as u32), first_angle, angles: end - first_angle }
        }
    }

    #[inline(always)]
    unsafe fn angle(&self, shape: &Kind<T>, random: &mut Random) -> T {
        match shape.angles {
            0 => random.sign::<T>() * T::from_f64(core::f64::consts::PI),
            // SAFETY: the shape has so many angles (this function's contract).
            angles => unsafe { *self.angles.get_unchecked((shape.first_angle + random.below(angles)) as usize) },
        }
    }

    #[inline(always)]
    unsafe fn turned(&self, shape: &Kind<T>, theta: T) -> Self::Turned {
        (shape.span, theta.sin_cos())
    }

    #[inline(always)]
    unsafe fn inside(
        &self,
        (shape, (sine, cosine)): &Self::Turned,
        mut position: Point<T>,
        packings: &Packings<'_, T>,
        scale: T,
    ) -> (Point<T>, T) {
        let mut worst = T::ZERO;
        for _ in 0..PUSHES {
            worst = T::ZERO;
            for plane in packings.half_planes.chunks_exact(HALF_PLANE) {
                let normal = Point::new(plane[0], plane[1]);
                // Seen from the shape.
                let turned = turn(normal, (-*sine, *cosine));
                let mut least = T::INFINITY;
                for corner in 0..4 * shape.count {
                    // SAFETY: the shape has so many corners (this function's contract).
                    let corner = unsafe { *self.source.quads.add((4 * shape.first + corner) as usize) };
                    least = math::min(least, turned.dot(corner));
                }
                let depth = normal.dot(position) + scale * plane[3] + plane[2] + least;
                if depth < T::ZERO {
                    position = position.minus(normal.times(depth));
                    worst = math::max(worst, -depth);
                }
            }
            let far = math::abs(position.x) + math::abs(position.y);
            if worst <= math::mul_add(T::from_f64(2.0) * T::EPSILON, far, T::from_f64(NO_DEPTH) * shape.radius) {
                return (position, T::ZERO);
            }
        }
        (position, worst)
    }

    /// Square root of the area that a copy at this place has in common with copy `other`.
    #[inline(always)]
    unsafe fn overlap(&self, (shape, rotation): &Self::Turned, position: Point<T>, other: usize) -> T {
        let rotation = *rotation;
        // SAFETY: as said (this function's contract).
        unsafe {
            let circle = *self.copies.circles.add(other);
            if !near(&transform::circle(position, rotation, shape), &circle, Point::ORIGIN) {
                return T::ZERO;
            }
            let place = *self.copies.places.add(other);
            let (at, center) = (place.position.minus(position), circle.center.minus(position));
            // Seen from the shape, as its quads are.
            let (seen, radius, extent) = (turn(center, (-rotation.0, rotation.1)), circle.radius, extent(shape));
            let mut twice = T::ZERO;
            for number in 0..shape.count {
                let quad = self.source.quads.add(4 * (shape.first + number) as usize);
                let [a, b, c, d] = [*quad, *quad.add(1), *quad.add(2), *quad.add(3)];
                let beside = |a: T, b: T, c: T, d: T, center: T| {
                    let (low, high) = (math::min(math::min(a, b), math::min(c, d)), math::max(math::max(a, b), math::max(c, d)));
                    (low > center + radius) | (high < center - radius)
                };
                if beside(a.x, b.x, c.x, d.x, seen.x) | beside(a.y, b.y, c.y, d.y, seen.y) {
                    continue;
                }
                let own = transform::piece([a, b, c, d], rotation, extent);
                let bounds = own.bounds.moved_back(at);
                for piece in 0..place.count {
                    let piece = &*self.copies.pieces.add((place.first + piece) as usize);
                    if bounds.meet(&piece.bounds) {
                        let common = intersect(&own.corners, &moved(&piece.corners, at));
                        // Rounding may make a tiny area 0 or negative.
                        if !common.is_none() {
                            twice = twice + math::max(common.twice_area, T::EPSILON * shape.area);
                        }
                    }
                }
            }
            math::sqrt(T::HALF * twice)
        }
    }

    #[inline(always)]
    unsafe fn moved(&self, copy: usize, (shape, rotation): &Self::Turned, position: Point<T>) {
        // SAFETY: this thread's copy (this function's contract).
        unsafe {
            (*self.copies.places.add(copy)).position = position;
            *self.copies.circles.add(copy) = transform::circle(position, *rotation, shape);
        }
    }

    #[inline(always)]
    unsafe fn put(&self, copy: usize, (shape, rotation): &Self::Turned, position: Point<T>) {
        let thread = thread::thread_idx_x();
        // SAFETY: as said (this function's contract); each thread writes pieces of its own.
        unsafe {
            let first = (*self.copies.places.add(copy)).first;
            if thread == 0 {
                self.moved(copy, &(*shape, *rotation), position);
            }
            for number in thread::strided(thread..shape.count, thread::block_dim_x()) {
                let quad = self.source.quads.add(4 * (shape.first + number) as usize);
                let corners = [*quad, *quad.add(1), *quad.add(2), *quad.add(3)];
                *self.copies.pieces.add((first + number) as usize) = transform::piece(corners, *rotation, extent(shape));
            }
        }
    }

    #[inline(always)]
    unsafe fn place(
        own: &Own<'_, T, Self>,
        copy: usize,
        shape: &Kind<T>,
        there: Try<T>,
        random: &mut Random,
        tries: &mut Tries<T>,
    ) -> Try<T> {
        let thread = thread::thread_idx_x();
        let (first_group, part) = (thread % PLACES < GROUP, (thread / PLACES) as usize);
        let worth = T::from_f64(WORTH) * there.cost;
        // The group's, and that of all.
        let mut best = if first_group { there } else { Try { cost: T::INFINITY, ..there } };
        let mut chosen = there;
        let radius = shape.span.radius;
        let mut reach = T::from_f64(2.0 * NEAR) * radius;
        for step in 0..=REFINEMENTS {
            let (to, limit) = match step == 0 && !first_group {
                // SAFETY: the copy's shape.
                true => (unsafe { own.anywhere(shape, random) }, worth),
                // SAFETY: the copy's shape.
                false => (unsafe { own.around(&best, reach, step == 0, shape, random) }, math::min(best.cost, worth)),
            };
            // SAFETY: as said (this function's contract).
            unsafe {
                // Nothing is worth refining if a group has found no place.
                let found =
                    if step > 0 && best.cost == T::INFINITY { best } else { own.cost(copy, shape, to, (part, parts()), limit) };
                (best, chosen) = tries.exchange(found, (best, chosen), limit);
            }
            if chosen.cost == T::ZERO {
                break;
            }
            reach = if step == 0 { T::from_f64(NEAR) * radius } else { reach * T::from_f64(NEARER) };
        }
        chosen
    }

    #[inline(always)]
    unsafe fn coded(&self, _: usize, theta: T) -> T {
        theta
    }

    #[inline(always)]
    unsafe fn decoded(&self, _: usize, theta: T) -> T {
        theta
    }
}
