//! Functions that become traps.

use std::{ffi::CStr, ptr};

use llvm_sys::{LLVMTypeKind, core::*, prelude::*};

use super::{
    function::Function,
    module::Module,
    value::{Hidden, hide},
};

impl Module<'_> {
    /// Declares or finds a function that returns nothing.
    fn helper(&self, name: &CStr, parameters: &mut [LLVMTypeRef]) -> (LLVMTypeRef, LLVMValueRef) {
        // SAFETY: live module and context; the list of types outlives the call.
        unsafe {
            let void = LLVMVoidTypeInContext(self.context.context);
            let ty = LLVMFunctionType(void, parameters.as_mut_ptr(), parameters.len() as u32, 0);
            let found = LLVMGetNamedFunction(self.module, name.as_ptr());
            let function = if found.is_null() { LLVMAddFunction(self.module, name.as_ptr(), ty) } else { found };
            (ty, function)
        }
    }

    /// Gives a declared function the body of a trap. Before it comes a call of the first of `reports`, where it is
    /// given and this module has it, with all arguments; or else of the second with the last argument (the place of the
    /// panic) where that is a pointer.
    pub fn define_as_trap(&self, function: &Function<'_>, reports: Option<(Option<&CStr>, &CStr)>) {
        // SAFETY: builds one block in a live function that has none. The callee is of the same
        // module and takes these arguments: a message's report has the parameters of the function
        // that it replaces.
        unsafe {
            let block = LLVMAppendBasicBlockInContext(self.context.context, function.value, c"panic".as_ptr());
            let builder = LLVMCreateBuilderInContext(self.context.context);
            LLVMPositionBuilderAtEnd(builder, block);
            let mut arguments: Vec<_> = (0..LLVMCountParams(function.value)).map(|i| LLVMGetParam(function.value, i)).collect();
            if let Some((message, place)) = reports {
                let message = message.filter(|name| !LLVMGetNamedFunction(self.module, name.as_ptr()).is_null());
                if message.is_none() {
                    arguments.drain(..arguments.len().saturating_sub(1));
                }
                let mut types: Vec<_> = arguments.iter().map(|&argument| LLVMTypeOf(argument)).collect();
                if message.is_some() || types.last().is_some_and(|&ty| LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMPointerTypeKind) {
                    let (ty, callee) = self.helper(message.unwrap_or(place), &mut types);
                    LLVMBuildCall2(builder, ty, callee, arguments.as_mut_ptr(), arguments.len() as u32, c"".as_ptr());
                }
            }
            let (ty, trap) = self.helper(c"llvm.trap", &mut []);
            LLVMBuildCall2(builder, ty, trap, ptr::null_mut(), 0, c"".as_ptr());
            LLVMBuildUnreachable(builder);
            LLVMDisposeBuilder(builder);
        }
        hide(function.value, Hidden::Internal);
    }
}
