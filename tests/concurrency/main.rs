//! The study of what limits kernels, and its command.

#![cfg(feature = "cli")]

mod cli;
mod study;
