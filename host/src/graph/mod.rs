//! Undirected graphs.

mod edges;
mod error;
pub mod generate;
pub mod io;

pub use crate::components::{Components, EdgeError, Found, MOST};
pub use edges::EdgeList;
pub use error::GraphError;
