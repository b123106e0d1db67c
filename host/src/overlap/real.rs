//! The numbers that areas are computed in.

use std::fmt::{Debug, Display, LowerExp};

use gpu_kernels::overlap::{Scalar, boundary, direct, grid, queue, sums, transform};
use ndarray_npy::WritableElement;

use crate::npy::Element;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// `f32` or `f64`: the type of poses and results on the device.
pub trait Real:
    sealed::Sealed
    + Scalar
    + transform::transform::Instance
    + queue::area::Instance
    + queue::gradient::Instance
    + direct::direct::Instance
    + direct::pairs::Instance
    + boundary::outside::Instance
    + sums::sums::Instance
    + grid::extent::Instance
    + grid::frame::Instance
    + grid::bin::Instance
    + Element
    + WritableElement
    + Default
    + Debug
    + Display
    + LowerExp
{
    /// The type's name as NumPy has it: `float32` or `float64`.
    const NAME: &str;
    /// The largest magnitude of a position: squares of larger ones would be too large for the type, or say nothing any
    /// more.
    const MAX_POSITION: f64;
    /// What a [nudge](gpu_kernels::overlap::clip::nudged) has across every side of its shape, as a part of the largest
    /// shape's extent: far more than rounding does to where a side is.
    const NUDGE: f64;
    /// The same number; exact.
    fn to_f64(self) -> f64;
}

impl Real for f32 {
    const NAME: &str = "float32";
    const MAX_POSITION: f64 = 1e9;
    const NUDGE: f64 = 16.0 * f32::EPSILON as f64;
    fn to_f64(self) -> f64 {
        self.into()
    }
}

impl Real for f64 {
    const NAME: &str = "float64";
    const MAX_POSITION: f64 = 1e18;
    const NUDGE: f64 = 4096.0 * f64::EPSILON;
    fn to_f64(self) -> f64 {
        self
    }
}
