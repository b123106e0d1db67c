//! Sums along root paths and over subtrees.

use gpu_kernels::trees::sums;

use super::{
    error::{TreeError, same_length},
    rooting::Rooting,
};
use crate::{
    collectives::{self, ScanWorkspace, exclusive_scan_in_place},
    components::{THREADS, grid},
    device::{Buffer, Device, DeviceError, Stream},
    launch,
};

/// A type that can be summed in trees: `i32`, `i64`, `f32`, `f64`.
pub trait Weight:
    sums::Weight<Sum: collectives::Value>
    + sums::along_tour::Instance
    + sums::of_paths::Instance
    + sums::in_preorder::Instance
    + sums::of_subtrees::Instance
{
}
impl Weight for i32 {}
impl Weight for i64 {}
impl Weight for f32 {}
impl Weight for f64 {}

/// Sums weights of vertices on one device, and keeps its arrays from call to call.
///
/// Integers wrap. Sums of `f32` are formed in `f64` and rounded once at the end. All sums are
/// differences of prefix sums over the whole forest: with s the sum of all weights' magnitudes, the
/// error of a sum of floats is at most a few dozen times 2^-53 s, however small the sum itself is.
/// For the same reason one weight that isn't finite, or an s beyond the largest `f64`, makes sums of
/// other vertices NaN.
/// Results are bit-for-bit reproducible, on every device.
pub struct TreeSums<V: Weight> {
    placed: Buffer<V::Sum>,
    scan: ScanWorkspace<V::Sum>,
}

impl<V: Weight> TreeSums<V> {
    /// For trees on `device`. The large array is allocated at the first call: two sums for each vertex.
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        Ok(TreeSums { placed: device.empty(), scan: ScanWorkspace::new(device)? })
    }

    /// The sums along paths: `sums[v]` is that of the weights of all vertices from v's root to v, both with theirs.
    /// Doesn't wait.
    ///
    /// # Errors
    /// Lengths differ, or the device fails.
    pub fn paths(
        &mut self,
        stream: &Stream,
        rooting: &Rooting,
        weights: &Buffer<V>,
        sums: &mut Buffer<V>,
    ) -> Result<(), TreeError> {
        let (n, grid) = self.check(stream, rooting, weights, sums)?;
        self.placed.ensure(2 * n)?;
        let (preorder, size, depth) = (rooting.preorder(), rooting.size(), rooting.depth());
        // SAFETY: the numbers are those of a forest, and there are two elements for each vertex.
        unsafe {
            launch!(stream, sums::along_tour::<V><<<grid, THREADS>>>(preorder, size, depth, weights, &mut self.placed))?;
        }
        exclusive_scan_in_place(stream, &mut self.placed, &mut self.scan)?;
        launch!(stream, sums::of_paths::<V><<<grid, THREADS>>>(preorder, depth, weights, &self.placed, sums))?;
        Ok(())
    }

    /// The sums over subtrees: `sums[v]` is that of the weights of v and all vertices below it. Doesn't wait.
    ///
    /// # Errors
    /// Lengths differ, or the device fails.
    pub fn subtrees(
        &mut self,
        stream: &Stream,
        rooting: &Rooting,
        weights: &Buffer<V>,
        sums: &mut Buffer<V>,
    ) -> Result<(), TreeError> {
        let (n, grid) = self.check(stream, rooting, weights, sums)?;
        self.placed.ensure(n + 1)?;
        let (preorder, size) = (rooting.preorder(), rooting.size());
        // SAFETY: preorder numbers are a permutation, and there is an element more than vertices.
        unsafe { launch!(stream, sums::in_preorder::<V><<<grid, THREADS>>>(preorder, weights, &mut self.placed))? };
        exclusive_scan_in_place(stream, &mut self.placed, &mut self.scan)?;
        launch!(stream, sums::of_subtrees::<V><<<grid, THREADS>>>(preorder, size, &self.placed, sums))?;
        Ok(())
    }

    fn check(
        &self,
        stream: &Stream,
        rooting: &Rooting,
        weights: &Buffer<V>,
        sums: &Buffer<V>,
    ) -> Result<(usize, u32), TreeError> {
        let n = rooting.n();
        same_length("weights", weights.len(), n)?;
        same_length("sums", sums.len(), n)?;
        Ok((n, grid(stream, n)))
    }
}
