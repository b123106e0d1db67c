//! Builds a Rust kernel crate to PTX with nothing but the Rust toolchain that compiles the host program.
//!
//! The kernel crate is compiled by cargo for the host's triple to LLVM bitcode, the crates that kernels reach are
//! linked into one module, the module is retargeted to `nvptx64-nvidia-cuda`, optimised, and written out as PTX, once
//! for each architecture asked for. LLVM is the one inside rustc (`libLLVM.so` in the sysroot), so neither CUDA nor
//! another LLVM is needed.
//!
//! Its interface is that of Rust-CUDA's `cuda_builder`. In a build script:
//!
//! ```no_run
//! use cuda_builder::{CudaBuilder, NvptxArch};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let output = CudaBuilder::new("gpu-kernels")
//!         .arch(NvptxArch::Compute75)
//!         .arch(NvptxArch::Compute90)
//!         .build()?;
//!     for image in &output.images {
//!         println!("cargo::rustc-env=PTX_{}={}", image.arch.number(), image.path.display());
//!     }
//!     Ok(())
//! }
//! ```
//!
//! The stages are modules of their own: `cargo` (kernel crate -> archive of bitcode), `archive` (its members), `link`
//! (members -> one module), `intrinsics` (names of `cuda_std` -> their functions), `lower` (instructions that LLVM
//! doesn't have for GPUs -> calls), `device` (host module -> device module), `emit` (module -> PTX), `blame` (whose
//! fault it is where LLVM fails); `llvm` is the thin layer over LLVM's C interface that they share.

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

mod archive;
mod blame;
mod cargo;
mod device;
mod emit;
mod error;
mod intrinsics;
mod link;
mod llvm;
mod lower;
mod names;
mod symbols;

pub use error::{BuilderError, Result};

/// A compute capability to build for. PTX for one runs on every GPU of that capability or later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum NvptxArch {
    /// Volta.
    Compute70,
    /// Turing.
    Compute75,
    /// Ampere (A100).
    Compute80,
    /// Ampere (GeForce 30, A40).
    Compute86,
    /// Ampere (Jetson Orin).
    Compute87,
    /// Ada Lovelace.
    Compute89,
    /// Hopper.
    Compute90,
    /// Blackwell (B200).
    Compute100,
    /// Blackwell (GeForce 50).
    Compute120,
}

impl NvptxArch {
    /// The capability as a number: 75 for 7.5, 120 for 12.0.
    pub const fn number(self) -> u32 {
        match self {
            NvptxArch::Compute70 => 70,
            NvptxArch::Compute75 => 75,
            NvptxArch::Compute80 => 80,
            NvptxArch::Compute86 => 86,
            NvptxArch::Compute87 => 87,
            NvptxArch::Compute89 => 89,
            NvptxArch::Compute90 => 90,
            NvptxArch::Compute100 => 100,
            NvptxArch::Compute120 => 120,
        }
    }

    /// LLVM's name of it: `sm_75`.
    pub fn target_cpu(self) -> String {
        format!("sm_{}", self.number())
    }

    /// The oldest PTX version, as LLVM writes it (78 is 7.8), that knows the architecture and all that `cuda_std` uses.
    const fn ptx_version(self) -> u32 {
        match self {
            NvptxArch::Compute100 => 86,
            NvptxArch::Compute120 => 87,
            _ => 78,
        }
    }
}

/// What the PTX tells debuggers and profilers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DebugInfo {
    /// Nothing.
    None,
    /// `.loc` lines, so that Nsight Compute shows Rust source beside SASS. Costs no speed.
    #[default]
    LineTables,
}

/// One PTX file.
#[derive(Debug, Clone)]
pub struct PtxImage {
    /// What it was built for.
    pub arch: NvptxArch,
    /// Where it lies.
    pub path: PathBuf,
}

/// What a build made.
#[derive(Debug, Clone)]
pub struct BuildOutput {
    /// One image for each architecture, in ascending order.
    pub images: Vec<PtxImage>,
    /// The PTX names of the kernels, sorted.
    pub kernels: Vec<String>,
}

/// Builds a kernel crate to PTX. See the [crate's documentation](crate) for an example.
#[derive(Debug, Clone)]
pub struct CudaBuilder {
    crate_path: PathBuf,
    archs: Vec<NvptxArch>,
    copy_to: Option<PathBuf>,
    out_dir: Option<PathBuf>,
    emit_llvm_ir: bool,
    debug: DebugInfo,
    fma_contraction: bool,
    panic_messages: bool,
    rerun_if_changed: bool,
}

