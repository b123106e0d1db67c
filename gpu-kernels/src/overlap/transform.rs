//! Phase one: turns and bounds the pieces of each pose, once for all poses that they meet.

use super::{
    Scalar,
    clip::Point,
    layout::{BOUNDS_SLACK, Bounds, Circle, Frame, Mode, Piece, Place, ShapeSpan},
};
use cuda_std::prelude::*;

/// Poses and their shapes, the input of phase one.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Source<'a, T> {
    /// x, y, theta for each pose, in the caller's order.
    pub poses: *const T,
    /// The shapes.
    pub shapes: &'a [ShapeSpan<T>],
    /// The corners of all shapes' quads, four each, in the shapes' coordinates.
    pub quads: *const Point<T>,
    /// Each pose's shape, in the caller's order; empty where there is but one.
    pub shape_of: &'a [u32],
    /// Each row's first piece; empty where there is but one shape.
    pub first_piece: &'a [u32],
}

impl<T: Scalar> Source<'_, T> {
    /// The position of a pose, and its angle.
    ///
    /// # Safety
    /// There is such a pose.
    #[inline(always)]
    pub unsafe fn pose(&self, pose: u32) -> (Point<T>, T) {
        // SAFETY: three numbers for each pose.
        unsafe {
            let pose = self.poses.add(3 * pose as usize);
            (Point::new(*pose, *pose.add(1)), *pose.add(2))
        }
    }

    /// Its shape.
    ///
    /// # Safety
    /// There is such a pose, and its shape.
    #[inline(always)]
    pub unsafe fn shape(&self, pose: u32) -> ShapeSpan<T> {
        // SAFETY: the pose and its shape exist (this function's contract).
        unsafe {
            let shape = if self.shape_of.is_empty() { 0 } else { *self.shape_of.get_unchecked(pose as usize) };
            *self.shapes.get_unchecked(shape as usize)
        }
    }
}

/// A vector turned.
#[inline(always)]
pub fn turn<T: Scalar>(vector: Point<T>, (sine, cosine): (T, T)) -> Point<T> {
    Point::new(math::mul_add(cosine, vector.x, -(sine * vector.y)), math::mul_add(sine, vector.x, cosine * vector.y))
}

/// Bound on the rounding errors of two sums near this point.
#[inline(always)]
fn rounding<T: Scalar>(point: Point<T>) -> T {
    T::EPSILON * (math::abs(point.x) + math::abs(point.y))
}

/// Returns the pose's enclosing circle, enlarged by a bound on the rounding of its centre. The
/// caller sets its angle.
#[inline(always)]
pub fn circle<T: Scalar>(position: Point<T>, rotation: (T, T), shape: &ShapeSpan<T>) -> Circle<T> {
    let center = position.plus(turn(shape.center, rotation));
    let slack = rounding(center) + T::from_f64(8.0) * T::EPSILON * extent(shape);
    Circle { center, radius: shape.radius + slack, angle: T::ZERO }
}

/// Returns the turned quad and its bounds. No corner is further than `extent` from the shape's
/// origin.
#[inline(always)]
pub fn piece<T: Scalar>(quad: [Point<T>; 4], rotation: (T, T), extent: T) -> Piece<T> {
    let [a, b, c, d] = quad;
    let (a, b, c, d) = (turn(a, rotation), turn(b, rotation), turn(c, rotation), turn(d, rotation));
    let single = |point: Point<T>| {
        let (x, y) = (point.x.to_f32(), point.y.to_f32());
        [x, y, x + y, x - y]
    };
    let (e, f, g, h) = (single(a), single(b), single(c), single(d));
    // Two poses that overlap are at most twice the extent from each other.
    let slack = 8.0 * BOUNDS_SLACK * extent.to_f32();
    let low = |k: usize| math::min(math::min(e[k], f[k]), math::min(g[k], h[k])) - slack;
    let high = |k: usize| math::max(math::max(e[k], f[k]), math::max(g[k], h[k])) + slack;
    Piece {
        bounds: Bounds { low: [low(0), low(1), low(2), low(3)], high: [high(0), high(1), high(2), high(3)] },
        corners: [a, b, c, d],
    }
}

