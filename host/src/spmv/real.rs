//! The numbers that matrices are made of.

use gpu_kernels::spmv::{Scalar, rows, tiles, vector};

use crate::common::Real;

/// `f32` or `f64`: the type of a matrix's values and of the vectors that it is multiplied with.
pub trait SpmvReal:
    Real
    + crate::io::npy::Element
    + Scalar
    + rows::multiply::Instance
    + tiles::multiply::Instance
    + tiles::long_rows::Instance
    + vector::gather::Instance
    + vector::add::Instance
{
}

impl SpmvReal for f32 {}
impl SpmvReal for f64 {}
