//! Sparse matrices, and their products with vectors.

mod data;
mod multiplication;
