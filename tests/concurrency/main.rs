//! The study of what limits kernels, and its command.

mod cli;
mod study;
