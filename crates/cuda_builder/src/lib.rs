//! Builds a Rust kernel crate to PTX with nothing but the Rust toolchain that compiles the host program.
//!
//! The kernel crate is compiled by cargo for the host's triple to LLVM bitcode, the crates that kernels reach are
//! linked into one module, and the module is retargeted to `nvptx64-nvidia-cuda`. Each image, of an architecture and
//! perhaps of a kernel, is optimised and written out as PTX. LLVM is the one inside rustc (`libLLVM.so` in the sysroot),
//! so neither CUDA nor another LLVM is needed.
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
//! Each stage is a module: `cargo` (kernel crate -> archive of bitcode), `archive` (its members), `foreign` (device code
//! from elsewhere), `link` (members -> one module), `intrinsics` (names of `cuda_std` -> their functions), `lower`
//! (instructions that LLVM doesn't have for GPUs -> calls), `device` (host module -> device module), `emit` (module ->
//! PTX), `blame` (the function at fault if LLVM fails). They share `llvm`, a thin layer over LLVM's C interface.

use std::{
    collections::BTreeSet,
    env, fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    sync::Arc,
};

mod archive;
mod blame;
mod cargo;
mod device;
mod emit;
mod error;
mod foreign;
mod intrinsics;
mod link;
mod llvm;
mod lower;
mod names;
mod symbols;

pub use error::{BuilderError, Result};
use foreign::Foreign;

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
    /// Hopper, with what no later GPU has (`wgmma`): a GPU of capability 9.0 prefers this image, and others can't run it.
    Compute90a,
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
            NvptxArch::Compute90 | NvptxArch::Compute90a => 90,
            NvptxArch::Compute100 => 100,
            NvptxArch::Compute120 => 120,
        }
    }

    /// LLVM's name of it: `sm_75`.
    pub fn target_cpu(self) -> String {
        format!("sm_{}{}", self.number(), if self.is_specific() { "a" } else { "" })
    }

    /// Returns true if only GPUs of this capability run it.
    const fn is_specific(self) -> bool {
        matches!(self, NvptxArch::Compute90a)
    }

    /// The oldest PTX version, as LLVM writes it (78 is 7.8), that knows the architecture and all that `cuda_std` uses.
    const fn ptx_version(self) -> u32 {
        match self {
            NvptxArch::Compute90 | NvptxArch::Compute90a => 80,
            NvptxArch::Compute100 => 86,
            NvptxArch::Compute120 => 87,
            _ => 78,
        }
    }
}

/// [`NvptxArch`] as Rust-CUDA calls it.
pub use NvptxArch as NvvmArch;

/// Debug information in the PTX.
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
    /// Architecture of the image.
    pub arch: NvptxArch,
    /// The PTX names of its kernels, sorted. With [`CudaBuilder::image_per_kernel`] there is one.
    pub kernels: Vec<String>,
    /// Path of the file.
    pub path: PathBuf,
}

/// Output of a build.
#[derive(Debug, Clone)]
pub struct BuildOutput {
    /// By kernel, where each has its own, and then by ascending architecture.
    pub images: Vec<PtxImage>,
    /// The PTX names of the kernels, sorted.
    pub kernels: Vec<String>,
    /// The images and the crate that they are of, as Rust: what `warpsmith_device::kernel_module!` includes. It lies
    /// beside the images.
    pub module: PathBuf,
}

