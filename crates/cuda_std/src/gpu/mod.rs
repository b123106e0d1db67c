//! The device side: functions of `src/ir/*.ll`, and those that `cuda_builder` makes from their names. It links them in,
//! and LLVM inlines them.

/// Declares functions of the IR by their symbols. Each list says why all of its functions are safe to call.
macro_rules! ir {
    ($($symbol:literal fn $name:ident($($x:ident: $t:ty),*) $(-> $result:ty)?;)*) => {
        // SAFETY: the signatures are those of the IR.
        unsafe extern "C" {
            $(
                #[link_name = $symbol]
                pub safe fn $name($($x: $t),*) $(-> $result)?;
            )*
        }
    };
}

pub mod atomic;
pub mod half;
pub mod math;
pub mod mbarrier;
pub mod mem;
pub mod mma;
mod panic;
pub mod tensor;
pub mod thread;
pub mod warp;
pub mod wgmma;
