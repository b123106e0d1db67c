//! The search of `overlap pack` and `overlap improve`: on which devices, for how long, and how its
//! progress is shown.

use std::time::Duration;

use clap::Args;
use warpsmith::overlap::pack::{Budget, MOST_POSES, PackError, Packed, Packer, Packing, Progress, Saving, Settings};

use crate::{
    Global, count, duration,
    failure::Failure,
    format,
    interrupt::Interrupt,
    processes::{self, MOST_GPUS},
    progress, size,
};

/// Duration of a search unless it is given.
const TIME: Duration = Duration::from_secs(30);
/// Maximum number of steps: practically endless.
const MOST_STEPS: usize = 1_000_000_000_000;
/// Progress is shown in thousandths.
const THOUSAND: usize = 1000;

/// Options of a search.
#[derive(Args, Clone, Debug)]
pub struct SearchArgs {
    /// Seed of all random numbers
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
    /// Number of candidates that are improved at once, for each count
    ///
    /// The default is 8 to 256 on a GPU, the fewer the more copies; 4 on the CPU, with --time from 1 to one per thread.
    #[arg(long, value_name = "N", value_parser = count::up_to(MOST_POSES))]
    starts: Option<usize>,
    /// Search for N steps of every candidate
    #[arg(long, value_name = "N", value_parser = count::up_to(MOST_STEPS), conflicts_with = "time")]
    steps: Option<usize>,
    /// Search for about this long: 30s, 5m, 1.5h [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = duration::parse, allow_hyphen_values = true)]
    time: Option<Duration>,
    /// Search on the first N GPUs; on the CPU, N searches side by side [default: 1, that of --device]
    #[arg(long, value_name = "N", value_parser = count::up_to(MOST_GPUS))]
    gpus: Option<usize>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub json: bool,
}

/// The result of a search, and where it ran.
pub struct Searched {
    pub packed: Packed,
    pub device: String,
}

impl SearchArgs {
    /// Searches for packings. `state` describes the progress, `save` saves packings meanwhile, and
    /// `failure` says where an error comes from. Returns none on ranks that neither report nor
    /// write.
    pub fn search<E: std::fmt::Display>(
        &self,
        global: &Global,
        settings: Settings,
        failure: impl Fn(PackError) -> Failure,
        state: impl Fn(&Progress) -> String,
        mut save: impl FnMut(&[Packing]) -> Result<(), E>,
    ) -> Result<Option<Searched>, Failure> {
        let budget = self.steps.map_or_else(|| Budget::Time(self.time.unwrap_or(TIME)), Budget::Steps);
        let settings = Settings { seed: self.seed, starts: self.starts, budget, ..settings };
        let places = processes::places(global, self.gpus)?;
        let device = &places.devices[0];
        let packer = Packer::new(device, settings).map_err(&failure).inspect_err(|failure| places.end(failure))?;
        let mut packer = packer.also_on(&places.devices[1..]);
        if let Some(ranks) = &places.ranks {
            // No rank may write before all have read the files.
            ranks.barrier().map_err(Failure::error)?;
            packer = packer.among(ranks);
        }
        let interrupt = Interrupt::first_sets("stopping with the best so far");
        let packer = packer.cancelled_by(interrupt.cancel());
        let count = places.devices.len();
        size::check_memory(format::counted(packer.poses() * count, "pose", "poses"), packer.host_bytes() * count as f64)
            .inspect_err(|failure| places.end(failure))?;

        let shown = progress::Progress::new(self.json || global.verbose > 0 || !places.is_first());
        let work = shown.costly_bar(THOUSAND, usize::MAX, format!("packing on {places}"));
        let told = |reached: &Progress| {
            let share = match budget {
                Budget::Steps(steps) => reached.steps as f64 / steps as f64,
                Budget::Time(time) => reached.seconds / time.as_secs_f64(),
            };
            work.reach((share.min(1.0) * THOUSAND as f64) as usize, THOUSAND);
            work.say(format!("packing on {places}: {}", state(reached)));
            tracing::debug!(steps = reached.steps, score = reached.score, "squeezed");
        };
        // A full disk may have room again at the end.
        let saved = |packings: &[Packing]| save(packings).unwrap_or_else(|error| work.warn(error));
        let packed = packer.run_saving(told, Saving::default(), saved);
        drop(work);
        let packed = packed.map_err(failure)?;
        match (places.is_first(), packed.cancelled) {
            (true, _) => Ok(Some(Searched { packed, device: places.to_string() })),
            (false, true) => Err(Failure::Cancelled),
            (false, false) => Ok(None),
        }
    }
}