/// Builds a kernel crate to PTX. See the [crate's documentation](crate) for an example.
#[derive(Debug, Clone)]
pub struct CudaBuilder {
    crate_path: PathBuf,
    archs: Vec<NvptxArch>,
    image_per_kernel: bool,
    left_out: Vec<String>,
    linked: Vec<PathBuf>,
    build_args: Vec<String>,
    copy_to: Option<PathBuf>,
    out_dir: Option<PathBuf>,
    target_dir: Option<PathBuf>,
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
            image_per_kernel: false,
            left_out: Vec::new(),
            linked: Vec::new(),
            build_args: Vec::new(),
            copy_to: None,
            out_dir: None,
            target_dir: None,
            emit_llvm_ir: false,
            debug: DebugInfo::default(),
            fma_contraction: true,
            panic_messages: false,
            rerun_if_changed: env::var_os("CARGO_MANIFEST_DIR").is_some() && env::var_os("OUT_DIR").is_some(),
        }
    }

    /// A builder for a kernel crate that the build script's package depends on, wherever cargo keeps it: cargo leaves
    /// nested crates out of a package, so that a folder isn't found in a published one.
    ///
    /// The kernel crate's manifest has `links = "my-kernels"`, and its build script says where it is:
    ///
    /// ```no_run
    /// println!("cargo::metadata=root={}", std::env::var("CARGO_MANIFEST_DIR").unwrap());
    /// ```
    ///
    /// # Errors
    /// No dependency with this value of `links` says where it is.
    pub fn dependency(links: &str) -> Result<Self> {
        let variable = format!("DEP_{}_ROOT", links.to_uppercase().replace('-', "_"));
        env::var_os(variable).map(CudaBuilder::new).ok_or_else(|| {
            BuilderError::Refused(format!(
                "no dependency says where the kernel crate with `links = {links:?}` is: list the crate in [dependencies], and \
                 have its build script print `cargo::metadata=root=` and its folder (CARGO_MANIFEST_DIR)"
            ))
        })
    }

    /// Adds an architecture; without any, `sm_75` is built, which every GPU since Turing runs.
    pub fn arch(mut self, arch: NvptxArch) -> Self {
        self.archs.push(arch);
        self
    }

    /// Gives each kernel an image of its own, by its name: a driver compiles an image whole, so that a program then
    /// waits only for the kernels that it launches. By default all are in one.
    ///
    /// Architectures above the lowest then have images only of kernels whose code differs there: they ask
    /// `cuda_std::arch`, as some of `cuda_std`'s functions do, or have a cluster.
    pub fn image_per_kernel(mut self, split: bool) -> Self {
        self.image_per_kernel = split;
        self
    }

    /// Leaves out the kernels whose PTX names begin so, such as those of a module: no PTX is made of them.
    pub fn leave_out(mut self, beginning: impl Into<String>) -> Self {
        self.left_out.push(beginning.into());
        self
    }

    /// Links a file of device code from elsewhere, whose functions kernels declare with `cuda_std::linked!`: PTX (`.ptx`,
    /// for the lowest architecture that is built or less), or LLVM IR (`.ll`, `.bc`), which is optimised together with
    /// the kernels. PTX becomes part of the module that [`BuildOutput::module`] describes, and the driver links it when it
    /// loads an image that calls it; the images alone don't have it.
    pub fn link(mut self, path: impl AsRef<Path>) -> Self {
        self.linked.push(path.as_ref().to_owned());
        self
    }

    /// Arguments for cargo, which compiles the kernel crate: `["--features", "double"]`.
    ///
    /// Unless they choose features, the crate has those that the build script's package asks for: in its dependency on
    /// the crate, and by its own features (`double = ["my-kernels/double"]`). A launch of a kernel whose parameters have
    /// other types in the two builds is an error.
    pub fn build_args(mut self, arguments: &[impl AsRef<str>]) -> Self {
        self.build_args.extend(arguments.iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Copies the PTX there: the file itself where there is one image, else one beside it for each, with kernel and
    /// architecture before the extension (`kernels.ptx` -> `kernels.sm_75.ptx`, `kernels.sm_90.ptx`, or
    /// `kernels.saxpy.sm_75.ptx`, ...).
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.copy_to = Some(path.as_ref().to_owned());
        self
    }

    /// Output folder; by default, the build script's `OUT_DIR`.
    pub fn out_dir(mut self, path: impl AsRef<Path>) -> Self {
        self.out_dir = Some(path.as_ref().to_owned());
        self
    }

    /// Folder in which cargo compiles the kernel crate. Builds that differ in architectures, panic messages or contraction
    /// alone can share one, and the crate is then compiled once. By default `device` in the output folder; in a build
    /// script, a folder that all kernel crates of the workspace share.
    pub fn target_dir(mut self, path: impl AsRef<Path>) -> Self {
        self.target_dir = Some(path.as_ref().to_owned());
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

    /// Allows `a * b + c` to become one fused multiply-add, which rounds once instead of twice;
    /// true by default, as in nvcc.
    pub fn fma_contraction(mut self, contract: bool) -> Self {
        self.fma_contraction = contract;
        self
    }

    /// Makes a panic print its file and line before it traps; false by default, because it costs
    /// registers.
    pub fn panic_messages(mut self, print: bool) -> Self {
        self.panic_messages = print;
        self
    }

    /// Prints `cargo::rerun-if-changed` lines; true by default inside a build script.
    pub fn rerun_if_changed(mut self, print: bool) -> Self {
        self.rerun_if_changed = print;
        self
    }

    /// Builds.
    ///
    /// If the environment variable `DOCS_RS` is set, no images are built: documentation needs none,
    /// and docs.rs has another toolchain.
    ///
    /// In a build script, if neither [`out_dir`](Self::out_dir) nor [`copy_to`](Self::copy_to) is set, rustc's errors are
    /// left to `warpsmith_device::kernel_module!`: the build succeeds without images, and that line doesn't compile. Most
    /// such errors are also errors of the crate's build for the host, and so cargo reports them once.
    ///
    /// # Errors
    /// [`BuilderError`], with advice: the crate doesn't compile, LLVM is not found, or
    /// device code holds something that a GPU can't have.
    pub fn build(self) -> Result<BuildOutput> {
        let mut arguments = self.build_args.clone();
        if cargo::features(&arguments).next().is_none() {
            arguments.extend(cargo::features_of_host(&self.crate_path)?);
        }
        let (out_dir, target_dir) = match &self.out_dir {
            Some(path) => (path.clone(), path.join("device")),
            None => {
                let out_dir = env::var_os("OUT_DIR").map(PathBuf::from).ok_or_else(|| {
                    BuilderError::Refused(
                        "cuda_builder doesn't know where to build: call it from a build script (cargo sets OUT_DIR there), or \
                         name a folder with `out_dir`"
                            .to_owned(),
                    )
                })?;
                let shared = shared_target_dir(&out_dir, self.debug, &arguments);
                let target_dir = shared.unwrap_or_else(|| out_dir.join("device"));
                (out_dir, target_dir)
            }
        };
        let target_dir = self.target_dir.clone().unwrap_or(target_dir);
        fs::create_dir_all(&out_dir).map_err(|source| BuilderError::Io { path: out_dir.clone(), source })?;
        let mut archs = self.archs.clone();
        if archs.is_empty() {
            archs.push(NvptxArch::Compute75);
        }
        archs.sort();
        archs.dedup();

        // For the end: cargo shows them before an error, and needs none after one.
        let announce = |sources: &BTreeSet<PathBuf>| {
            if self.rerun_if_changed {
                println!("cargo::rerun-if-env-changed=DOCS_RS");
                sources.iter().for_each(|file| println!("cargo::rerun-if-changed={}", file.display()));
            }
        };
        if env::var_os("DOCS_RS").is_some() {
            announce(&BTreeSet::new());
            let (name, package) = cargo::identify(&self.crate_path)?;
            return write_output(&out_dir, &name, package, Vec::new(), &device::Kernels::new(), &Foreign::default());
        }
        llvm::load()?;
        let foreign = Arc::new(Foreign::read(&self.linked, archs[0].number())?);
        let compiled = cargo::compile(&cargo::Options {
            crate_path: &self.crate_path,
            target_dir: &target_dir,
            line_tables: self.debug == DebugInfo::LineTables,
            arguments: &arguments,
        });
        if let Err(error @ BuilderError::Compile { name, .. }) = &compiled
            && self.out_dir.is_none()
            && self.copy_to.is_none()
        {
            let text = out_dir.join(format!("{name}.error.txt"));
            emit::write(&text, error.to_string().as_bytes())?;
            let module = out_dir.join(format!("{name}.kernels.rs"));
            emit::write(
                &module,
                format!("compile_error!(include_str!({:?}))\n", text.file_name().unwrap_or_default()).as_bytes(),
            )?;
            // A file that doesn't exist: the next build tries again.
            announce(&BTreeSet::from([out_dir.join("not-built")]));
            return Ok(BuildOutput { images: Vec::new(), kernels: Vec::new(), module });
        }
        let mut bitcode = compiled?;
        bitcode.ir.extend_from_slice(&foreign.ir);
        bitcode.sources.extend(foreign.ir.iter().chain(&foreign.ptx).cloned());
        let (name, package, sources) = (bitcode.name.clone(), bitcode.package, bitcode.sources.clone());
        let options = device::Options { fma_contraction: self.fma_contraction, panic_messages: self.panic_messages };
        let left_out = self.left_out.clone();
        let source: Arc<blame::Source> = Arc::new(move |context| {
            let mut module = link::link(context, &bitcode, &left_out, options.panic_messages)?;
            let kernels = device::retarget(&mut module, options)?;
            Ok((module, kernels))
        });
        let blamed = |error| match error {
            BuilderError::Llvm { .. } => blame::blame(error, &source, archs[0]),
            error => error,
        };
        let (from, of, linked) = (source.clone(), name.clone(), foreign.defined.clone());
        let device = llvm::catch(move || {
            let context = llvm::Context::new();
            let (module, kernels) = from(&context)?;
            let callers = device::callers_of_undefined(&module, &kernels);
            Ok(Arc::new(emit::Device { name: of, bitcode: module.bitcode(), kernels, callers, linked }))
        });
        let device = device.map_err(blamed)?;
        let images = images(&device.kernels, self.image_per_kernel, &archs, &out_dir.join(&name));
        emit::emit(&device, &images, self.emit_llvm_ir).map_err(blamed)?;
        let output = write_output(&out_dir, &name, package, images, &device.kernels, &foreign)?;

        if let Some(copy) = &self.copy_to {
            for image in &output.images {
                let copy = match output.images.len() {
                    1 => copy.clone(),
                    _ => image_path(copy, self.image_per_kernel.then_some(&image.kernels[0]), image.arch),
                };
                let ptx = fs::read(&image.path).map_err(|source| BuilderError::Io { path: image.path.clone(), source })?;
                emit::write(&copy, &ptx)?;
            }
        }
        announce(&sources);
        Ok(output)
    }
}

/// A folder beside those of cargo's profiles, for device code, which depends on them no more than on features of the
/// host's other dependencies: `OUT_DIR` is `target/PROFILE/build/PACKAGE/out`. One for each choice of flags and features,
/// so that nobody replaces what another build is reading.
fn shared_target_dir(out_dir: &Path, debug: DebugInfo, arguments: &[String]) -> Option<PathBuf> {
    let build = out_dir.ancestors().nth(2).filter(|folder| folder.ends_with("build"))?;
    let mut name = if debug == DebugInfo::LineTables { "lines" } else { "plain" }.to_owned();
    if !arguments.is_empty() {
        let mut hasher = DefaultHasher::new();
        arguments.hash(&mut hasher);
        name += &format!("-{:x}", hasher.finish());
    }
    Some(build.ancestors().nth(2)?.join("cuda_builder").join(name))
}

/// The images of these kernels, beside `path`.
fn images(kernels: &device::Kernels, split: bool, archs: &[NvptxArch], path: &Path) -> Vec<PtxImage> {
    let names: Vec<String> = kernels.keys().cloned().collect();
    let parts = names.chunks(if split { 1 } else { names.len().max(1) });
    let image = |part: &[String], arch| PtxImage {
        arch,
        kernels: part.to_vec(),
        path: image_path(path, split.then_some(&part[0]), arch),
    };
    let is_made = |part: &[String], arch| !split || arch == archs[0] || kernels[&part[0]].depends_on_arch;
    let of = |part| archs.iter().filter(move |&&arch| is_made(part, arch)).map(move |&arch| image(part, arch));
    parts.flat_map(of).collect()
}

fn image_path(path: &Path, kernel: Option<&String>, arch: NvptxArch) -> PathBuf {
    let kernel = kernel.map_or_else(String::new, |kernel| format!("{kernel}."));
    path.with_extension(format!("{kernel}{}.ptx", arch.target_cpu()))
}

/// Writes the module's declaration, and returns the build's output.
fn write_output(
    folder: &Path,
    name: &str,
    package: u64,
    images: Vec<PtxImage>,
    kernels: &device::Kernels,
    foreign: &Foreign,
) -> Result<BuildOutput> {
    let module = folder.join(format!("{name}.kernels.rs"));
    emit::write(&module, declaration(name, package, &images, kernels, foreign)?.as_bytes())?;
    Ok(BuildOutput { images, kernels: kernels.keys().cloned().collect(), module })
}

/// The images as an expression of Rust, in a file beside them, with names of `warpsmith_device`.
fn declaration(name: &str, package: u64, images: &[PtxImage], kernels: &device::Kernels, foreign: &Foreign) -> Result<String> {
    let mut text = format!("KernelModule::new({name:?}, {package:#x}, &[\n");
    for images in images.chunk_by(|a, b| a.kernels == b.kernels) {
        let names = &images[0].kernels;
        let signatures: Vec<u64> = names.iter().map(|name| kernels[name].signature).collect();
        text += &format!("    PtxImage::new(&{names:?}, &{signatures:#x?}, &[\n");
        for image in images {
            let file = image.path.file_name().unwrap_or_default();
            text += &format!("        ({}, include_str!({file:?})),\n", image.arch.number());
        }
        text += "    ])";
        if foreign.serves(&images[0].path)? {
            let file = |path: &PathBuf| format!("({:?}, include_str!({path:?}))", path.file_name().unwrap_or_default());
            text += &format!(".linked(&[{}])", foreign.ptx.iter().map(file).collect::<Vec<_>>().join(", "));
        }
        text += ",\n";
    }
    Ok(text + "])\n")
}
