//! The concurrency study and its command.

#![cfg(feature = "cli")]

#[path = "../common/folder.rs"]
mod folder;

mod cli;
mod study;
