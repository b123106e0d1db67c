//! Exactly rounded functions, which are the same everywhere, and accurate ones in place of the GPU's approximations.

macro_rules! exact {
    ($($t:ident: $sqrt:ident $floor:ident $ceil:ident $trunc:ident $round:ident $even:ident $mul_add:ident $min:ident $max:ident;)*) => {$(
        exact!(@unary $t: $sqrt sqrt, $floor floor, $ceil ceil, $trunc trunc, $round round, $even round_ties_even);

        #[inline(always)]
        pub fn $mul_add(x: $t, y: $t, z: $t) -> $t {
            x.mul_add(y, z)
        }

        #[inline(always)]
        pub fn $min(x: $t, y: $t) -> $t {
            if x < y || y.is_nan() || x == y && x.is_sign_negative() { x } else { y }
        }

        #[inline(always)]
        pub fn $max(x: $t, y: $t) -> $t {
            if x > y || y.is_nan() || x == y && x.is_sign_positive() { x } else { y }
        }
    )*};
    (@unary $t:ident: $($name:ident $method:ident),*) => {$(
        #[inline(always)]
        pub fn $name(x: $t) -> $t {
            x.$method()
        }
    )*};
}
exact! {
    f32: sqrt_f32 floor_f32 ceil_f32 trunc_f32 round_f32 round_ties_even_f32 mul_add_f32 min_f32 max_f32;
    f64: sqrt_f64 floor_f64 ceil_f64 trunc_f64 round_f64 round_ties_even_f64 mul_add_f64 min_f64 max_f64;
}

pub use self::sqrt_f32 as fast_sqrt;
pub use crate::single::{cos as fast_cos, exp2 as fast_exp2, log2 as fast_log2, sin as fast_sin, tanh as fast_tanh};

#[inline(always)]
pub fn fast_rcp(x: f32) -> f32 {
    1.0 / x
}

#[inline(always)]
pub fn fast_rcp_f64(x: f64) -> f64 {
    1.0 / x
}

#[inline(always)]
pub fn fast_rsqrt(x: f32) -> f32 {
    (1.0 / f64::from(x).sqrt()) as f32
}

#[inline(always)]
pub fn fast_div(x: f32, y: f32) -> f32 {
    x / y
}
