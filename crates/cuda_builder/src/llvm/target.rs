//! The device's code generator.

use std::{ffi::CStr, ptr};

use llvm_sys::target_machine::*;

use super::text::{c_string, message};
use crate::{
    NvptxArch,
    error::{Result, refused},
};

/// The device's triple.
pub(super) const TRIPLE: &CStr = c"nvptx64-nvidia-cuda";

/// LLVM's code generator for one architecture.
pub struct TargetMachine {
    pub(super) machine: LLVMTargetMachineRef,
}

impl Drop for TargetMachine {
    fn drop(&mut self) {
        // SAFETY: ours, and disposed of once.
        unsafe { LLVMDisposeTargetMachine(self.machine) }
    }
}

impl TargetMachine {
    pub fn nvptx(arch: NvptxArch) -> Result<Self> {
        let mut target = ptr::null_mut();
        let mut error = ptr::null_mut();
        let cpu = c_string(&arch.target_cpu());
        let features = c_string(&format!("+ptx{}", arch.ptx_version()));
        // SAFETY: null-terminated names; the target is used only where LLVM found one.
        unsafe {
            if LLVMGetTargetFromTriple(TRIPLE.as_ptr(), &mut target, &mut error) != 0 {
                return refused(format!(
                    "the toolchain's LLVM can't write PTX ({}): use a toolchain from rustup, whose LLVM has the NVPTX target",
                    message(error)
                ));
            }
            let machine = LLVMCreateTargetMachine(
                target,
                TRIPLE.as_ptr(),
                cpu.as_ptr(),
                features.as_ptr(),
                LLVMCodeGenOptLevel::LLVMCodeGenLevelAggressive,
                LLVMRelocMode::LLVMRelocDefault,
                LLVMCodeModel::LLVMCodeModelDefault,
            );
            Ok(TargetMachine { machine })
        }
    }
}
