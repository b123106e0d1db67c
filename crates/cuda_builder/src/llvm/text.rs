//! Strings to and from LLVM.

use std::ffi::{CStr, CString, c_char};

use llvm_sys::core::*;

use crate::error::BuilderError;

pub(super) fn failed(what: impl Into<String>, reason: impl Into<String>) -> BuilderError {
    BuilderError::Llvm { what: what.into(), reason: reason.into() }
}

pub(super) fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}

/// Takes over a message that LLVM allocated.
pub(super) fn message(text: *mut c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: LLVM's messages are null-terminated, and ours to free, once.
    unsafe {
        let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
        LLVMDisposeMessage(text);
        copy
    }
}
