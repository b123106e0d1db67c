//! Rulesets of the performance classes (the paper's section IV-D).
//!
//! In: a decision tree and its features. Out: [`Rules`], the rules of each class; their [`Advice`], the
//! few rules that set the fastest class apart, with gains; and [`Comparison`]s with the rules of a
//! whole space.

mod advice;
mod compare;
mod ruleset;
mod words;

pub use advice::{Advice, Effect, Gain, MeasuredRows, Recommendation};
pub use compare::{Comparison, Mark, Verdict};
pub use ruleset::{Rules, Ruleset};
pub use words::imperative;
pub(super) use words::indistinct;