impl CudaBuilder {
    /// A builder for the kernel crate in folder `crate_path` (relative to the build script's package).
    pub fn new(crate_path: impl AsRef<Path>) -> Self {
        CudaBuilder {
            crate_path: crate_path.as_ref().to_owned(),
            archs: Vec::new(),
            copy_to: None,
            out_dir: None,
            emit_llvm_ir: false,
            debug: DebugInfo::default(),
            fma_contraction: true,
            panic_messages: false,
            rerun_if_changed: env::var_os("CARGO_MANIFEST_DIR").is_some() && env::var_os("OUT_DIR").is_some(),
        }
    }

    /// Adds an architecture; without any, `sm_75` is built, which every GPU since Turing runs.
    pub fn arch(mut self, arch: NvptxArch) -> Self {
        self.archs.push(arch);
        self
    }

    /// Copies the PTX there: the file itself where one architecture is built, else one beside it for each,
    /// with the architecture before the extension (`kernels.ptx` -> `kernels.sm_75.ptx`, `kernels.sm_90.ptx`).
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.copy_to = Some(path.as_ref().to_owned());
        self
    }

    /// Where to build; without it, the build script's `OUT_DIR`.
    pub fn out_dir(mut self, path: impl AsRef<Path>) -> Self {
        self.out_dir = Some(path.as_ref().to_owned());
        self
    }

    /// Also writes each image's optimised LLVM IR, as `.ll` beside the PTX.
    pub fn emit_llvm_ir(mut self, emit: bool) -> Self {
        self.emit_llvm_ir = emit;
        self
    }

    /// Sets what the PTX tells profilers; line tables by default.
    pub fn debug(mut self, debug: DebugInfo) -> Self {
        self.debug = debug;
        self
    }

    /// Whether `a * b + c` may become one fused multiply-add, which rounds once instead of twice; true by default, as
    /// in nvcc.
    pub fn fma_contraction(mut self, contract: bool) -> Self {
        self.fma_contraction = contract;
        self
    }

    /// Whether a panic prints its file and line before it traps; false by default, since it costs registers.
    pub fn panic_messages(mut self, print: bool) -> Self {
        self.panic_messages = print;
        self
    }

    /// Whether to print `cargo::rerun-if-changed` lines; true by default inside a build script.
    pub fn rerun_if_changed(mut self, print: bool) -> Self {
        self.rerun_if_changed = print;
        self
    }

    /// Builds.
    ///
    /// # Errors
    /// Where the crate doesn't compile, LLVM is not found, or device code holds what a GPU can't have: each
    /// [`BuilderError`] says what and what to do.
    pub fn build(self) -> Result<BuildOutput> {
        let out_dir = match &self.out_dir {
            Some(path) => path.clone(),
            None => env::var_os("OUT_DIR").map(PathBuf::from).ok_or(BuilderError::NoOutDir)?,
        };
        let mut archs = self.archs.clone();
        if archs.is_empty() {
            archs.push(NvptxArch::Compute75);
        }
        archs.sort();
        archs.dedup();

        llvm::load()?;
        let bitcode = cargo::compile(&cargo::Options {
            crate_path: &self.crate_path,
            target_dir: &out_dir.join("device"),
            line_tables: self.debug == DebugInfo::LineTables,
        })?;
        if self.rerun_if_changed {
            for file in &bitcode.sources {
                println!("cargo::rerun-if-changed={}", file.display());
            }
        }

        let name = bitcode.name.clone();
        let options = device::Options { fma_contraction: self.fma_contraction, panic_messages: self.panic_messages };
        let source: Arc<blame::Source> = Arc::new(move |context| {
            let mut module = link::link(context, &bitcode, options.panic_messages)?;
            let kernels = device::retarget(&mut module, options)?;
            Ok((module, kernels))
        });
        let images: Vec<PtxImage> = archs
            .iter()
            .map(|&arch| PtxImage { arch, path: out_dir.join(format!("{name}.{}.ptx", arch.target_cpu())) })
            .collect();
        let (emitted, emit_ir, from) = (images.clone(), self.emit_llvm_ir, source.clone());
        let emit = move || {
            let context = llvm::Context::new();
            let (module, kernels) = from(&context)?;
            for PtxImage { arch, path } in &emitted {
                let ir = emit_ir.then(|| path.with_extension("ll"));
                emit::emit(&module, &kernels, *arch, path, ir.as_deref())?;
            }
            Ok(kernels)
        };
        let kernels = llvm::catch(emit).map_err(|error| match error {
            BuilderError::Llvm { .. } => blame::blame(error, &source, archs[0]),
            error => error,
        })?;

        if let Some(copy) = &self.copy_to {
            for PtxImage { arch, path } in &images {
                let copy = match images.len() {
                    1 => copy.clone(),
                    _ => copy.with_extension(format!("{}.ptx", arch.target_cpu())),
                };
                let ptx = fs::read(path).map_err(|source| BuilderError::Io { path: path.clone(), source })?;
                emit::write(&copy, &ptx)?;
            }
        }
        Ok(BuildOutput { images, kernels: kernels.into_keys().collect() })
    }
}
