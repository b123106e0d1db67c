//! Landscapes and silhouettes, sampled at times.
//!
//! A bar's *height* at t is min(t - birth, death - t), and 0 if the bar isn't alive. Both functions are made of heights.
//! They are computed in `f64`, and a thread computes all values of one cloud and time, in the order of the bars: results
//! don't depend on the grid.

use cuda_std::prelude::*;

use super::Scalar;
use crate::pcf;

/// Threads of a block that weighs the bars of a cloud.
pub const LANES: usize = 128;

/// Bars of all clouds.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Given<'a, T> {
    /// Births and deaths.
    pub bars: &'a [[T; 2]],
    /// The first bar of each cloud, and the number of all bars.
    pub starts: &'a [u32],
    /// End of bars without end. They are left out if it is infinite.
    pub cap: f64,
}

impl<T: Scalar + Into<f64>> Given<'_, T> {
    /// Range of a cloud's bars.
    #[inline(always)]
    fn range(&self, cloud: usize) -> (usize, usize) {
        (self.starts[cloud] as usize, self.starts[cloud + 1] as usize)
    }

    /// Birth and death of a bar, both 0 if it is left out.
    #[inline(always)]
    fn bar(&self, index: usize) -> (f64, f64) {
        let [birth, death] = self.bars[index].map(Into::<f64>::into);
        match () {
            () if death < f64::INFINITY => (birth, death),
            () if self.cap < f64::INFINITY => (birth, math::max(birth, self.cap)),
            () => (0.0, 0.0),
        }
    }

    #[inline(always)]
    fn height(&self, index: usize, time: f64) -> f64 {
        let (birth, death) = self.bar(index);
        math::max(math::min(time - birth, death - time), 0.0)
    }
}

/// Layers of landscapes, from the largest heights on: `values` has a row of `times` for each cloud and layer. Any grid.
///
/// # Safety
/// There is room for the values.
#[kernel(for T in [f32, f64], max_threads = 256)]
pub unsafe fn landscapes<T: Scalar + Into<f64>>(given: Given<'_, T>, times: &[f64], layers: u32, values: *mut f64) {
    let layers = layers as usize;
    for i in thread::grid_stride((given.starts.len() - 1) * times.len()) {
        let (cloud, k) = (i / times.len(), i % times.len());
        let (first, last) = given.range(cloud);
        let (mut layer, mut height) = (0, f64::INFINITY);
        while layer < layers {
            // The largest height below that of the layers before, and the number of bars that have it.
            let (mut next, mut count) = (0.0, 0);
            for bar in first..last {
                let own = given.height(bar, times[k]);
                if own < height && own > next {
                    (next, count) = (own, 1);
                } else if own == next {
                    count += 1;
                }
            }
            height = next;
            let end = if height > 0.0 && count < layers - layer { layer + count } else { layers };
            for layer in layer..end {
                // SAFETY: there is room (this kernel's contract).
                unsafe { values.add((cloud * layers + layer) * times.len() + k).write(height) };
            }
            layer = end;
        }
    }
}

/// Weights of bars: their lengths to a power, relative to the bar of the cloud that has the largest weight, so that they stay
/// in range. A block per cloud.
///
/// # Safety
/// There is room for the weights.
#[kernel(for T in [f32, f64], max_threads = 128)]
pub unsafe fn weights<T: Scalar + Into<f64>>(given: Given<'_, T>, power: f64, weights: *mut f64) {
    let (lane, lanes) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    let (first, last) = given.range(thread::block_idx_x() as usize);
    let length = |index| {
        let (birth, death) = given.bar(index);
        death - birth
    };
    let heaviest = shared_array![f64; LANES];
    // For a negative power the shortest bar, but for those of length 0.
    let (none, sign) = if power < 0.0 { (-f64::INFINITY, -1.0) } else { (0.0, 1.0) };
    let heavier = |one: f64, length: f64| if length > 0.0 { math::max(one, sign * length) } else { one };
    let own = thread::strided(first + lane..last, lanes).fold(none, |own, bar| heavier(own, length(bar)));
    // SAFETY: a thread writes its own element, all read them after the barrier, and there is room for the weights (this
    // kernel's contract).
    unsafe {
        heaviest.write(lane, own);
        thread::sync_threads();
        let most = sign * (0..lanes).fold(none, |most, lane| math::max(most, heaviest.read(lane)));
        for bar in thread::strided(first + lane..last, lanes) {
            let length = length(bar);
            weights.add(bar).write(if length > 0.0 { math::powf(length / most, power) } else { 0.0 });
        }
    }
}

/// Silhouettes, the weighted means of heights: `values` has a row of `times` for each cloud. Any grid.
///
/// # Safety
/// There is room for the values.
#[kernel(for T in [f32, f64], max_threads = 256)]
pub unsafe fn silhouettes<T: Scalar + Into<f64>>(given: Given<'_, T>, times: &[f64], weights: &[f64], values: *mut f64) {
    for i in thread::grid_stride((given.starts.len() - 1) * times.len()) {
        let (first, last) = given.range(i / times.len());
        let (mut sum, mut total) = (0.0, 0.0);
        for (bar, weight) in (first..last).zip(&weights[first..last]) {
            sum += weight * given.height(bar, times[i % times.len()]);
            total += weight;
        }
        // SAFETY: there is room (this kernel's contract).
        unsafe { values.add(i).write(if total > 0.0 { sum / total } else { 0.0 }) };
    }
}

/// Step functions that hold each sample until the next time, and are 0 before the first time and from the last one on.
/// `values` has a row of `times` for each function. Any grid.
///
/// # Safety
/// There is room for the segments of all functions: one per time, and one more if the first time isn't 0. `largest`, which
/// the largest value ends up in, is valid for atomic access.
#[kernel(for T in [f32, f64], max_threads = 256)]
pub unsafe fn held<T: Scalar + pcf::Scalar + Into<f64>>(
    values: &[f64],
    times: &[T],
    segments: *mut <T as pcf::Scalar>::Segment,
    largest: *mut f64,
) {
    let late = usize::from(times[0] > T::ZERO);
    let (width, mut most) = (times.len() + late, 0.0);
    for i in thread::grid_stride(values.len() / times.len() * width) {
        let (row, at) = (i / width, i % width);
        // A function that starts late is 0 up to the first time.
        let next = at + 1 - late;
        let (value, end) = match () {
            () if at < late => (T::ZERO, times[0]),
            () if next < times.len() => (T::from_f64(values[row * times.len() + next - 1]), times[next]),
            () => (T::ZERO, T::INFINITY),
        };
        most = math::max(most, value.into());
        // SAFETY: there is room (this kernel's contract).
        unsafe { segments.add(i).write(T::segment(value, end)) };
    }
    if most > 0.0 {
        // SAFETY: the place is valid for atomic access (this kernel's contract).
        unsafe { atomic::device::fetch_max(largest, most) };
    }
}
