//! Contexts, which own modules.

use std::{
    cell::RefCell,
    ffi::{c_uint, c_void},
};

use llvm_sys::{core::*, prelude::*};

use super::text::message;

/// An LLVM context. Modules borrow it.
pub struct Context {
    pub(super) context: LLVMContextRef,
    diagnostics: Box<RefCell<Vec<String>>>,
}

extern "C" fn diagnose(info: LLVMDiagnosticInfoRef, sink: *mut c_void) {
    // SAFETY: `sink` is the context's box, which lives as long as the context that calls this; LLVM gives a live
    // `info`.
    unsafe {
        let sink = &*sink.cast::<RefCell<Vec<String>>>();
        if LLVMGetDiagInfoSeverity(info) == llvm_sys::LLVMDiagnosticSeverity::LLVMDSError {
            sink.borrow_mut().push(message(LLVMGetDiagInfoDescription(info)));
        }
    }
}

impl Context {
    pub fn new() -> Self {
        let diagnostics = Box::new(RefCell::new(Vec::new()));
        // SAFETY: the sink is boxed, so its address stays; it is dropped after the context (see Drop).
        let context = unsafe {
            let context = LLVMContextCreate();
            LLVMContextSetDiagnosticHandler(context, Some(diagnose), (&raw const *diagnostics).cast_mut().cast());
            context
        };
        Context { context, diagnostics }
    }

    pub(super) fn take_diagnostics(&self) -> String {
        self.diagnostics.take().join("; ")
    }

    pub(super) fn enum_attribute(&self, name: &str) -> LLVMAttributeRef {
        // SAFETY: a name with its length, and a live context.
        unsafe {
            let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
            LLVMCreateEnumAttribute(self.context, kind, 0)
        }
    }

    pub(super) fn string_attribute(&self, name: &str, value: &str) -> LLVMAttributeRef {
        // SAFETY: names with their lengths, and a live context.
        unsafe {
            LLVMCreateStringAttribute(
                self.context,
                name.as_ptr().cast(),
                name.len() as c_uint,
                value.as_ptr().cast(),
                value.len() as c_uint,
            )
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: every module borrows the context, so none is left.
        unsafe { LLVMContextDispose(self.context) }
    }
}
