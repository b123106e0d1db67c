//! Trees against a sequential depth-first search, on the backend that `WARPSMITH_BACKEND` names (by default whichever
//! is there), and the command.

#![cfg(feature = "trees")]

#[cfg(feature = "cli")]
#[path = "../common/folder.rs"]
mod folder;
#[path = "../common/skip.rs"]
mod skip;

#[cfg(feature = "cli")]
mod cli;
mod queries;
mod reference;
mod rooting;
