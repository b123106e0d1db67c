//! Device module -> optimised PTX.

use std::{collections::BTreeSet, fs, path::Path};

use crate::{
    NvptxArch, PtxImage,
    device::{self, Kernels},
    error::{BuilderError, Result},
    llvm::{Instruction, Module, TargetMachine},
};

/// Optimises a copy of `module` for `arch` and writes the PTX of its images, and their IR where asked for. The driver
/// will link functions with the names `linked`.
pub fn emit(
    module: &Module<'_>,
    kernels: &Kernels,
    arch: NvptxArch,
    images: &[PtxImage],
    linked: &BTreeSet<String>,
    ir: bool,
) -> Result<()> {
    let machine = TargetMachine::nvptx(arch)?;
    let callers = device::callers_of_undefined(module, kernels);
    let mut module = module.duplicate();
    let images: Vec<_> = images.iter().filter(|image| image.arch == arch).collect();
    if images.iter().map(|image| image.kernels.len()).sum::<usize>() < kernels.len() {
        module.keep_kernels(images.iter().flat_map(|image| &image.kernels))?;
    }
    if arch.is_specific() {
        // `cuda_std::arch`, which LLVM would make the same as of the other architecture.
        let arch = 10 * arch.number() + 1;
        let asks = |instruction: &Instruction<'_>| instruction.callee().is_some_and(|name| name == device::ASKS_ARCH);
        module.replace(|instruction| asks(instruction).then(|| format!("  ret i32 {arch}\n}}\n")))?;
    }
    module.run("default<O3>", Some(&machine))?;
    device::forget_unwinding(&module);
    device::check_is_complete(&module, kernels, &callers, linked)?;
    device::check_shared_memory(&module, kernels)?;
    write_images(&mut module, &machine, &images, ir)
}

/// Writes the images of the kernels in `module`, of which little is left. It halves the set until one image remains,
/// because a copy of the whole module per image would take longer than everything else.
fn write_images(module: &mut Module<'_>, machine: &TargetMachine, images: &[&PtxImage], ir: bool) -> Result<()> {
    if images.is_empty() {
        return Ok(());
    }
    if let [image] = images {
        if ir {
            write(&image.path.with_extension("ll"), module.to_string().as_bytes())?;
        }
        return write(&image.path, &with_version(machine.assembly(module)?));
    }
    let (first, second) = images.split_at(images.len() / 2);
    let mut copy = module.duplicate();
    copy.keep_kernels(first.iter().flat_map(|image| &image.kernels))?;
    write_images(&mut copy, machine, first, ir)?;
    drop(copy);
    module.keep_kernels(second.iter().flat_map(|image| &image.kernels))?;
    write_images(module, machine, second, ir)
}

/// Raises the PTX version to what its inline assembly needs, if LLVM has written an older one.
fn with_version(ptx: Vec<u8>) -> Vec<u8> {
    /// Instruction of PTX 8.3.
    const NEWER: &str = "fence.proxy.tensormap";
    match String::from_utf8(ptx) {
        Ok(text) if text.contains(NEWER) => text.replacen(".version 8.0", ".version 8.3", 1).into_bytes(),
        Ok(text) => text.into_bytes(),
        Err(error) => error.into_bytes(),
    }
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
