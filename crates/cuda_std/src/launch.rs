//! What a typed kernel launch carries from the host to a backend (host only).
//!
//! `#[kernel]` generates a `bind` function for each kernel. It takes one [`IntoParam`] argument for each parameter of
//! the kernel, and gives a [`Bound`]: the words that the CUDA driver wants, where each buffer lives, and a closure
//! that runs the kernel's body for one thread on the CPU.

use std::sync::OnceLock;

/// Static facts of one kernel.
#[derive(Debug)]
pub struct KernelInfo {
    /// The kernel's Rust path with its crate, e.g. `gpu_kernels::list_rank::walk`.
    pub path: &'static str,
    /// Launch bound in threads a block, where the kernel declares one.
    pub max_threads: Option<u32>,
    /// Whether the kernel may only be launched on one-dimensional grids and blocks (it takes a [`DisjointSlice`](crate::DisjointSlice)).
    pub one_dimensional: bool,
    symbol: OnceLock<String>,
}

impl KernelInfo {
    /// The facts of the kernel at `path`. `#[kernel]` calls this.
    pub const fn new(path: &'static str, max_threads: Option<u32>, one_dimensional: bool) -> Self {
        KernelInfo { path, max_threads, one_dimensional, symbol: OnceLock::new() }
    }

    /// The name of the kernel's PTX entry: its path without the crate, joined by `_`. `cuda_builder` follows the same rule.
    pub fn symbol(&self) -> &str {
        self.symbol.get_or_init(|| match self.path.split_once("::") {
            Some((_crate, rest)) => rest.replace("::", "_"),
            None => self.path.to_owned(),
        })
    }

    /// The kernel's path without its crate, for messages: `list_rank::walk`.
    pub fn name(&self) -> &'static str {
        self.path.split_once("::").map_or(self.path, |(_, rest)| rest)
    }
}

/// The memory that a kernel argument points into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Location {
    /// Ordinary memory of this process.
    Cpu,
    /// Memory of the CUDA device with this ordinal.
    Cuda(u32),
}

/// The arguments of a launch as the driver takes them: one 8-byte word a PTX parameter, in order.
#[derive(Debug, Default, Clone)]
pub struct ArgWords {
    /// One word a PTX parameter (narrower scalars sit in the low bytes).
    pub words: Vec<u64>,
    /// Where the pointers among them point.
    pub locations: Vec<Location>,
}

/// A type that a kernel may take as a parameter: scalars, `&[T]`, `&T`, `*const T`, `*mut T`, and
/// [`DisjointSlice<T>`](crate::DisjointSlice).
///
/// # Safety
/// `words` must append exactly the PTX parameters that rustc makes of the type under the Rust ABI.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be a kernel parameter",
    note = "a kernel takes scalars, `&[T]`, `&T`, `*const T`, `*mut T` and `DisjointSlice<T>`: pass a structure by reference"
)]
pub unsafe trait KernelParam {
    /// The parameter in a form that may exist on the host even when it points to device memory.
    type Raw: Copy + Send + Sync;
    /// The parameter itself, for a run on the CPU.
    ///
    /// # Safety
    /// `raw` must point to live memory of this process that outlives the result, with the sharing that the type promises.
    unsafe fn from_raw(raw: Self::Raw) -> Self;
    /// Appends the PTX parameters.
    fn words(raw: Self::Raw, out: &mut Vec<u64>);
}

/// A host value that can stand for the kernel parameter `P`: a scalar for itself, `&Buffer<T>` for `&[T]`, `&mut Buffer<T>` for `*mut T`, ...
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be passed for the kernel parameter `{P}`",
    note = "pass `&buffer` for `&[T]` and `*const T`, `&mut buffer` for `*mut T` and `DisjointSlice<T>`, and scalars of exactly the kernel's type"
)]
pub trait IntoParam<P: KernelParam> {
    /// The raw parameter.
    fn raw(&self) -> P::Raw;
    /// Where it points, unless it is a scalar.
    fn location(&self) -> Option<Location>;
}

