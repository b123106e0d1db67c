//! Typed kernel launches on their way from the host to a backend (host only).
//!
//! `#[kernel]` generates a `bind` function for each kernel. It takes the launch's configuration and
//! one [`IntoParam`] argument for each parameter of the kernel, and gives a [`Bound`]: the words
//! that the CUDA driver wants, the memory that they point to, and a closure that runs the kernel's
//! body for one thread on the CPU. The contract of an `unsafe` kernel is the contract of its
//! `bind`, which gets the whole launch; everything after that is safe.

use crate::signature;
use crate::tensor::{Descriptor, TensorMap, TensorMapMut};
use half::{bf16, f16};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::sync::OnceLock;

pub use crate::thread::Dim3;

/// The crate that a kernel or a constant is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// A hash of the folder of its package. Crates of different packages are different ones, whatever their names.
    pub package: u64,
    /// Its name, as rustc spells it.
    pub crate_name: &'static str,
}

impl Origin {
    /// Returns the origin of the item at `path`.
    pub(crate) fn of(package: u64, path: &'static str) -> Self {
        Origin { package, crate_name: path.split_once("::").map_or(path, |(name, _)| name) }
    }
}

/// Requirements of a kernel for its launches. The host refuses other launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contract {
    /// The most threads of a block (`max_threads = 256`).
    pub max_threads: Option<u32>,
    /// The extents of a block (`block = [16, 16]`).
    pub block: Option<Dim3>,
    /// Extents of a cluster of blocks (`cluster = 4`). The grid is a multiple of it.
    pub cluster: Option<Dim3>,
    /// Percentage of a multiprocessor's shared memory that the kernel prefers (`carveout = 50`); the L1 cache has the rest. By
    /// default the driver lets as many blocks run as fit.
    pub carveout: Option<u32>,
    /// All blocks run at once, so that they can wait for each other (`cooperative`).
    pub cooperative: bool,
    /// The most dimensions of grids and blocks: 1 where the kernel takes a [`DisjointSlice`](crate::DisjointSlice), 2
    /// where it takes a [`DisjointMatrix`](crate::DisjointMatrix).
    pub dimensions: u32,
}

impl Default for Contract {
    /// Nothing is demanded.
    fn default() -> Self {
        Contract { max_threads: None, block: None, cluster: None, carveout: None, cooperative: false, dimensions: 3 }
    }
}

/// Static facts of one kernel.
#[derive(Debug)]
pub struct KernelInfo {
    /// The kernel's Rust path with its crate, e.g. `gpu_kernels::list_rank::walk`.
    pub path: &'static str,
    /// Its requirements for launches.
    pub contract: Contract,
    /// A hash of the folder of the package that the kernel is of.
    package: u64,
    signature: fn() -> u64,
    symbol: OnceLock<String>,
    image: OnceLock<Option<usize>>,
}

impl KernelInfo {
    /// The facts of the kernel at `path`. `#[kernel]` calls this.
    ///
    /// # Safety
    /// There is such a kernel, in the package of this hash, of parameters with this signature, and it needs no other
    /// limits for its launches than these.
    #[doc(hidden)]
    pub const unsafe fn new(path: &'static str, package: u64, signature: fn() -> u64, contract: Contract) -> Self {
        KernelInfo { path, contract, package, signature, symbol: OnceLock::new(), image: OnceLock::new() }
    }

    /// A hash of its parameters' types.
    #[doc(hidden)]
    pub fn signature(&self) -> u64 {
        (self.signature)()
    }

    /// The name of the kernel's PTX entry: its path without the crate, joined by `_`. `cuda_builder` follows the same
    /// rule.
    pub fn symbol(&self) -> &str {
        self.symbol.get_or_init(|| match self.path.split_once("::") {
            Some((_crate, rest)) => rest.replace("::", "_").replace("r#", ""),
            None => self.path.to_owned(),
        })
    }

