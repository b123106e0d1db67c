//! The macros of `cuda_std`: [`macro@kernel`] marks a GPU kernel, and `launch!` (re-exported by the host library) calls
//! one.

use proc_macro::TokenStream;

mod kernel;
mod launch;

/// Marks a function as a GPU kernel.
///
/// On the device the function becomes a PTX entry named by its path without the crate, joined by `_` (`list_rank::walk`
/// becomes `list_rank_walk`). On the host it stays a plain function, and a module of the same name beside it holds its
/// typed launch: `kernel()`, its static facts, and `bind(config, args..)`, which the host's `launch!` calls.
///
/// Parameters are scalars, `&[T]`, `&T`, `*const T`, `*mut T` and `DisjointSlice<T>`; anything else is a compile error.
/// `&[T]` and `&T` promise that nobody writes there during the launch, so that their loads become `ld.global.nc`.
///
/// A kernel can't keep its arguments: none of their lifetimes is `'static`. A `DisjointSlice` by another name needs its
/// lifetime written out, `Output<'_, T>`.
///
/// `#[kernel(max_threads = 256, min_blocks = 4)]` gives launch bounds (PTX `.maxntid` and `.minnctapersm`): the most
/// threads a block may have, and how many blocks an SM should hold, from which `ptxas` derives its register budget.
#[proc_macro_attribute]
pub fn kernel(attr: TokenStream, item: TokenStream) -> TokenStream {
    kernel::expand(attr.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
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
