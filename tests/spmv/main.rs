//! Sparse matrices, and their products with vectors.

#![cfg(feature = "cli")]

mod data;
mod multiplication;
