//! Basics that every system shares: cancellation, step times, the text of errors, and the real number types.

mod cancel;
mod clock;
mod errors;
mod real;

pub use cancel::{Cancel, Cancelled};
#[cfg(feature = "list-rank")]
pub(crate) use clock::Clock;
pub use clock::StepTime;
pub use errors::{chain, reason};
pub use gpu_kernels::number::Number;
pub use real::Real;
