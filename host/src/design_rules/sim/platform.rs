//! The simulated machine as a platform.

use std::collections::HashMap;
use std::f64::consts::TAU;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};

use super::super::{Dag, Platform, RulesError, Schedule, Timeline};
use super::{Machine, Simulator, Workload};

/// A simulated machine that runs a program.
#[derive(Clone, Debug)]
pub struct SimPlatform {
    simulator: Simulator,
    seed: u64,
    /// Number of measurements of each schedule, by its seed.
    measured: HashMap<u64, usize>,
    /// Number of measurements.
    count: usize,
}

/// The machine's drift comes back after so many measurements.
const PERIOD: usize = 1000;
/// Number of simulations per measurement on a machine with noise.
const SAMPLES: usize = 10;

impl SimPlatform {
    /// Without noise each measurement is one simulation, else the mean of ten.
    pub fn new(workload: &(impl Workload + ?Sized), machine: Machine) -> Result<Self, RulesError> {
        Ok(SimPlatform { simulator: Simulator::new(workload, machine)?, seed: 0, measured: HashMap::new(), count: 0 })
    }

    /// The seed of the noise.
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The seed of a sample. It doesn't depend on what was measured of other schedules.
    fn seed_of(&self, schedule: &Schedule, sample: usize) -> u64 {
        // FNV-1a, which is the same everywhere.
        let text = schedule.to_string();
        let hash =
            text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        let mut seed = [0; 32];
        for (bytes, word) in seed.chunks_exact_mut(8).zip([self.seed, hash, sample as u64]) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        ChaCha8Rng::from_seed(seed).next_u64()
    }
}

impl Platform for SimPlatform {
    fn dag(&self) -> &Dag {
        self.simulator.dag()
    }

    fn ranks(&self) -> usize {
        self.simulator.ranks()
    }

    fn description(&self) -> String {
        let ranks = self.ranks();
        format!("simulated, {ranks} {}, {}", if ranks == 1 { "rank" } else { "ranks" }, self.simulator.machine().name)
    }

    fn conditions(&self) -> String {
        serde_json::to_string(self.simulator.machine()).unwrap_or_default()
    }

    fn measure(&mut self, schedule: &Schedule) -> Result<f64, RulesError> {
        if self.is_exact() {
            return Ok(self.simulator.run(schedule.steps(), 0)?.seconds());
        }
        let Machine { noise, outliers, drift, .. } = *self.simulator.machine();
        let first = self.seed_of(schedule, 0);
        let before = *self.measured.entry(first).and_modify(|count| *count += 1).or_insert(1) - 1;
        let samples = if noise == 0.0 { 1 } else { SAMPLES };
        let mut sum = 0.0;
        for sample in 0..samples {
            let seed = self.seed_of(schedule, before * samples + sample);
            sum += self.simulator.run(schedule.steps(), seed)?.seconds();
        }
        let mut chance = ChaCha8Rng::seed_from_u64(first.wrapping_add(before as u64));
        let mut uniform = || chance.next_u64() as f64 / u64::MAX as f64;
        let disturbed = if uniform() < outliers { 2.0 + 2.0 * uniform() } else { 1.0 };
        let slow = 1.0 + drift * 0.5 * (1.0 - (TAU * self.count as f64 / PERIOD as f64).cos());
        self.count += 1;
        Ok(sum / samples as f64 * disturbed * slow)
    }

    fn is_exact(&self) -> bool {
        let machine = self.simulator.machine();
        [machine.noise, machine.outliers, machine.drift] == [0.0; 3]
    }

    /// No operation may start before what it depends on is done.
    fn check(&mut self, schedule: &Schedule) -> Result<(), RulesError> {
        let seed = self.seed_of(schedule, 0);
        let outcome = self.simulator.run(schedule.steps(), seed)?;
        let Some(violation) = outcome.violations().next() else { return Ok(()) };
        let reason = violation.text(self.dag());
        Err(RulesError::Wrong { schedule: schedule.text(self.dag()), reason })
    }

    fn timeline(&mut self, schedule: &Schedule) -> Result<Timeline, RulesError> {
        let seed = self.seed_of(schedule, 0);
        Ok(self.simulator.run(schedule.steps(), seed)?.timeline(schedule.steps()))
    }
}
