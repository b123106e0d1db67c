//! `#[kernel]`.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use std::hash::{DefaultHasher, Hasher};
use syn::{
    Error, FnArg, GenericArgument, Ident, ItemFn, LitInt, Pat, PathArguments, Result, ReturnType, Token, Type,
    parse::{Parse, ParseStream},
    punctuated::Punctuated,
    spanned::Spanned,
    visit_mut::{self, VisitMut},
};

const PARAMETERS: &str = "a kernel takes scalars, `&[T]`, `&T`, `*const T`, `*mut T` and `DisjointSlice<T>`";

/// Launch bounds given to the attribute.
#[derive(Default)]
struct Bounds {
    max_threads: Option<u32>,
    min_blocks: Option<u32>,
}

impl Parse for Bounds {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut bounds = Bounds::default();
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            let value: LitInt = input.parse()?;
            let number: u32 = value.base10_parse()?;
            match key.to_string().as_str() {
                "max_threads" if !(1..=1024).contains(&number) => {
                    return Err(Error::new(value.span(), "max_threads is a number from 1 to 1024"));
                }
                "max_threads" => bounds.max_threads = Some(number),
                "min_blocks" if !(1..=32).contains(&number) => {
                    return Err(Error::new(value.span(), "min_blocks is a number from 1 to 32"));
                }
                "min_blocks" => bounds.min_blocks = Some(number),
                _ => return Err(Error::new(key.span(), "expected `max_threads` or `min_blocks`")),
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        if bounds.min_blocks.is_some() && bounds.max_threads.is_none() {
            return Err(input.error("`min_blocks` needs `max_threads`, too"));
        }
        Ok(bounds)
    }
}

/// Gives every lifetime the name `'static`: in the generated signatures a type only names the parameter.
struct Static;

