//! All device code of warpsmith: one module per system, and [`collectives`], [`components`] and [`number`] that they share.
//!
//! The crate is compiled twice: by `cuda_builder` to PTX, and as an ordinary library whose kernels run on the CPU.
#![no_std]

// For the processor's features.
#[cfg(not(cuda_device))]
extern crate std;

pub mod collectives;
pub mod components;
pub mod concurrency;
pub mod engine;
pub mod floors;
pub mod graph;
pub mod halo;
pub mod homology;
pub mod list_rank;
pub mod number;
pub mod overlap;
pub mod pcf;
pub mod samples;
pub mod spanning;
pub mod spmv;
pub mod trees;