    /// The host's cached place of the kernel's PTX.
    #[doc(hidden)]
    pub fn image(&self, find: impl FnOnce() -> Option<usize>) -> Option<usize> {
        *self.image.get_or_init(find)
    }

    /// The kernel's path without its crate, for messages: `list_rank::walk`.
    pub fn name(&self) -> &'static str {
        self.path.split_once("::").map_or(self.path, |(_, rest)| rest)
    }

    /// The kernel's crate.
    pub fn origin(&self) -> Origin {
        Origin::of(self.package, self.path)
    }
}

/// Extents of a launch: blocks in the grid, threads in a block, bytes of dynamic shared memory in a block.
///
/// The host library's `launch!` builds one from the values between its chevrons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Number of blocks. With an extent of zero a launch does nothing.
    pub grid: Dim3,
    /// Number of threads per block.
    pub block: Dim3,
    /// Bytes of dynamic shared memory of a block.
    pub shared: usize,
}

impl LaunchConfig {
    /// A launch of `grid` blocks of `block` threads: each a `u32`, `(u32, u32)`, `(u32, u32, u32)` or [`Dim3`].
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Self {
        LaunchConfig { grid: grid.into(), block: block.into(), shared: 0 }
    }

    /// Enough blocks of `block` threads, in one dimension, that each of `n` elements has a thread.
    ///
    /// The grid has at most 2³¹ - 1 blocks, so a kernel for more elements than that must loop. Without elements there
    /// are no blocks, and the launch does nothing.
    pub fn for_elements(n: usize, block: u32) -> Self {
        let blocks = n.div_ceil(block.max(1) as usize);
        LaunchConfig::new(u32::try_from(blocks).unwrap_or(u32::MAX).min(i32::MAX as u32), block)
    }

