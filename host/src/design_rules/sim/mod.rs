//! A simulated machine: ranks with a GPU each and a network, as a discrete-event model. It says how long a schedule takes, when each
//! of its operations was under way, and whether one started before what it depends on was done.
//!
//! A [`Workload`] says what each operation of a program does on each rank; a [`Machine`] says how long that takes.

mod machine;
mod workload;

pub use machine::{Gpu, HostCosts, Link, Machine, Network, Nics, Progress};
pub use workload::{Message, Work, Workload};