/// Upper bound on the distance of a shape's points from its origin.
#[inline(always)]
pub fn extent<T: Scalar>(shape: &ShapeSpan<T>) -> T {
    math::abs(shape.center.x) + math::abs(shape.center.y) + shape.radius
}

/// Returns the multiples of both lattice vectors that lead from the origin's cell of the lattice to
/// that of `center`, and their sum.
#[inline(always)]
pub fn image<T: Scalar>(center: Point<T>, frame: &Frame<T>) -> ([i32; 2], Point<T>) {
    let from_origin = center.minus(frame.origin);
    let along = |inverse: Point<T>, cells: u32| math::floor(inverse.dot(from_origin) / T::from_u32(cells));
    let (m, n) = (along(frame.inverse[0], frame.cells[0]), along(frame.inverse[1], frame.cells[1]));
    ([m.to_i32(), n.to_i32()], frame.lattice[0].times(m).plus(frame.lattice[1].times(n)))
}

/// The angle as a part of a half turn.
#[inline(always)]
fn of_half_turn<T: Scalar>(theta: T) -> T {
    let turns = theta * T::from_f64(core::f64::consts::FRAC_1_PI);
    turns - math::floor(turns)
}

/// Outputs of phase one.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Outputs<T> {
    /// Each row's enclosing circle.
    pub circles: *mut Circle<T>,
    /// Each row's position and pieces.
    pub places: *mut Place<T>,
    /// Each row's nudge.
    pub nudges: *mut Point<T>,
    /// All pieces.
    pub pieces: *mut Piece<T>,
    /// By pose, the multiples of lattice vectors that were subtracted.
    pub wraps: *mut I32x2,
    /// Areas to clear.
    pub areas: *mut T,
    /// Gradients to clear.
    pub gradients: *mut T,
}

/// Threads of a block.
pub const THREADS: u32 = 128;

/// Writes the block's pieces, one per thread, to consecutive places of global memory from `first`
/// on. If each thread wrote its own piece, every store would touch one cache line per thread.
///
/// # Safety
/// All threads of the block come here; `first` has room for the pieces of the first `count`
/// threads.
#[inline(always)]
unsafe fn write_together<T: Scalar>(piece: Option<Piece<T>>, shared: *mut U32x4, first: *mut Piece<T>, count: u32) {
    // Number of 16-byte chunks per piece. They are rotated by the piece's number, so that there are
    // no bank conflicts.
    let chunks = (size_of::<Piece<T>>() / 16) as u32;
    let at = |piece: u32, chunk: u32| (piece * 8 + (chunk ^ piece & 7)) as usize;
    let thread = thread::thread_idx_x();
    // SAFETY: shared memory has eight words for each thread, and `first` has room for `count` pieces (this function's
    // contract); a barrier stands between writes and reads.
    unsafe {
        if let Some(piece) = piece {
            let from = (&raw const piece).cast::<U32x4>();
            for chunk in 0..chunks {
                *shared.add(at(thread, chunk)) = *from.add(chunk as usize);
            }
        }
        thread::sync_threads();
        let to = first.cast::<U32x4>();
        for round in 0..chunks {
            let number = round * THREADS + thread;
            if number < count * chunks {
                *to.add(number as usize) = *shared.add(at(number / chunks, number % chunks));
            }
        }
    }
}

/// Counts the pieces of each row, whose pose is `order[row]`, with a grid of any size. An exclusive
/// scan of the counts gives the start of each row's pieces, so that those of neighbours lie
/// together.
#[kernel(for T in [f32, f64], max_threads = 128)]
pub fn piece_counts<T: Scalar>(order: &[u32], shape_of: &[u32], shapes: &[ShapeSpan<T>], mut counts: DisjointSlice<u32>) {
    for (row, count) in counts.grid_stride_mut() {
        *count = shapes[shape_of[order[row] as usize] as usize].count;
    }
}

