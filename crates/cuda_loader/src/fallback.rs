//! Substitutes for functions that the driver lacks, or for all of them.
//!
//! Each is called in the place of functions with other signatures: it neither reads its arguments nor writes through
//! them, and in the C ABIs of x86-64 and aarch64 Linux the caller clears them away, however many there are.

use std::ffi::{CStr, c_char, c_int, c_void};

/// `CUDA_SUCCESS`
pub(crate) const SUCCESS: c_int = 0;
/// `CUDA_ERROR_INVALID_VALUE`
const INVALID_VALUE: c_int = 1;
/// `CUDA_ERROR_STUB_LIBRARY`
pub(crate) const STUB_LIBRARY: c_int = 34;
/// `CUDA_ERROR_NO_DEVICE`
pub(crate) const NO_DEVICE: c_int = 100;
/// `CUDA_ERROR_NOT_FOUND`
pub(crate) const NOT_FOUND: c_int = 500;

extern "C" fn not_found() -> c_int {
    NOT_FOUND
}

extern "C" fn no_device() -> c_int {
    NO_DEVICE
}

/// `cuGetErrorName` without a driver.
///
/// # Safety
/// `out` is null or may be written to.
unsafe extern "C" fn error_name(code: c_int, out: *mut *const c_char) -> c_int {
    let name = match code {
        SUCCESS => c"CUDA_SUCCESS",
        STUB_LIBRARY => c"CUDA_ERROR_STUB_LIBRARY",
        NO_DEVICE => c"CUDA_ERROR_NO_DEVICE",
        NOT_FOUND => c"CUDA_ERROR_NOT_FOUND",
        _ => c"CUDA_ERROR (its name is unknown without the driver)",
    };
    // SAFETY: `out` is null or may be written to, as the caller has promised.
    unsafe { answer(out, name) }
}

/// `cuGetErrorString` without a driver. It has an answer for every code, since cust's `Display` fails, and so
/// `to_string` panics, where this function does.
///
/// # Safety
/// `out` is null or may be written to.
unsafe extern "C" fn error_string(code: c_int, out: *mut *const c_char) -> c_int {
    let text = match code {
        SUCCESS => c"no error",
        STUB_LIBRARY => c"CUDA driver is a stub library",
        NO_DEVICE => c"no CUDA-capable device is detected",
        NOT_FOUND => c"named symbol not found",
        _ => c"a CUDA error (its text is unknown without the driver)",
    };
    // SAFETY: `out` is null or may be written to, as the caller has promised.
    unsafe { answer(out, text) }
}

/// # Safety
/// `out` is null or may be written to.
unsafe fn answer(out: *mut *const c_char, text: &'static CStr) -> c_int {
    if out.is_null() {
        return INVALID_VALUE;
    }
    // SAFETY: `out` is not null, so it may be written to, as the caller has promised.
    unsafe { out.write(text.as_ptr()) };
    SUCCESS
}

/// The function that answers for `name` where the driver has no such function, or there is no driver.
pub(crate) fn substitute(name: &str, has_driver: bool) -> *const c_void {
    match name {
        "cuGetErrorName" => error_name as *const c_void,
        "cuGetErrorString" => error_string as *const c_void,
        _ if has_driver => not_found as *const c_void,
        _ => no_device as *const c_void,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_name_and_a_text() {
        for code in [0, 2, 34, 100, 500, 999, -1] {
            for function in [error_name, error_string] {
                let mut out = std::ptr::null();
                // SAFETY: `out` may be written to.
                assert_eq!(unsafe { function(code, &mut out) }, SUCCESS);
                // SAFETY: success means that `out` was set to a C string, and it is static.
                let text = unsafe { CStr::from_ptr(out) };
                assert!(!text.is_empty());
            }
        }
    }

    #[test]
    fn a_null_out_pointer_is_refused() {
        // SAFETY: null is allowed.
        let code = unsafe { error_string(NO_DEVICE, std::ptr::null_mut()) };
        assert_eq!(code, INVALID_VALUE);
    }
}
