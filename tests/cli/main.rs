//! The command line: what holds for all commands, and `warpsmith list-rank`.

#![cfg(feature = "cli")]

#[path = "../common/folder.rs"]
mod folder;
#[cfg(target_os = "linux")]
#[path = "../common/signals.rs"]
mod signals;

#[cfg(target_os = "linux")]
mod files;
mod general;
#[cfg(target_os = "linux")]
mod input;
mod new;
