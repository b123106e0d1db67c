//! The numbers that packings are squeezed in.

use gpu_kernels::overlap::{adam, separate};

use crate::overlap::OverlapReal;

/// `f32` or `f64`.
pub trait LaneReal: OverlapReal + adam::step::Instance + separate::separate::Instance {}

impl LaneReal for f32 {}
impl LaneReal for f64 {}
