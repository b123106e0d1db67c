//! The device layer, and the collectives over it.

#[path = "../common/fake_driver.rs"]
mod fake_driver;
#[path = "../common/skip.rs"]
mod skip;

mod basics;
mod collectives;
mod driver;
mod graph;
mod kernels;
mod language;
mod modules;
mod ptx;
mod values;
