//! `#[kernel]`.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use std::hash::{DefaultHasher, Hasher};
use syn::{
    ConstParam, Error, FnArg, GenericArgument, GenericParam, Ident, ItemFn, LitInt, Pat, PathArguments, PredicateType, Result,
    ReturnType, Safety, Token, Type, TypeParam, WherePredicate, braced, bracketed, parenthesized,
    parse::{Parse, ParseStream},
    parse_quote,
    punctuated::Punctuated,
    spanned::Spanned,
    token,
    visit_mut::{self, VisitMut},
};

const PARAMETERS: &str = "a kernel takes scalars, vectors (`F32x4`), `&[T]`, `&T`, `*const T`, `*mut T`, `DisjointSlice<T>`, `DisjointMatrix<T>`, arrays of up to 16, and structures of these with `#[derive(KernelParam)]`";

/// The most words of a parameter: as many as `cuda_std::param::Words` has by index.
const WORDS: usize = 16;

/// Options of the attribute.
#[derive(Default)]
struct Attribute {
    bounds: Bounds,
    /// The names of the generic parameters, and the arguments that the kernel exists for.
    instances: Option<(Vec<Ident>, Vec<Instance>)>,
}

/// Arguments that a generic kernel exists for, with launch bounds of their own.
struct Instance {
    arguments: Vec<GenericArgument>,
    bounds: Bounds,
}

/// The kernel's requirements for launches.
#[derive(Clone, Copy, Default)]
struct Bounds {
    max_threads: Option<u32>,
    min_blocks: Option<u32>,
    block: Option<[u32; 3]>,
    cluster: Option<[u32; 3]>,
    max_registers: Option<u32>,
    carveout: Option<u32>,
    cooperative: bool,
}

impl Bounds {
    /// Reads `max_threads = 256`, `min_blocks = 4`, `max_registers = 64`, `carveout = 50`, `block = [16, 16]`, `cluster = 4`
    /// or `cooperative`.
    fn parse_one(&mut self, input: ParseStream<'_>) -> Result<()> {
        let key: Ident = input.parse()?;
        if key == "cooperative" {
            self.cooperative = true;
            return Ok(());
        }
        if !["max_threads", "min_blocks", "max_registers", "carveout", "block", "cluster"].iter().any(|known| key == known) {
            return Err(Error::new(
                key.span(),
                "expected `max_threads`, `min_blocks`, `max_registers`, `carveout`, `block`, `cluster`, `cooperative` or \
                 `for T in [..]`",
            ));
        }
        input.parse::<Token![=]>()?;
        if key == "block" {
            let message = "block has one to three extents, and 1 to 1024 threads, of which z has at most 64";
            self.block = Some(Self::parse_extents(input, [1024, 1024, 64], 1024, message)?);
            return Ok(());
        }
        if key == "cluster" {
            let message = "cluster has one to three extents, and 1 to 8 blocks";
            self.cluster = Some(Self::parse_extents(input, [8, 8, 8], 8, message)?);
            return Ok(());
        }
        let value: LitInt = input.parse()?;
        let number: u32 = value.base10_parse()?;
        let (bound, least, most) = match key.to_string().as_str() {
            "max_threads" => (&mut self.max_threads, 1, 1024),
            "min_blocks" => (&mut self.min_blocks, 1, 32),
            "carveout" => (&mut self.carveout, 0, 100),
            // Fewer are what `ptxas` doesn't assign.
            _ => (&mut self.max_registers, 24, 255),
        };
        if !(least..=most).contains(&number) {
            return Err(Error::new(value.span(), format!("{key} is a number from {least} to {most}")));
        }
        *bound = Some(number);
        Ok(())
    }

