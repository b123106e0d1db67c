//! Runs schedules on a machine's model.

use super::engine::Engine;
use super::load::Load;
use super::noise::Noise;
use super::order::Order;
use super::state::{Blocked, State};
use super::{Machine, Outcome, Workload};
use crate::design_rules::{Dag, RulesError, Step};

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

    /// Simulates these steps once. They need not be a [`Schedule`](crate::design_rules::Schedule): with synchronisation left out, the
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
        Ok(Outcome::new(&self.load, &self.order, &self.state))
    }
}
