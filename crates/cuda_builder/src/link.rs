//! Members -> one module.

use std::fs;

use crate::{
    archive::{self, Member},
    cargo::Bitcode,
    device,
    error::{BuilderError, Result},
    llvm::{Context, Module},
    symbols,
};

/// Links the kernel crate with all that it reaches, leaving undefined only what the device stage deals with.
pub fn link<'c>(context: &'c Context, bitcode: &Bitcode, panic_messages: bool) -> Result<Module<'c>> {
    let mut module = context.module(&bitcode.name);
    let mut precompiled = Vec::new();
    for member in archive::members(&bitcode.archive)? {
        match member {
            Member::Bitcode { name, data } => module.link(context.parse(&name, &data)?)?,
            Member::Precompiled { name, defines, data } => precompiled.push((name, defines, data)),
        }
    }
    module.internalize_all_but_kernels();
    module.run("globaldce", None)?;
    // `core`'s out-of-line functions are wanted rarely (most are generic or inlined), and what never returns will be a trap.
    loop {
        let wanted: Vec<String> = module
            .functions()
            .filter(|function| {
                function.is_declaration() && !function.is_intrinsic() && function.is_used() && !function.never_returns()
            })
            .map(|function| function.name())
            .filter(|name| symbols::readable(name).starts_with("core::") || symbols::readable(name).starts_with("<core::"))
            .collect();
        let Some(index) = precompiled.iter().position(|(_, defines, _)| defines.iter().any(|symbol| wanted.contains(symbol)))
        else {
            break;
        };
        let (name, _, data) = precompiled.swap_remove(index);
        let mut part = context.parse(&name, &data)?;
        // Its debug information is of the full kind, under which ptxas would hold back.
        part.strip_debug();
        // Its panics stay undefined, to become traps like all others.
        part.forget_what_never_returns()?;
        module.link(part)?;
        module.internalize_all_but_kernels();
        module.run("globaldce", None)?;
    }
    device::refuse_host_assembly(&module)?;
    module.link(context.parse("runtime.ll", include_bytes!("runtime.ll"))?)?;
    let panic_ir = bitcode.panic_ir.iter().filter(|_| panic_messages);
    for path in bitcode.ir.iter().chain(panic_ir) {
        let text = fs::read(path).map_err(|source| BuilderError::Io { path: path.clone(), source })?;
        module.link(context.parse(&path.display().to_string(), &text)?)?;
    }
    Ok(module)
}
