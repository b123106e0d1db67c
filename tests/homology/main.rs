//! Persistent homology of Vietoris-Rips filtrations.

#![cfg(feature = "cli")]

mod bars;
mod curves;
mod files;
mod properties;
mod reference;
