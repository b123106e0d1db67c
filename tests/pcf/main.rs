//! Piecewise constant functions: on the host, their matrices, and the command.

#[path = "../common/folder.rs"]
mod folder;
#[cfg(target_os = "linux")]
#[path = "../common/signals.rs"]
mod signals;

mod cells;
mod cli;
mod data;
mod files;
mod oracle;
mod pairwise;
mod powers;
mod reduced;
mod resume;
