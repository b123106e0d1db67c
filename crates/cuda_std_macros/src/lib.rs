//! The macros of `cuda_std`: [`macro@kernel`] marks a GPU kernel, [`macro@KernelParam`] a structure that one takes by
//! value, [`ptx_asm!`] is inline PTX, and `launch!` (re-exported by the host library) calls a kernel.

use proc_macro::TokenStream;

mod device_copy;
mod kernel;
mod launch;
mod param;
mod ptx;

/// Marks a function as a GPU kernel.
///
/// On the device the function becomes a PTX entry named by its path without the crate, joined by `_` (`list_rank::walk`
/// becomes `list_rank_walk`). On the host it stays a plain function, and a module of the same name beside it holds its
/// typed launch: `kernel()`, its static facts, and `bind(config, args..)`, which the host's `launch!` calls.
///
/// Parameters are scalars, `&[T]`, `&T`, `*const T`, `*mut T`, `DisjointSlice<T>`, `DisjointMatrix<T>`, and structures
/// of these (but the last) that derive [`macro@KernelParam`]; anything else is a compile error. `&[T]` and `&T` promise
/// that nobody writes there during the launch, so that their loads become `ld.global.nc`.
///
/// A kernel can't keep its arguments: none of their lifetimes is `'static`. A structure, and a `DisjointSlice` by
/// another name, needs its lifetime written out, `Output<'_, T>`.
///
/// `#[kernel(max_threads = 256, min_blocks = 4)]` gives launch bounds (PTX `.maxntid` and
/// `.minnctapersm`): the most threads per block, and the number of blocks that an SM should hold;
/// `ptxas` derives its register budget from them. `max_registers = 64` sets that budget itself
/// (`.maxnreg`). `carveout = 50` prefers so many percent of the shared memory that an SM can have, and
/// leaves the rest to the L1 cache. `#[kernel(block = [16, 16])]` fixes the block (PTX `.reqntid`), so that its
/// extents are constants in the kernel. `#[kernel(cluster = 4)]` has blocks run in clusters
/// (`.reqnctapercluster`, from `sm_90` on; `cuda_std::cluster`): in up to three dimensions, of at
/// most 8 blocks. `#[kernel(cooperative)]` has all blocks run at once, so that they can wait for
/// each other (`cuda_std::thread::sync_grid`). The host refuses launches that break any of these.
///
/// # Generic kernels
/// `#[kernel(for T in [f32, f64])]` stands before a kernel of one type parameter, and lists the types that it exists
/// for. Each is a PTX entry of its own, whose name ends with the type: `gradient` becomes `gradient_f32` and
/// `gradient_f64`. Constant parameters and several parameters are listed the same way: `for N in [4, 8]`,
/// `for (T, N) in [(f32, 4), (f64, 8)]`. A type may have launch bounds of its own: `f64 { min_blocks = 4 }`. In
/// parameters, types that belong to `T` are written with their trait, `<T as Value>::Record`.
///
/// The host says which it means, `launch!(stream, gradient::<T><<<grid, block>>>(..))`, where `T` is one of the types,
/// or generic itself: the kernel's module has a trait for them, `gradient::Instance`.
#[proc_macro_attribute]
pub fn kernel(attr: TokenStream, item: TokenStream) -> TokenStream {
    kernel::expand(attr.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a structure one that kernels take by value.
///
/// Its fields are what a kernel takes alone: scalars, `&[T]`, `&T`, `*const T`, `*mut T`, `DisjointSlice<T>`; at most
/// 16. To PTX each is a parameter of its own, as if the kernel took them one by one.
///
/// The host passes a structure of scalars as it is. For a structure `Name` with pointers the macro
/// makes `NameArgs`, with a host argument for each field: `NameArgs { values: &buffer, sums: &mut
/// other }`.
#[proc_macro_derive(KernelParam)]
pub fn kernel_param(item: TokenStream) -> TokenStream {
    param::expand(item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a `Copy` structure or enum one that buffers hold: `cuda_std::DeviceCopy`.
///
/// It has `#[repr(C)]`, `#[repr(transparent)]`, or `#[repr(u8)]` and the like, and no references.
#[proc_macro_derive(DeviceCopy)]
pub fn device_copy(item: TokenStream) -> TokenStream {
    device_copy::expand(item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Inline PTX, as `asm!` is the host's assembly; and what the CPU does in its place. `cuda_std::ptx` has an example.
///
/// - The PTX is one string or several, which are lines. `{0}` is the first operand, `{name}` the one with that name;
///   PTX's own braces are doubled. All operands have to be used.
/// - An operand is `in(class) value`, `out(class) place` or `inout(class) place`. Classes are PTX's registers: `b16`
///   (`u16`, `i16`, `f16`, `bf16`), `b32` (`u32`, `i32`, `F16x2`, `Bf16x2`), `b64` (64-bit integers and pointers,
///   which are generic addresses), `f32`, `f64`; and `imm`, a `u32` that is known once all is inlined. Other types can
///   implement `cuda_std::ptx::Register`.
/// - Without options, the assembly is executed wherever the source says so, and may access any memory. With
///   `options(nomem)` it accesses none, so that other accesses may move past it. With `options(pure)` it is a function
///   of its inputs besides: it may be merged with another of the same inputs, or dropped.
/// - `cpu => ..` is an expression that does the same in Rust: it assigns the outputs.
///
/// It stands in an `unsafe` block: the author is responsible for the PTX. Only `ptxas` or the
/// driver reports an instruction that an architecture lacks (`cuda_std::arch()` tells the
/// architecture).
#[proc_macro]
pub fn ptx_asm(input: TokenStream) -> TokenStream {
    ptx::expand(input.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// `launch!((crate_path) stream, path<<<grid, block>>>(args..))`: what the host library's `launch!` expands to.
#[doc(hidden)]
#[proc_macro]
pub fn launch(input: TokenStream) -> TokenStream {
    launch::expand(input.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// The number of the package that is being compiled, as `#[kernel]` writes it down.
#[doc(hidden)]
#[proc_macro]
pub fn package(_: TokenStream) -> TokenStream {
    let package = kernel::package();
    quote::quote!(#package).into()
}
