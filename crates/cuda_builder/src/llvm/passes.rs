//! Optimising a module, and writing it out.

use std::{ptr, slice};

use llvm_sys::{core::*, error::LLVMGetErrorMessage, target_machine::*, transforms::pass_builder::*};

use super::{
    module::Module,
    target::TargetMachine,
    text::{c_string, failed, message},
};
use crate::error::Result;

impl Module<'_> {
    /// Runs a pass pipeline.
    pub fn run(&mut self, passes: &str, machine: Option<&TargetMachine>) -> Result<()> {
        let c_passes = c_string(passes);
        // SAFETY: live module and options; a null machine means none.
        let error = unsafe {
            let options = LLVMCreatePassBuilderOptions();
            let machine = machine.map_or(ptr::null_mut(), |machine| machine.machine);
            let error = LLVMRunPasses(self.module, c_passes.as_ptr(), machine, options);
            LLVMDisposePassBuilderOptions(options);
            error
        };
        if !error.is_null() {
            // SAFETY: the error is consumed, its message ours to free.
            let reason = message(unsafe { LLVMGetErrorMessage(error) });
            return Err(failed(format!("run {passes}"), reason));
        }
        Ok(())
    }
}

impl TargetMachine {
    /// PTX of an optimised module.
    pub fn assembly(&self, module: &mut Module<'_>) -> Result<Vec<u8>> {
        let mut error = ptr::null_mut();
        let mut buffer = ptr::null_mut();
        // SAFETY: live machine and module; the buffer is read for its own length, then freed.
        unsafe {
            let file = LLVMCodeGenFileType::LLVMAssemblyFile;
            if LLVMTargetMachineEmitToMemoryBuffer(self.machine, module.module, file, &mut error, &mut buffer) != 0 {
                return Err(failed("write PTX", message(error)));
            }
            let data = slice::from_raw_parts(LLVMGetBufferStart(buffer).cast::<u8>(), LLVMGetBufferSize(buffer)).to_vec();
            LLVMDisposeMemoryBuffer(buffer);
            match module.context.take_diagnostics() {
                errors if errors.is_empty() => Ok(data),
                errors => Err(failed("write PTX", errors)),
            }
        }
    }
}
