//! Depths of overlaps by fields, and a search for places that tries many at once.

use super::{
    super::{
        Scalar,
        boundary::HALF_PLANE,
        clip::Point,
        fields::{Fields, MIRRORED, TURN, View},
    },
    MOST_COPIES, MOST_THREADS, Measure, NEAR, Own, PUSHES, Packings, Random, Try, WORTH, threads,
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
const NEARER: f32 = 0.5;
/// Refinement before which the copies around are looked for again.
const AGAIN: u32 = 3;
/// Largest distance that a place moves by in all further refinements, in units of the reach.
const FURTHER: f32 = 3.0;
/// Number of copies that are compared before depths are looked up: one per bit.
const COMPARED: usize = 32;
/// Number of depths that are looked up at once, so that their memory accesses overlap.
const TOGETHER: usize = 4;
/// Coordinates of a place far from all copies.
const NOWHERE: f32 = 1e18;
const WARPS: usize = (MOST_THREADS / 32) as usize;
const MOST: usize = MOST_COPIES as usize + TOGETHER;
/// Number of copies that a warp has views of at once.
const ROOM: usize = 96;
/// Shared memory for circles around copies, for views, and for the best places of warps in alternating calls.
pub(super) const CIRCLES: usize = 3 * MOST;
pub(super) const VIEWS: usize = WARPS * ROOM;
pub(super) const BEST: usize = 2 * 4 * WARPS;

/// Shared memory of a block.
pub(super) struct Groups {
    /// All x, all y, then all radii. The copy that is moved is nowhere.
    pub circles: SharedArray<f32, CIRCLES>,
    pub views: SharedArray<View, VIEWS>,
    pub best: SharedArray<f32, BEST>,
    /// True in every second call.
    pub odd: bool,
}

impl Groups {
    /// A copy's place and radius.
    ///
    /// # Safety
    /// There is such a copy, or one of the entries after the last; barriers stand between this and writes.
    #[inline(always)]
    unsafe fn circle(&self, copy: usize) -> (Point<f32>, f32) {
        // SAFETY: as said (this function's contract).
        unsafe { (Point::new(self.circles.read(copy), self.circles.read(MOST + copy)), self.circles.read(2 * MOST + copy)) }
    }

    /// Returns true if the circle of a copy meets this one.
    ///
    /// # Safety
    /// As of [`circle`](Self::circle).
    #[inline(always)]
    unsafe fn meets(&self, copy: usize, (center, radius): (Point<f32>, f32)) -> bool {
        // SAFETY: as said (this function's contract).
        let (at, theirs) = unsafe { self.circle(copy) };
        let (by, far) = (at.minus(center), radius + theirs);
        by.x * by.x + by.y * by.y < far * far
    }

    /// Bits of up to [`COMPARED`] of `count` copies, from number `from` on, whose circles meet this one.
    ///
    /// # Safety
    /// As of [`circle`](Self::circle).
    #[inline(always)]
    unsafe fn met(&self, (from, count): (usize, usize), circle: (Point<f32>, f32)) -> u32 {
        let end = COMPARED.min(count - from);
        let (mut bits, mut base) = (0, 0);
        while base < end {
            for k in base..base + TOGETHER {
                // SAFETY: there are entries up to a multiple of it.
                bits |= u32::from(unsafe { self.meets(from + k, circle) }) << k;
            }
            base += TOGETHER;
        }
        bits
    }
}

/// Measures depths by fields.
#[derive(Clone, Copy)]
pub(super) struct Depths<'a> {
    pub fields: Fields<'a>,
    /// x, y, and the variant's number.
    pub poses: *mut f32,
}

/// A variant with its angle's sine and cosine, and its radius.
#[derive(Clone, Copy)]
pub(super) struct Variant {
    number: usize,
    rotation: (f32, f32),
    radius: f32,
}

/// The copies around a place, of which a warp has views.
#[derive(Clone, Copy)]
struct Near {
    /// They are seen from here.
    center: Point<f32>,
    /// Radius of the copy that moves, and largest distance that it moves by.
    radius: f32,
    reach: f32,
    /// Number of views, a multiple of [`TOGETHER`].
    found: usize,
    /// The first copy, and that after the last, among which they were looked for.
    from: usize,
    end: usize,
}

impl Near {
    /// No copies.
    const NOTHING: Self = Near { center: Point::ORIGIN, radius: 0.0, reach: 0.0, found: 0, from: usize::MAX, end: 0 };
}

