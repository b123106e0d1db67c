//! The numbers that areas are computed in.

use gpu_kernels::overlap::Scalar;

use super::launches::Launches;
use crate::real::Real;

/// `f32` or `f64`: the type of poses and results on the device.
pub trait OverlapReal: Real + Scalar + Launches {
    /// The largest magnitude of a position: squares of larger ones would be too large for the type, or say nothing any
    /// more.
    const MAX_POSITION: f64;
}

impl OverlapReal for f32 {
    const MAX_POSITION: f64 = 1e9;
}

impl OverlapReal for f64 {
    const MAX_POSITION: f64 = 1e18;
}