    /// Reads `256`, or up to three extents in brackets.
    fn parse_extents(input: ParseStream<'_>, limits: [u32; 3], most: u32, message: &str) -> Result<[u32; 3]> {
        let span = input.span();
        let list: Vec<LitInt> = if input.peek(token::Bracket) {
            let list;
            bracketed!(list in input);
            Punctuated::<LitInt, Token![,]>::parse_terminated(&list)?.into_iter().collect()
        } else {
            vec![input.parse()?]
        };
        let mut all = [1; 3];
        let extents = list.iter().map(LitInt::base10_parse::<u32>).collect::<Result<Vec<u32>>>()?;
        all.iter_mut().zip(&extents).for_each(|(extent, given)| *extent = *given);
        let product = all.iter().fold(1u32, |product, &extent| product.saturating_mul(extent));
        let beyond = all.iter().zip(limits).any(|(&extent, limit)| extent > limit);
        if !(1..=3).contains(&extents.len()) || !(1..=most).contains(&product) || beyond {
            return Err(Error::new(span, message));
        }
        Ok(all)
    }

    /// These bounds where they are given, else those of the whole kernel.
    fn or(self, whole: Bounds) -> Bounds {
        Bounds {
            max_threads: self.max_threads.or(whole.max_threads),
            min_blocks: self.min_blocks.or(whole.min_blocks),
            block: self.block.or(whole.block),
            cluster: self.cluster.or(whole.cluster),
            max_registers: self.max_registers.or(whole.max_registers),
            carveout: self.carveout.or(whole.carveout),
            cooperative: self.cooperative || whole.cooperative,
        }
    }

    /// Returns the section in which cuda_builder finds the kernel. Its name encodes the PTX
    /// directives.
    fn section(self) -> Result<String> {
        let Bounds { max_threads, min_blocks, block, cluster, max_registers, cooperative, .. } = self;
        if min_blocks.is_some() && max_threads.is_none() && block.is_none() {
            return Err(Error::new(Span::call_site(), "`min_blocks` needs `max_threads`, too"));
        }
        if max_threads.is_some() && block.is_some() {
            return Err(Error::new(Span::call_site(), "`block` says how many threads there are: `max_threads` is too much"));
        }
        if max_registers.is_some() && min_blocks.is_some() {
            return Err(Error::new(Span::call_site(), "`max_registers` and `min_blocks` both say how many registers there are"));
        }
        if cluster.is_some() && cooperative {
            return Err(Error::new(Span::call_site(), "a `cooperative` kernel has no `cluster`"));
        }
        let texts = [
            max_threads.map(|number| format!(".max_threads={number}")),
            min_blocks.map(|number| format!(".min_blocks={number}")),
            block.map(|[x, y, z]| format!(".block={x},{y},{z}")),
            cluster.map(|[x, y, z]| format!(".cluster={x},{y},{z}")),
            max_registers.map(|number| format!(".max_registers={number}")),
        ];
        Ok(format!(".cuda.kernel{}", texts.into_iter().flatten().collect::<String>()))
    }

