//! The device layer, and the collectives over it.

mod basics;
mod collectives;
mod driver;
mod graph;
#[cfg(feature = "cli")]
mod ptx;