/// Pointer and length of a slice.
#[derive(Debug)]
pub struct RawSlice<T> {
    /// First element.
    pub ptr: *mut T,
    /// Number of elements.
    pub len: usize,
}

impl<T> Clone for RawSlice<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for RawSlice<T> {}
// SAFETY: it is only an address and a number; whoever turns it back into a reference argues for that.
unsafe impl<T> Send for RawSlice<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for RawSlice<T> {}

/// An address.
#[derive(Debug)]
pub struct RawPtr<T>(pub *mut T);

impl<T> Clone for RawPtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for RawPtr<T> {}
// SAFETY: it is only an address; whoever dereferences it argues for that.
unsafe impl<T> Send for RawPtr<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for RawPtr<T> {}

// SAFETY: the Rust ABI passes a slice as two registers, pointer and length.
unsafe impl<T: 'static> KernelParam for &'static [T] {
    type Raw = RawSlice<T>;
    unsafe fn from_raw(raw: RawSlice<T>) -> Self {
        // SAFETY: the caller vouches for pointer, length and sharing.
        unsafe { core::slice::from_raw_parts(raw.ptr, raw.len) }
    }
    fn words(raw: RawSlice<T>, out: &mut Vec<u64>) {
        out.push(raw.ptr as u64);
        out.push(raw.len as u64);
    }
}

// SAFETY: a thin reference is one pointer.
unsafe impl<T: 'static> KernelParam for &'static T {
    type Raw = RawPtr<T>;
    unsafe fn from_raw(raw: RawPtr<T>) -> Self {
        // SAFETY: the caller vouches for the pointer.
        unsafe { &*raw.0 }
    }
    fn words(raw: RawPtr<T>, out: &mut Vec<u64>) {
        out.push(raw.0 as u64);
    }
}

// SAFETY: one pointer.
unsafe impl<T> KernelParam for *mut T {
    type Raw = RawPtr<T>;
    unsafe fn from_raw(raw: RawPtr<T>) -> Self {
        raw.0
    }
    fn words(raw: RawPtr<T>, out: &mut Vec<u64>) {
        out.push(raw.0 as u64);
    }
}

// SAFETY: one pointer.
unsafe impl<T> KernelParam for *const T {
    type Raw = RawPtr<T>;
    unsafe fn from_raw(raw: RawPtr<T>) -> Self {
        raw.0
    }
    fn words(raw: RawPtr<T>, out: &mut Vec<u64>) {
        out.push(raw.0 as u64);
    }
}

macro_rules! scalar {
    ($($t:ty => |$v:ident| $bits:expr;)*) => {$(
        // SAFETY: a scalar is one PTX parameter of its own width; the driver reads that many low bytes of the word.
        unsafe impl KernelParam for $t {
            type Raw = $t;
            unsafe fn from_raw(raw: $t) -> $t { raw }
            fn words($v: $t, out: &mut Vec<u64>) { out.push($bits); }
        }
        impl IntoParam<$t> for $t {
            fn raw(&self) -> $t { *self }
            fn location(&self) -> Option<Location> { None }
        }
    )*};
}
scalar! {
    u8 => |v| v.into();
    u16 => |v| v.into();
    u32 => |v| v.into();
    u64 => |v| v;
    usize => |v| v as u64;
    i8 => |v| v as u8 as u64;
    i16 => |v| v as u16 as u64;
    i32 => |v| v as u32 as u64;
    i64 => |v| v as u64;
    isize => |v| v as u64;
    bool => |v| v.into();
    f32 => |v| v.to_bits().into();
    f64 => |v| v.to_bits();
}

/// A kernel with its arguments, ready for either backend.
pub struct Bound<F> {
    /// Which kernel.
    pub kernel: &'static KernelInfo,
    /// The driver's arguments.
    pub args: ArgWords,
    /// Runs the kernel's body for the current [`simt`] thread. Only for arguments in this process's memory.
    pub body: F,
}

#[doc(hidden)]
pub fn push<P: KernelParam>(arg: &impl IntoParam<P>, args: &mut ArgWords) -> P::Raw {
    let raw = arg.raw();
    P::words(raw, &mut args.words);
    args.locations.extend(arg.location());
    raw
}
