//! The `cu*` symbols where there is no driver: each answers that there is no device. It reads no arguments, which the
//! caller clears away in the C ABIs of these systems, however many there are.

use std::ffi::{c_int, c_void};

use crate::{fallback::NO_DEVICE, symbols::with_symbols};

macro_rules! define {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        extern "C" fn $name() -> c_int {
            NO_DEVICE
        }
    )*};
}

with_symbols!(define);

/// Does nothing: no symbol has a table to jump through.
pub(crate) fn fill(_target: impl FnMut(&'static str) -> *const c_void) {}
