//! Operators of reductions and scans.

use cuda_std::{arch, is_gpu, math, warp};

/// An associative operator: `(a ∘ b) ∘ c` is `a ∘ (b ∘ c)`.
///
/// It need not be commutative: all collectives keep their items in order. [`Sum`], [`Min`] and [`Max`] are operators of
/// all number types, and every closure `Fn(T, T) -> T` that can be copied is one.
///
/// The sum of floats is associative only nearly. The collectives group their items in a way that depends on the number
/// of items and threads alone, so that a result is the same bits each time.
pub trait Op<T>: Copy {
    /// `left ∘ right`.
    fn apply(self, left: T, right: T) -> T;

    /// The reduction over the lanes of `mask` by one instruction, where there is one.
    #[doc(hidden)]
    #[inline(always)]
    #[cfg_attr(not(cuda_device), track_caller)]
    fn reduce_by_hardware(self, _mask: u32, _value: T) -> Option<T> {
        None
    }
}

impl<T, F: Fn(T, T) -> T + Copy> Op<T> for F {
    #[inline(always)]
    fn apply(self, left: T, right: T) -> T {
        self(left, right)
    }
}

/// An operator with an identity: `e ∘ a` and `a ∘ e` are `a`.
pub trait Identity<T>: Op<T> {
    /// The identity.
    fn identity(self) -> T;
}

/// The sum. Integers wrap; the identity is zero.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sum;

/// The least. The identity is the type's greatest value, infinity for floats; a NaN counts for nothing beside a number,
/// and `-0.0` is less than `0.0`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Min;

/// The greatest. The identity is the type's least value, minus infinity for floats; a NaN counts for nothing beside a
/// number, and `-0.0` is less than `0.0`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Max;

/// Returns true if `redux.sync` exists: from `sm_80` on. (The CPU's executor has it, too.)
#[inline(always)]
fn has_redux() -> bool {
    !is_gpu() || arch() >= 800
}

macro_rules! operator {
    ($op:ident $t:ty: |$a:ident, $b:ident| $apply:expr, $identity:expr $(, $redux:ident)?) => {
        impl Op<$t> for $op {
            #[inline(always)]
            fn apply(self, $a: $t, $b: $t) -> $t {
                $apply
            }
            $(
                #[inline(always)]
                #[cfg_attr(not(cuda_device), track_caller)]
                fn reduce_by_hardware(self, mask: u32, value: $t) -> Option<$t> {
                    if has_redux() { Some(warp::$redux(mask, value)) } else { None }
                }
            )?
        }
        impl Identity<$t> for $op {
            #[inline(always)]
            fn identity(self) -> $t {
                $identity
            }
        }
    };
}
macro_rules! integers {
    ($($t:ty $(, $add:ident $min:ident $max:ident)?;)*) => {$(
        operator!(Sum $t: |a, b| a.wrapping_add(b), 0 $(, $add)?);
        operator!(Min $t: |a, b| a.min(b), <$t>::MAX $(, $min)?);
        operator!(Max $t: |a, b| a.max(b), <$t>::MIN $(, $max)?);
    )*};
}
macro_rules! floats {
    ($($t:ty)*) => {$(
        operator!(Sum $t: |a, b| a + b, 0.0);
        operator!(Min $t: |a, b| math::min(a, b), <$t>::INFINITY);
        operator!(Max $t: |a, b| math::max(a, b), <$t>::NEG_INFINITY);
    )*};
}
integers! {
    u32, reduce_add reduce_min reduce_max;
    i32, reduce_add reduce_min reduce_max;
    u64;
    i64;
}
floats!(f32 f64);
