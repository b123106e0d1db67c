//! `launch!`.

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;
use syn::{
    AngleBracketedGenericArguments, Error, Expr, Path, Result, Token, parenthesized,
    parse::{Parse, ParseStream, Parser},
    punctuated::Punctuated,
};

type List = Punctuated<Expr, Token![,]>;

struct Call {
    library: TokenStream,
    stream: Expr,
    kernel: Path,
    /// `::<T>` of a generic kernel.
    generics: Option<AngleBracketedGenericArguments>,
    config: List,
    arguments: List,
}

const FORM: &str = "a launch is `launch!(stream, kernel<<<grid, block>>>(..))` or \
    `launch!(stream, kernel<<<grid, block, dynamic_shared_bytes>>>(..))`";

impl Parse for Call {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let other_form = |error: Error| Error::new(error.span(), FORM);
        let library;
        parenthesized!(library in input);
        let library: TokenStream = library.parse()?;
        let stream = input.parse().map_err(other_form)?;
        input.parse::<Token![,]>().map_err(other_form)?;
        // The path ends before `::<` or `<<<`.
        let mut kernel = TokenStream::new();
        while !(input.is_empty() || input.peek(Token![<]) || input.peek(Token![::]) && input.peek3(Token![<])) {
            kernel.extend([input.parse::<TokenTree>()?]);
        }
        let kernel = Path::parse_mod_style.parse2(kernel).map_err(other_form)?;
        let generics = match input.peek(Token![::]) {
            true => Some(AngleBracketedGenericArguments::parse_turbofish(input)?),
            false => None,
        };
        input.parse::<Token![<<]>()?;
        input.parse::<Token![<]>()?;
        let config = List::parse_terminated.parse2(up_to_chevrons(input)?)?;
        if !(2..=3).contains(&config.len()) {
            return Err(Error::new_spanned(&kernel, FORM));
        }
        let arguments;
        parenthesized!(arguments in input);
        let arguments = List::parse_terminated(&arguments)?;
        input.parse::<Option<Token![,]>>()?;
        Ok(Call { library, stream, kernel, generics, config, arguments })
    }
}

/// The tokens before `>>>`, which are consumed too. (An expression parser would take `>>` for a shift.)
fn up_to_chevrons(input: ParseStream<'_>) -> Result<TokenStream> {
    input.step(|cursor| {
        let mut rest = *cursor;
        let mut before = TokenStream::new();
        let mut chevrons = 0;
        while let Some((token, next)) = rest.token_tree() {
            rest = next;
            if matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '>') {
                chevrons += 1;
                if chevrons == 3 {
                    return Ok((before, rest));
                }
            } else {
                before.extend((0..chevrons).map(|_| quote!(>)));
                chevrons = 0;
                before.extend([token]);
            }
        }
        Err(cursor.error("expected `<<<grid, block>>>`"))
    })
}

pub fn expand(input: TokenStream) -> Result<TokenStream> {
    let Call { library, stream, kernel, generics, config, arguments } = syn::parse2(input)?;
    let mut config = config.into_iter();
    let (grid, block) = (config.next(), config.next());
    let shared = config.next().map_or_else(|| quote!(0), |shared| quote!(#shared));
    Ok(quote! {
        #library::Stream::launch(
            &#stream,
            #kernel::bind #generics (#library::LaunchConfig::new(#grid, #block).shared(#shared), #arguments),
        )
    })
}
