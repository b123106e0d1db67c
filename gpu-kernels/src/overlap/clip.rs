//! The intersection of two convex quads: its area, and how that changes as one of them moves.
//!
//! The first quad's edges are clipped by the second's half-planes (Liang and Barsky, *A new concept
//! and method for line clipping*, 1984), which leaves an interval of each edge. These intervals are
//! closed to a curve along the second quad's boundary, from each point where an edge leaves the
//! second quad to the next where one enters. Twice the area is the sum of the areas swept by both
//! parts of the curve.
//!
//! By Reynolds' transport theorem the area changes with the flow of the first quad's own boundary through what is left
//! of it there: its segments alone give the derivatives, with those by the second quad's pose, since the whole boundary
//! is closed.
//!
//! # Why this is right to rounding for every input
//! The area of a closed curve changes by no more than its length times ε if it is moved by ε. So rounding does no harm
//! if, whatever is decided wrongly, (a) the curve stays closed, and (b) only points within rounding of an edge's line
//! are taken for being on its other side.
//!
//! (b) Depths of the first quad's vertices below each line are off by rounding alone. Between them depth is linear: a
//! point of an edge is inside if its place on the edge is on the inner side of the place where the edge crosses the
//! line.
//!
//! (a) Clip by one half-plane after another, sides 0, 1, 2 and 3, as Sutherland and Hodgman do. A
//! step keeps the curve closed, however often it crosses the line, if both pieces of curve that
//! meet in a point agree on whether that is inside. They do: at a vertex they look at the same
//! depth, and where an edge was cut its place decides for the edge and for the line that cut it.
//! The pieces along the second quad's lines needn't be kept: a piece is the sum, over its ends, of
//! a path from a fixed point to the end, with a sign. So only these paths are added up, once for
//! each end that remains after the last step. As sides 0 and 2 don't approach each other towards
//! side 3 (see [`Quad`]), the boundary of the first three half-planes is an open path, along which
//! there is one way from one point to another. Side 3 closes it, and cuts off the parts before its
//! start and behind its end. Ends on side 0 that it cuts off lie before the start; those on side 2
//! lie behind the end, and so do those on side 1, as it doesn't approach side 3 towards side 0. An
//! end before the start is a path back around the start. `turns` counts these: the number of times
//! that the curve runs along the whole second quad in addition to the paths from the start.
//!
//! The derivatives come from the same curve. They are exact for quads that differ from the given
//! ones by rounding. Where edges coincide, the area has two one-sided derivatives, and the result
//! lies between them.
//!
//! Shapes of several quads also have cuts between the quads. Along a cut, the parts on both sides
//! must add up: if an edge lies on a cut of the other shape, it must count once, and the cuts must
//! not count. Rounding would decide that separately for each pair of quads. So if an edge is
//! [near](edge_near) a side, derivatives are computed after moving one of the shapes by a *nudge*.
//! No side is parallel to the nudge; it is far longer than rounding errors, and far shorter than
//! the distance that counts as near. Then no edge lies on a side, and the derivatives are
//! one-sided.
//!
//! Ends come in pairs, as an edge that has one vertex inside always keeps that, which is why the places of crossings
//! are computed from the inner vertex on.

use super::Scalar;
use cuda_std::math;

/// A point, or a vector.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point<T> {
    /// To the right.
    pub x: T,
    /// Up.
    pub y: T,
}

/// The vertices of a convex quad, counter-clockwise. A triangle repeats its last.
///
/// Side k goes from vertex k to the next. Sides 0 and 2 don't approach each other towards side 3,
/// nor sides 1 and 3 towards side 0: except for rounding, the cross product of sides 0 and 2 isn't
/// negative, nor that of sides 1 and 3. Every quad can be numbered in this way.
pub type Quad<T> = [Point<T>; 4];

/// Area of an intersection of two quads, and the sums that its derivatives are made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Intersection<T> {
    /// Its area, twice.
    pub twice_area: T,
    /// The part of it that its boundary's segments on the first quad's edges sweep, seen from the origin.
    pub swept: T,
    /// The sum of the vectors along the same segments.
    pub along: Point<T>,
    /// The sum, over the same segments, of the end's squared distance from the origin less the start's.
    pub squares: T,
}

