//! The numbers that areas are computed in.

use gpu_kernels::overlap::{Scalar, boundary, direct, grid, queue, sums, transform, tree};

use crate::common::Real;

/// `f32` or `f64`: the type of poses and results on the device.
pub trait OverlapReal:
    Real
    + crate::io::npy::Element
    + Scalar
    + transform::piece_counts::Instance
    + transform::transform::Instance
    + queue::area::Instance
    + queue::gradient::Instance
    + direct::direct::Instance
    + direct::pairs::Instance
    + boundary::outside::Instance
    + boundary::outside_disk::Instance
    + sums::sums::Instance
    + grid::extent::Instance
    + grid::frame::Instance
    + grid::bin::Instance
    + queue::tree_area::Instance
    + queue::tree_gradient::Instance
    + queue::add_rest::Instance
    + tree::marks::Instance
    + tree::keys::Instance
    + tree::leaves::Instance
    + tree::parents::Instance
{
    /// Largest magnitude of a position. Squares of larger ones would overflow or be meaningless.
    const MAX_POSITION: f64;
    /// Component of a [nudge](gpu_kernels::overlap::clip::nudged) across every side of its shape,
    /// relative to the largest shape's extent. It is far larger than the rounding of a side's
    /// position.
    const NUDGE: f64;
}

impl OverlapReal for f32 {
    const MAX_POSITION: f64 = 1e9;
    const NUDGE: f64 = 16.0 * f32::EPSILON as f64;
}

impl OverlapReal for f64 {
    const MAX_POSITION: f64 = 1e18;
    const NUDGE: f64 = 4096.0 * f64::EPSILON;
}
