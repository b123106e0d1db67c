//! Floats of 16 bits by the crate `half`.

use crate::half::{Bf16x2, F16x2, fma_to_odd};
use half::{bf16, f16};

macro_rules! halves {
    ($($t:ident $pair:ident, $widen:ident $narrow:ident $fma:ident $add:ident $mul:ident;)*) => {$(
        #[inline(always)]
        pub fn $widen(x: $t) -> f32 {
            x.to_f32()
        }
        #[inline(always)]
        pub fn $narrow(x: f32) -> $t {
            $t::from_f32(x)
        }
        pub fn $fma(a: $pair, b: $pair, c: $pair) -> $pair {
            let fma = |a: $t, b: $t, c: $t| $t::from_f32(fma_to_odd(a.to_f32(), b.to_f32(), c.to_f32()));
            $pair::new(fma(a.x, b.x, c.x), fma(a.y, b.y, c.y))
        }
        pub fn $add(a: $pair, b: $pair) -> $pair {
            $pair::new(a.x + b.x, a.y + b.y)
        }
        pub fn $mul(a: $pair, b: $pair) -> $pair {
            $pair::new(a.x * b.x, a.y * b.y)
        }
    )*};
}
halves! {
    f16 F16x2, widen_f16 narrow_f16 fma_f16x2 add_f16x2 mul_f16x2;
    bf16 Bf16x2, widen_bf16 narrow_bf16 fma_bf16x2 add_bf16x2 mul_bf16x2;
}