/// Derivatives of an area by a pose: by x and y (length), and by theta (area per radian).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gradient<T> {
    /// By x.
    pub x: T,
    /// By y.
    pub y: T,
    /// By theta.
    pub theta: T,
}

impl<T: Scalar> Intersection<T> {
    /// The empty intersection, to which others can be added.
    pub const NONE: Self = Intersection { twice_area: T::ZERO, swept: T::ZERO, along: Point::ORIGIN, squares: T::ZERO };

    /// Its area alone.
    #[inline(always)]
    pub fn area(self) -> Self {
        Intersection { twice_area: self.twice_area, ..Self::NONE }
    }

    /// The same without the area; nothing, if there was none.
    #[inline(always)]
    pub fn derivatives(self) -> Self {
        if self.twice_area == T::ZERO { Self::NONE } else { Intersection { twice_area: T::ZERO, ..self } }
    }

    /// Returns whether the area and its derivatives by x and y are 0.
    #[inline(always)]
    pub fn is_none(&self) -> bool {
        self.twice_area == T::ZERO && self.along == Point::ORIGIN
    }

    /// Both together.
    #[inline(always)]
    pub fn plus(self, other: Self) -> Self {
        Intersection {
            twice_area: self.twice_area + other.twice_area,
            swept: self.swept + other.swept,
            along: self.along.plus(other.along),
            squares: self.squares + other.squares,
        }
    }

    /// By the pose of the first quad, whose position is the origin.
    #[inline(always)]
    pub fn gradient(self) -> Gradient<T> {
        Gradient { x: self.along.y, y: -self.along.x, theta: -T::HALF * self.squares }
    }

    /// By the pose of the second, whose position this is.
    #[inline(always)]
    pub fn gradient_of_second(self, position: Point<T>) -> Gradient<T> {
        let theta = math::mul_add(T::HALF, self.squares, -position.dot(self.along));
        Gradient { x: -self.along.y, y: self.along.x, theta }
    }
}

impl<T: Scalar> Point<T> {
    /// (0, 0).
    pub const ORIGIN: Self = Point { x: T::ZERO, y: T::ZERO };

    /// The point (x, y).
    #[inline(always)]
    pub fn new(x: T, y: T) -> Self {
        Point { x, y }
    }

    /// The sum of two vectors.
    #[inline(always)]
    pub fn plus(self, other: Self) -> Self {
        Point { x: self.x + other.x, y: self.y + other.y }
    }

    /// The vector from `other` to this point.
    #[inline(always)]
    pub fn minus(self, other: Self) -> Self {
        Point { x: self.x - other.x, y: self.y - other.y }
    }

    /// The vector times a number.
    #[inline(always)]
    pub fn times(self, factor: T) -> Self {
        Point { x: self.x * factor, y: self.y * factor }
    }

    /// The scalar product.
    #[inline(always)]
    pub fn dot(self, other: Self) -> T {
        math::mul_add(self.x, other.x, self.y * other.y)
    }

    /// The z of the cross product.
    #[inline(always)]
    pub fn cross(self, other: Self) -> T {
        math::mul_add(self.x, other.y, -(self.y * other.x))
    }

    /// The squared distance from the origin.
    #[inline(always)]
    pub fn square(self) -> T {
        self.dot(self)
    }
}

/// The quad, moved.
#[inline(always)]
pub fn moved<T: Scalar>(quad: &Quad<T>, by: Point<T>) -> Quad<T> {
    [quad[0].plus(by), quad[1].plus(by), quad[2].plus(by), quad[3].plus(by)]
}

/// The remaining part of an edge of the first quad: from place `start` to place `end`, clamped to
/// 0, its first vertex, and 1, its second. Nothing remains if the start is behind the end.
#[derive(Clone, Copy)]
struct Edge<T> {
    /// -1 until it is cut, so that a first cut counts wherever rounding brings it.
    start: T,
    /// 2 until it is cut.
    end: T,
    /// The side of the second quad on which it starts; [`OWN`], where that is at its own vertex.
    entered: u32,
    /// The side on which it ends, in the same way.
    left: u32,
}

/// No side: an end that is a vertex of the edge's own quad.
const OWN: u32 = 4;

/// Place on an edge at which a line cuts it, given the depths of the edge's vertices.
#[derive(Clone, Copy)]
struct Crossing<T> {
    starts_outside: bool,
    ends_outside: bool,
    /// The part before is outside if the edge starts outside. At most 1, if it ends inside.
    low: T,
    /// The part behind is outside if the edge ends outside. At least 0, if it starts inside.
    high: T,
}

