//! Two functions, merged in order of time.

use super::{Scalar, op::Operation};
use cuda_std::math;

/// A merge under way: for each function the position of its segment, and what it has come to.
pub struct Merge<T: Scalar> {
    /// Position of the first function's segment, in whatever units the caller's loads take.
    pub first: u32,
    /// Position of the second function's.
    pub second: u32,
    first_value: T,
    first_end: T,
    second_value: T,
    second_end: T,
    time: T,
    sum: T,
}

/// The steps of a merge straight from the functions' memory: their widths, and the values of both functions.
#[derive(Clone, Copy)]
pub struct Steps<T: Scalar> {
    first: *const T::Segment,
    second: *const T::Segment,
    time: T,
    /// Number of steps that the iterator takes.
    left: u32,
}

impl<T: Scalar> Steps<T> {
    /// The merge of functions given by their segments and numbers of segments, from time 0 on.
    ///
    /// # Safety
    /// The segments are there, at least one of each, for as long as steps are taken.
    #[inline(always)]
    pub unsafe fn new((first, m): (*const T::Segment, u32), (second, n): (*const T::Segment, u32)) -> Self {
        Steps { first, second, time: T::ZERO, left: (m - 1) + (n - 1) }
    }

    /// Number of steps to go.
    #[inline(always)]
    pub fn left(&self) -> u32 {
        self.left
    }

    /// Takes the breakpoint that comes first, and goes on to the next segment of its function. Branches are for the
    /// caller: it counts the steps.
    ///
    /// # Safety
    /// There are steps to go.
    #[inline(always)]
    pub unsafe fn step(&mut self) -> [T; 3] {
        // SAFETY: with steps to go, a function whose end comes first has a next segment.
        unsafe {
            let (f, f_end) = T::read_parts(self.first);
            let (g, g_end) = T::read_parts(self.second);
            // One instruction on a CPU, where `math::min` is several: neither is NaN or a negative zero.
            let end = if f_end < g_end { f_end } else { g_end };
            let width = end - self.time;
            self.time = end;
            // Numbers in place of a branch.
            let ends = usize::from(f_end <= g_end);
            self.first = self.first.add(ends);
            self.second = self.second.add(1 - ends);
            self.left -= 1;
            [width, f, g]
        }
    }

    /// The values of both functions.
    ///
    /// # Safety
    /// The segments are still there.
    #[inline(always)]
    pub unsafe fn values(&self) -> [T; 2] {
        // SAFETY: the segments are there (this function's contract).
        unsafe { [T::read_parts(self.first).0, T::read_parts(self.second).0] }
    }
}

impl<T: Scalar> Iterator for Steps<T> {
    type Item = [T; 3];

    #[inline(always)]
    fn next(&mut self) -> Option<[T; 3]> {
        // SAFETY: there are steps to go, of segments that are there (`new`'s contract).
        if self.left == 0 { None } else { Some(unsafe { self.step() }) }
    }
}

/// A function's segments in memory.
pub trait Source<T: Scalar>: Copy {
    /// From a segment's position to the next one's.
    const NEXT: u32;
    /// The segment at a position.
    ///
    /// # Safety
    /// There is a segment at this position.
    unsafe fn load(self, position: u32) -> T::Segment;
}

impl<T: Scalar> Merge<T> {
    /// A merge from `time` on, when the functions are in the segments at these positions.
    ///
    /// # Safety
    /// There is a segment of each function at its position.
    #[inline(always)]
    pub unsafe fn new(first: u32, second: u32, f: impl Source<T>, g: impl Source<T>, time: T) -> Self {
        // SAFETY: there is a segment at each position (this function's contract).
        let ((first_value, first_end), (second_value, second_end)) =
            unsafe { (T::parts(f.load(first)), T::parts(g.load(second))) };
        Merge { first, second, first_value, first_end, second_value, second_end, time, sum: T::ZERO }
    }

    /// Takes the breakpoint that comes first, and goes on to the next segment of its function.
    ///
    /// # Safety
    /// That function has a next segment: one of the two ends is finite, and the segments are all there.
    #[inline(always)]
    pub unsafe fn step<F: Source<T>, G: Source<T>>(&mut self, f: F, g: G, op: impl Operation<Scalar = T>) {
        let end = math::min(self.first_end, self.second_end);
        self.sum = op.add(self.sum, [end - self.time, self.first_value, self.second_value]);
        self.time = end;
        // SAFETY: the function whose end comes first has a next segment (this function's contract).
        unsafe {
            if self.first_end <= self.second_end {
                self.first += F::NEXT;
                (self.first_value, self.first_end) = T::parts(f.load(self.first));
            } else {
                self.second += G::NEXT;
                (self.second_value, self.second_end) = T::parts(g.load(self.second));
            }
        }
    }

    /// `steps` of them.
    ///
    /// # Safety
    /// At least `steps` breakpoints are left, and all segments of both functions are there.
    #[inline(always)]
    pub unsafe fn steps(&mut self, steps: u32, f: impl Source<T>, g: impl Source<T>, op: impl Operation<Scalar = T>) {
        let mut left = steps;
        // SAFETY: a step is left each time, and all segments are there (this function's contract).
        unsafe {
            while left >= 4 {
                self.step(f, g, op);
                self.step(f, g, op);
                self.step(f, g, op);
                self.step(f, g, op);
                left -= 4;
            }
            while left > 0 {
                self.step(f, g, op);
                left -= 1;
            }
        }
    }

    /// The sum so far.
    #[inline(always)]
    pub fn sum(&self) -> T {
        self.sum
    }

    /// The values of both functions.
    #[inline(always)]
    pub fn values(&self) -> [T; 2] {
        [self.first_value, self.second_value]
    }
}
