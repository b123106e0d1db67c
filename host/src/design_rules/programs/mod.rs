//! Programs whose schedules can be explored.

pub mod spmv;