    /// The same with `bytes` of dynamic shared memory for each block.
    pub fn shared(self, bytes: usize) -> Self {
        LaunchConfig { shared: bytes, ..self }
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

/// Memory that a kernel argument points to.
#[derive(Debug, Clone)]
pub struct Memory {
    /// Device that holds it.
    pub location: Location,
    /// From the address of its first byte to that behind its last.
    pub bytes: Range<usize>,
    /// The number of the page on which the host library keeps the allocation's uses, to order work on several streams.
    /// Without it the order is left to the [`IntoParam`]'s author.
    pub page: Option<usize>,
    /// The layout of its elements ([`DeviceCopy`](crate::DeviceCopy)): 0 if they are `bytemuck::Pod`.
    pub layout: u64,
}

/// The arguments of a launch.
#[derive(Debug, Default, Clone)]
pub struct Arguments {
    words: Vec<u64>,
    memory: Vec<(Memory, bool)>,
}

impl Arguments {
    /// None yet, with room for so many.
    pub fn with_capacity(arguments: usize) -> Self {
        // A slice has two words.
        Arguments { words: Vec::with_capacity(2 * arguments), memory: Vec::with_capacity(arguments) }
    }

    /// Adds an argument, and gives its raw form.
    pub fn push<P: KernelParam>(&mut self, argument: &impl IntoParam<P>) -> P::Raw {
        let raw = argument.raw();
        P::words(raw, &mut self.words);
        argument.memory(self);
        raw
    }

    /// Notes what an argument for the parameter `P` points to.
    pub fn note<P: KernelParam>(&mut self, memory: Memory) {
        self.memory.push((memory, P::WRITES));
    }

    /// As the driver takes them: one 8-byte word per PTX parameter, in order. Narrower scalars sit in the low bytes.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The sum of the layouts of what they point to.
    #[doc(hidden)]
    pub fn layouts(&self) -> u64 {
        self.memory.iter().fold(0, |sum, (memory, _)| sum.wrapping_add(memory.layout))
    }

    /// Returns the memory that they point to, each with true if the kernel may write there.
    pub fn memory(&self) -> &[(Memory, bool)] {
        &self.memory
    }
}

/// A run of a kernel's body on the CPU, for one thread. The arguments' references don't outlive it.
#[derive(Debug)]
pub struct Run;

/// A type that a kernel may take as a parameter: scalars, vectors ([`F32x4`](crate::F32x4), ..), `&[T]`, `&T`,
/// `*const T`, `*mut T`, [`DisjointSlice<T>`](crate::DisjointSlice), [`DisjointMatrix<T>`](crate::DisjointMatrix),
/// arrays of up to 16, and structures of these that derive [`KernelParam`](macro@crate::KernelParam). A parameter has at
/// most 16 words; a slice has two.
///
/// A kernel can't keep its arguments, so none of their lifetimes is `'static`:
/// ```compile_fail,E0716
/// use cuda_std::prelude::*;
/// use std::sync::Mutex;
///
/// static KEPT: Mutex<&[f32]> = Mutex::new(&[]);
///
/// #[kernel]
/// pub fn keeps(values: &'static [f32]) {
///     *KEPT.lock().unwrap() = values;
/// }
/// # fn main() {}
/// ```
/// Nor is one of a structure's:
/// ```compile_fail,E0597
/// use cuda_std::prelude::*;
/// use std::sync::Mutex;
///
/// static KEPT: Mutex<&[f32]> = Mutex::new(&[]);
///
/// #[derive(Clone, Copy, KernelParam)]
/// pub struct Values<'a>(&'a [f32]);
///
/// #[kernel]
/// pub fn keeps(values: Values<'static>) {
///     *KEPT.lock().unwrap() = values.0;
/// }
/// # fn main() {}
/// ```
/// A generic kernel is launched for the types that it exists for:
/// ```compile_fail,E0277
/// use cuda_std::{launch::LaunchConfig, prelude::*};
///
/// #[kernel(for T in [f32, f64])]
/// pub fn nothing<T>(_: T) {}
///
/// fn main() {
///     nothing::bind(LaunchConfig::new(1, 32), 1u32);
/// }
/// ```
///
/// # Safety
/// `words` must append exactly the PTX parameters that rustc makes of the type under the Rust ABI, or, for a structure,
/// of its fields in order. Both constants must be true where their condition holds.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be a kernel parameter",
    note = "a kernel takes scalars, vectors (`F32x4`), `&[T]`, `&T`, `*const T`, `*mut T`, `DisjointSlice<T>`, `DisjointMatrix<T>`, arrays of up to 16, and structures of these with `#[derive(KernelParam)]`"
)]
pub unsafe trait KernelParam {
    /// The parameter in a form that may exist on the host even when it points to device memory.
    type Raw: Copy + Send + Sync + 'static;
    /// Largest number of dimensions of grids and blocks for which its promises hold.
    const DIMENSIONS: u32 = 3;
    /// True if a kernel may write through it.
    const WRITES: bool;
    /// The parameter as a kernel gets it, which may not keep it.
    type During<'a>;
    /// The parameter itself, for a run on the CPU.
    ///
    /// # Safety
    /// `raw` must point to initialised memory of this process that lives during `'a`, with the sharing that the type
    /// promises.
    unsafe fn from_raw<'a>(raw: Self::Raw, run: &'a Run) -> Self::During<'a>;
    /// Appends the PTX parameters.
    fn words(raw: Self::Raw, out: &mut Vec<u64>);
    /// Puts its words before those that have this [signature](crate::signature).
    #[doc(hidden)]
    fn sign(signature: u64) -> u64;
}