impl VisitMut for Static {
    fn visit_type_reference_mut(&mut self, reference: &mut syn::TypeReference) {
        reference.lifetime = Some(syn::parse_quote!('static));
        visit_mut::visit_type_reference_mut(self, reference);
    }
    fn visit_lifetime_mut(&mut self, lifetime: &mut syn::Lifetime) {
        lifetime.ident = format_ident!("static");
    }
    fn visit_path_segment_mut(&mut self, segment: &mut syn::PathSegment) {
        visit_mut::visit_path_segment_mut(self, segment);
        // The one parameter whose lifetime is usually left out. By another name it takes `'_`.
        if segment.ident == "DisjointSlice"
            && let PathArguments::AngleBracketed(arguments) = &mut segment.arguments
            && !arguments.args.iter().any(|argument| matches!(argument, GenericArgument::Lifetime(_)))
        {
            arguments.args.insert(0, syn::parse_quote!('static));
        }
    }
}

fn check_type(ty: &Type) -> Result<()> {
    match ty {
        Type::Reference(reference) if reference.mutability.is_some() => Err(Error::new(
            ty.span(),
            "`&mut` would promise each thread that it alone may write there: take `*mut T`, or `DisjointSlice<T>` where each thread writes its own element",
        )),
        Type::Reference(_) | Type::Ptr(_) | Type::Path(_) => Ok(()),
        Type::Paren(inner) => check_type(&inner.elem),
        // A type that came through a macro's `$t:ty`.
        Type::Group(inner) => check_type(&inner.elem),
        _ => Err(Error::new(ty.span(), format!("not a kernel parameter: {PARAMETERS}"))),
    }
}

/// A name in the generated code that can't be one of the kernel's parameters.
fn own(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// Identifies the package that is being compiled: no two packages have the same folder. (`cuda_builder` has the same
/// lines.)
pub fn package() -> u64 {
    let folder = std::env::var_os("CARGO_MANIFEST_DIR").map(std::path::PathBuf::from).unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    // Cargo may come to one folder by several paths.
    hasher.write(folder.canonicalize().unwrap_or(folder).as_os_str().as_encoded_bytes());
    hasher.finish()
}

pub fn expand(attr: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let bounds: Bounds = syn::parse2(attr)?;
    let function: ItemFn = syn::parse2(item)?;
    let signature = &function.sig;
    if !signature.generics.params.is_empty() {
        return Err(Error::new(
            signature.generics.span(),
            "a kernel can't be generic: PTX entries have fixed types; call a generic function from one kernel per type",
        ));
    }
    if let Some(asyncness) = signature.asyncness {
        return Err(Error::new(asyncness.span(), "a kernel can't be async"));
    }
    if let Some(abi) = &signature.abi {
        return Err(Error::new(
            abi.span(),
            "a kernel has the Rust ABI: under `extern \"C\"` a slice would lose its promise of being read-only",
        ));
    }
    if let ReturnType::Type(_, ty) = &signature.output {
        return Err(Error::new(ty.span(), "a kernel returns nothing: write results through a pointer or a DisjointSlice"));
    }

    let mut names = Vec::new();
    let mut types = Vec::new();
    for input in &signature.inputs {
        let FnArg::Typed(argument) = input else {
            return Err(Error::new(input.span(), format!("a kernel has no `self`: {PARAMETERS}")));
        };
        check_type(&argument.ty)?;
        names.push(match &*argument.pat {
            Pat::Ident(pattern) => pattern.ident.clone(),
            _ => own(&format!("argument_{}", names.len())),
        });
        let mut ty = (*argument.ty).clone();
        Static.visit_type_mut(&mut ty);
        types.push(ty);
    }

    let name = &signature.ident;
    let vis = &function.vis;
    let unsafety = &signature.unsafety;
    let package = package();
    let max_threads = match bounds.max_threads {
        Some(number) => quote!(::core::option::Option::Some(#number)),
        None => quote!(::core::option::Option::None),
    };
    // cuda_builder finds kernels by this section, and reads the bounds off its name.
    let mut section = String::from(".cuda.kernel");
    for number in [bounds.max_threads, bounds.min_blocks].into_iter().flatten() {
        section.push_str(&format!(".{number}"));
    }
    let raw: Vec<Ident> = (0..names.len()).map(|i| own(&format!("raw_{i}"))).collect();
    let count = names.len();
    let (config, words, body, run) = (own("config"), own("arguments"), own("body"), own("run"));
    let parameters: Punctuated<TokenStream, Token![,]> =
        names.iter().zip(&types).map(|(name, ty)| quote!(#name: impl ::cuda_std::launch::IntoParam<#ty>)).collect();
    let doc = format!("The typed launch of the kernel [`{name}`](fn@{name}).");
    let safety =
        unsafety.map(|_| quote!(#[doc = "\n# Safety\nWhat the kernel itself demands, of its launch in this configuration."]));

    Ok(quote! {
        #[cfg_attr(cuda_device, unsafe(link_section = #section), inline(never))]
        #function

        const _: () = {
            const fn is_kernel_parameter<P: ::cuda_std::DeviceParam>() {}
            #(is_kernel_parameter::<#types>();)*
        };

        #[cfg(not(cuda_device))]
        #[doc = #doc]
        #vis mod #name {
            #[allow(unused_imports)]
            use super::*;

            /// The kernel's static facts.
            pub fn kernel() -> &'static ::cuda_std::launch::KernelInfo {
                const ONE_DIMENSIONAL: bool = false #(|| <#types as ::cuda_std::launch::KernelParam>::ONE_DIMENSIONAL)*;
                static KERNEL: ::cuda_std::launch::KernelInfo =
                    // SAFETY: these are the facts of the function beside this module.
                    unsafe { ::cuda_std::launch::KernelInfo::new(::core::module_path!(), #package, #max_threads, ONE_DIMENSIONAL) };
                &KERNEL
            }

            /// Binds a configuration and arguments to the kernel, for a stream to launch.
            #safety
            #[allow(clippy::missing_safety_doc, clippy::too_many_arguments)]
            pub #unsafety fn bind(
                #config: ::cuda_std::launch::LaunchConfig,
                #parameters
            ) -> ::cuda_std::launch::Bound<impl ::core::ops::Fn() + ::core::marker::Sync> {
                #[allow(unused_mut)]
                let mut #words = ::cuda_std::launch::Arguments::with_capacity(#count);
                #(let #raw = #words.push::<#types>(&#names);)*
                let #body = move || {
                    #[allow(unused_variables)]
                    let #run = ::cuda_std::launch::Run;
                    // SAFETY: `into_body`'s contract says that the arguments are in this process's memory, which
                    // `bind`'s result borrows. What an unsafe kernel asks beyond that, it asks of the call of this
                    // unsafe function.
                    unsafe { super::#name(#(<#types as ::cuda_std::launch::KernelParam>::from_raw(#raw, &#run)),*) }
                };
                // SAFETY: the arguments are those of the kernel, which the body calls with them.
                unsafe { ::cuda_std::launch::Bound::new(self::kernel(), #config, #words, #body) }
            }
        }
    })
}
