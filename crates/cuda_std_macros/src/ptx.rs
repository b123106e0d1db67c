//! `ptx_asm!`.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use std::fmt::Write;
use syn::{
    Error, Expr, Ident, LitStr, Result, Token, parenthesized,
    parse::{Parse, ParseStream},
};

/// PTX's types of registers: LLVM's letter for each, and the type in Rust that holds its bits.
const CLASSES: &[(&str, char, &str)] = &[
    ("b16", 'h', "u16"),
    ("b32", 'r', "u32"),
    ("b64", 'l', "u64"),
    ("f32", 'f', "f32"),
    ("f64", 'd', "f64"),
    ("imm", 'n', "u32"),
];

/// Direction of an operand.
#[derive(Clone, Copy, PartialEq)]
enum Direction {
    In,
    Out,
    InOut,
}

/// `name = in(b32) expression`.
struct Operand {
    name: Option<Ident>,
    direction: Direction,
    letter: char,
    ty: Ident,
    value: Expr,
}

impl Parse for Operand {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let name = match input.peek(Ident) && input.peek2(Token![=]) {
            true => {
                let name = input.parse()?;
                input.parse::<Token![=]>()?;
                Some(name)
            }
            false => None,
        };
        let direction = if input.parse::<Option<Token![in]>>()?.is_some() {
            Direction::In
        } else {
            let word: Ident = input.parse()?;
            match word.to_string().as_str() {
                "out" => Direction::Out,
                "inout" => Direction::InOut,
                _ => {
                    return Err(Error::new(word.span(), "an operand is `in(b32) value`, `out(b32) place` or `inout(b32) place`"));
                }
            }
        };
        let class;
        parenthesized!(class in input);
        let class: Ident = class.parse()?;
        let Some((_, letter, ty)) = CLASSES.iter().find(|(name, ..)| class == name) else {
            return Err(Error::new(class.span(), "a register is `b16`, `b32`, `b64`, `f32` or `f64`, and `imm` a constant"));
        };
        if *letter == 'n' && direction != Direction::In {
            return Err(Error::new(class.span(), "a constant can't be written"));
        }
        Ok(Operand { name, direction, letter: *letter, ty: Ident::new(ty, class.span()), value: input.parse()? })
    }
}

/// The whole call.
struct Assembly {
    template: String,
    operands: Vec<Operand>,
    /// `v`: volatile, and may access any memory. `n`: volatile, and accesses no memory. `p`: a function of its inputs.
    effects: char,
    cpu: Expr,
}

impl Parse for Assembly {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut lines: Vec<LitStr> = Vec::new();
        let mut operands: Vec<Operand> = Vec::new();
        let mut effects = 'v';
        while !input.is_empty() && !input.peek(Token![;]) {
            if input.peek(LitStr) && operands.is_empty() {
                lines.push(input.parse()?);
            } else if input.fork().parse::<Ident>().is_ok_and(|word| word == "options") {
                input.parse::<Ident>()?;
                let list;
                parenthesized!(list in input);
                let option: Ident = list.parse()?;
                effects = match option.to_string().as_str() {
                    "nomem" => 'n',
                    "pure" => 'p',
                    _ => return Err(Error::new(option.span(), "the options are `nomem` and `pure`")),
                };
            } else {
                operands.push(input.parse()?);
            }
            if !(input.is_empty() || input.peek(Token![;])) {
                input.parse::<Token![,]>()?;
            }
        }
        let missing = "expected `; cpu => { .. }`: what the CPU does instead";
        input.parse::<Token![;]>().map_err(|error| Error::new(error.span(), missing))?;
        let word: Ident = input.parse().map_err(|error| Error::new(error.span(), missing))?;
        if word != "cpu" {
            return Err(Error::new(word.span(), missing));
        }
        input.parse::<Token![=>]>()?;
        let cpu = input.parse()?;
        input.parse::<Option<Token![,]>>()?;
        let template = translate(&lines, &operands)?;
        if effects == 'p' && operands.iter().all(|operand| operand.direction == Direction::In) {
            return Err(Error::new(Span::call_site(), "pure assembly needs an output: nothing is left of it without one"));
        }
        Ok(Assembly { template, operands, effects, cpu })
    }
}