impl<T: Scalar> Crossing<T> {
    #[inline(always)]
    fn new(from: T, to: T) -> Self {
        // Of use only where it isn't 0, and then never too small to have a reciprocal.
        let scale = (math::abs(from - to) + T::TINY).reciprocal();
        Crossing {
            starts_outside: from < T::ZERO,
            ends_outside: to < T::ZERO,
            low: math::mul_add(-to, scale, T::ONE),
            high: from * scale,
        }
    }

    /// Returns whether the point at this place of the edge is outside.
    #[inline(always)]
    fn excludes(&self, place: T) -> bool {
        (self.starts_outside && self.low > place) || (self.ends_outside && self.high < place)
    }
}

impl<T: Scalar> Edge<T> {
    #[inline(always)]
    fn whole() -> Self {
        Edge { start: -T::ONE, end: T::ONE + T::ONE, entered: OWN, left: OWN }
    }

    /// Removes the part outside. If all of the edge is outside, its start comes behind its end.
    #[inline(always)]
    fn clip(&mut self, crossing: Crossing<T>, side: u32) {
        if crossing.starts_outside && crossing.low > self.start {
            self.start = crossing.low;
            self.entered = side;
        }
        if crossing.ends_outside && crossing.high < self.end {
            self.end = crossing.high;
            self.left = side;
        }
    }

    /// Returns whether a part of the edge is left.
    #[inline(always)]
    fn remains(&self) -> bool {
        self.start <= self.end
    }

    /// Number of additional turns of the path around the second quad's boundary, caused by ends of
    /// this edge that side 3 cuts off before the start of side 0.
    #[inline(always)]
    fn turns(&self, last: &Crossing<T>) -> i32 {
        let back = |side: u32, place: T| i32::from(self.remains() && side == 0 && last.excludes(place));
        back(self.left, self.end) - back(self.entered, self.start)
    }
}

/// Intersects `first` with `second` moved by `at`. If an edge is near a side, the derivatives are
/// those after moving `second` by `nudge`, too.
#[inline(always)]
pub fn nudged<T: Scalar>(first: &Quad<T>, second: &Quad<T>, at: Point<T>, nudge: Point<T>) -> Intersection<T> {
    let (mut at, mut twice_area) = (at, None);
    loop {
        let there = moved(second, at);
        let found = intersect(first, &there);
        if let Some(twice_area) = twice_area {
            return Intersection { twice_area, ..found.derivatives() };
        }
        if !edge_near(first, &there, nearness(nudge)) {
            return found;
        }
        (at, twice_area) = (at.plus(nudge), Some(found.twice_area));
    }
}

/// Distance within which an edge is near a side. It is so many times the nudge that two quads with
/// a common side agree on it, whichever of them the nudged edge lies in.
#[inline(always)]
pub fn nearness<T: Scalar>(nudge: Point<T>) -> T {
    T::from_f64(256.0) * (math::abs(nudge.x) + math::abs(nudge.y))
}

/// Returns whether both vertices of an edge of the first quad are within `limit` of the line of a
/// side of the second. It may also return true at somewhat larger distances.
#[inline(always)]
pub fn edge_near<T: Scalar>(first: &Quad<T>, second: &Quad<T>, limit: T) -> bool {
    let mut near = false;
    let mut look = |from: Point<T>, to: Point<T>| {
        let side = to.minus(from);
        let limit = limit * (math::abs(side.x) + math::abs(side.y));
        let within = |vertex: Point<T>| math::abs(side.cross(vertex.minus(from))) < limit;
        near |= (within(first[0]) | within(first[2])) & (within(first[1]) | within(first[3]));
    };
    look(second[0], second[1]);
    look(second[1], second[2]);
    look(second[2], second[3]);
    look(second[3], second[0]);
    near
}

