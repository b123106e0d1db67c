//! The numbers that packings are squeezed in.

use gpu_kernels::overlap::{adam, fields, separate};

use crate::overlap::OverlapReal;

/// `f32` or `f64`.
pub trait LaneReal:
    OverlapReal
    + adam::step::Instance
    + separate::separate::Instance
    + separate::separate_by_fields::Instance
    + fields::fields::Instance
{
}

impl LaneReal for f32 {}
impl LaneReal for f64 {}
