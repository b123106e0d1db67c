//! The concurrency study and its command.

#![cfg(feature = "cli")]

mod cli;
mod study;
