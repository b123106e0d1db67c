//! A simulated machine: ranks with GPUs and a network, as a discrete-event model. It says how long a schedule takes,
//! when each of its operations was under way, and whether one started before what it depends on was done.
//!
//! A [`Workload`] says what each operation of a program does on each rank; a [`Machine`] says what that costs. The
//! model:
//!
//! - **Hosts.** All ranks start at time 0 and do the same steps in order. A call keeps the host's thread busy for as
//!   long as [`HostCosts`] says.
//! - **Streams** are queues. An entry starts when all before it are done, and at least
//!   [`Gpu::start_latency`] after the call. So a kernel that was enqueued in time costs only
//!   [`Gpu::gap`]. Kernels of several streams share the GPU: each uses a share of it, and if the
//!   shares add up to more than 1, all are slowed down by that factor. Copies in the same direction
//!   go one by one. Changing between kernels and copies costs [`Gpu::turn`] more. If a copy to the
//!   device is enqueued while the GPU is busy, the second entry behind it waits for
//!   [`Gpu::copy_stall`] more.
//! - **Events.** A record stands for everything that was enqueued in its stream before it. Waiting for an event that
//!   nobody has recorded is no wait, as in CUDA.
//! - **Messages** up to [`Network::eager_limit`] leave when they are posted. Larger ones are announced; then the
//!   receiver answers and the sender writes, or the receiver reads ([`Rendezvous`]). With [`Progress::InCalls`], either
//!   rank does its part only while its host's thread is in a call of MPI. A message occupies its port at both ends for
//!   its bytes; ports serve in order.
//! - **Noise** is lognormal, by seed.

mod engine;
pub mod halo;
mod load;
mod machine;
mod network;
mod noise;
mod order;
mod outcome;
mod platform;
mod queue;
mod simulator;
pub mod spmv;
mod state;
mod workload;

pub use machine::{Gpu, HostCosts, Link, Machine, Network, Nics, Progress, Rendezvous};
pub use outcome::{Outcome, Violation};
pub use platform::SimPlatform;
pub use simulator::Simulator;
pub use workload::{MessageSize, Task, Workload};
