//! Globals in the address spaces of a GPU.

use std::ffi::{CStr, c_uint};

use llvm_sys::{LLVMLinkage, core::*, prelude::*};

use super::{global::Global, module::Module, text::c_string, value::name};

/// NVPTX's numbers of its address spaces.
#[derive(Debug, Clone, Copy)]
pub enum AddressSpace {
    Shared = 3,
    Constant = 4,
}

impl Module<'_> {
    /// Moves each global for which `space` names an address space there, with uses cast to the generic one.
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
            // Dynamic shared memory is external: an array without a size, to which the launch gives one.
            let dynamic = LLVMIsDeclaration(global) != 0 && matches!(space, AddressSpace::Shared);
            let ty = if dynamic { LLVMArrayType2(LLVMInt8TypeInContext(self.context.context), 0) } else { ty };
            let new = LLVMAddGlobalInAddressSpace(self.module, ty, c"".as_ptr(), space as c_uint);
            LLVMSetAlignment(new, if dynamic { 16 } else { LLVMGetAlignment(global).max(16) });
            match space {
                AddressSpace::Shared if dynamic => LLVMSetLinkage(new, LLVMLinkage::LLVMExternalLinkage),
                AddressSpace::Shared => {
                    LLVMSetLinkage(new, LLVMLinkage::LLVMInternalLinkage);
                    LLVMSetInitializer(new, LLVMGetUndef(ty));
                }
                AddressSpace::Constant => {
                    LLVMSetLinkage(new, LLVMLinkage::LLVMExternalLinkage);
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
