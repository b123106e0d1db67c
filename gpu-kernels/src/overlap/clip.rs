//! The intersection of two convex quads: its area, and how that changes as one of them moves.
//!
//! The first quad is clipped by the half-planes of the second's edges, one after another (Sutherland and Hodgman, *Reentrant
//! polygon clipping*, 1974). What is left of it is kept as directed segments rather than as a list of vertices: one for each
//! edge of either quad, in registers, at places that are known when the kernel is compiled. A half-plane shortens the segments
//! there are, and the points in which they leave it and come back are the ends of its own edge's segment. Ends that meet are
//! equal bit for bit, so that the segments always close, and the area is off by rounding alone however edges touch.
//!
//! By Reynolds' transport theorem the area changes with the flow of the first quad's own boundary through what is left of it
//! there: its segments alone give the derivatives, with those by the second quad's pose, since the whole boundary is closed.

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
pub type Quad<T> = [Point<T>; 4];

/// From one point to the next along a boundary, which is to its right. Empty where both are the same.
#[derive(Clone, Copy)]
struct Segment<T> {
    from: Point<T>,
    to: Point<T>,
}

/// The half-plane to the left of an edge: where `x * normal.x + y * normal.y + offset` isn't negative.
#[derive(Clone, Copy)]
struct HalfPlane<T> {
    normal: Point<T>,
    offset: T,
}

/// What the intersection of two quads comes to.
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

/// How an area changes with a pose: its derivatives by x and y (units of length), and by theta (of area a radian).
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
    /// That of nothing, to which others can be added.
    pub const NONE: Self = Intersection { twice_area: T::ZERO, swept: T::ZERO, along: Point::ORIGIN, squares: T::ZERO };

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

    /// The vector, so many times as long.
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

impl<T: Scalar> HalfPlane<T> {
    /// To the left of the edge. All of the plane, where it has no length.
    #[inline(always)]
    fn new(from: Point<T>, to: Point<T>) -> Self {
        let normal = Point::new(from.y - to.y, to.x - from.x);
        HalfPlane { normal, offset: -math::mul_add(normal.x, from.x, normal.y * from.y) }
    }

    /// How far inside, times the edge's length.
    #[inline(always)]
    fn depth(self, point: Point<T>) -> T {
        math::mul_add(point.x, self.normal.x, math::mul_add(point.y, self.normal.y, self.offset))
    }
}

impl<T: Scalar> Segment<T> {
    const EMPTY: Self = Segment { from: Point::ORIGIN, to: Point::ORIGIN };

    /// Takes away what is outside. `edge`, the segment of the half-plane's own edge, starts where this one leaves, and ends
    /// where it comes in.
    #[inline(always)]
    fn clip(&mut self, plane: HalfPlane<T>, edge: &mut Self) {
        let (from, to) = (plane.depth(self.from), plane.depth(self.to));
        let (starts_inside, ends_inside) = (from >= T::ZERO, to >= T::ZERO);
        // Of use only where one is inside and the other isn't. Then their difference is none but for subnormal numbers.
        let at = from * (from - to).reciprocal();
        let crossing = Point::new(
            math::mul_add(at, self.to.x - self.from.x, self.from.x),
            math::mul_add(at, self.to.y - self.from.y, self.from.y),
        );
        if starts_inside != ends_inside {
            if starts_inside {
                edge.from = crossing;
                self.to = crossing;
            } else {
                edge.to = crossing;
                self.from = crossing;
            }
        } else if !starts_inside {
            self.to = self.from;
        }
    }
}

/// The intersection of two convex quads. Exact up to rounding: about ten units in the last place of the larger of the products
/// of two coordinates.
#[inline(always)]
pub fn intersect<T: Scalar>(first: &Quad<T>, second: &Quad<T>) -> Intersection<T> {
    // Variables rather than arrays, which the compiler would keep in memory.
    let mut a = Segment { from: first[0], to: first[1] };
    let mut b = Segment { from: first[1], to: first[2] };
    let mut c = Segment { from: first[2], to: first[3] };
    let mut d = Segment { from: first[3], to: first[0] };
    let (mut p, mut q, mut r, mut s) = (Segment::EMPTY, Segment::EMPTY, Segment::EMPTY, Segment::EMPTY);
    macro_rules! clip {
        ([$($segment:ident)*] by $from:literal $to:literal into $edge:ident) => {
            let plane = HalfPlane::new(second[$from], second[$to]);
            $($segment.clip(plane, &mut $edge);)*
        };
    }
    clip!([a b c d] by 0 1 into p);
    clip!([a b c d p] by 1 2 into q);
    clip!([a b c d p q] by 2 3 into r);
    clip!([a b c d p q r] by 3 0 into s);

    let mut sum = Intersection::NONE;
    macro_rules! add_own {
        ($($segment:ident)*) => {$(
            sum.swept = sum.swept + $segment.from.cross($segment.to);
            sum.along = sum.along.plus($segment.to.minus($segment.from));
            sum.squares = sum.squares + ($segment.to.square() - $segment.from.square());
        )*};
    }
    add_own!(a b c d);
    sum.twice_area = sum.swept;
    macro_rules! add_others {
        ($($segment:ident)*) => {$(sum.twice_area = sum.twice_area + $segment.from.cross($segment.to);)*};
    }
    add_others!(p q r s);
    // Rounding may leave less than nothing.
    sum.twice_area = math::max(sum.twice_area, T::ZERO);
    sum
}
