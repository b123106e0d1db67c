//! The floating-point types that the systems compute with on a device.

use std::{
    fmt::{Debug, Display, LowerExp},
    str::FromStr,
};

use gpu_kernels::number::Number;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// `f32` or `f64`. Each system extends this trait with the operations that it needs.
pub trait Real: sealed::Sealed + Number + Default + Debug + Display + LowerExp + FromStr {
    /// The type's name in NumPy: `float32` or `float64`.
    const NAME: &str;
    /// Unit roundoff, the largest relative error of one rounded operation: 2^-24 or 2^-53.
    const UNIT_ROUNDOFF: f64;

    /// Converts to `f64`, exactly.
    fn to_f64(self) -> f64;
    /// True if it is neither infinite nor NaN.
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
            fn is_finite(self) -> bool {
                self.is_finite()
            }
        }
    };
}
real!(f32, "float32");
real!(f64, "float64");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roundoff() {
        assert_eq!((f32::UNIT_ROUNDOFF, f64::UNIT_ROUNDOFF), (2f64.powi(-24), 2f64.powi(-53)));
    }
}
