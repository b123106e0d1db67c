//! Functions that become traps.

use std::{ffi::CStr, ptr};

use llvm_sys::{LLVMTypeKind, core::*, prelude::*};

use super::{
    function::Function,
    module::Module,
    value::{Hidden, hide},
};

impl Module<'_> {
    /// Declares or finds a function without arguments or with one pointer, returning nothing.
    fn helper(&self, name: &CStr, takes_pointer: bool) -> (LLVMTypeRef, LLVMValueRef) {
        // SAFETY: live module and context; the type list outlives the call.
        unsafe {
            let void = LLVMVoidTypeInContext(self.context.context);
            let mut pointer = LLVMPointerTypeInContext(self.context.context, 0);
            let ty = LLVMFunctionType(void, &mut pointer, u32::from(takes_pointer), 0);
            let found = LLVMGetNamedFunction(self.module, name.as_ptr());
            let function = if found.is_null() { LLVMAddFunction(self.module, name.as_ptr(), ty) } else { found };
            (ty, function)
        }
    }

    /// Gives a declared function the body of a trap, after a call of `report` with its last argument (the place of the
    /// panic) where that is a pointer.
    pub fn define_as_trap(&self, function: &Function<'_>, report: Option<&CStr>) {
        // SAFETY: builds one block in a live function that has none. What it calls is declared in this module, which is
        // the function's: the builder works on one.
        unsafe {
            let block = LLVMAppendBasicBlockInContext(self.context.context, function.value, c"panic".as_ptr());
            let builder = LLVMCreateBuilderInContext(self.context.context);
            LLVMPositionBuilderAtEnd(builder, block);
            let count = LLVMCountParams(function.value);
            if let Some(report) = report
                && count > 0
            {
                let last = LLVMGetParam(function.value, count - 1);
                if LLVMGetTypeKind(LLVMTypeOf(last)) == LLVMTypeKind::LLVMPointerTypeKind {
                    let (ty, callee) = self.helper(report, true);
                    let mut argument = last;
                    LLVMBuildCall2(builder, ty, callee, &mut argument, 1, c"".as_ptr());
                }
            }
            let (ty, trap) = self.helper(c"llvm.trap", false);
            LLVMBuildCall2(builder, ty, trap, ptr::null_mut(), 0, c"".as_ptr());
            LLVMBuildUnreachable(builder);
            LLVMDisposeBuilder(builder);
        }
        hide(function.value, Hidden::Internal);
    }
}
