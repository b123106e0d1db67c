//! Errors of functions, and of the files that they come from.

use std::{fmt, path::Path};

use crate::io::{
    files::{FileError, Reason},
    npy::tuple,
};

/// One of the two numbers of a breakpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Its time, `t`.
    Time,
    /// The value from then on, `v`.
    Value,
}

impl fmt::Display for Field {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Field::Time => "t",
            Field::Value => "v",
        })
    }
}

/// The reason why functions could not be made, read or used. Functions and their breakpoints are
/// named by their indices, from 0. If several offend, the first is named.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a message says what its fields are")]
pub enum PcfError {
    /// A function has no breakpoint.
    #[error("function {function} has no breakpoints; it needs at least one, at t = 0")]
    NoBreakpoints { function: usize },
    /// A function has more breakpoints than merges can count.
    #[error("function {function} has {points} breakpoints; it may have at most {max}")]
    TooLong { function: usize, points: usize, max: usize },
    /// A function doesn't start at 0.
    #[error("function {function}, breakpoint 0: t = {t}, but the first breakpoint must be at t = 0")]
    Start { function: usize, t: f64 },
    /// A breakpoint is not after the one before it.
    #[error(
        "function {function}, breakpoint {breakpoint}: t = {t} {}; breakpoints must be in strictly ascending order",
        if t == previous { "repeats the t of the breakpoint before".to_owned() } else { format!("comes after t = {previous}") }
    )]
    Order { function: usize, breakpoint: usize, t: f64, previous: f64 },
    /// A number is infinite or NaN.
    #[error("function {function}, breakpoint {breakpoint}: {field} = {value}, but it must be a finite number")]
    NotFinite { function: usize, breakpoint: usize, field: Field, value: f64 },
    /// A number is too large.
    #[error(
        "function {function}, breakpoint {breakpoint}: {field} = {value:e} is too large for {name}: at most {max:e} is allowed"
    )]
    TooLarge { function: usize, breakpoint: usize, field: Field, value: f64, name: &'static str, max: f64 },
    /// Two breakpoints are one in the type that they were converted to.
    #[error(
        "function {function}, breakpoints {} and {breakpoint}: t = {previous} and t = {t} are the same in {name}; keep the functions \
         in a wider type",
        breakpoint - 1
    )]
    Merged { function: usize, breakpoint: usize, t: f64, previous: f64, name: &'static str },
    /// Offsets that don't divide the points.
    #[error("offsets[{index}] is {found}, but {wanted}")]
    Offsets { index: usize, found: i128, wanted: String },
    /// There are no offsets at all.
    #[error("offsets is empty: there must be one more than functions, the first of them 0")]
    NoOffsets,
    /// The shape doesn't hold the functions.
    #[error("the shape {} holds {}, but there are {functions} functions", tuple(shape), product(shape))]
    Shape { shape: Vec<usize>, functions: usize },
    /// The names aren't one per function.
    #[error("there are {names} names, but {functions} functions")]
    Names { names: usize, functions: usize },
    /// A window of time or a grid is invalid.
    #[error("{0}")]
    Window(String),
    /// The mean of no functions, their standard deviation or a quantile.
    #[error("a set of no functions has no {what}")]
    NoFunctions { what: &'static str },
    /// There is no such quantile.
    #[error("q = {q}, but it must be a number from 0 to 1")]
    Quantile { q: f64 },
    /// An exponent that gives no norm.
    #[error("p = {p}, but it must be a number of at least 1")]
    Exponent { p: f64 },
    /// A random function can't have this number of breakpoints.
    #[error("{points} breakpoints per function can't be drawn: at least 1 and at most {max} in {name}")]
    RandomLength { points: usize, max: usize, name: &'static str },
    /// Memory for a set of functions could not be had.
    #[error("there is not enough memory for {functions} functions with {points} breakpoints")]
    OutOfMemory { functions: usize, points: usize },
    /// A bar of a barcode is invalid.
    #[error("bar {bar}: {problem}")]
    Bar { bar: usize, problem: String },
    /// One of many barcodes is at fault.
    #[error("barcode {barcode}, {error}")]
    InBarcode { barcode: usize, error: Box<PcfError> },
    /// A file can't be read or written, or holds something else.
    #[error(transparent)]
    File(#[from] FileError),
}

impl PcfError {
    /// An error about the file at `path`.
    pub(super) fn file(path: &Path, reason: impl Into<Reason>) -> Self {
        FileError::new(path, reason).into()
    }

    /// The function and the breakpoint at fault, if a breakpoint is.
    pub fn breakpoint(&self) -> Option<(usize, usize)> {
        match *self {
            PcfError::Start { function, .. } => Some((function, 0)),
            PcfError::Order { function, breakpoint, .. }
            | PcfError::NotFinite { function, breakpoint, .. }
            | PcfError::TooLarge { function, breakpoint, .. }
            | PcfError::Merged { function, breakpoint, .. } => Some((function, breakpoint)),
            _ => None,
        }
    }
}

/// Number of elements of a shape, in words.
fn product(shape: &[usize]) -> String {
    let product = shape.iter().try_fold(1usize, |product, &extent| product.checked_mul(extent));
    product.map_or_else(|| "more than can be counted".to_owned(), |product| product.to_string())
}
