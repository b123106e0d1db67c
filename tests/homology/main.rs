//! Persistent homology of Vietoris-Rips filtrations.

#![cfg(feature = "cli")]

mod bars;
mod files;
mod reference;