/// A host value that can stand for the kernel parameter `P`: a scalar for itself, `&Buffer<T>` for `&[T]`, `&mut
/// Buffer<T>` for `*mut T`, ...
///
/// Safe code can't make such a value of an invented pointer:
/// ```compile_fail,E0200
/// #![forbid(unsafe_code)]
/// use cuda_std::launch::{Arguments, IntoParam, RawSlice};
///
/// struct Forged;
/// impl IntoParam<&'static [f32]> for Forged {
///     fn raw(&self) -> RawSlice<f32> {
///         RawSlice::new(std::ptr::without_provenance_mut(8), 1 << 40)
///     }
///     fn memory(&self, _: &mut Arguments) {}
/// }
/// ```
///
/// # Safety
/// While the value's borrows last, the memory behind `raw` is initialised, alive, and
/// shared with others no further than `P` promises. `memory` [notes](Arguments::note) all of it, with
/// the layout of its elements.
/// [`Memory::page`], if set, is the page of the host library's buffer there, which is borrowed as
/// long. A value without one stays usable until the kernel is done, and its author orders kernels
/// on several streams.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be passed for the kernel parameter `{P}`",
    note = "pass `&buffer` for `&[T]` and `*const T`, `&mut buffer` for `*mut T` and `DisjointSlice<T>`, `Rows {{ values: &mut buffer, columns }}` for `DisjointMatrix<T>`, scalars of exactly the kernel's type, and `NameArgs {{ .. }}` for a structure `Name` with pointers"
)]
pub unsafe trait IntoParam<P: KernelParam> {
    /// The raw parameter.
    fn raw(&self) -> P::Raw;
    /// Notes what it points to.
    fn memory(&self, arguments: &mut Arguments);
}

/// A parameter that is the same on the host and in a kernel: a scalar, or a structure of scalars.
pub trait ValueParam: Copy + Send + Sync + for<'a> KernelParam<During<'a> = Self> + IntoParam<Self> {}
impl<T: Copy + Send + Sync + for<'a> KernelParam<During<'a> = T> + IntoParam<T>> ValueParam for T {}

/// Host argument for a [`DisjointMatrix`](crate::DisjointMatrix): the elements by rows, in the form
/// of an argument for a [`DisjointSlice`](crate::DisjointSlice).
#[derive(Clone, Copy, Debug)]
pub struct Rows<S> {
    /// The elements: `&mut buffer`.
    pub values: S,
    /// Number of elements per row.
    pub columns: usize,
}

/// Pointer and length of a slice.
#[derive(Debug)]
pub struct RawSlice<T> {
    first: *mut T,
    len: usize,
}

impl<T> RawSlice<T> {
    /// `len` elements from `first` on.
    pub const fn new(first: *mut T, len: usize) -> Self {
        RawSlice { first, len }
    }

    /// The first element.
    pub const fn first(self) -> *mut T {
        self.first
    }

    /// Returns the number of elements.
    #[allow(clippy::len_without_is_empty)]
    pub const fn len(self) -> usize {
        self.len
    }

    /// The two parameters of the PTX.
    pub(crate) fn words(self, out: &mut Vec<u64>) {
        out.extend([self.first.expose_provenance() as u64, self.len as u64]);
    }
}

impl<T> Clone for RawSlice<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for RawSlice<T> {}
// SAFETY: it is only an address and a number; to make a reference of it is unsafe.
unsafe impl<T> Send for RawSlice<T> {}
// SAFETY: a shared reference to it gives an address and a number.
unsafe impl<T> Sync for RawSlice<T> {}

/// An address.
#[derive(Debug)]
pub struct RawPtr<T>(*mut T);

impl<T> RawPtr<T> {
    /// The address `first`.
    pub const fn new(first: *mut T) -> Self {
        RawPtr(first)
    }

    fn words(self, out: &mut Vec<u64>) {
        out.push(self.0.expose_provenance() as u64);
    }
}

impl<T> Clone for RawPtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for RawPtr<T> {}
// SAFETY: it is only an address; to dereference it is unsafe.
unsafe impl<T> Send for RawPtr<T> {}
// SAFETY: a shared reference to it gives the address alone.
unsafe impl<T> Sync for RawPtr<T> {}

