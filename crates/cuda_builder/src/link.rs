//! Members -> one module.

use std::{collections::BTreeSet, fs};

use crate::{
    archive::{self, Member},
    cargo::Bitcode,
    device,
    error::{BuilderError, Result},
    intrinsics,
    llvm::{Context, Hidden, Module},
    lower, symbols,
};

/// A precompiled crate's name, the symbols that it defines, and its bitcode.
type Precompiled = (String, Vec<String>, Vec<u8>);

/// Links the kernel crate with all that it reaches, leaving undefined only what the device stage deals with. Kernels
/// whose names begin with one of `left_out` are functions like others, and go where nothing reaches them.
pub fn link<'c>(context: &'c Context, bitcode: &Bitcode, left_out: &[String], panic_messages: bool) -> Result<Module<'c>> {
    let mut module = context.module(&bitcode.name);
    let mut precompiled = Vec::new();
    for member in archive::members(&bitcode.archive)? {
        match member {
            Member::Bitcode { name, data } => module.link(context.parse(&name, &data)?)?,
            Member::Precompiled { name, defines, data } => precompiled.push((name, defines, data)),
        }
    }
    module.name_allocator();
    device::leave_out(&module, left_out)?;
    if !panic_messages {
        module.hide_reports();
    }
    module.hide_all_but_kernels(Hidden::Internal);
    module.run("globaldce", None)?;
    link_toolchain(context, &mut module, &precompiled)?;
    device::refuse_host_assembly(&module)?;
    module.link(context.parse("runtime.ll", include_bytes!("runtime.ll"))?)?;
    let panic_ir = bitcode.panic_ir.iter().filter(|_| panic_messages);
    for path in bitcode.ir.iter().chain(panic_ir) {
        let text = fs::read(path).map_err(|source| BuilderError::Io { path: path.clone(), source })?;
        let mut part = context.parse(&path.display().to_string(), &text)?;
        if !bitcode.panic_ir.contains(path) {
            // Unused functions of a library are dropped. Panics call theirs later.
            part.hide_all_but_kernels(Hidden::UntilUsed);
        }
        module.link(part)?;
    }
    intrinsics::define(&mut module)?;
    lower::lower(&mut module)?;
    // Replaced instructions call functions of `compiler_builtins`.
    link_toolchain(context, &mut module, &precompiled)?;
    module.hide_allocator();
    Ok(module)
}

/// Links what the module wants of the toolchain's precompiled crates. It is little: most of `core` is generic or
/// inlined, and what never returns will be a trap.
fn link_toolchain(context: &Context, module: &mut Module<'_>, precompiled: &[Precompiled]) -> Result<()> {
    let mut sought = BTreeSet::new();
    loop {
        let wanted = module
            .functions()
            .filter(|function| {
                function.is_declaration() && !function.is_intrinsic() && function.is_used() && !function.never_returns()
            })
            .map(|function| function.name())
            .find(|name| is_of_the_toolchain(name) && !sought.contains(name));
        let Some(wanted) = wanted else {
            break;
        };
        let member = precompiled.iter().find(|(_, defines, _)| defines.contains(&wanted));
        sought.insert(wanted);
        let Some((name, _, data)) = member else {
            continue;
        };
        let mut part = context.parse(name, data)?;
        // It has full debug information, with which ptxas would optimise less.
        part.strip_debug();
        // Its panics stay undefined, to become traps like all others.
        part.forget(|function| function.never_returns())?;
        lower::lower(&mut part)?;
        // Another part may still want what this one has.
        part.hide_all_but_kernels(Hidden::UntilUsed);
        module.link(part)?;
        module.run("globaldce", None)?;
    }
    if !sought.is_empty() {
        module.hide_all_but_kernels(Hidden::Internal);
    }
    Ok(())
}

/// Returns true if a symbol is of `core` or `alloc`, or a function of `compiler_builtins` that
/// replaces instructions.
fn is_of_the_toolchain(symbol: &str) -> bool {
    let path = symbols::readable(symbol);
    let path = path.trim_start_matches('<');
    path.starts_with("core::") || path.starts_with("alloc::") || lower::is_compiler_builtin(path)
}
