//! Errors of a build, each with what to do.

use std::{fmt, io, path::PathBuf};

/// The result of a build.
pub type Result<T> = std::result::Result<T, BuilderError>;

/// The sentence: Rust prints an error so that `main` returns, as build scripts' do.
impl fmt::Debug for BuilderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why a kernel crate could not be built to PTX.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum BuilderError {
    /// Neither `OUT_DIR` nor `out_dir` is set.
    #[error(
        "cuda_builder doesn't know where to build: call it from a build script (cargo sets OUT_DIR there), or name a folder with `out_dir`"
    )]
    NoOutDir,
    /// rustc did not answer.
    #[error("`{rustc} --print sysroot` failed ({reason}): cuda_builder needs the Rust toolchain that runs it")]
    NoSysroot {
        /// The compiler that was asked.
        rustc: String,
        /// Its reason.
        reason: String,
    },
    /// The toolchain has no `libLLVM`.
    #[error(
        "no libLLVM*.so lies in {}: cuda_builder uses the LLVM that rustup's toolchains ship. Install Rust through rustup (a distribution's own rustc links another LLVM), or set RUSTC to such a toolchain's rustc",
        folder.display()
    )]
    NoLlvm {
        /// The folder that was searched.
        folder: PathBuf,
    },
    /// The toolchain's LLVM is of another version than the bindings are made for.
    #[error(
        "the toolchain's LLVM is version {found}, but cuda_builder speaks to version {expected}: use the Rust version that rust-toolchain.toml pins"
    )]
    LlvmVersion {
        /// Version of the toolchain.
        found: String,
        /// Required version.
        expected: u32,
    },
    /// LLVM was built without the NVPTX target.
    #[error("the toolchain's LLVM can't write PTX ({reason}): use a toolchain from rustup, whose LLVM has the NVPTX target")]
    NoNvptx {
        /// LLVM's reason.
        reason: String,
    },
    /// The kernel crate's folder has no Cargo.toml.
    #[error("no kernel crate at {}: `CudaBuilder::new` wants the folder that holds its Cargo.toml", path.display())]
    NoCrate {
        /// The folder.
        path: PathBuf,
    },
    /// `cargo metadata` failed.
    #[error("cargo could not describe the kernel crate at {}: {reason}", path.display())]
    Metadata {
        /// The folder.
        path: PathBuf,
        /// Cargo's reason.
        reason: String,
    },
    /// The kernel crate does not compile.
    #[error("the kernel crate `{name}` doesn't compile for the device; rustc's messages are:\n{messages}{hint}")]
    Compile {
        /// The crate.
        name: String,
        /// Advice on a line of its own, if known; otherwise empty.
        hint: String,
        /// cargo's output.
        messages: String,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The archive or one of its members is not what rustc writes.
    #[error("{}: {reason}", path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// LLVM refused a module.
    #[error("LLVM could not {what}: {reason}")]
    Llvm {
        /// The requested operation.
        what: String,
        /// Its reason.
        reason: String,
    },
    /// No function carries `#[kernel]`.
    #[error(
        "the crate `{name}` holds no kernel: mark one with `#[kernel]`, and make it and its modules `pub`, so that rustc keeps it"
    )]
    NoKernels {
        /// The crate.
        name: String,
    },
    /// Two kernels would have the same PTX name.
    #[error(
        "two kernels would both be named `{symbol}` in PTX: rename one (the name is the path without the crate, joined by `_`)"
    )]
    DuplicateKernel {
        /// The name.
        symbol: String,
    },
    /// A kernel can't have its name in PTX.
    #[error(
        "the kernel `{kernel}` can't be named so in PTX, where names have ASCII letters, digits and `_`: rename it, or its module"
    )]
    KernelName {
        /// The kernel's path.
        kernel: String,
    },
    /// A kernel takes something other than scalars and pointers.
    #[error(
        "the kernel `{kernel}` takes a parameter of a type that PTX can't pass ({ty}, in position {position}): a kernel takes scalars up to 64 bits, `&[T]`, `&T`, `*const T`, `*mut T`, `DisjointSlice<T>`, `DisjointMatrix<T>`, and structures of these with `#[derive(KernelParam)]`"
    )]
    KernelParameter {
        /// The kernel's path.
        kernel: String,
        /// Position among the PTX parameters, from 0 (a slice takes two).
        position: usize,
        /// LLVM's name of the type.
        ty: String,
    },
    /// A kernel has more shared memory in arrays than a GPU takes.
    #[error(
        "the kernel `{kernel}` has {bytes} bytes in `shared_array!`s, of which a GPU takes {most}: take the rest as dynamic shared memory (`dynamic_shared`), which a launch gives it more of"
    )]
    SharedMemory {
        /// The kernel's path.
        kernel: String,
        /// All its arrays together.
        bytes: u64,
        /// The limit.
        most: u64,
    },
    /// A kernel is called like a function.
    #[error(
        "the kernel `{kernel}` is called by `{caller}`: device code can't call a kernel; move what they share into a function that both call"
    )]
    KernelCalled {
        /// The kernel.
        kernel: String,
        /// Its caller.
        caller: String,
    },
    /// Device code needs a symbol that does not exist there.
    #[error(
        "device code needs `{symbol}`, which doesn't exist on a GPU; it is called by {callers}. Kernels are no_std: use cuda_std's counterpart, or mark the caller `#[cfg(not(cuda_device))]`"
    )]
    UndefinedSymbol {
        /// The symbol, demangled.
        symbol: String,
        /// The functions that call it, demangled.
        callers: String,
    },
    /// Device code uses an intrinsic of the host's processor, or one that PTX has no instruction for.
    #[error(
        "device code uses the intrinsic `{intrinsic}`, which a GPU doesn't have; it is called by {callers}. Use cuda_std::math for float functions, and turn off a dependency's SIMD feature"
    )]
    HostIntrinsic {
        /// The intrinsic.
        intrinsic: String,
        /// The functions that call it, demangled.
        callers: String,
    },
    /// Device code uses a variable that each thread of the host has for itself.
    #[error(
        "device code uses the thread-local `{name}`, in {callers}: a GPU's threads have none. Use a local variable, or `shared_array!` with an element for each thread"
    )]
    ThreadLocal {
        /// The variable, demangled.
        name: String,
        /// The functions that use it, demangled.
        callers: String,
    },
    /// LLVM can't translate a function.
    #[error(
        "LLVM can't write PTX for {place}: {reason}. The function holds a type or an operation that LLVM doesn't have for GPUs: write it with integers of up to 128 bits, `f32` and `f64`, or mark it `#[cfg(not(cuda_device))]`"
    )]
    Untranslatable {
        /// The function, demangled, and the kernels that use it.
        place: String,
        /// LLVM's reason.
        reason: String,
    },
    /// Device code holds inline assembly of the host.
    #[error(
        "device code holds inline assembly for the host's processor, in `{caller}`: write PTX with `cuda_std::ptx_asm!`, or mark it `#[cfg(not(cuda_device))]`"
    )]
    HostAssembly {
        /// The function.
        caller: String,
    },
}
