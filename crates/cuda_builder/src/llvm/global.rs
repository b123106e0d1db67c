//! Global variables.

use std::{ffi::c_uint, marker::PhantomData, slice};

use llvm_sys::{LLVMTypeKind, core::*, prelude::*};

use super::{
    memory::AddressSpace,
    value::{functions_using, name, section, users},
};

/// A global variable of a module. It borrows the module, since dropping or optimising that may end it.
pub struct Global<'m> {
    pub(super) value: LLVMValueRef,
    pub(super) module: PhantomData<&'m ()>,
}

impl Global<'_> {
    pub fn name(&self) -> String {
        name(self.value)
    }
    pub fn section(&self) -> String {
        section(self.value)
    }
    pub fn is_declaration(&self) -> bool {
        // SAFETY: a live global.
        unsafe { LLVMIsDeclaration(self.value) != 0 }
    }
    /// Clears the section, which means nothing in PTX.
    pub fn clear_section(&self) {
        // SAFETY: a live global.
        unsafe { LLVMSetSection(self.value, c"".as_ptr()) }
    }
    pub fn is_thread_local(&self) -> bool {
        // SAFETY: a live global.
        unsafe { LLVMIsThreadLocal(self.value) != 0 }
    }
    /// The size of an array in shared memory, in bytes; `None` of another global.
    pub fn shared_bytes(&self) -> Option<u64> {
        // SAFETY: a live global; its type is asked for a length only where it is an array, whose elements are bytes in
        // shared memory (`place_arrays`).
        unsafe {
            let ty = LLVMGlobalGetValueType(self.value);
            let is_shared = LLVMGetPointerAddressSpace(LLVMTypeOf(self.value)) == AddressSpace::Shared as c_uint;
            (is_shared && LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMArrayTypeKind).then(|| LLVMGetArrayLength2(ty))
        }
    }
    /// The number that it is from the start, if it has eight bytes.
    pub fn number(&self) -> Option<u64> {
        // SAFETY: a live global. Its value is asked for an element only where it is a structure, and for text only where it
        // is that, whose length is given.
        unsafe {
            let mut value = LLVMGetInitializer(self.value);
            if !value.is_null() && LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMTypeKind::LLVMStructTypeKind {
                value = LLVMGetAggregateElement(value, 0);
            }
            if value.is_null() || LLVMIsConstantString(value) == 0 {
                return None;
            }
            let mut length = 0;
            let text = LLVMGetAsString(value, &mut length);
            slice::from_raw_parts(text.cast::<u8>(), length).try_into().map(u64::from_le_bytes).ok()
        }
    }
    /// The functions with an instruction that uses it.
    pub fn users(&self) -> Vec<String> {
        functions_using(self.value)
    }
    /// Returns true if an instruction uses it.
    pub fn is_used(&self) -> bool {
        let mut is_used = false;
        users(self.value, &mut |_| is_used = true);
        is_used
    }
}
