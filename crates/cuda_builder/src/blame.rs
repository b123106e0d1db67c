//! Finds the function that LLVM couldn't translate. For most errors LLVM names it in its own terms
//! only, or not at all.

use std::{
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    NvptxArch,
    device::{self, Kernels},
    error::{BuilderError, Result},
    llvm::{self, Context, Module, TargetMachine},
    symbols,
};

/// Number of functions translated together at first: about the square root of a large crate's
/// number.
const TOGETHER: usize = 64;

/// Makes the device module.
pub type Source = dyn Fn(&Context) -> Result<(Module<'_>, Kernels)> + Send + Sync;

/// The functions that are being translated, by their numbers, and the first of them in words.
type Trial = (Range<usize>, String);

/// The error that names the function and its kernels, where one is found; else `error`.
///
/// Functions are translated apart and unoptimised, so that they are those of the source. A fatal error ends the
/// attempt: the next one goes through the functions of its piece.
pub fn blame(error: BuilderError, source: &Arc<Source>, arch: NvptxArch) -> BuilderError {
    let mut numbers = 0..usize::MAX;
    for together in [TOGETHER, 1] {
        let trial = Arc::new(Mutex::new(None));
        let (shared, source, of) = (trial.clone(), source.clone(), numbers.clone());
        let Err(BuilderError::Llvm { reason, .. }) = llvm::catch(move || attempt(&*source, arch, of, together, &shared)) else {
            return error;
        };
        let tried: Option<Trial> = trial.lock().unwrap_or_else(PoisonError::into_inner).take();
        match tried {
            Some((_, place)) if together == 1 => {
                let reason = reason.lines().next().unwrap_or_default();
                return BuilderError::Refused(format!(
                    "LLVM can't write PTX for {place}: {reason}. The function holds a type or an operation that LLVM doesn't have \
                     for GPUs: write it with integers of up to 128 bits, `f32` and `f64`, or mark it `#[cfg(not(cuda_device))]`"
                ));
            }
            Some((piece, _)) => numbers = piece,
            None => break,
        }
    }
    error
}

/// Translates the functions of these numbers, so many together at a time.
fn attempt(source: &Source, arch: NvptxArch, numbers: Range<usize>, together: usize, trial: &Mutex<Option<Trial>>) -> Result<()> {
    let context = Context::new();
    let (mut module, kernels) = source(&context)?;
    // Calls that can't unwind need no landing pads.
    module.run("function(simplifycfg)", None)?;
    device::forget_unwinding(&module);
    let machine = TargetMachine::nvptx(arch)?;
    let names: Vec<String> =
        module.functions().filter(|function| !function.is_declaration()).map(|function| function.name()).collect();
    for start in (numbers.start..numbers.end.min(names.len())).step_by(together) {
        let piece = start..numbers.end.min(names.len()).min(start + together);
        let place = if together == 1 { place(&module, &kernels, &names[start]) } else { String::new() };
        *trial.lock().unwrap_or_else(PoisonError::into_inner) = Some((piece.clone(), place));
        let mut copy = module.duplicate();
        copy.reduce_to(&names[piece])?;
        machine.assembly(&mut copy)?;
    }
    *trial.lock().unwrap_or_else(PoisonError::into_inner) = None;
    Ok(())
}

/// A function and the kernels that use it, in words.
fn place(module: &Module<'_>, kernels: &Kernels, function: &str) -> String {
    if let Some(kernel) = kernels.get(function) {
        return format!("the kernel `{}`", kernel.path);
    }
    let using = device::kernels_reaching(module, kernels, vec![function.to_owned()]);
    let kind = if using.len() == 1 { "the kernel" } else { "the kernels" };
    format!("`{}` (of {kind} {})", symbols::readable(function), device::list(&using, kernels))
}
