//! Persistent homology of Vietoris-Rips filtrations.

#![cfg(feature = "homology")]

mod bars;
mod reference;