/// Phase one. Row r is pose `order[r]`. Blocks have [`THREADS`] threads: one per row, or, if the
/// source's `first_piece` is empty because there is one shape, one per piece of each row. With a
/// lattice, poses are moved into its cell, `packing_of` has each pose's packing, and `wraps` gets
/// the multiples of lattice vectors that were subtracted; otherwise `packing_of` is empty. Areas
/// and gradients are cleared as `clear` says.
///
/// # Safety
/// Poses, shapes, packings and pieces are valid. There is room for a circle, a place and a nudge
/// per row, for a pair of wraps per pose, and for the numbers to be cleared.
#[kernel(for T in [f32, f64], max_threads = 128)]
pub unsafe fn transform<T: Scalar>(
    source: Source<'_, T>,
    order: &[u32],
    packing_of: &[u32],
    frames: &[Frame<T>],
    clear: Mode,
    out: Outputs<T>,
) {
    let shared = shared_array![U32x4; 8 * THREADS as usize].as_mut_ptr();
    let thread = thread::index_1d();
    // One thread per piece if there is one shape, otherwise one per pose.
    let together = source.first_piece.is_empty();
    // SAFETY: the arrays fit each other (this kernel's contract); each thread writes what is its row's, and its pose's
    // pieces.
    unsafe {
        let per_row = if together { source.shapes.get_unchecked(0).count } else { 1 };
        let (row, number) = (thread / per_row, thread % per_row);
        let mut own = None;
        if let Some(&pose) = order.get(row as usize) {
            let (mut position, theta) = source.pose(pose);
            let shape = source.shape(pose);
            let rotation = theta.sin_cos();
            if number == 0 {
                let mut circle = Circle { angle: of_half_turn(theta), ..circle(position, rotation, &shape) };
                if !packing_of.is_empty() {
                    let frame = frames.get_unchecked(*packing_of.get_unchecked(pose as usize) as usize);
                    let (shift, vector) = image(circle.center, frame);
                    position = position.minus(vector);
                    circle.center = circle.center.minus(vector);
                    circle.radius = circle.radius + rounding(circle.center) + rounding(position);
                    *out.wraps.add(pose as usize) = I32x2::new(shift[0], shift[1]);
                }
                *out.circles.add(row as usize) = circle;
                let first = if together { row * shape.count } else { *source.first_piece.get_unchecked(row as usize) };
                *out.places.add(row as usize) = Place { position, first, count: shape.count };
                *out.nudges.add(row as usize) = turn(shape.nudge, rotation);
                if clear.has(Mode::PER_POSE) {
                    *out.areas.add(row as usize) = T::ZERO;
                }
                if clear.has(Mode::GRADIENT) {
                    let gradient = out.gradients.add(3 * row as usize);
                    *gradient = T::ZERO;
                    *gradient.add(1) = T::ZERO;
                    *gradient.add(2) = T::ZERO;
                }
            }
            let turned = |number: u32| {
                let quad = source.quads.add(4 * (shape.first + number) as usize);
                piece([*quad, *quad.add(1), *quad.add(2), *quad.add(3)], rotation, extent(&shape))
            };
            if !together {
                let first = out.pieces.add(*source.first_piece.get_unchecked(row as usize) as usize);
                for number in 0..shape.count {
                    *first.add(number as usize) = turned(number);
                }
            } else if is_gpu() {
                own = Some(turned(number));
            } else {
                *out.pieces.add(thread as usize) = turned(number);
            }
        }
        if together && is_gpu() {
            let before = thread - thread::thread_idx_x();
            let count = (order.len() as u32 * per_row - before).min(THREADS);
            write_together(own, shared, out.pieces.add(before as usize), count);
        }
    }
}
