//! Graphs against a sequential reference, on the backend that `WARPSMITH_BACKEND` names, and their files.

#[path = "../common/folder.rs"]
mod folder;

mod answers;
mod cli;
mod data;
mod files;
mod reference;
mod spanning;