/// The template as LLVM takes it: outputs are numbered before inputs.
fn translate(lines: &[LitStr], operands: &[Operand]) -> Result<String> {
    let Some(first) = lines.first() else {
        return Err(Error::new(Span::call_site(), "expected the PTX as a string"));
    };
    let outputs = operands.iter().filter(|operand| operand.direction != Direction::In).count();
    let (mut output, mut input) = (0, outputs);
    let numbers: Vec<usize> = operands
        .iter()
        .map(|operand| {
            let next = if operand.direction == Direction::In { &mut input } else { &mut output };
            *next += 1;
            *next - 1
        })
        .collect();
    let mut used = vec![false; operands.len()];
    let mut text = String::new();
    for line in lines {
        if !text.is_empty() {
            text.push('\n');
        }
        let value = line.value();
        let mut rest = value.chars().peekable();
        while let Some(c) = rest.next() {
            match c {
                '{' | '}' if rest.peek() == Some(&c) => {
                    rest.next();
                    text.push(c);
                }
                '{' => {
                    let name: String = rest.by_ref().take_while(|&c| c != '}').collect();
                    let found = match name.parse::<usize>() {
                        Ok(position) => Some(position).filter(|&position| position < operands.len()),
                        Err(_) => operands.iter().position(|operand| operand.name.as_ref().is_some_and(|own| *own == name)),
                    };
                    let Some(position) = found else {
                        return Err(Error::new(
                            line.span(),
                            format!("there is no operand `{{{name}}}`; braces of PTX are `{{{{` and `}}}}`"),
                        ));
                    };
                    used[position] = true;
                    write!(text, "${{{}}}", numbers[position]).expect("a String takes all");
                }
                '}' => return Err(Error::new(line.span(), "a brace of PTX is `}}`")),
                '$' => text.push_str("$$"),
                c => text.push(c),
            }
        }
    }
    if let Some(unused) = used.iter().position(|used| !used) {
        return Err(Error::new(first.span(), format!("the PTX doesn't use operand {unused}")));
    }
    Ok(text)
}

pub fn expand(input: TokenStream) -> Result<TokenStream> {
    let Assembly { template, operands, effects, cpu } = syn::parse2(input)?;
    let (mut outputs, mut inputs, mut tied) = (String::new(), String::new(), String::new());
    let (mut places, mut place_types, mut results) = (Vec::new(), Vec::new(), Vec::new());
    let (mut values, mut value_types) = (Vec::new(), Vec::new());
    for Operand { direction, letter, ty, value, .. } in &operands {
        if *direction == Direction::In {
            inputs.push(*letter);
            values.push(value);
            value_types.push(ty);
        } else {
            if *direction == Direction::InOut {
                write!(tied, "t{}", places.len()).expect("a String takes all");
            }
            outputs.push(*letter);
            results.push(Ident::new(&format!("out_{}", places.len()), Span::mixed_site()));
            places.push(value);
            place_types.push(ty);
        }
    }
    // An input tied to an output's register has an unnamed number in LLVM's template, so it comes
    // last.
    for Operand { direction, ty, value, .. } in &operands {
        if *direction == Direction::InOut {
            values.push(value);
            value_types.push(ty);
        }
    }
    // `cuda_builder` makes the function from its name.
    let mut name = format!("__cuda_std_ptx_{effects}_{outputs}_{inputs}{tied}_");
    template.bytes().for_each(|byte| write!(name, "{byte:02x}").expect("a String takes all"));
    let names: Vec<Ident> = (0..places.len() + values.len()).map(|i| format_ident!("operand_{i}")).collect();
    let (out_names, in_names) = names.split_at(places.len());
    let function = Ident::new("assembly", Span::mixed_site());
    Ok(quote! {{
        ::cuda_std::__device! {{
            unsafe extern "C" {
                #[link_name = #name]
                fn #function(#(#out_names: *mut #place_types,)* #(#in_names: #value_types),*);
            }
            #(let mut #results = ::core::mem::MaybeUninit::<#place_types>::uninit();)*
            #function(
                #(#results.as_mut_ptr(),)*
                #(::cuda_std::ptx::Register::<#value_types>::to_register(#values)),*
            );
            #(#places = ::cuda_std::ptx::Register::<#place_types>::from_register(#results.assume_init());)*
        }}
        ::cuda_std::__host! {{
            ::cuda_std::ptx::demand_unsafe();
            #cpu
        }}
    }})
}
