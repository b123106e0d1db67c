//! `#[derive(DeviceCopy)]`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{Data, DeriveInput, Error, Expr, Fields, GenericParam, Ident, Result, Type, parse_quote, spanned::Spanned};

/// The integers of an enum's `repr`.
const INTEGERS: [&str; 12] = ["u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize"];

/// The words of the item's `repr` attributes.
fn representation(input: &DeriveInput) -> Result<Vec<Ident>> {
    let mut words = Vec::new();
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            words.extend(meta.path.get_ident().cloned());
            // The number of `align(8)`.
            if meta.input.peek(syn::token::Paren) {
                let number;
                syn::parenthesized!(number in meta.input);
                number.parse::<Expr>()?;
            }
            Ok(())
        })?;
    }
    Ok(words)
}

/// Statements that mix the fields into `layout`. They don't compile if one isn't `DeviceCopy`.
fn mix_fields(fields: &Fields) -> TokenStream {
    let one = |mut ty: &Type| {
        // Elements of arrays, which no implementation covers: those of `Pod` types are `Pod` themselves.
        let (span, mut len) = (ty.span(), quote!(1));
        while let Type::Array(array) = ty {
            let extent = &array.len;
            (ty, len) = (&array.elem, quote!(#len * (#extent)));
        }
        quote_spanned!(span=> let layout = ::cuda_std::__private::field::<#ty, _>(layout, #len);)
    };
    fields.iter().map(|field| one(&field.ty)).collect()
}

pub fn expand(item: TokenStream) -> Result<TokenStream> {
    let mut input: DeriveInput = syn::parse2(item)?;
    let words = representation(&input)?;
    let integer = words.iter().find(|word| INTEGERS.iter().any(|integer| word == integer));
    let has = |name: &str| words.iter().any(|word| word == name);
    let name = &input.ident;
    let layout = match &input.data {
        Data::Union(_) => return Err(Error::new(name.span(), "nobody knows which field of a union is to be copied")),
        Data::Struct(data) => {
            if !has("C") && !has("transparent") {
                let message = "its layout has to be the same in both builds of the crate: `#[repr(C)]` or `#[repr(transparent)]`";
                return Err(Error::new(name.span(), message));
            }
            mix_fields(&data.fields)
        }
        Data::Enum(data) => {
            if !has("C") && integer.is_none() {
                let message = "its layout has to be the same in both builds of the crate: `#[repr(u8)]`, of another integer, or `#[repr(C)]`";
                return Err(Error::new(name.span(), message));
            }
            let integer = integer.map_or(quote!(isize), |integer| quote!(#integer));
            let variants = data.variants.iter().map(|variant| {
                let name = variant.ident.to_string();
                let number = variant.discriminant.as_ref().map(|(_, number)| {
                    quote! {
                        const NUMBER: #integer = #number;
                        let layout = ::cuda_std::__private::mixed(layout, "number", NUMBER as u64);
                    }
                });
                let fields = mix_fields(&variant.fields);
                quote! {
                    let layout = ::cuda_std::__private::mixed(layout, #name, 0);
                    let layout = { #number layout };
                    #fields
                }
            });
            variants.collect()
        }
    };
    let words = words.iter().map(Ident::to_string).collect::<Vec<_>>().join(" ");
    let name = name.clone();
    for parameter in &mut input.generics.params {
        match parameter {
            GenericParam::Lifetime(lifetime) => {
                return Err(Error::new(lifetime.span(), "references are addresses of one memory: a device has another"));
            }
            GenericParam::Type(parameter) => parameter.bounds.push(parse_quote!(::cuda_std::DeviceCopy)),
            GenericParam::Const(_) => {}
        }
    }
    let (generics, arguments, clause) = input.generics.split_for_impl();
    Ok(quote! {
        // SAFETY: all fields are of such types, and the layout is specified.
        unsafe impl #generics ::cuda_std::DeviceCopy for #name #arguments #clause {
            const LAYOUT: u64 = {
                let layout = ::cuda_std::__private::mixed(0, #words, ::core::mem::size_of::<Self>() as u64);
                #layout
                layout
            };
        }
    })
}
