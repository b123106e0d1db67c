//! Values of either precision.

/// A value of single precision, or one of double.
#[derive(Clone)]
pub enum Either<A, B> {
    F32(A),
    F64(B),
}

impl<A, B> Either<A, B> {
    /// NumPy's name of the precision.
    pub fn dtype(&self) -> &'static str {
        match self {
            Either::F32(_) => "float32",
            Either::F64(_) => "float64",
        }
    }
}

/// An expression for the value of either precision.
macro_rules! each {
    ($either:expr, $inner:ident => $value:expr) => {
        match $either {
            $crate::precision::Either::F32($inner) => $value,
            $crate::precision::Either::F64($inner) => $value,
        }
    };
}
pub(crate) use each;