impl Depths<'_> {
    /// A variant.
    ///
    /// # Safety
    /// There is one.
    #[inline(always)]
    unsafe fn variant(&self, number: usize) -> Variant {
        // SAFETY: so many numbers for each.
        let turns = unsafe { self.fields.turns.get_unchecked(TURN * number..TURN * (number + 1)) };
        Variant { number, rotation: (turns[1], turns[2]), radius: turns[3] }
    }

    /// The field of a variant and another one.
    ///
    /// # Safety
    /// There are these variants.
    #[inline(always)]
    unsafe fn view(&self, own: usize, theirs: usize) -> View {
        let Fields { turns, views, .. } = self.fields;
        // SAFETY: there is one for each two variants.
        unsafe { *views.get_unchecked(own * (turns.len() / TURN) + theirs) }
    }

    /// The depth of a variant inside a half-plane, and the plane's normal.
    ///
    /// # Safety
    /// There are such a variant and half-plane.
    #[inline(always)]
    unsafe fn beyond(
        &self,
        own: &Variant,
        position: Point<f32>,
        (packings, scale): (&Packings<'_, f32>, f32),
        number: usize,
    ) -> (Point<f32>, f32) {
        let count = packings.half_planes.len() / HALF_PLANE;
        // SAFETY: there are so many numbers for each, and a number for each variant and half-plane.
        unsafe {
            let plane = packings.half_planes.get_unchecked(HALF_PLANE * number..HALF_PLANE * (number + 1));
            let least = *self.fields.supports.get_unchecked(own.number * count + number);
            let normal = Point::new(plane[0], plane[1]);
            (normal, normal.x * position.x + normal.y * position.y + scale * plane[3] + plane[2] + least)
        }
    }

    #[inline(always)]
    fn better(one: Try<f32>, other: Try<f32>) -> Try<f32> {
        if other.cost < one.cost { other } else { one }
    }

    /// The best of a warp's tries.
    #[inline(always)]
    fn best_of(lanes: Lanes, mine: Try<f32>) -> Try<f32> {
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
    /// As of [`Measure::place`]; circles are in place.
    #[inline(always)]
    unsafe fn group(
        own: &Own<'_, f32, Self>,
        (copy, shape): (usize, &u32),
        (there, first): (Try<f32>, bool),
        random: &mut Random,
        (lanes, effort): (Lanes, Effort),
        groups: &Groups,
    ) -> Try<f32> {
        let limit = WORTH as f32 * there.cost;
        // SAFETY: as said (this function's contract).
        unsafe {
            let radius = own.measure.radius(shape);
            let mut reach = 2.0 * NEAR as f32 * radius;
            let mut mine = if first { there } else { Try { cost: f32::INFINITY, ..there } };
            for _ in 0..effort.starts.div_ceil(lanes.count()) {
                let to = if first { own.around(&there, reach, true, shape, random) } else { own.anywhere(shape, random) };
                mine = Self::better(mine, Self::cost(own, copy, to, groups, (math::min(limit, mine.cost), lanes)));
            }
            let mut best = Self::best_of(lanes, mine);
            reach = NEAR as f32 * radius;
            let turned = own.measure.variant(best.theta as u32 as usize);
            let mut near = Near::NOTHING;
            for refinement in 0..REFINEMENTS {
                if best.cost == 0.0 || best.cost >= limit && !first {
                    break;
                }
                if refinement == 0 || refinement == AGAIN {
                    near = Near { center: best.position, radius, reach: FURTHER * reach, ..Near::NOTHING };
                }
                let mut mine = best;
                for _ in 0..effort.places.div_ceil(lanes.count()) {
                    let (to, _) = own.around(&best, reach, false, shape, random);
                    let (position, depth) = own.measure.inside(&turned, to, &own.packings, own.scale);
                    let mut cost = *own.weights.add(copy * own.count + copy) * own.measure.outside(&turned, depth);
                    let mut from = 0;
                    while from < own.count {
                        // Seldom are there more than a warp has room for.
                        if near.from != from {
                            near = Self::views(own, copy, turned.number, (near, from), lanes, groups);
                        }
                        cost = Self::among(own, near, (position, cost), mine.cost, lanes, groups);
                        from = near.end;
                    }
                    mine = Self::better(mine, Try { position, theta: best.theta, cost });
                }
                best = Self::best_of(lanes, mine);
                reach *= NEARER;
            }
            best
        }
    }

    /// Makes views for the warp of the copies that one may meet within the reach, from copy `from` on as far as there is room.
    /// Their units are weighted.
    ///
    /// # Safety
    /// As of [`Measure::place`]; circles are in place, and all lanes come here.
    #[inline(always)]
    unsafe fn views(
        own: &Own<'_, f32, Self>,
        copy: usize,
        variant: usize,
        (near, from): (Near, usize),
        lanes: Lanes,
        groups: &Groups,
    ) -> Near {
        let (lane, all) = ((thread::thread_idx_x() % 32) as usize, lanes.count() as usize);
        let start = (thread::thread_idx_x() / 32) as usize * ROOM;
        let (mut found, mut base) = (0, from);
        if all > 1 {
            // Others may still read.
            sync_warp(lanes.mask());
        }
        while base < own.count && found + all <= ROOM - TOGETHER {
            let other = base + lane;
            // SAFETY: the copy, if there is one; each warp has room for its views, and each lane for one of its own.
            unsafe {
                let mut meets = other < own.count && groups.meets(other, (near.center, near.radius + near.reach));
                let mut view = View::NOTHING;
                if meets {
                    let theirs = *own.poses.add(3 * (own.first + other) + 2) as u32 as usize;
                    view = own.measure.view(variant, theirs);
                    view.offset = view.at(groups.circle(other).0.minus(near.center));
                    meets = view.meets(view.offset, near.reach * view.inverse);
                    view.unit *= *own.weights.add(copy * own.count + other);
                }
                let those = if all == 1 { u32::from(meets) } else { ballot(lanes.mask(), meets) };
                if meets {
                    groups.views.write(start + found + (those & ((1 << lane) - 1)).count_ones() as usize, view);
                }
                found += those.count_ones() as usize;
            }
            base += all;
        }
        for more in thread::strided(lane..found.next_multiple_of(TOGETHER) - found, all) {
            // SAFETY: there is room for these, too.
            unsafe { groups.views.write(start + found + more, View::NOTHING) };
        }
        if all > 1 {
            sync_warp(lanes.mask());
        }
        Near { found: found.next_multiple_of(TOGETHER), from, end: base.min(own.count), ..near }
    }

    /// Adds to a cost the overlaps with the copies that the warp has views of. May be any number from `limit` on if it
    /// reaches that.
    ///
    /// # Safety
    /// As of [`views`](Self::views), which made them.
    #[inline(always)]
    unsafe fn among(
        own: &Own<'_, f32, Self>,
        near: Near,
        (position, mut cost): (Point<f32>, f32),
        limit: f32,
        lanes: Lanes,
        groups: &Groups,
    ) -> f32 {
        let (start, values) = ((thread::thread_idx_x() / 32) as usize * ROOM, own.measure.fields.values);
        let by = near.center.minus(position);
        let mut next = start;
        // SAFETY: as said (this function's contract).
        unsafe {
            while next < start + near.found && cost < limit {
                if lanes.is_full() {
                    let a = groups.views.read(next).depth(values, by);
                    let b = groups.views.read(next + 1).depth(values, by);
                    let c = groups.views.read(next + 2).depth(values, by);
                    let d = groups.views.read(next + 3).depth(values, by);
                    cost += (a + b) + (c + d);
                    next += TOGETHER;
                } else {
                    let view = groups.views.read(next);
                    if view.meets(view.at(by), 0.0) {
                        cost += view.depth(values, by);
                    }
                    next += 1;
                }
            }
        }
        cost
    }

    /// The cost of a place for a copy among all others. May be any number from `limit` on if it reaches that.
    ///
    /// # Safety
    /// As of [`Measure::place`]; circles are in place.
    #[inline(always)]
    unsafe fn cost(
        own: &Own<'_, f32, Self>,
        copy: usize,
        (position, theta): (Point<f32>, f32),
        groups: &Groups,
        (limit, lanes): (f32, Lanes),
    ) -> Try<f32> {
        let (measure, values) = (own.measure, own.measure.fields.values);
        // SAFETY: as said (this function's contract).
        unsafe {
            let turned = measure.variant(theta as u32 as usize);
            let (position, depth) = measure.inside(&turned, position, &own.packings, own.scale);
            let weights = own.weights.add(copy * own.count);
            let mut cost = *weights.add(copy) * measure.outside(&turned, depth);
            let mut from = 0;
            while from < own.count && cost < limit {
                let mut bits = groups.met((from, own.count), (position, turned.radius));
                while bits != 0 && cost < limit {
                    if lanes.is_full() {
                        let a = Self::next((own, turned.number), (weights, from), &mut bits, groups, position);
                        let b = Self::next((own, turned.number), (weights, from), &mut bits, groups, position);
                        let c = Self::next((own, turned.number), (weights, from), &mut bits, groups, position);
                        let d = Self::next((own, turned.number), (weights, from), &mut bits, groups, position);
                        let [a, b, c, d] =
                            [a.0.depth(values, a.1), b.0.depth(values, b.1), c.0.depth(values, c.1), d.0.depth(values, d.1)];
                        cost += (a + b) + (c + d);
                    } else {
                        let (view, by) = Self::next((own, turned.number), (weights, from), &mut bits, groups, position);
                        cost += view.depth(values, by);
                    }
                }
                from += COMPARED;
            }
            Try { position, theta, cost }
        }
    }

    /// The view of the first copy that has a bit, which it loses, and its place as seen from a position. Its unit is
    /// weighted; without such a copy it is 0.
    ///
    /// # Safety
    /// As of [`cost`](Self::cost).
    #[inline(always)]
    unsafe fn next(
        (own, variant): (&Own<'_, f32, Self>, usize),
        (weights, from): (*mut f32, usize),
        bits: &mut u32,
        groups: &Groups,
        position: Point<f32>,
    ) -> (View, Point<f32>) {
        let valid = *bits != 0;
        let other = from + if valid { bits.trailing_zeros() as usize } else { 0 };
        *bits &= bits.wrapping_sub(1);
        // SAFETY: as said (this function's contract).
        unsafe {
            let theirs = (*own.poses.add(3 * (own.first + other) + 2)) as u32 as usize;
            let mut view = own.measure.view(variant, theirs);
            view.unit = if valid { view.unit * *weights.add(other) } else { 0.0 };
            (view, groups.circle(other).0.minus(position))
        }
    }

    /// Writes the circles of all copies, of which `copy` is nowhere.
    ///
    /// # Safety
    /// As of [`Measure::place`], between barriers.
    #[inline(always)]
    unsafe fn gather(own: &Own<'_, f32, Self>, copy: usize, groups: &Groups) {
        let end = own.count.next_multiple_of(TOGETHER);
        for other in thread::strided(thread::thread_idx_x() as usize..end, threads()) {
            // SAFETY: each thread writes entries of its own; there are `MOST` of each kind.
            unsafe {
                let circle = if other < own.count && other != copy {
                    let pose = own.poses.add(3 * (own.first + other));
                    [*pose, *pose.add(1), own.measure.variant(*pose.add(2) as u32 as usize).radius]
                } else {
                    [NOWHERE, NOWHERE, 0.0]
                };
                for (kind, number) in circle.into_iter().enumerate() {
                    groups.circles.write(kind * MOST + other, number);
                }
            }
        }
    }
}

impl Measure<f32> for Depths<'_> {
    type Shape = u32;
    type Turned = Variant;
    type Shared = Groups;
    const PLACES: u32 = MOST_THREADS;

    #[inline(always)]
    fn free(&self, _: &u32) -> bool {
        false
    }

    #[inline(always)]
    unsafe fn radius(&self, shape: &u32) -> f32 {
        // SAFETY: the shape exists, and has a variant (this function's contract).
        unsafe { *self.fields.turns.get_unchecked(TURN * *self.fields.first.get_unchecked(*shape as usize) as usize + 3) }
    }

    #[inline(always)]
    fn outside(&self, turned: &Variant, depth: f32) -> f32 {
        turned.radius * depth
    }

    #[inline(always)]
    unsafe fn shape(&self, copy: usize) -> u32 {
        // SAFETY: there is such a copy (this function's contract).
        unsafe { if self.fields.shape_of.is_empty() { 0 } else { *self.fields.shape_of.get_unchecked(copy) } }
    }

    #[inline(always)]
    unsafe fn angle(&self, shape: &u32, random: &mut Random) -> f32 {
        // SAFETY: the shape exists (this function's contract).
        let [first, end] = [0, 1].map(|k| unsafe { *self.fields.first.get_unchecked(*shape as usize + k) });
        (first + random.below(end - first)) as f32
    }

    #[inline(always)]
    unsafe fn turned(&self, _: &u32, theta: f32) -> Variant {
        // SAFETY: there is this variant (this function's contract).
        unsafe { self.variant(theta as u32 as usize) }
    }

    #[inline(always)]
    unsafe fn inside(
        &self,
        own: &Variant,
        mut position: Point<f32>,
        packings: &Packings<'_, f32>,
        scale: f32,
    ) -> (Point<f32>, f32) {
        let count = packings.half_planes.len() / HALF_PLANE;
        // Most are inside. These products don't wait for each other.
        let mut least = f32::INFINITY;
        for number in 0..count {
            // SAFETY: there are these (this function's contract).
            least = math::min(least, unsafe { self.beyond(own, position, (packings, scale), number) }.1);
        }
        if least >= 0.0 {
            return (position, 0.0);
        }
        let mut worst = 0.0;
        for push in 0..PUSHES {
            worst = 0.0;
            for number in 0..count {
                // SAFETY: there are these (this function's contract).
                let (normal, depth) = unsafe { self.beyond(own, position, (packings, scale), number) };
                if depth < 0.0 {
                    position = position.minus(normal.times(depth));
                    worst = math::max(worst, -depth);
                }
            }
            if worst == 0.0 {
                return (position, 0.0);
            }
            // Pushes leave rounding errors.
            let far = math::abs(position.x) + math::abs(position.y);
            if push > 0 && worst <= (8.0) * f32::EPSILON * far {
                return (position, 0.0);
            }
        }
        (position, worst)
    }

    #[inline(always)]
    unsafe fn overlap(&self, own: &Variant, position: Point<f32>, other: usize) -> f32 {
        // SAFETY: the copy exists and has its variant; the table has a field for each two.
        unsafe {
            let pose = self.poses.add(3 * other);
            let by = Point::new(*pose, *pose.add(1)).minus(position);
            let theirs = *pose.add(2) as u32 as usize;
            let far = own.radius + *self.fields.turns.get_unchecked(TURN * theirs + 3);
            if by.x * by.x + by.y * by.y >= far * far {
                return 0.0;
            }
            self.view(own.number, theirs).depth(self.fields.values, by)
        }
    }

    #[inline(always)]
    unsafe fn moved(&self, _: usize, _: &Variant, _: Point<f32>) {}

    #[inline(always)]
    unsafe fn put(&self, _: usize, _: &Variant, _: Point<f32>) {}

    #[inline(always)]
    unsafe fn place(
        own: &Own<'_, f32, Self>,
        copy: usize,
        shape: &u32,
        there: Try<f32>,
        random: &mut Random,
        groups: &mut Groups,
    ) -> Try<f32> {
        let (thread, lanes) = (thread::thread_idx_x(), Lanes::of_block(thread::block_dim_x()));
        let (warp, warps) = (thread / 32, thread::block_dim_x().div_ceil(32));
        let effort = if lanes.is_full() { GPU } else { CPU };
        // SAFETY: a barrier was before, and another follows.
        unsafe { Self::gather(own, copy, groups) };
        thread::sync_threads();
        let mut chosen = there;
        for group in thread::strided(warp..effort.groups, warps) {
            let from = (there, group == 0);
            // SAFETY: as said (this function's contract).
            chosen = Self::better(chosen, unsafe { Self::group(own, (copy, shape), from, random, (lanes, effort), groups) });
            if warps == 1 && chosen.cost == 0.0 {
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

    /// The number of the variant whose angle is nearest, among mirror images if the copy is one.
    #[inline(always)]
    unsafe fn coded(&self, copy: usize, theta: f32) -> f32 {
        let is_mirrored = |theta: f32| theta > 0.5 * MIRRORED as f32;
        let (sine, cosine) = Scalar::sin_cos(theta);
        let (mut best, mut most) = (0, f32::NEG_INFINITY);
        // SAFETY: the shape's variants.
        unsafe {
            let shape = self.shape(copy) as usize;
            let [first, end] = [0, 1].map(|k| *self.fields.first.get_unchecked(shape + k));
            for number in first..end {
                let (s, c) = self.variant(number as usize).rotation;
                let own = *self.fields.turns.get_unchecked(TURN * number as usize);
                let along = s * sine + c * cosine - if is_mirrored(own) == is_mirrored(theta) { 0.0 } else { 4.0 };
                if along > most {
                    (best, most) = (number, along);
                }
            }
        }
        (best) as f32
    }

    /// A variant's angle.
    #[inline(always)]
    unsafe fn decoded(&self, _: usize, theta: f32) -> f32 {
        // SAFETY: there is this variant (this function's contract).
        unsafe { *self.fields.turns.get_unchecked(TURN * theta as u32 as usize) }
    }
}
