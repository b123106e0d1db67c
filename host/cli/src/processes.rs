//! Ranks that `mpirun` or `srun` started.

use std::{env, fmt, sync::Arc};

use warpsmith::{
    device::{self, Device},
    ranks::Communicator,
};

use super::{Backend, Global, failure::Failure};

/// Variables that hold the number of processes under Open MPI, MVAPICH and launchers that speak
/// PMI.
const MPI_SIZES: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "PMI_SIZE"];
/// The same under IBM's jsrun, Flux and Slurm. Slurm also sets its own if another launcher starts
/// processes in a step.
const SIZES: [&str; 3] = ["JSM_NAMESPACE_SIZE", "FLUX_JOB_SIZE", "SLURM_STEP_NUM_TASKS"];
/// Variables that hold the process's index, from 0, under launchers that don't tell the number:
/// PMIx, Cray's PALS, ALPS.
const RANKS: [&str; 3] = ["PMIX_RANK", "PALS_RANKID", "ALPS_APP_PE"];
/// Variables that hold the index among the host's processes, from 0.
const LOCAL_RANKS: [&str; 7] = [
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "MV2_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "PALS_LOCAL_RANKID",
    "JSM_NAMESPACE_LOCAL_RANK",
    "FLUX_TASK_LOCAL_ID",
    "SLURM_LOCALID",
];

/// A launcher's statement about the processes that it started.
struct Launched {
    variable: &'static str,
    value: u64,
    several: bool,
}

fn launched() -> Option<Launched> {
    let value = |variable: &&'static str| Some((*variable, env::var(variable).ok()?.trim().parse::<u64>().ok()?));
    let of_size = |(variable, value)| Launched { variable, value, several: value > 1 };
    let size = MPI_SIZES.iter().chain(&SIZES).find_map(value).map(of_size);
    // Process 0 may be alone, but a process with a higher index isn't.
    size.or_else(|| RANKS.iter().find_map(value).map(|(variable, value)| Launched { variable, value, several: value > 0 }))
}

/// Connects the ranks if a launcher started several processes. All ranks call this together.
///
/// Without the feature `mpi`, several processes are an error because each would do the whole work
/// by itself.
pub fn started() -> Result<Option<Arc<dyn Communicator>>, Failure> {
    let launched = launched();
    let alone = |why: &str| match &launched {
        Some(Launched { variable, value, several: true }) => {
            Err(Failure::error(format_args!("several processes were started ({variable} is {value}), but {why}; or start one")))
        }
        _ => Ok(None),
    };
    #[cfg(feature = "mpi")]
    {
        let ranks = warpsmith::ranks::mpi::init().map_err(Failure::error)?;
        let by_mpi = launched.as_ref().is_some_and(|launched| MPI_SIZES.contains(&launched.variable) && !launched.several);
        if ranks.size() > 1 || by_mpi {
            return Ok(Some(ranks));
        }
        alone("MPI knows of one alone: start them by the mpirun of the MPI library of this build, or by `srun --mpi=pmix`")
    }
    #[cfg(not(feature = "mpi"))]
    alone("this build has no MPI: build it with `cargo build --release --features mpi`")
}

/// Returns true if a launcher says that it started this process.
pub fn is_launched() -> bool {
    launched().is_some()
}

/// Maximum number of GPUs that a user can ask for.
pub const MOST_GPUS: usize = 64;

/// A command's place: devices of this process, or one of several ranks with its device.
pub struct Places {
    pub devices: Vec<Device>,
    pub ranks: Option<Arc<dyn Communicator>>,
}

/// The ranks that a launcher started, if there are several. Each takes one GPU: `--gpus` is an
/// error then.
pub fn several(gpus: Option<usize>) -> Result<Option<Arc<dyn Communicator>>, Failure> {
    let ranks = if is_launched() { started()? } else { None };
    let ranks = ranks.filter(|ranks| ranks.size() > 1);
    if ranks.is_some() && gpus.is_some() {
        return Err(Failure::error("--gpus can't be used with mpirun: each rank takes one GPU"));
    }
    Ok(ranks)
}

