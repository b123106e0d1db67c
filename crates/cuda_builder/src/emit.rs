//! Device module -> optimised PTX.

use std::{fs, path::Path};

use crate::{
    NvptxArch,
    device::{self, Kernels},
    error::{BuilderError, Result},
    llvm::{Module, TargetMachine},
};

/// Optimises a copy of `module` for `arch` and writes its PTX to `path`, and its IR to `ir` where asked for.
pub fn emit(module: &Module<'_>, kernels: &Kernels, arch: NvptxArch, path: &Path, ir: Option<&Path>) -> Result<()> {
    let machine = TargetMachine::nvptx(arch)?;
    let callers = device::callers_of_undefined(module, kernels);
    let mut module = module.duplicate();
    module.run("default<O3>", Some(&machine))?;
    device::forget_unwinding(&module);
    if let Some(ir) = ir {
        write(ir, module.to_string().as_bytes())?;
    }
    device::check_is_complete(&module, kernels, &callers)?;
    write(path, &machine.assembly(&mut module)?)
}

/// Writes beside the file, then renames, so that a reader never sees half of it. A file that holds `data` stays as it
/// is, and with it all that was built from it.
pub fn write(path: &Path, data: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|old| old == data) {
        return Ok(());
    }
    let part = path.with_extension("part");
    fs::write(&part, data)
        .and_then(|()| fs::rename(&part, path))
        .map_err(|source| BuilderError::Io { path: path.to_owned(), source })
}
