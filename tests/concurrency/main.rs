//! The concurrency study and its command.

#[path = "../common/folder.rs"]
mod folder;
#[path = "../common/polygon.rs"]
mod polygon;

mod cli;
mod study;
