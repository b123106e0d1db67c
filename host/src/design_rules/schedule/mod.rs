//! One way to run a program: the order of its operations, their streams, and the synchronisation that this takes.
//!
//! In: a [`Dag`](crate::design_rules::Dag). Out: its [`Schedules`], their number ([`count`]), or one of them as text,
//! names ([`Traversal`]) or code ([`emit`]).

pub mod emit;
mod enumerate;
mod parse;
mod prefix;
mod space;
mod step;
mod traversal;

pub use enumerate::{Schedules, count};
pub use prefix::Prefix;
pub use space::Space;
pub(super) use step::place;
pub use step::{MAX_STREAMS, Schedule, Step, check_streams};
pub use traversal::{NamedStep, Traversal};
