//! The concurrency study and its command.

#![cfg(feature = "cli")]

#[path = "../common/folder.rs"]
mod folder;
#[path = "../common/polygon.rs"]
mod polygon;

mod cli;
mod study;
