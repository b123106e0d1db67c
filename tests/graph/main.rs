//! Graphs against a sequential reference, on the backend that `WARPSMITH_BACKEND` names, and their files.

#![cfg(feature = "graph")]

#[cfg(feature = "cli")]
#[path = "../common/folder.rs"]
mod folder;

mod answers;
#[cfg(feature = "cli")]
mod cli;
mod data;
mod files;
mod reference;
mod spanning;
