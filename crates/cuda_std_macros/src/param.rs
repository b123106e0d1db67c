//! `#[derive(KernelParam)]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{
    Data, DeriveInput, Error, GenericArgument, GenericParam, Generics, Ident, Index, Lifetime, Member, Result, Type, parse_quote,
    visit_mut::VisitMut,
};

use crate::kernel::Static;

/// Finds what points to memory.
#[derive(Default)]
struct Points(bool);

impl VisitMut for Points {
    fn visit_type_ptr_mut(&mut self, _: &mut syn::TypePtr) {
        self.0 = true;
    }
    fn visit_lifetime_mut(&mut self, _: &mut Lifetime) {
        self.0 = true;
    }
}

/// The structure's generic arguments, with `lifetime` for each of its lifetimes.
fn arguments(generics: &Generics, lifetime: &str) -> TokenStream {
    let lifetime = Lifetime::new(lifetime, proc_macro2::Span::call_site());
    let arguments = generics.params.iter().map(|parameter| -> GenericArgument {
        match parameter {
            GenericParam::Lifetime(_) => GenericArgument::Lifetime(lifetime.clone()),
            GenericParam::Type(parameter) => {
                let name = &parameter.ident;
                parse_quote!(#name)
            }
            GenericParam::Const(parameter) => {
                let name = &parameter.ident;
                parse_quote!(#name)
            }
        }
    });
    quote!(<#(#arguments),*>)
}

pub fn expand(item: TokenStream) -> Result<TokenStream> {
    let input: DeriveInput = syn::parse2(item)?;
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(input.ident.span(), "a kernel parameter is a structure"));
    };
    let (name, vis) = (&input.ident, &input.vis);
    let members: Vec<Member> = data.fields.members().collect();
    let places: Vec<Index> = (0..members.len()).map(Index::from).collect();
    let values: Vec<Ident> = (0..members.len()).map(|i| format_ident!("value_{i}")).collect();
    let own_types: Vec<&Type> = data.fields.iter().map(|field| &field.ty).collect();
    let mut points = Points::default();
    let types: Vec<Type> = own_types
        .iter()
        .map(|&ty| {
            let mut ty = ty.clone();
            Static.visit_type_mut(&mut ty);
            // Every pointer but a raw one has a lifetime now.
            points.visit_type_mut(&mut ty);
            ty
        })
        .collect();

    // The parameters of the implementations: types that last, and scalars where a field is of such a type itself.
    let mut generics = input.generics.clone();
    generics.params = generics.params.into_iter().filter(|parameter| !matches!(parameter, GenericParam::Lifetime(_))).collect();
    fn is(ty: &Type, parameter: &Ident) -> bool {
        match ty {
            Type::Path(path) => path.path.is_ident(parameter),
            Type::Array(array) => is(&array.elem, parameter),
            _ => false,
        }
    }
    let is_field = |parameter: &Ident| types.iter().any(|ty| is(ty, parameter));
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(parse_quote!('static));
        if is_field(&parameter.ident) {
            parameter.bounds.push(parse_quote!(::cuda_std::launch::ValueParam));
        }
    }
    let mut of_device = input.generics.clone();
    for parameter in of_device.type_params_mut().filter(|parameter| is_field(&parameter.ident)) {
        parameter.bounds.push(parse_quote!(::cuda_std::param::DeviceParam));
    }
    let (impl_generics, _, clause) = generics.split_for_impl();
    let (lasting, during) = (arguments(&input.generics, "'static"), arguments(&input.generics, "'run"));

    let into_param = if points.0 {
        let twin = format_ident!("{name}Args");
        let doc =
            format!("What a host passes for the kernel parameter [`{name}`]: for each field what it would pass for that alone.");
        let passed: Vec<Ident> = (0..members.len()).map(|i| format_ident!("A{i}")).collect();
        let fields = data.fields.iter().zip(&passed).map(|(field, passed)| {
            let (vis, name) = (&field.vis, &field.ident);
            let docs = field.attrs.iter().filter(|attribute| attribute.path().is_ident("doc"));
            let colon = name.as_ref().map(|_| quote!(:));
            quote!(#(#docs)* #vis #name #colon #passed)
        });
        let body = match &data.fields {
            syn::Fields::Named(_) => quote!({ #(#fields),* }),
            _ => quote!(( #(#fields),* );),
        };
        let own_parameters = &generics.params;
        let comma = (!own_parameters.is_empty() && !own_parameters.trailing_punct()).then(|| quote!(,));
        quote! {
            #[doc = #doc]
            #[derive(Clone, Copy, Debug)]
            #vis struct #twin<#(#passed),*> #body

            // SAFETY: each field is what may stand for the parameter's, and its memory is noted.
            unsafe impl<#own_parameters #comma #(#passed: ::cuda_std::launch::IntoParam<#types>),*>
                ::cuda_std::launch::IntoParam<#name #lasting> for #twin<#(#passed),*> #clause
            {
                fn raw(&self) -> <#name #lasting as ::cuda_std::launch::KernelParam>::Raw {
                    (#(<#passed as ::cuda_std::launch::IntoParam<#types>>::raw(&self.#members),)*)
                }
                fn memory(&self, arguments: &mut ::cuda_std::launch::Arguments) {
                    #(<#passed as ::cuda_std::launch::IntoParam<#types>>::memory(&self.#members, arguments);)*
                }
            }
        }
    } else {
        quote! {
            // SAFETY: all fields are scalars, which point to nothing.
            #[allow(clippy::unused_unit)]
            unsafe impl #impl_generics ::cuda_std::launch::IntoParam<Self> for #name #lasting #clause {
                fn raw(&self) -> <Self as ::cuda_std::launch::KernelParam>::Raw {
                    (#(<#types as ::cuda_std::launch::IntoParam<#types>>::raw(&self.#members),)*)
                }
                fn memory(&self, _: &mut ::cuda_std::launch::Arguments) {}
            }
        }
    };
    let reversed = types.iter().rev();
    let (device_generics, device_type, device_clause) = of_device.split_for_impl();
    // For each field, its words and all behind it. `__Rest` stands for those behind the structure.
    let mut before = vec![quote!(__Rest)];
    for ty in own_types.iter().rev() {
        let rest = &before[before.len() - 1];
        before.push(quote!(<#ty as ::cuda_std::param::DeviceParam>::Before<#rest>));
    }
    let all = before.pop();
    before.reverse();
    Ok(quote! {
        ::cuda_std::__device! {
            impl #device_generics ::cuda_std::param::DeviceParam for #name #device_type #device_clause {
                type Before<__Rest: ::cuda_std::param::Words> = #all;
                #[inline(always)]
                #[allow(unused_unsafe)]
                unsafe fn take<__Rest: ::cuda_std::param::Words>(words: Self::Before<__Rest>) -> (Self, __Rest) {
                    // SAFETY: the words are those of a launch, of the fields in order.
                    unsafe {
                        #(let (#values, words) = <#own_types as ::cuda_std::param::DeviceParam>::take::<#before>(words);)*
                        (#name { #(#members: #values),* }, words)
                    }
                }
            }
        }

        ::cuda_std::__host! {
            // SAFETY: the parameters in PTX are those of the fields in order, as `DeviceParam` has them.
            unsafe impl #impl_generics ::cuda_std::launch::KernelParam for #name #lasting #clause {
                type Raw = (#(<#types as ::cuda_std::launch::KernelParam>::Raw,)*);
                const DIMENSIONS: u32 = ::cuda_std::__private::least(&[#(<#types as ::cuda_std::launch::KernelParam>::DIMENSIONS),*]);
                const WRITES: bool = false #(|| <#types as ::cuda_std::launch::KernelParam>::WRITES)*;
                type During<'run> = #name #during;
                #[allow(unused_variables, unused_unsafe)]
                unsafe fn from_raw<'run>(raw: Self::Raw, run: &'run ::cuda_std::launch::Run) -> Self::During<'run> {
                    // SAFETY: what holds of a parameter's raw form holds of its fields'.
                    unsafe { #name { #(#members: <#types as ::cuda_std::launch::KernelParam>::from_raw(raw.#places, run)),* } }
                }
                #[allow(unused_variables)]
                fn words(raw: Self::Raw, out: &mut ::cuda_std::__private::Vec<u64>) {
                    #(<#types as ::cuda_std::launch::KernelParam>::words(raw.#places, out);)*
                }
                fn sign(signature: u64) -> u64 {
                    #(let signature = <#reversed as ::cuda_std::launch::KernelParam>::sign(signature);)*
                    signature
                }
            }

            #into_param
        }
    })
}
