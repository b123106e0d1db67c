//! The device layer, and the collectives over it.

#![cfg(feature = "cli")]

mod basics;
mod collectives;
mod driver;
mod graph;
mod ptx;
