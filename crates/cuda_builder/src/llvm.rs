//! A thin safe layer over LLVM's C interface, as far as the builder needs it. All `unsafe` of the crate is here.

use std::{
    env, fs,
    path::Path,
    process::Command,
    sync::{Mutex, PoisonError},
};

use llvm_sys::{core::*, target::*};

use crate::{
    cargo,
    error::{Result, refused},
};

mod context;
mod fatal;
mod function;
mod global;
mod memory;
mod module;
mod passes;
mod replace;
mod target;
mod text;
mod trap;
mod value;

pub use context::Context;
pub use fatal::catch;
pub use function::Function;
pub use memory::AddressSpace;
pub use module::Module;
pub use replace::{AtomicOperation, Instruction, Opcode, Ordering};
pub use target::TargetMachine;
pub use value::Hidden;

// Without a name from it, the linker would leave out the crate that defines LLVM's functions.
extern crate aya_rustc_llvm_proxy as _;

/// The major version that `llvm-sys` is made for.
const LLVM_MAJOR: u32 = 22;

/// Finds the toolchain's LLVM and loads it, once for the process.
pub fn load() -> Result<()> {
    // Held while loading: a second builder waits until LLVM's targets are there.
    static LOADED: Mutex<bool> = Mutex::new(false);
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if *loaded {
        return Ok(());
    }
    let rustc = cargo::rustc();
    let sysroot = Command::new(&rustc)
        .args(["--print", "sysroot"])
        .output()
        .map_err(|error| error.to_string())
        .and_then(|output| match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
            false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        })
        .map_err(|reason| cargo::no_sysroot(&rustc, reason))?;
    let folder = Path::new(&sysroot).join("lib");
    let has_llvm = fs::read_dir(&folder)
        .is_ok_and(|files| files.flatten().any(|file| file.file_name().to_string_lossy().starts_with("libLLVM")));
    if !has_llvm {
        return refused(format!(
            "no libLLVM*.so lies in {}: cuda_builder uses the LLVM that rustup's toolchains ship. Install Rust through rustup (a \
             distribution's own rustc links another LLVM), or set RUSTC to such a toolchain's rustc",
            folder.display()
        ));
    }

    // The proxy takes the first libLLVM* on this path, which must be the toolchain's and not a system's.
    let mut path = vec![folder];
    path.extend(env::var_os("LD_LIBRARY_PATH").iter().flat_map(env::split_paths));
    if let Ok(path) = env::join_paths(path) {
        // SAFETY: the builder runs in a build script or a test, where nothing reads the environment past Rust's own
        // lock; the proxy's loading below reads the variable through it, too.
        unsafe { env::set_var("LD_LIBRARY_PATH", path) };
    }
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: three out pointers to live integers; the initialisers may be called any number of times.
    unsafe {
        LLVMGetVersion(&mut major, &mut minor, &mut patch);
        if major == LLVM_MAJOR {
            LLVMInitializeNVPTXTargetInfo();
            LLVMInitializeNVPTXTarget();
            LLVMInitializeNVPTXTargetMC();
            LLVMInitializeNVPTXAsmPrinter();
            fatal::install();
        }
    }
    if major != LLVM_MAJOR {
        return refused(format!(
            "the toolchain's LLVM is version {major}.{minor}.{patch}, but cuda_builder speaks to version {LLVM_MAJOR}: use Rust \
             1.95, or another toolchain with that version (`rustc -vV`)"
        ));
    }
    *loaded = true;
    Ok(())
}