macro_rules! pointers {
    ($($t:ty, $raw_form:ident, $writes:literal, $during:ty: |$raw:ident| $make:expr;)*) => {$(
        // SAFETY: the Rust ABI passes a slice as two registers, pointer and length, and other pointers as one.
        unsafe impl<T: 'static> KernelParam for $t {
            type Raw = $raw_form<T>;
            const WRITES: bool = $writes;
            type During<'a> = $during;
            unsafe fn from_raw($raw: Self::Raw, _: &Run) -> Self::During<'_> {
                $make
            }
            fn words(raw: Self::Raw, out: &mut Vec<u64>) {
                raw.words(out);
            }
            fn sign(signature: u64) -> u64 {
                signature::field::<Self, T>(signature)
            }
        }
    )*};
}
pointers! {
    // SAFETY: the caller of `from_raw` has promised that so many initialised elements are there and that nobody writes
    // them.
    &'static [T], RawSlice, false, &'a [T]: |raw| unsafe { core::slice::from_raw_parts(raw.first, raw.len) };
    // SAFETY: the caller of `from_raw` has promised that an initialised element is there and that nobody writes it.
    &'static T, RawPtr, false, &'a T: |raw| unsafe { &*raw.0 };
    *mut T, RawPtr, true, Self: |raw| raw.0;
    *const T, RawPtr, false, Self: |raw| raw.0;
}

macro_rules! tensors {
    ($($map:ident $writes:literal;)*) => {$(
        // SAFETY: it is passed as the address of its description.
        unsafe impl<T: 'static, const RANK: usize> KernelParam for $map<'static, T, RANK> {
            type Raw = RawPtr<Descriptor>;
            const WRITES: bool = $writes;
            type During<'a> = $map<'a, T, RANK>;
            unsafe fn from_raw<'a>(raw: RawPtr<Descriptor>, _: &'a Run) -> $map<'a, T, RANK> {
                // SAFETY: the caller of `from_raw` has promised a live descriptor of live memory.
                unsafe { $map::new(raw.0) }
            }
            fn words(raw: RawPtr<Descriptor>, out: &mut Vec<u64>) {
                raw.words(out);
            }
            fn sign(signature: u64) -> u64 {
                <*const Descriptor>::sign(signature)
            }
        }
    )*};
}
tensors! {
    TensorMap false;
    TensorMapMut true;
}

/// A parameter that points to nothing: its words, and how they are signed.
macro_rules! by_value {
    ($t:ty, |$v:ident, $out:ident| $words:expr, |$signature:ident| $sign:expr) => {
        // SAFETY: a scalar is one PTX parameter of its own width. The driver reads that many low bytes of the word. The
        // device's half makes other types of such words, in order.
        unsafe impl KernelParam for $t {
            type Raw = $t;
            const WRITES: bool = false;
            type During<'a> = $t;
            unsafe fn from_raw(raw: $t, _: &Run) -> $t {
                raw
            }
            fn words($v: $t, $out: &mut Vec<u64>) {
                $words
            }
            fn sign($signature: u64) -> u64 {
                $sign
            }
        }
        // SAFETY: it points to nothing, so there is no memory that must be valid.
        unsafe impl IntoParam<$t> for $t {
            fn raw(&self) -> $t {
                *self
            }
            fn memory(&self, _: &mut Arguments) {}
        }
    };
}

