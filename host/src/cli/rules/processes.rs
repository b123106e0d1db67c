//! Ranks that `mpirun` started.

use std::env;

use warpsmith::{
    design_rules::platform::{Group, Setup},
    device::Device,
};

use crate::cli::failure::Failure;

/// What launchers set: Open MPI, and those that speak PMI, such as MPICH's and Slurm's.
const SIZES: [&str; 2] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"];

/// How many ranks were started, if some were.
///
/// In a build without MPI, several are an error: each would do the same by itself.
pub fn started() -> Result<Option<usize>, Failure> {
    let size = SIZES.iter().find_map(|name| env::var(name).ok()?.parse::<usize>().ok());
    if size.is_some_and(|size| size > 1) && !cfg!(feature = "mpi") {
        return Err(Failure::error(
            "mpirun started several processes, but this build has no MPI: build with `--features mpi`, or leave mpirun out, and \
             --ranks are threads",
        ));
    }
    Ok(size.filter(|_| cfg!(feature = "mpi")))
}

/// Rank 0's platform. The other ranks return when it is done, with none.
#[cfg(feature = "mpi")]
pub fn open(devices: &[Device], setup: &dyn Setup, streams: usize) -> Result<Option<Group>, Failure> {
    use warpsmith::{design_rules::RulesError, ranks::mpi};

    use crate::cli::interrupt::Interrupt;

    let ranks = mpi::init().map_err(RulesError::from)?;
    // Of the ranks of one host, each takes another device, as far as there are enough.
    let locals = ["OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"];
    let local = locals.iter().find_map(|name| env::var(name).ok()?.parse::<usize>().ok()).unwrap_or(ranks.rank());
    let device = &devices[local % devices.len()];
    if ranks.rank() > 0 {
        // A signal goes to all processes: rank 0 ends the search for all, and needs the others until then.
        Interrupt::first_sets("stopping with what was measured");
        // Rank 0 hears of it, and says it.
        let followed = Group::follow(device, ranks, setup, streams);
        return followed.map(|()| None).map_err(|_| Failure::Elsewhere);
    }
    Ok(Some(Group::processes(device, ranks, setup, streams)?))
}

/// There are none: see [`started`].
#[cfg(not(feature = "mpi"))]
pub fn open(_: &[Device], _: &dyn Setup, _: usize) -> Result<Option<Group>, Failure> {
    Ok(None)
}
