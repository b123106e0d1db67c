//! The numbers that matrices are made of.

use std::{
    fmt::{Debug, Display, LowerExp},
    str::FromStr,
};

use gpu_kernels::spmv::{Scalar, rows, tiles, vector};
use ndarray_npy::WritableElement;

use crate::npy::Element;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// `f32` or `f64`: the type of a matrix's values and of the vectors that it is multiplied with.
pub trait Real:
    sealed::Sealed
    + Scalar
    + rows::multiply::Instance
    + tiles::multiply::Instance
    + tiles::long_rows::Instance
    + vector::gather::Instance
    + vector::add::Instance
    + Element
    + WritableElement
    + Default
    + PartialEq
    + Debug
    + Display
    + LowerExp
    + FromStr
{
    /// The type's name as NumPy has it: `float32` or `float64`.
    const NAME: &str;
    /// Half the type's relative spacing: the most by which a rounded operation is off, 2^-24 or 2^-53.
    const UNIT_ROUNDOFF: f64;

    /// The same number; exact.
    fn to_f64(self) -> f64;
    /// The nearest number of this type, infinite where `value` is too large for it.
    fn from_f64(value: f64) -> Self;
    /// Whether it is neither infinite nor NaN.
    fn is_finite(self) -> bool;
}

macro_rules! real {
    ($type:ident, $name:literal) => {
        impl Real for $type {
            const NAME: &str = $name;
            const UNIT_ROUNDOFF: f64 = $type::EPSILON as f64 / 2.0;

            #[inline]
            fn to_f64(self) -> f64 {
                self.into()
            }
            #[inline]
            fn from_f64(value: f64) -> Self {
                value as $type
            }
            #[inline]
            fn is_finite(self) -> bool {
                self.is_finite()
            }
        }
    };
}
real!(f32, "float32");
real!(f64, "float64");
