//! Globals in the address spaces of a GPU.

use std::ffi::{CStr, c_uint};

use llvm_sys::{LLVMLinkage, core::*, prelude::*};

use super::{
    function::Function,
    global::Global,
    module::Module,
    text::c_string,
    value::{name, users},
};

/// NVPTX's numbers of its address spaces.
#[derive(Debug, Clone, Copy)]
pub enum AddressSpace {
    Shared = 3,
    Constant = 4,
}

impl Function<'_> {
    /// Puts a shared array into the place of each call of this function, whose arguments are the array's size and its
    /// alignment in bytes. The callers are inlined.
    pub fn place_arrays(&self, module: &Module<'_>) {
        let mut calls = Vec::new();
        users(self.value, &mut |call| calls.push(call));
        for call in calls {
            // SAFETY: all values are live and of this module. A call of the function has two
            // arguments, and only constants are asked for their values; it has no uses left when it
            // is erased.
            unsafe {
                let caller = Function { value: LLVMGetBasicBlockParent(LLVMGetInstructionParent(call)), context: self.context };
                let number = |argument| match LLVMIsAConstantInt(LLVMGetOperand(call, argument)) {
                    value if value.is_null() => panic!("`{}` has no constant size", caller.name()),
                    value => LLVMConstIntGetZExtValue(value),
                };
                let ty = LLVMArrayType2(LLVMInt8TypeInContext(self.context.context), number(0));
                let array = LLVMAddGlobalInAddressSpace(module.module, ty, c"".as_ptr(), AddressSpace::Shared as c_uint);
                LLVMSetAlignment(array, (number(1) as c_uint).max(16));
                LLVMSetLinkage(array, LLVMLinkage::LLVMInternalLinkage);
                LLVMSetInitializer(array, LLVMGetUndef(ty));
                let name = c_string(&format!("{}_array", caller.name()));
                LLVMSetValueName2(array, name.as_ptr(), name.count_bytes());
                LLVMReplaceAllUsesWith(call, LLVMConstAddrSpaceCast(array, LLVMTypeOf(call)));
                LLVMInstructionEraseFromParent(call);
                caller.remove_attribute("noinline");
                caller.always_inline();
            }
        }
    }
}

impl Module<'_> {
    /// Moves each global to the address space that `space` names, if any, and casts its uses to the
    /// generic one.
    pub fn place_globals(&mut self, space: impl Fn(&Global<'_>) -> Option<AddressSpace>) {
        let placed: Vec<_> = self.globals().filter_map(|global| Some((global.value, space(&global)?))).collect();
        for (global, space) in placed {
            self.move_to_address_space(global, space);
        }
    }

    fn move_to_address_space(&mut self, global: LLVMValueRef, space: AddressSpace) {
        let name = c_string(&name(global));
        // SAFETY: all values are live and of this module; the old global has no uses left when it is deleted.
        unsafe {
            let ty = LLVMGlobalGetValueType(global);
            // A global in shared memory is the dynamic part: an array whose size the launch gives.
            let ty = match space {
                AddressSpace::Shared => LLVMArrayType2(LLVMInt8TypeInContext(self.context.context), 0),
                AddressSpace::Constant => ty,
            };
            let new = LLVMAddGlobalInAddressSpace(self.module, ty, c"".as_ptr(), space as c_uint);
            LLVMSetLinkage(new, LLVMLinkage::LLVMExternalLinkage);
            LLVMSetAlignment(new, LLVMGetAlignment(global).max(16));
            match space {
                AddressSpace::Shared => {}
                AddressSpace::Constant => {
                    let initial = LLVMGetInitializer(global);
                    LLVMSetInitializer(new, if initial.is_null() { LLVMConstNull(ty) } else { initial });
                    LLVMSetExternallyInitialized(new, 1);
                    LLVMSetGlobalConstant(new, 1);
                }
            }
            replace_global(global, new, &name);
        }
    }
}

/// Puts `new` in the place of `old`, name included.
///
/// # Safety
/// Both must be live globals of one module; `old` must not be used afterwards.
unsafe fn replace_global(old: LLVMValueRef, new: LLVMValueRef, name: &CStr) {
    // SAFETY: both are live globals of one module, and `old` isn't used afterwards, as the caller has promised; the
    // cast is a constant of `old`'s own type.
    unsafe {
        LLVMReplaceAllUsesWith(old, LLVMConstAddrSpaceCast(new, LLVMTypeOf(old)));
        LLVMDeleteGlobal(old);
        LLVMSetValueName2(new, name.as_ptr(), name.count_bytes());
    }
}
