//! The numbers that packings are squeezed in.

use gpu_kernels::overlap::adam;

use crate::overlap::OverlapReal;

/// `f32` or `f64`.
pub trait LaneReal: OverlapReal + adam::step::Instance {}

impl LaneReal for f32 {}
impl LaneReal for f64 {}

/// The type of the search's numbers. Only settling needs `f64`: `f32` makes the search 1.2 times as
/// fast, and its results as good.
pub type Squeezed = f32;