/// The intersection of two convex quads. Exact up to rounding, for every input and in either order of the two: about
/// ten units in the last place of the square of the quads' size.
#[inline(always)]
pub fn intersect<T: Scalar>(first: &Quad<T>, second: &Quad<T>) -> Intersection<T> {
    // All of it is seen from the second quad's first vertex, where paths along that quad start. Sides 3 and 0 sweep
    // nothing from there.
    let [origin, ..] = *second;
    let corner = [second[1].minus(origin), second[2].minus(origin), second[3].minus(origin)];
    let vertex = [first[0].minus(origin), first[1].minus(origin), first[2].minus(origin), first[3].minus(origin)];
    // Variables rather than arrays, which the compiler would keep in memory.
    let (mut a, mut b, mut c, mut d) = (Edge::whole(), Edge::whole(), Edge::whole(), Edge::whole());
    // Depth of a vertex inside a side, times the side's length; all are inside a side of length 0.
    // A side's vector comes from the vertices as they are: that of a short one would be lost in the
    // rounding of `corner`.
    let side = [corner[0], second[2].minus(second[1]), second[3].minus(second[2]), Point::ORIGIN.minus(corner[2])];
    let depths = |from: Point<T>, side: Point<T>| {
        let offset = from.cross(side);
        let depth = |point: Point<T>| math::mul_add(side.x, point.y, math::mul_add(-side.y, point.x, offset));
        [depth(vertex[0]), depth(vertex[1]), depth(vertex[2]), depth(vertex[3])]
    };
    let mut clip = |depth: [T; 4], side: u32| {
        a.clip(Crossing::new(depth[0], depth[1]), side);
        b.clip(Crossing::new(depth[1], depth[2]), side);
        c.clip(Crossing::new(depth[2], depth[3]), side);
        d.clip(Crossing::new(depth[3], depth[0]), side);
    };
    clip(depths(Point::ORIGIN, side[0]), 0);
    clip(depths(corner[0], side[1]), 1);
    clip(depths(corner[1], side[2]), 2);
    let depth = depths(Point::ORIGIN, side[3]);
    let mut turns = 0;
    let mut close = |edge: &mut Edge<T>, from: T, to: T| {
        let crossing = Crossing::new(from, to);
        turns += edge.turns(&crossing);
        edge.clip(crossing, 3);
    };
    close(&mut a, depth[0], depth[1]);
    close(&mut b, depth[1], depth[2]);
    close(&mut c, depth[2], depth[3]);
    close(&mut d, depth[3], depth[0]);

    // Area swept by the path along the second quad up to its vertices 2 and 3. Up to vertex 1 it is
    // 0, and from vertex 3 on it doesn't grow.
    let swept_to_2 = corner[0].cross(corner[1]);
    let swept_to_3 = swept_to_2 + corner[1].cross(corner[2]);
    // Up to a point of one of its sides.
    let path = |side: u32, to: Point<T>| {
        let from = if side == 1 {
            corner[0]
        } else if side == 2 {
            corner[1]
        } else {
            Point::ORIGIN
        };
        let swept = if side == 2 {
            swept_to_2
        } else if side == 3 {
            swept_to_3
        } else {
            T::ZERO
        };
        math::mul_add(from.x, to.y, math::mul_add(-from.y, to.x, swept))
    };
    let mut own = Intersection::NONE;
    let mut closing = T::from_i32(turns) * swept_to_3;
    let mut add = |edge: Edge<T>, first: Point<T>, second: Point<T>| {
        let remains = edge.remains();
        let at = |place: T| {
            let vector = second.minus(first);
            Point::new(math::mul_add(place, vector.x, first.x), math::mul_add(place, vector.y, first.y))
        };
        // If nothing remains, the start may be too far away for the type.
        let start = if edge.entered == OWN || !remains { T::ZERO } else { edge.start };
        let end = if edge.left == OWN { T::ONE } else { edge.end };
        let from = at(start);
        let to = at(if remains { end } else { start });
        let along = to.minus(from);
        own.swept = own.swept + from.cross(along);
        own.along = own.along.plus(along);
        own.squares = own.squares + along.dot(from.plus(to));
        let end = |side: u32| if remains { side } else { OWN };
        closing = closing + (path(end(edge.entered), from) - path(end(edge.left), to));
    };
    add(a, vertex[0], vertex[1]);
    add(b, vertex[1], vertex[2]);
    add(c, vertex[2], vertex[3]);
    add(d, vertex[3], vertex[0]);
    Intersection {
        // Rounding may leave less than nothing.
        twice_area: math::max(own.swept + closing, T::ZERO),
        swept: own.swept + origin.cross(own.along),
        along: own.along,
        squares: own.squares + (origin.plus(origin)).dot(own.along),
    }
}
