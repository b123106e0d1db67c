//! Common operations of globals, functions and instructions.

use std::{collections::HashSet, ffi::CStr, ptr, slice};

use llvm_sys::{LLVMLinkage, LLVMVisibility, core::*, prelude::*};

/// Mode of [`Module::hide_all_but_kernels`].
#[derive(Clone, Copy)]
pub enum Hidden {
    /// From all other modules.
    Internal,
    /// Not from modules that are still to be linked.
    UntilUsed,
}

pub(super) fn name(value: LLVMValueRef) -> String {
    let mut length = 0;
    // SAFETY: a live value; the name has the length given and stays while we copy it.
    unsafe {
        let text = LLVMGetValueName2(value, &mut length);
        String::from_utf8_lossy(slice::from_raw_parts(text.cast::<u8>(), length)).into_owned()
    }
}

pub(super) fn section(value: LLVMValueRef) -> String {
    // SAFETY: a live global; null means none.
    unsafe {
        let text = LLVMGetSection(value);
        if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
    }
}

pub(super) fn hide(value: LLVMValueRef, hidden: Hidden) {
    let linkage = match hidden {
        Hidden::Internal => LLVMLinkage::LLVMInternalLinkage,
        Hidden::UntilUsed => LLVMLinkage::LLVMLinkOnceODRLinkage,
    };
    // SAFETY: a live global value that has a definition.
    unsafe {
        LLVMSetLinkage(value, linkage);
        LLVMSetVisibility(value, LLVMVisibility::LLVMDefaultVisibility);
        llvm_sys::comdat::LLVMSetComdat(value, ptr::null_mut());
    }
}

/// Every instruction of a function.
pub(super) fn instructions(function: LLVMValueRef) -> Vec<LLVMValueRef> {
    let mut instructions = Vec::new();
    // SAFETY: walks the live function's blocks and their instructions.
    unsafe {
        let mut block = LLVMGetFirstBasicBlock(function);
        while !block.is_null() {
            let mut instruction = LLVMGetFirstInstruction(block);
            while !instruction.is_null() {
                instructions.push(instruction);
                instruction = LLVMGetNextInstruction(instruction);
            }
            block = LLVMGetNextBasicBlock(block);
        }
    }
    instructions
}

/// The names of the functions with an instruction that uses a value.
pub(super) fn functions_using(value: LLVMValueRef) -> Vec<String> {
    let mut functions = Vec::new();
    users(value, &mut |user| {
        // SAFETY: `users` gives instructions, which lie in a block of a function.
        let function = name(unsafe { LLVMGetBasicBlockParent(LLVMGetInstructionParent(user)) });
        if !functions.contains(&function) {
            functions.push(function);
        }
    });
    functions
}

/// Calls `found` for each instruction that uses `value`, through constants too, which may use each other in a circle.
pub(super) fn users(value: LLVMValueRef, found: &mut dyn FnMut(LLVMValueRef)) {
    let (mut seen, mut open) = (HashSet::from([value]), vec![value]);
    while let Some(value) = open.pop() {
        // SAFETY: walks the live value's list of uses; instructions and constants are told apart before each is looked
        // into.
        unsafe {
            let mut item = LLVMGetFirstUse(value);
            while !item.is_null() {
                let user = LLVMGetUser(item);
                if !LLVMIsAInstruction(user).is_null() {
                    found(user);
                } else if !LLVMIsAConstant(user).is_null() && seen.insert(user) {
                    open.push(user);
                }
                item = LLVMGetNextUse(item);
            }
        }
    }
}
