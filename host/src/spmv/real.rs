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
    /// The nearest number of this type, infinite where `value` is too large for it.
    fn from_f64(value: f64) -> Self;
    /// Returns true if it is neither infinite nor NaN.
    fn is_finite(self) -> bool;
}

macro_rules! real {
    ($($type:ident)*) => {$(
        impl SpmvReal for $type {
            #[inline]
            fn from_f64(value: f64) -> Self {
                value as $type
            }
            #[inline]
            fn is_finite(self) -> bool {
                self.is_finite()
            }
        }
    )*};
}
real!(f32 f64);
