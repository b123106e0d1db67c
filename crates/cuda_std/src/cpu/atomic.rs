//! Atomics of the standard library. All are the system's; what scope a kernel asks for matters to checked runs alone.

use crate::atomic::{BitOperations, Operations, float_extremes};
use core::convert::identity;
use core::sync::atomic::{
    AtomicI32, AtomicI64, AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
    fence,
};
use simt::{Scope, current};

/// A marker of a scope.
pub trait Marker {
    const SCOPE: Scope;
}

macro_rules! scopes {
    ($($name:ident $scope:ident)*) => {$(
        pub struct $name;

        impl Marker for $name {
            const SCOPE: Scope = Scope::$scope;
        }

        impl $name {
            #[inline(always)]
            pub fn fence_acq_rel() {
                let _under_way = current::atomic(Self::SCOPE);
                fence(AcqRel);
            }
        }
    )*};
}
// Host and other devices are no part of a launch.
scopes!(Block Block Device Device System Device);

macro_rules! functions {
    ($t:ty, $atomic:ident, $word:ident; $($name:ident($($argument:ident),*) -> $r:ty { $body:expr })*) => {$(
        #[inline(always)]
        unsafe fn $name(p: *mut $t $(, $argument: $t)*) -> $r {
            let _under_way = current::atomic(S::SCOPE);
            // SAFETY: the pointer is valid for atomics, as the caller has promised; both types have one size and
            // alignment.
            let $word = unsafe { $atomic::from_ptr(p.cast()) };
            $body
        }
    )*};
}

/// Operations that are the same for all types. `$to` and `$from` convert to and from the type of
/// the atomic.
macro_rules! moves {
    ($t:ty, $atomic:ident, $to:expr, $from:expr) => {
        functions! { $t, $atomic, word;
            exchange(v) -> $t { $from(word.swap($to(v), Relaxed)) }
            exchange_acq_rel(v) -> $t { $from(word.swap($to(v), AcqRel)) }
            compare_exchange(expected, v) -> $t {
                $from(word.compare_exchange($to(expected), $to(v), Relaxed, Relaxed).unwrap_or_else(identity))
            }
            compare_exchange_acq_rel(expected, v) -> $t {
                $from(word.compare_exchange($to(expected), $to(v), AcqRel, Acquire).unwrap_or_else(identity))
            }
            load() -> $t { $from(word.load(Relaxed)) }
            load_acquire() -> $t { $from(word.load(Acquire)) }
            store(v) -> () { word.store($to(v), Relaxed) }
            store_release(v) -> () { word.store($to(v), Release) }
        }
    };
}

/// In a checked run, what the compiler announces: it doesn't announce minima and maxima.
macro_rules! extreme {
    ($word:ident, $v:ident, $method:ident, $of:ident) => {
        if cfg!(simt_check) {
            $word.fetch_update(Relaxed, Relaxed, |old| Some(old.$of($v))).unwrap_or_else(identity)
        } else {
            $word.$method($v, Relaxed)
        }
    };
}

macro_rules! integers {
    ($($t:ident $atomic:ident;)*) => {$(
        impl<S: Marker> Operations<S> for $t {
            moves!($t, $atomic, identity, identity);
            functions! { $t, $atomic, word;
                fetch_add(v) -> $t { word.fetch_add(v, Relaxed) }
                fetch_add_acq_rel(v) -> $t { word.fetch_add(v, AcqRel) }
                fetch_min(v) -> $t { extreme!(word, v, fetch_min, min) }
                fetch_max(v) -> $t { extreme!(word, v, fetch_max, max) }
            }
        }
        impl<S: Marker> BitOperations<S> for $t {
            functions! { $t, $atomic, word;
                fetch_and(v) -> $t { word.fetch_and(v, Relaxed) }
                fetch_or(v) -> $t { word.fetch_or(v, Relaxed) }
                fetch_xor(v) -> $t { word.fetch_xor(v, Relaxed) }
            }
        }
    )*};
}
integers! {
    u32 AtomicU32;
    i32 AtomicI32;
    u64 AtomicU64;
    i64 AtomicI64;
}

macro_rules! floats {
    ($($t:ident $atomic:ident $u:ident $i:ident;)*) => {$(
        impl<S: Marker> Operations<S> for $t {
            moves!($t, $atomic, $t::to_bits, $t::from_bits);
            functions! { $t, $atomic, word;
                fetch_add(v) -> $t { add!($t, word, v, Relaxed, Relaxed) }
                fetch_add_acq_rel(v) -> $t { add!($t, word, v, AcqRel, Acquire) }
            }
            float_extremes!($t, $u, $i, S);
        }
    )*};
}
macro_rules! add {
    ($t:ident, $word:ident, $v:ident, $success:ident, $failure:ident) => {{
        let sum = |old| Some(($t::from_bits(old) + $v).to_bits());
        $t::from_bits($word.fetch_update($success, $failure, sum).unwrap_or_else(identity))
    }};
}
floats! {
    f32 AtomicU32 u32 i32;
    f64 AtomicU64 u64 i64;
}
