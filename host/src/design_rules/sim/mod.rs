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
//!
//! ```
//! use warpsmith::{
//!     design_rules::{Platform, programs::spmv, schedule::Schedules, sim::{Machine, SimPlatform, spmv::SpmvModel}},
//!     spmv::{Band, Csr, Traffic},
//! };
//!
//! // How much the order matters for a multiplication over 64 ranks, on 16 hosts.
//! let matrix: Csr<f32> = Band::new(3000, 30_000, 1).matrix()?;
//! let model = SpmvModel::new(Traffic::new(&matrix, 64)?);
//! let mut platform = SimPlatform::new(&model, Machine::cluster())?;
//! let (mut fastest, mut slowest) = (f64::INFINITY, 0.0f64);
//! for schedule in Schedules::new(&spmv::dag(), 2)?.step_by(100) {
//!     platform.check(&schedule)?; // nothing starts too early
//!     let seconds = platform.measure(&schedule)?;
//!     (fastest, slowest) = (fastest.min(seconds), slowest.max(seconds));
//! }
//! assert!(slowest > fastest);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
pub mod spmv;
mod state;
mod workload;

use super::{Dag, RulesError, Step};
use engine::Engine;
use load::Load;
use noise::Noise;
use order::{Call, Order};
use state::{Blocked, State};

pub use machine::{Gpu, HostCosts, Link, Machine, Network, Nics, Progress, Rendezvous};
pub use outcome::{Outcome, Violation};
pub use platform::SimPlatform;
pub use workload::{MessageSize, Task, Workload};

/// Simulates schedules of one workload on one machine. Runs use its memory again.
#[derive(Clone, Debug)]
pub struct Simulator {
    machine: Machine,
    load: Load,
    order: Order,
    noise: Noise,
    state: State,
}

impl Simulator {
    /// Makes the workload ready.
    ///
    /// # Errors
    /// [`RulesError::Setup`]:
    /// - as [`Machine::validate`];
    /// - for no ranks, or too many;
    /// - for an operation with work of the other kind, or an invalid duration or share;
    /// - for a message to an unknown rank, or one that nobody receives or sends;
    /// - for messages of different sizes at their two ends.
    pub fn new(workload: &(impl Workload + ?Sized), machine: Machine) -> Result<Self, RulesError> {
        let load = Load::new(workload, &machine)?;
        Ok(Simulator { machine, load, order: Order::default(), noise: Noise::default(), state: State::default() })
    }

    /// The program.
    pub fn dag(&self) -> &Dag {
        &self.load.dag
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> usize {
        self.load.ranks
    }

    /// The machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Simulates these steps once. They need not be a [`Schedule`](super::Schedule): with synchronisation left out, the
    /// outcome tells what goes wrong. The seed is for the machine's noise; the same seed gives the same outcome.
    ///
    /// # Errors
    /// [`RulesError::Schedule`] if an operation occurs twice, or a record is behind an operation
    /// that no stream has yet. [`RulesError::Rank`] if a rank waits for ever; it names the step.
    pub fn run(&mut self, steps: &[Step], seed: u64) -> Result<Outcome<'_>, RulesError> {
        let Simulator { machine, load, order, noise, state } = self;
        order.fill(load, steps)?;
        noise.fill(machine.noise, seed, load.ranks, steps.len());
        Engine { machine, load, order, noise, state }.run();
        for (rank, host) in self.state.hosts.iter().enumerate() {
            if let Some(step) = steps.get(host.step) {
                let what = match host.blocked {
                    Blocked::Sends(_) => "messages that it sent, and that nobody receives",
                    Blocked::Receives(_) => "messages that nobody sends",
                    _ => "what never comes",
                };
                let reason = format!("in `{}` it waits for ever, for {what}", step.name(&self.load.dag));
                return Err(RulesError::Rank { rank, reason });
            }
        }
        Ok(Outcome { simulator: self })
    }

    /// Returns the calls of the host's thread in the last run, one per step.
    fn calls(&self) -> &[Call] {
        &self.order.calls
    }

    /// The operations of alternatives that the last run did not take.
    fn absent(&self) -> u64 {
        self.order.absent
    }
}
