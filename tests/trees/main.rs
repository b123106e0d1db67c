//! Trees against a sequential depth-first search, on the backend that `WARPSMITH_BACKEND` names (by default whichever
//! is there), and the command.

#[path = "../common/folder.rs"]
mod folder;
#[path = "../common/skip.rs"]
mod skip;

mod cli;
mod queries;
mod reference;
mod rooting;
