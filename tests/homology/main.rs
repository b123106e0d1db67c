//! Persistent homology of Vietoris-Rips filtrations.

mod bars;
mod curves;
mod files;
mod properties;
mod reference;