macro_rules! scalar {
    ($($t:ty => |$v:ident| $bits:expr;)*) => {$(
        by_value!($t, |$v, out| out.push($bits), |signature| signature::field::<$t, $t>(signature));
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
    f16 => |v| v.to_bits().into();
    bf16 => |v| v.to_bits().into();
}

/// Parameters that are made of equal ones: `type: |value| the others, ..;`.
macro_rules! made {
    ($($t:ty: |$v:ident| $($part:expr => $of:ty),*;)*) => {$(
        by_value!($t, |$v, out| { $(<$of>::words($part, out);)* }, |signature| {
            $(let signature = <$of>::sign(signature);)*
            signature
        });
    )*};
}
made! {
    u128: |v| v as u64 => u64, (v >> 64) as u64 => u64;
    i128: |v| v as u64 => u64, (v >> 64) as u64 => u64;
    crate::F16x2: |v| v.x => f16, v.y => f16;
    crate::Bf16x2: |v| v.x => bf16, v.y => bf16;
    crate::F32x2: |v| v.to_array() => [f32; 2];
    crate::F32x4: |v| v.to_array() => [f32; 4];
    crate::F64x2: |v| v.to_array() => [f64; 2];
    crate::I32x2: |v| v.to_array() => [i32; 2];
    crate::I32x4: |v| v.to_array() => [i32; 4];
    crate::U32x2: |v| v.to_array() => [u32; 2];
    crate::U32x4: |v| v.to_array() => [u32; 4];
    crate::U64x2: |v| v.to_array() => [u64; 2];
}

// SAFETY: the device's half takes the elements in order.
unsafe impl<P: KernelParam, const N: usize> KernelParam for [P; N] {
    type Raw = [P::Raw; N];
    const DIMENSIONS: u32 = P::DIMENSIONS;
    const WRITES: bool = P::WRITES;
    type During<'a> = [P::During<'a>; N];
    unsafe fn from_raw<'a>(raw: Self::Raw, run: &'a Run) -> Self::During<'a> {
        // SAFETY: what holds of the array's raw form holds of its elements'.
        raw.map(|raw| unsafe { P::from_raw(raw, run) })
    }
    fn words(raw: Self::Raw, out: &mut Vec<u64>) {
        raw.into_iter().for_each(|raw| P::words(raw, out));
    }
    fn sign(signature: u64) -> u64 {
        (0..N).fold(signature, |signature, _| P::sign(signature))
    }
}
// SAFETY: each element stands for one of the parameter, and its memory is noted.
unsafe impl<P: KernelParam, A: IntoParam<P>, const N: usize> IntoParam<[P; N]> for [A; N] {
    fn raw(&self) -> [P::Raw; N] {
        self.each_ref().map(A::raw)
    }
    fn memory(&self, arguments: &mut Arguments) {
        self.iter().for_each(|element| element.memory(arguments));
    }
}

/// A kernel with its configuration and arguments, ready for either backend.
///
/// Its type doesn't name those of the arguments: a wrong one is an error of `bind` alone.
pub struct Bound<'a> {
    kernel: &'static KernelInfo,
    config: LaunchConfig,
    arguments: Arguments,
    body: Box<dyn Fn() + Sync + 'a>,
}

impl<'a> Bound<'a> {
    /// `#[kernel]` calls this.
    ///
    /// # Safety
    /// `arguments` and `body` are those of the kernel, which during `'a` may be launched with them, in this configuration,
    /// wherever the limits of `kernel` allow it. `body` runs the kernel for the current [`simt`] thread, where all that the
    /// arguments point to is memory of this process. It is never dropped: that might come later than the arguments' borrows
    /// end.
    #[doc(hidden)]
    pub unsafe fn new(
        kernel: &'static KernelInfo,
        config: LaunchConfig,
        arguments: Arguments,
        body: impl Fn() + Sync + 'a,
    ) -> Self {
        let body = ManuallyDrop::new(body);
        Bound { kernel, config, arguments, body: Box::new(move || (*body)()) }
    }

    /// Returns the kernel.
    pub fn kernel(&self) -> &'static KernelInfo {
        self.kernel
    }

    /// Returns the launch's configuration.
    pub fn config(&self) -> LaunchConfig {
        self.config
    }

    /// Its arguments.
    pub fn arguments(&self) -> &Arguments {
        &self.arguments
    }

    /// Returns the closure that runs the kernel for the current [`simt`] thread.
    ///
    /// # Safety
    /// All memory behind the arguments belongs to this process, and only threads of a
    /// launch of [`config`](Self::config) within the limits of [`kernel`](Self::kernel) call the
    /// closure.
    pub unsafe fn into_body(self) -> Box<dyn Fn() + Sync + 'a> {
        self.body
    }
}

impl fmt::Debug for Bound<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Bound { kernel, config, arguments, body: _ } = self;
        write!(f, "Bound({}; {config:?}; {arguments:?})", kernel.path)
    }
}
