//! Conversions by LLVM's own types, and arithmetic of pairs as inline PTX.

use crate::half::{Bf16x2, F16x2, fma_to_odd};
use crate::{arch, ptx_asm};
use half::{bf16, f16};

/// The type of the language, which is called like that of the crate `half`.
mod native {
    #[inline(always)]
    pub fn widen(bits: u16) -> f32 {
        f16::from_bits(bits) as f32
    }

    #[inline(always)]
    pub fn narrow(x: f32) -> u16 {
        (x as f16).to_bits()
    }
}

#[inline(always)]
pub fn widen_f16(x: f16) -> f32 {
    native::widen(x.to_bits())
}

#[inline(always)]
pub fn narrow_f16(x: f32) -> f16 {
    f16::from_bits(native::narrow(x))
}

#[inline(always)]
pub fn widen_bf16(x: bf16) -> f32 {
    f32::from_bits(u32::from(x.to_bits()) << 16)
}

#[inline(always)]
pub fn narrow_bf16(x: f32) -> bf16 {
    if arch() < 800 {
        return bf16::from_f32(x);
    }
    let y: bf16;
    // SAFETY: the instruction computes, and the architecture has it.
    unsafe { ptx_asm!("cvt.rn.bf16.f32 {0}, {1};", out(b16) y, in(f32) x, options(pure); cpu => unreachable!()) };
    y
}

macro_rules! pairs {
    ($($name:ident($($x:ident),*) = $instruction:literal, $t:ident;)*) => {$(
        #[inline(always)]
        pub fn $name($($x: $t),*) -> $t {
            let r: $t;
            // SAFETY: the instruction computes; who calls sees to it that the architecture has it.
            unsafe { pairs!(@asm $instruction, r, $($x),*) };
            r
        }
    )*};
    (@asm $instruction:literal, $r:ident, $a:ident, $b:ident) => {
        ptx_asm!($instruction, "{0}, {1}, {2};", out(b32) $r, in(b32) $a, in(b32) $b, options(pure); cpu => unreachable!())
    };
    (@asm $instruction:literal, $r:ident, $a:ident, $b:ident, $c:ident) => {
        ptx_asm!($instruction, "{0}, {1}, {2}, {3};", out(b32) $r, in(b32) $a, in(b32) $b, in(b32) $c, options(pure);
            cpu => unreachable!())
    };
}
pairs! {
    add_f16x2(a, b) = "add.rn.f16x2", F16x2;
    mul_f16x2(a, b) = "mul.rn.f16x2", F16x2;
    fma_f16x2(a, b, c) = "fma.rn.f16x2", F16x2;
    fma_bf16x2_of_ampere(a, b, c) = "fma.rn.bf16x2", Bf16x2;
}

#[inline(always)]
pub fn fma_bf16x2(a: Bf16x2, b: Bf16x2, c: Bf16x2) -> Bf16x2 {
    if arch() < 800 {
        let fma = |a: bf16, b: bf16, c: bf16| bf16::from_f32(fma_to_odd(a.to_f32(), b.to_f32(), c.to_f32()));
        Bf16x2::new(fma(a.x, b.x, c.x), fma(a.y, b.y, c.y))
    } else {
        fma_bf16x2_of_ampere(a, b, c)
    }
}

/// Sums and products have instructions of their own on `sm_90` alone.
#[inline(always)]
pub fn add_bf16x2(a: Bf16x2, b: Bf16x2) -> Bf16x2 {
    fma_bf16x2(a, Bf16x2::splat(bf16::ONE), b)
}

#[inline(always)]
pub fn mul_bf16x2(a: Bf16x2, b: Bf16x2) -> Bf16x2 {
    fma_bf16x2(a, b, Bf16x2::splat(bf16::NEG_ZERO))
}