    /// As the host has it.
    fn contract(self) -> TokenStream {
        fn option(value: Option<TokenStream>) -> TokenStream {
            match value {
                Some(value) => quote!(::core::option::Option::Some(#value)),
                None => quote!(::core::option::Option::None),
            }
        }
        let Bounds { max_threads, block, cluster, carveout, cooperative, .. } = self;
        let [max_threads, carveout] = [max_threads, carveout].map(|number| option(number.map(|number| quote!(#number))));
        let [block, cluster] = [block, cluster]
            .map(|extents| option(extents.map(|[x, y, z]| quote!(::cuda_std::thread::Dim3 { x: #x, y: #y, z: #z }))));
        quote!(::cuda_std::launch::Contract {
            max_threads: #max_threads,
            block: #block,
            cluster: #cluster,
            carveout: #carveout,
            cooperative: #cooperative,
            dimensions: DIMENSIONS,
        })
    }
}

impl Parse for Attribute {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut attribute = Attribute::default();
        while !input.is_empty() {
            if input.parse::<Option<Token![for]>>()?.is_some() {
                let (parameters, list);
                let several = input.peek(token::Paren);
                let names = if several {
                    parenthesized!(parameters in input);
                    Punctuated::<Ident, Token![,]>::parse_terminated(&parameters)?.into_iter().collect()
                } else {
                    vec![input.parse()?]
                };
                input.parse::<Token![in]>()?;
                bracketed!(list in input);
                let mut instances: Vec<Instance> = Vec::new();
                while !list.is_empty() {
                    let at = list.span();
                    let instance = Instance::parse(&list, several)?;
                    if instance.arguments.len() != names.len() {
                        return Err(Error::new(at, format!("expected {} arguments in parentheses", names.len())));
                    }
                    if instances.iter().any(|other| other.suffix() == instance.suffix()) {
                        let name = instance.suffix();
                        return Err(Error::new(at, format!("two kernels would end with `{name}`: give one type another name")));
                    }
                    instances.push(instance);
                    if !list.is_empty() {
                        list.parse::<Token![,]>()?;
                    }
                }
                attribute.instances = Some((names, instances));
            } else {
                attribute.bounds.parse_one(input)?;
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(attribute)
    }
}

impl Instance {
    /// Reads `f32`, or `(f32, 4)` where there are `several` parameters, with bounds behind it in braces.
    fn parse(input: ParseStream<'_>, several: bool) -> Result<Self> {
        let arguments = if several {
            let list;
            parenthesized!(list in input);
            Punctuated::<GenericArgument, Token![,]>::parse_terminated(&list)?.into_iter().collect()
        } else {
            vec![input.parse()?]
        };
        let mut bounds = Bounds::default();
        if input.peek(token::Brace) {
            let list;
            braced!(list in input);
            while !list.is_empty() {
                bounds.parse_one(&list)?;
                if !list.is_empty() {
                    list.parse::<Token![,]>()?;
                }
            }
        }
        Ok(Instance { arguments, bounds })
    }

    /// Returns the suffix of the instance's name: the words of the arguments, `f32`, `l1_f32` or `f32_4`.
    fn suffix(&self) -> String {
        fn words(tokens: TokenStream, suffix: &mut String) {
            for token in tokens {
                match token {
                    TokenTree::Ident(word) => suffix.push_str(&format!("_{}", word.to_string().to_lowercase())),
                    TokenTree::Group(group) => words(group.stream(), suffix),
                    TokenTree::Punct(sign) if sign.as_char() == '-' => suffix.push_str("_minus"),
                    TokenTree::Punct(_) => {}
                    TokenTree::Literal(value) => {
                        let value = value.to_string();
                        suffix.extend(std::iter::once('_').chain(value.chars().filter(char::is_ascii_alphanumeric)));
                    }
                }
            }
        }
        let mut suffix = String::new();
        self.arguments.iter().for_each(|argument| words(argument.to_token_stream(), &mut suffix));
        suffix
    }
}

/// Gives every lifetime the name `'static`: in the generated signatures a type only names the parameter.
pub struct Static;

impl VisitMut for Static {
    fn visit_type_reference_mut(&mut self, reference: &mut syn::TypeReference) {
        reference.lifetime = Some(parse_quote!('static));
        visit_mut::visit_type_reference_mut(self, reference);
    }
    fn visit_lifetime_mut(&mut self, lifetime: &mut syn::Lifetime) {
        lifetime.ident = format_ident!("static");
    }
    fn visit_path_segment_mut(&mut self, segment: &mut syn::PathSegment) {
        visit_mut::visit_path_segment_mut(self, segment);
        write_lifetime(segment, parse_quote!('static));
    }
}

/// Writes `'_` where a lifetime may be left out.
struct Elided;

impl VisitMut for Elided {
    fn visit_path_segment_mut(&mut self, segment: &mut syn::PathSegment) {
        visit_mut::visit_path_segment_mut(self, segment);
        write_lifetime(segment, parse_quote!('_));
    }
}

/// Gives a lifetime to the parameters whose lifetimes are usually left out. By other names they take `'_`.
fn write_lifetime(segment: &mut syn::PathSegment, lifetime: GenericArgument) {
    if ["DisjointSlice", "DisjointMatrix", "TensorMap", "TensorMapMut"].iter().any(|name| segment.ident == name)
        && let PathArguments::AngleBracketed(arguments) = &mut segment.arguments
        && !arguments.args.iter().any(|argument| matches!(argument, GenericArgument::Lifetime(_)))
    {
        arguments.args.insert(0, lifetime);
    }
}

fn check_type(ty: &Type) -> Result<()> {
    match ty {
        Type::Reference(reference) if reference.mutability.is_some() => Err(Error::new(
            ty.span(),
            "`&mut` would promise each thread that it alone may write there: take `*mut T`, or `DisjointSlice<T>` where each thread writes its own element",
        )),
        Type::Reference(_) | Type::Ptr(_) | Type::Path(_) => Ok(()),
        Type::Array(array) => check_type(&array.elem),
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

/// `items` with other tokens in the places of generic parameters.
fn substituted(items: &[impl ToTokens], parameters: &[(&Ident, TokenStream)]) -> Vec<TokenStream> {
    fn replace(tokens: TokenStream, parameters: &[(&Ident, TokenStream)]) -> TokenStream {
        let token = |token| match token {
            TokenTree::Ident(ident) => match parameters.iter().find(|(from, _)| **from == ident) {
                Some((_, to)) => to.clone(),
                None => TokenTree::Ident(ident).into(),
            },
            TokenTree::Group(group) => {
                TokenTree::Group(proc_macro2::Group::new(group.delimiter(), replace(group.stream(), parameters))).into()
            }
            token => token.into(),
        };
        tokens.into_iter().map::<TokenStream, _>(token).collect()
    }
    items.iter().map(|item| replace(item.to_token_stream(), parameters)).collect()
}

/// The signature of a kernel of these types, as an expression; `fields` gives that of the fields of one.
fn signature<T: ToTokens>(types: &[T], fields: impl Fn(&T) -> TokenStream) -> TokenStream {
    types.iter().fold(quote!(::cuda_std::signature::EMPTY), |signature, ty| {
        let fields = fields(ty);
        quote!(::cuda_std::signature::parameter::<#ty>(#signature, #fields))
    })
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

/// A kernel, taken apart.
struct Kernel {
    function: ItemFn,
    /// Names for the parameters, and their types without lifetimes of their own.
    names: Vec<Ident>,
    types: Vec<Type>,
}

impl Kernel {
    /// The function in PTX, for the device: its parameters are the fields of the kernel's. `inner` is the kernel, where
    /// it isn't beside the entry.
    fn entry(
        &self,
        name: &Ident,
        section: &str,
        types: &[impl ToTokens],
        inner: Option<&ItemFn>,
        of: TokenStream,
    ) -> TokenStream {
        let (vis, kernel) = (&self.function.vis, &self.function.sig.ident);
        let indices: Vec<Ident> = (0..WORDS).map(|i| format_ident!("F{i}")).collect();
        let list = |ty: &dyn ToTokens| {
            let ty = ty.to_token_stream();
            quote!(<<#ty as ::cuda_std::param::DeviceParam>::Before<()> as ::cuda_std::param::Words>)
        };
        let mut parameters = Vec::new();
        let mut arguments = Vec::new();
        for (position, ty) in types.iter().enumerate() {
            let list = list(ty);
            let words: Vec<Ident> = indices.iter().map(|index| own(&format!("argument_{position}_{index}"))).collect();
            parameters.extend(words.iter().zip(&indices).map(|(name, index)| quote!(#name: #list::#index)));
            let end = quote!(::cuda_std::param::Words::end::<#ty>());
            let joined = words.iter().rev().fold(end, |rest, word| quote!(::cuda_std::param::Words::join(#word, #rest)));
            arguments.push(quote!(<#ty as ::cuda_std::param::DeviceParam>::take::<()>(#joined).0));
        }
        let signature = signature(types, |ty| {
            let list = list(ty);
            quote!(#list::SIGNATURE)
        });
        let lists = types.iter().map(|ty| list(ty));
        quote! {
            // Like the host's module of this name, and so in its way where that would be.
            #vis mod #name {
                #[allow(unused_imports)]
                use super::*;

                #[used]
                #[unsafe(link_section = ".cuda.signature")]
                static SIGNATURE: u64 = #signature #(.wrapping_add(#lists::LAYOUTS))*;

                // Without it rustc leaves out a kernel that isn't `pub` all the way up.
                #[used]
                static KEEP: ::cuda_std::param::Entry = ::cuda_std::param::Entry(super::#name as *const ());
            }

            #[unsafe(link_section = #section)]
            #[inline(never)]
            #[allow(missing_docs, non_snake_case)]
            #vis unsafe fn #name(#(#parameters),*) {
                #inner
                // SAFETY: a launch that the kernel's contract allows calls its entry alone.
                unsafe { #kernel #of (#(#arguments),*) }
            }

        }
    }

    /// The host's facts of the kernel, as an expression. `path` is its path.
    fn info(&self, path: TokenStream, bounds: Bounds, types: &[impl ToTokens]) -> TokenStream {
        let (package, contract) = (package(), bounds.contract());
        let signature =
            signature(types, |ty| quote!(<#ty as ::cuda_std::launch::KernelParam>::sign(::cuda_std::signature::EMPTY)));
        quote! {{
            const DIMENSIONS: u32 = ::cuda_std::__private::least(&[#(<#types as ::cuda_std::launch::KernelParam>::DIMENSIONS),*]);
            static KERNEL: ::cuda_std::launch::KernelInfo =
                // SAFETY: these are the facts of the function beside this module.
                unsafe { ::cuda_std::launch::KernelInfo::new(#path, #package, || #signature, #contract) };
            &KERNEL
        }}
    }

    /// The host's call of the kernel for one thread. `of` are its generic arguments.
    fn call(&self, raw: &[Ident], of: TokenStream, types: &[impl ToTokens]) -> TokenStream {
        let (name, run) = (&self.function.sig.ident, own("run"));
        quote! {
            #[allow(unused_variables)]
            let #run = ::cuda_std::launch::Run;
            // SAFETY: `into_body`'s contract says that the arguments are in this process's memory,
            // which `bind`'s result borrows. An unsafe kernel's further requirements are those of
            // its unsafe `bind`.
            unsafe { super::#name #of (#(<#types as ::cuda_std::launch::KernelParam>::from_raw(#raw, &#run)),*) }
        }
    }

    /// Returns `bind`; `kernel` gives the kernel's facts, and `body` runs a thread.
    /// It has the generic parameters `generics`, under the clause `exists`.
    fn bind(
        &self,
        raw: &[Ident],
        generics: &TokenStream,
        exists: &TokenStream,
        kernel: TokenStream,
        body: TokenStream,
    ) -> TokenStream {
        let (unsafety, names, types) = (&self.function.sig.safety, &self.names, &self.types);
        let safety = matches!(unsafety, Safety::Unsafe(_))
            .then(|| quote!(#[doc = "\n# Safety\nWhat the kernel itself demands, of its launch in this configuration."]));
        let (config, words, run_thread, count) = (own("config"), own("arguments"), own("body"), names.len());
        quote! {
            /// Binds a configuration and arguments to the kernel, for a stream to launch.
            #safety
            #[allow(clippy::missing_safety_doc, clippy::multiple_bound_locations, clippy::too_many_arguments)]
            pub #unsafety fn bind<'bound, #generics> (
                #config: ::cuda_std::launch::LaunchConfig,
                #(#names: impl ::cuda_std::launch::IntoParam<#types> + 'bound),*
            ) -> ::cuda_std::launch::Bound<'bound> #exists {
                #[allow(unused_mut)]
                let mut #words = ::cuda_std::launch::Arguments::with_capacity(#count);
                #(let #raw = #words.push::<#types>(&#names);)*
                let #run_thread = move || { #body };
                // SAFETY: the arguments are those of the kernel, which the body calls with them.
                unsafe { ::cuda_std::launch::Bound::new(#kernel, #config, #words, #run_thread) }
            }
        }
    }
}

pub fn expand(attr: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let attribute: Attribute = syn::parse2(attr)?;
    let mut function: ItemFn = syn::parse2(item)?;
    // A structure's lifetime has to be written out on the host, and so on the device.
    for input in &mut function.sig.inputs {
        Elided.visit_fn_arg_mut(input);
        if let FnArg::Typed(argument) = input {
            argument.attrs.push(parse_quote!(#[deny(elided_lifetimes_in_paths)]));
        }
    }
    let signature = &function.sig;
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

    let parameters: Vec<&Ident> = signature
        .generics
        .params
        .iter()
        .filter_map(|parameter| match parameter {
            GenericParam::Type(TypeParam { ident, .. }) | GenericParam::Const(ConstParam { ident, .. }) => Some(ident),
            GenericParam::Lifetime(_) => None,
        })
        .collect();
    let kernel = Kernel { names, types, function: function.clone() };
    match &attribute.instances {
        None if signature.generics.params.is_empty() => plain(&kernel, attribute.bounds),
        None => Err(Error::new(
            signature.generics.span(),
            "a generic kernel needs a list of the types that it exists for, as PTX entries have fixed types: `#[kernel(for T in [f32, f64])]`",
        )),
        Some((names, instances))
            if parameters.len() == signature.generics.params.len() && parameters.iter().copied().eq(names) =>
        {
            generic(&kernel, attribute.bounds, &parameters, instances)
        }
        Some((names, _)) => {
            let list = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            Err(Error::new(names[0].span(), format!("the kernel's generic parameters are not {list}, in this order")))
        }
    }
}

/// The doc line of a kernel's module.
fn doc(name: &Ident) -> String {
    format!("The typed launch of the kernel [`{name}`](fn@{name}).")
}

/// A kernel that isn't generic.
fn plain(kernel: &Kernel, bounds: Bounds) -> Result<TokenStream> {
    let Kernel { function, types, .. } = kernel;
    let (name, vis) = (&function.sig.ident, &function.vis);
    let raw: Vec<Ident> = (0..types.len()).map(|i| own(&format!("raw_{i}"))).collect();
    let mut inner = function.clone();
    inner.attrs.push(parse_quote!(#[inline(always)]));
    let entry = kernel.entry(name, &bounds.section()?, types, Some(&inner), TokenStream::new());
    let info = kernel.info(quote!(::core::module_path!()), bounds, types);
    let none = TokenStream::new();
    let bind = kernel.bind(&raw, &none, &none, quote!(self::kernel()), kernel.call(&raw, none.clone(), types));
    let doc = doc(name);
    Ok(quote! {
        ::cuda_std::__device! { #entry }

        ::cuda_std::__host! {
            #[doc = #doc]
            #vis mod #name {
                #[allow(unused_imports)]
                use super::*;

                /// The kernel's static facts.
                pub fn kernel() -> &'static ::cuda_std::launch::KernelInfo #info

                #bind
            }

            #function
        }
    })
}

/// A kernel of generic parameters. Its arguments implement a trait: the first type, or `()` where all are numbers, does
/// so for the others.
fn generic(kernel: &Kernel, bounds: Bounds, parameters: &[&Ident], instances: &[Instance]) -> Result<TokenStream> {
    let Kernel { function, types, .. } = kernel;
    let (name, vis) = (&function.sig.ident, &function.vis);
    let raw: Vec<Ident> = (0..types.len()).map(|i| own(&format!("raw_{i}"))).collect();
    let first = function.sig.generics.params.iter().position(|parameter| matches!(parameter, GenericParam::Type(_)));
    let others = || (0..parameters.len()).filter(|&i| Some(i) != first);

    let mut entries = TokenStream::new();
    let mut of_types = TokenStream::new();
    for instance in instances {
        let (arguments, bounds, suffix) = (&instance.arguments, instance.bounds.or(bounds), instance.suffix());
        let pairs: Vec<_> = parameters.iter().copied().zip(arguments.iter().map(ToTokens::to_token_stream)).collect();
        let types = substituted(types, &pairs);
        let of = quote!(::<#(#arguments),*>);
        entries.extend(kernel.entry(&format_ident!("{name}{suffix}"), &bounds.section()?, &types, None, of.clone()));
        let info = kernel.info(quote!(::core::concat!(::core::module_path!(), #suffix)), bounds, &types);
        let call = kernel.call(&raw, of, &types);
        let (ty, others) = (first.map_or(quote!(()), |i| arguments[i].to_token_stream()), others().map(|i| &arguments[i]));
        of_types.extend(quote! {
            // SAFETY: these are the facts of the kernel for these arguments, and its call.
            unsafe impl Instance<#(#others),*> for #ty {
                fn kernel() -> &'static ::cuda_std::launch::KernelInfo #info
                unsafe fn call(#(#raw: <#types as ::cuda_std::launch::KernelParam>::Raw),*) { #call }
            }
        });
    }

    // Types last, and are scalars where a parameter of the kernel is of the type itself.
    let mut generics: Vec<GenericParam> = function.sig.generics.params.iter().cloned().collect();
    for generic in &mut generics {
        if let GenericParam::Type(generic) = generic {
            generic.bounds.push(parse_quote!('static));
            if types.iter().any(|ty| matches!(ty, Type::Path(path) if path.path.is_ident(&generic.ident))) {
                generic.bounds.push(parse_quote!(::cuda_std::launch::ValueParam));
            }
        }
    }
    let to_self: Vec<_> = first.map(|i| (parameters[i], quote!(Self))).into_iter().collect();
    let types_of_self = substituted(types, &to_self);
    let others_of_self = substituted(&others().map(|i| &generics[i]).collect::<Vec<_>>(), &to_self);
    let above = match first.map(|i| &generics[i]) {
        Some(GenericParam::Type(generic)) => substituted(&[&generic.bounds], &to_self),
        _ => Vec::new(),
    };
    // Only predicates on the first type follow from the trait itself: its users would have to repeat others.
    let clause = function.sig.generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    let of_first = clause.filter(|predicate| match predicate {
        WherePredicate::Type(PredicateType { bounded_ty: Type::Path(path), .. }) => {
            first.is_some_and(|i| path.path.is_ident(parameters[i]))
        }
        _ => false,
    });
    let predicates_of_self = substituted(&of_first.collect::<Vec<_>>(), &to_self);
    let (ty, arguments) = (first.map_or(quote!(()), |i| parameters[i].to_token_stream()), others().map(|i| parameters[i]));
    let instance = quote!(Instance<#(#arguments),*>);
    let all = quote!(<#(#generics),*>);
    let exists = quote!(where #ty: #instance);
    let body = quote! {
        // SAFETY: `into_body`'s contract is that of `call`.
        unsafe { <#ty as #instance>::call(#(#raw),*) }
    };
    let bind = kernel.bind(&raw, &quote!(#(#generics),*), &exists, quote!(<#ty as #instance>::kernel()), body);
    let of = others().fold("`{Self}`".to_owned(), |of, i| format!("{of}, `{{{}}}`", parameters[i]));
    let message = format!("the kernel `{name}` doesn't exist for {of}");
    let list: Vec<String> = instances.iter().map(|Instance { arguments, .. }| format!("`{}`", quote!(#(#arguments),*))).collect();
    let note = format!("it exists for {}", list.join(", "));
    let doc = doc(name);
    Ok(quote! {
        ::cuda_std::__device! {
            #[inline(always)]
            #function

            #entries
        }

        ::cuda_std::__host! {
            #function

            #[doc = #doc]
            #vis mod #name {
                #[allow(unused_imports)]
                use super::*;

                /// Arguments that the kernel exists for.
                ///
                /// # Safety
                /// It gives the facts of the kernel for these arguments, and its call.
                // Clippy doesn't see what documentation macros write.
                #[allow(clippy::missing_safety_doc)]
                #[diagnostic::on_unimplemented(message = #message, note = #note)]
                pub unsafe trait Instance<#(#others_of_self),*>: ::core::marker::Sized #(+ #above)*
                where
                    #(#predicates_of_self),*
                {
                    #[doc(hidden)]
                    fn kernel() -> &'static ::cuda_std::launch::KernelInfo;
                    #[doc(hidden)]
                    #[allow(clippy::missing_safety_doc, clippy::too_many_arguments)]
                    unsafe fn call(#(#raw: <#types_of_self as ::cuda_std::launch::KernelParam>::Raw),*);
                }

                #of_types

                /// The kernel's static facts.
                #[allow(clippy::multiple_bound_locations)]
                pub fn kernel #all() -> &'static ::cuda_std::launch::KernelInfo #exists {
                    <#ty as #instance>::kernel()
                }

                #bind
            }
        }
    })
}
