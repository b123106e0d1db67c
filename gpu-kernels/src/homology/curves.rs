//! Functions of the bars of clouds: Betti curves, stable ranks and accumulated persistence, as segments of
//! [`crate::pcf`].
//!
//! Each bar changes its cloud's function at two times at most. The changes are sorted by cloud and time, and a block per
//! cloud adds them up in this order, so that a function has the bits of a sum in a loop.

use bytemuck::{Pod, Zeroable};
use cuda_std::prelude::*;

use super::Scalar;
use crate::pcf::{
    self,
    barcode::{Curve, Steps},
};

/// Function to make, and the times that are allowed.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Rule {
    /// Number of the [`Curve`].
    pub curve: u32,
    /// End of bars without end. They are left out if it is infinite.
    pub cap: f64,
    /// 1 if times are rounded to `f32`.
    pub single: u32,
    /// The largest time.
    pub most: f64,
    /// The largest change.
    pub most_change: f64,
}

/// Memory for changes, two for each bar.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Changes {
    /// Lower halves of the times' keys.
    pub low: *mut u32,
    /// Upper halves, if times are `f64`.
    pub high: *mut u32,
    /// Indices of the clouds.
    pub clouds: *mut u32,
    /// Changes of the functions' values.
    pub by: *mut f64,
}

/// Findings about a function.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Shape {
    /// Number of segments.
    pub segments: u64,
    /// Time of the last breakpoint.
    pub end: f64,
    /// The last value.
    pub tail: f64,
    /// The largest magnitude of a value.
    pub largest: f64,
}

/// Changes that bars make: two for each bar, infinitely late if there are fewer. `starts` has the first bar of each cloud and
/// the number of all bars. Finds the first bar whose times or changes are too large. Any grid.
///
/// # Safety
/// There is room for the changes, and `wrong` is valid for atomic access.
#[kernel(for T in [f32, f64], max_threads = 256)]
pub unsafe fn changes<T: Scalar + Into<f64>>(bars: &[[T; 2]], starts: &[u32], rule: Rule, changes: Changes, wrong: *mut u32) {
    for i in thread::grid_stride(bars.len()) {
        let [birth, death] = bars[i].map(Into::<f64>::into);
        let end = if death < f64::INFINITY { death } else { math::max(rule.cap, birth) };
        let counts = death < f64::INFINITY || rule.cap < f64::INFINITY;
        let made = if counts { Curve::ALL[rule.curve as usize].changes(birth, end) } else { [(f64::INFINITY, 0.0); 2] };
        let cloud = starts.partition_point(|&start| start <= i as u32) as u32 - 1;
        for (k, (time, by)) in made.into_iter().enumerate() {
            let at = 2 * i + k;
            // SAFETY: there is room for two changes of each bar, and `wrong` is valid (this kernel's contract).
            unsafe {
                if (time > rule.most && time < f64::INFINITY) || by > rule.most_change {
                    atomic::device::fetch_min(wrong, i as u32);
                }
                let [low, high] = if rule.single == 0 { time.key() } else { (time as f32).key() };
                changes.low.add(at).write(low);
                if rule.single == 0 {
                    changes.high.add(at).write(high);
                }
                changes.clouds.add(at).write(cloud);
                changes.by.add(at).write(by);
            }
        }
    }
}

/// Changes with their order.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Sorted<'a> {
    /// Indices of the changes by cloud and time.
    pub order: &'a [u32],
    /// See [`Changes`].
    pub low: &'a [u32],
    /// See [`Changes`].
    pub high: &'a [u32],
    /// See [`Changes`].
    pub by: &'a [f64],
}

/// Changes that the threads of a block load together.
pub const TILE: usize = 128;

/// The functions that follow from changes: their shapes, and their segments from `offsets` on. Only shapes if there are no
/// offsets. `starts` is as for [`changes()`]. A block per cloud.
///
/// # Safety
/// The changes are those of [`changes()`], in order, and there is room for a shape of each cloud and the segments that
/// shapes tell of.
#[kernel(for T in [f32, f64], max_threads = 128)]
pub unsafe fn steps<T: Scalar + pcf::Scalar + Into<f64>>(
    starts: &[u32],
    changes: Sorted<'_>,
    offsets: &[u64],
    segments: *mut <T as pcf::Scalar>::Segment,
    shapes: *mut Shape,
) {
    let index = thread::block_idx_x() as usize;
    let (lane, lanes) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    let (first, last) = (2 * starts[index] as usize, 2 * starts[index + 1] as usize);
    let times = shared_array![T; TILE];
    let amounts = shared_array![f64; TILE];
    // SAFETY: changes and segments are within their arrays (this kernel's contract). A thread writes its own elements of
    // shared memory, and the first one reads them between two barriers.
    unsafe {
        let place = offsets.get(index).map(|&offset| segments.add(offset as usize));
        let (mut steps, mut function) = (Steps::default(), Function::<T> { shape: Shape::zeroed(), place });
        for tile in thread::strided(first..last, lanes) {
            let count = if last - tile < lanes { last - tile } else { lanes };
            if lane < count {
                let change = *changes.order.get_unchecked(tile + lane) as usize;
                let high = if size_of::<T>() > size_of::<u32>() { *changes.high.get_unchecked(change) } else { 0 };
                times.write(lane, T::of_key([*changes.low.get_unchecked(change), high]));
                amounts.write(lane, *changes.by.get_unchecked(change));
            }
            thread::sync_threads();
            if lane == 0 {
                for k in 0..count {
                    let time = times.read(k);
                    if time < T::INFINITY
                        && let Some((time, value)) = steps.add(time, amounts.read(k))
                    {
                        function.add(time, value);
                    }
                }
            }
            thread::sync_threads();
        }
        if lane == 0 {
            if let Some((time, value)) = steps.finish() {
                function.add(time, value);
            }
            match place {
                Some(_) => function.end(T::INFINITY),
                None => shapes.add(index).write(function.shape),
            }
        }
    }
}

/// A function of which segments are written, unless there is no place for them.
struct Function<T: pcf::Scalar> {
    shape: Shape,
    place: Option<*mut T::Segment>,
}

impl<T: pcf::Scalar + Into<f64>> Function<T> {
    /// Adds a breakpoint.
    ///
    /// # Safety
    /// There is room for the segment before it.
    #[inline(always)]
    unsafe fn add(&mut self, time: T, value: f64) {
        if self.shape.segments > 0 {
            // SAFETY: there is room (this function's contract).
            unsafe { self.end(time) };
        }
        let Shape { segments, largest, .. } = self.shape;
        let largest = if value > largest { value } else { largest };
        self.shape = Shape { segments: segments + 1, end: time.into(), tail: T::from_f64(value).into(), largest };
    }

    /// Writes the last segment, up to a time.
    ///
    /// # Safety
    /// There is one, and room for it.
    #[inline(always)]
    unsafe fn end(&self, time: T) {
        if let Some(place) = self.place {
            // SAFETY: there is room (this function's contract).
            unsafe { place.add(self.shape.segments as usize - 1).write(T::segment(T::from_f64(self.shape.tail), time)) };
        }
    }
}