/// The device of this one of several ranks, or the devices that `--gpus` asks for.
pub fn devices(global: &Global, ranks: Option<&dyn Communicator>, gpus: Option<usize>) -> Result<Vec<Device>, Failure> {
    match ranks {
        Some(ranks) => Ok(vec![device(global, ranks)?]),
        None => global.open_several(gpus),
    }
}

/// The ranks that a launcher started, with this one's device, or the devices that `--gpus` asks
/// for.
pub fn places(global: &Global, gpus: Option<usize>) -> Result<Places, Failure> {
    let mut places = Places { devices: Vec::new(), ranks: several(gpus)? };
    places.devices = devices(global, places.ranks.as_deref(), gpus).inspect_err(|failure| places.end(failure))?;
    Ok(places)
}

/// Reports, by the first rank alone, a failure that all ranks have met.
///
/// The others wait until it is printed: `mpirun` ends all ranks as soon as one exits with an error.
pub fn all_failed(ranks: &dyn Communicator, failure: Failure) -> Failure {
    if ranks.rank() == 0 {
        failure.report();
    }
    let _ = ranks.barrier();
    Failure::Elsewhere
}

impl Places {
    /// Returns true for the process that prints and writes the results.
    pub fn is_first(&self) -> bool {
        self.ranks.as_ref().is_none_or(|ranks| ranks.rank() == 0)
    }

    /// Ends the other ranks if this one fails, since they would wait for it.
    pub fn end(&self, failure: &Failure) {
        if let Some(ranks) = &self.ranks {
            ranks.abort(&failure.to_string());
        }
    }
}

impl fmt::Display for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = self.ranks.as_ref().map_or(self.devices.len(), |ranks| ranks.size()) - 1;
        write!(f, "{}", self.devices[0])?;
        if more > 0 { write!(f, " and {more} more") } else { Ok(()) }
    }
}

/// Opens the device of this rank. Ranks of one host take different GPUs if there are enough.
///
/// If there are GPUs, one that can't be opened is an error: a rank on the CPU would work
/// differently.
pub fn device(global: &Global, ranks: &dyn Communicator) -> Result<Device, Failure> {
    let mut global = global.clone();
    let is_auto = global.backend == Backend::Auto && global.device.is_none() && device::Backend::wished()?.is_none();
    if is_auto && Device::count_cuda().is_ok_and(|gpus| gpus > 0) {
        global.backend = Backend::Cuda;
    }
    // Other launchers are assumed to fill a host before they go on to the next.
    let of_host = local_rank(|variable| env::var(variable).ok()).unwrap_or(ranks.rank() as u32);
    global.open_for(of_host)
}

/// Returns this process's index among its host's, if the launcher tells.
fn local_rank(value: impl Fn(&str) -> Option<String>) -> Option<u32> {
    LOCAL_RANKS.iter().find_map(|variable| value(variable)?.trim().parse().ok())
}

/// This host's name.
pub fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_ranks() {
        for (variables, expected) in [
            (&[][..], None),
            (&[("OMPI_COMM_WORLD_LOCAL_RANK", "3"), ("SLURM_LOCALID", "0"), ("PMIX_RANK", "11")], Some(3)),
            (&[("SLURM_LOCALID", " 2\n"), ("PMI_RANK", "6")], Some(2)),
            (&[("MPI_LOCALRANKID", "none"), ("FLUX_TASK_LOCAL_ID", "6")], Some(6)),
            (&[("SLURM_LOCALID", "-1"), ("PMI_RANK", "6"), ("PMIX_RANK", "6"), ("ALPS_APP_PE", "6")], None),
        ] {
            let value =
                |name: &str| variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| (*value).to_owned());
            assert_eq!(local_rank(value), expected, "{variables:?}");
        }
    }
}
