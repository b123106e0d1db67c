//! The platforms that the command has, and the programs that they run.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::{Args, ValueEnum};
use warpsmith::{
    design_rules::{
        Platform,
        platform::{Group, Setup, Staging, Statistic},
        programs::{
            halo::{self, HeatStep},
            spmv::{self, Multiplication},
        },
        schedule::check_streams,
        sim::{Machine, SimPlatform, Workload, halo::HaloModel, spmv::SpmvModel},
    },
    device::{Backend, Device},
    ranks::Communicator,
    spmv::{Band, Csr, Partition, Traffic, market},
};

use super::program::Program;
use crate::{Global, failure::Failure, format, interrupt::Interrupt, processes};

/// The most ranks that can be simulated. As threads there can be fewer.
const MAX_RANKS: usize = 1 << 16;
/// Ranks where nothing is said.
const RANKS: usize = 4;
/// Cells of a rank's brick, in each direction.
const CELLS: [usize; 3] = [128; 3];

/// The platform that runs schedules, and its input.
#[derive(Args, Clone, Debug)]
pub struct Place {
    /// Platform that runs schedules [default: cuda if there is a GPU, otherwise cpu]
    #[arg(long, value_enum)]
    platform: Option<Kind>,
    /// Number of ranks [default: 4; under mpirun, the number that it started]
    #[arg(long, value_name = "N", value_parser = parse_ranks)]
    ranks: Option<usize>,
    /// Matrix to multiply with, for spmv [default: a random band matrix of 150,000 rows and 1,500,000 nonzeros, as in
    /// the paper]
    #[arg(long, value_name = "M.MTX")]
    pub matrix: Option<PathBuf>,
    /// Cells of a rank's brick in x, y and z, for halo [default: 128,128,128]
    #[arg(long, value_name = "X,Y,Z", value_parser = parse_cells)]
    cells: Option<Cells>,
    /// Statistic of a schedule's invocations that counts as its time, on GPUs and CPUs
    #[arg(long, value_enum, default_value_t = Statistic::Median, hide_short_help = true)]
    statistic: Statistic,
    /// Memory of messages while they are sent and received
    #[arg(long, value_enum, default_value_t = Staging::Auto, hide_short_help = true)]
    staging: Staging,
    /// Costs of the simulated machine
    ///
    /// The default is one host with 4 H200s, without noise, as --staging says.
    #[arg(long, value_name = "FILE.JSON")]
    pub machine: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// GPUs: ranks are threads, or processes under mpirun, and share GPUs where there are fewer
    Cuda,
    /// The CPU: ranks are threads, or processes under mpirun, and streams are threads
    Cpu,
    /// A simulated machine
    Sim,
}

/// Reads a number above 0.
fn parse_number(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&number| number > 0).ok_or_else(|| "not a whole number above 0".to_owned())
}

fn parse_ranks(text: &str) -> Result<usize, String> {
    let ranks = parse_number(text)?;
    if ranks <= MAX_RANKS { Ok(ranks) } else { Err(format!("at most {} ranks are possible", format::grouped(MAX_RANKS))) }
}

/// Cells in x, y and z.
#[derive(Clone, Copy, Debug)]
struct Cells([usize; 3]);

/// Reads three numbers.
fn parse_cells(text: &str) -> Result<Cells, String> {
    let numbers = text.split(',').map(parse_number).collect::<Result<Vec<_>, _>>();
    let cells = numbers.ok().and_then(|numbers| numbers.try_into().ok());
    cells.map(Cells).ok_or_else(|| "not three whole numbers above 0; write 128,128,128".to_owned())
}

/// A platform, ready to measure.
pub struct Opened {
    pub platform: Box<dyn Platform>,
    /// The program's input, in words.
    pub input: String,
    /// Numbers that describe the input, by name.
    pub numbers: BTreeMap<String, f64>,
}

/// Opens a platform for schedules on at most this many streams; `seed` is for its random choices.
///
/// Under `mpirun` it is rank 0's. On the others it returns when that one is done, with none.
pub fn open_platform(
    global: &Global,
    program: &Program,
    place: &Place,
    streams: usize,
    seed: u64,
) -> Result<Option<Opened>, Failure> {
    program.dag()?;
    place.check(program)?;
    check_streams(streams)?;
    if place.platform == Some(Kind::Sim) {
        if processes::started()?.is_some() {
            return Err(Failure::error("--platform sim takes no mpirun: one process simulates all ranks"));
        }
        return simulated(program, place, seed).map(Some);
    }
    let (setup, input) = setup(program, place)?;
    // From here on others wait for this process: where it fails alone, they end, too.
    if let Some(processes) = processes::started()? {
        let size = processes.size();
        if place.ranks.is_some_and(|ranks| ranks != size) {
            return Err(Failure::error(format_args!("--ranks {} differs from the {size} of mpirun", place.ranks())));
        }
        let device = devices(global, place, Some(&*processes))
            .inspect_err(|failure| processes.abort(&failure.to_string()))?
            .swap_remove(0);
        if processes.rank() > 0 {
            // A signal goes to all processes: rank 0 ends the search for all, and needs the others until then.
            first_signal_stops();
            // Rank 0 hears of an error, and says it.
            let followed = Group::follow(&device, processes, &*setup, streams);
            return followed.map(|()| None).map_err(|_| Failure::Elsewhere);
        }
        let group = Group::processes(&device, processes, &*setup, streams)?.with_statistic(place.statistic);
        return Ok(Some(Opened { platform: Box::new(group), input, numbers: setup.numbers(size)? }));
    }
    let devices: Vec<_> = devices(global, place, None)?.into_iter().cycle().take(place.ranks()).collect();
    let numbers = setup.numbers(place.ranks())?;
    let group = Group::threads(&devices, setup, streams)?.with_statistic(place.statistic);
    Ok(Some(Opened { platform: Box::new(group), input, numbers }))
}

/// Lets the first signal end measuring.
pub fn first_signal_stops() -> Interrupt {
    Interrupt::first_sets("stopping with what was measured")
}

impl Place {
    /// Checks that no option is for another program or platform.
    fn check(&self, program: &Program) -> Result<(), Failure> {
        let of_program = [
            (self.matrix.is_some(), "--matrix", Program::Spmv, "spmv"),
            (self.cells.is_some(), "--cells", Program::Halo, "halo"),
        ];
        for (given, option, its, name) in of_program {
            if given && *program != its {
                return Err(Failure::error(format_args!("{option} is for {name}: other programs have none")));
            }
        }
        if self.machine.is_some() && self.platform != Some(Kind::Sim) {
            return Err(Failure::error("--machine is for --platform sim: others are what they are"));
        }
        if self.statistic != Statistic::Median && self.platform == Some(Kind::Sim) {
            return Err(Failure::error("--statistic is for GPUs and CPUs: a simulated time is that of one invocation"));
        }
        Ok(())
    }

    /// Checks that no option is for the programs that the command has.
    pub fn check_external(&self, program: &Program) -> Result<(), Failure> {
        self.check(program)?;
        let given = [
            (self.platform.is_some(), "--platform"),
            (self.ranks.is_some(), "--ranks"),
            (self.statistic != Statistic::Median, "--statistic"),
            (self.staging != Staging::Auto, "--staging"),
        ];
        match given.into_iter().find(|(given, _)| *given) {
            Some((_, option)) => {
                Err(Failure::error(format_args!("{option} is for spmv and halo, not for a program of your own")))
            }
            None => Ok(()),
        }
    }

    /// Returns true if times are those of a simulated machine.
    pub fn is_simulated(&self) -> bool {
        self.platform == Some(Kind::Sim)
    }

    fn ranks(&self) -> usize {
        self.ranks.unwrap_or(RANKS)
    }

    fn cells(&self) -> [usize; 3] {
        self.cells.map_or(CELLS, |cells| cells.0)
    }

    /// The input of halo, in words.
    fn halo(&self) -> String {
        let [x, y, z] = self.cells();
        format!("{x} x {y} x {z} cells a rank, f64")
    }
}

/// A simulated machine with the program's model.
fn simulated(program: &Program, place: &Place, seed: u64) -> Result<Opened, Failure> {
    let default = if place.staging == Staging::Device { Machine::h200_node_direct() } else { Machine::h200_node() };
    let machine = place.machine.as_deref().map_or(Ok(default), Machine::read)?;
    let (ranks, staging) = (place.ranks(), place.staging);
    let (workload, input, numbers): (Box<dyn Workload>, _, _) = match program {
        Program::File(path) => return Err(unknown(path)),
        Program::Spmv => {
            let (matrix, input) = matrix(place.matrix.as_deref())?;
            let traffic = Traffic::new(&matrix, ranks)?;
            let numbers = spmv::numbers(&traffic);
            (Box::new(SpmvModel::new(traffic).with_staging(staging)), input, numbers)
        }
        Program::Halo => {
            let model = HaloModel::new(ranks, place.cells())?.with_staging(staging);
            (Box::new(model), place.halo(), halo::numbers(ranks, place.cells()))
        }
    };
    let platform = SimPlatform::new(&*workload, machine)?.with_seed(seed);
    Ok(Opened { platform: Box::new(platform), input, numbers })
}

/// The program for real, and what it works on.
fn setup(program: &Program, place: &Place) -> Result<(Arc<dyn Setup>, String), Failure> {
    Ok(match program {
        Program::File(path) => return Err(unknown(path)),
        Program::Spmv => {
            let (matrix, name) = matrix(place.matrix.as_deref())?;
            (Arc::new(Multiplication::new(matrix, place.staging)), name)
        }
        Program::Halo => (Arc::new(HeatStep::new(place.cells(), place.staging)?), place.halo()),
    })
}

/// That this program knows nothing of another one but its operations.
fn unknown(path: &Path) -> Failure {
    Failure::error(format_args!(
        "{} has a program's operations, and not the program: say behind `--` what measures its schedules",
        path.display()
    ))
}

/// Opens the devices of all ranks; several ranks share one if there are too few. With `processes`,
/// opens only this rank's device.
fn devices(global: &Global, place: &Place, processes: Option<&dyn Communicator>) -> Result<Vec<Device>, Failure> {
    let global = match place.platform {
        Some(Kind::Cpu) => Global { backend: crate::Backend::Cpu, device: None, ..global.clone() },
        Some(Kind::Cuda) => Global { backend: crate::Backend::Cuda, device: None, ..global.clone() },
        _ => global.clone(),
    };
    let devices = match processes {
        Some(ranks) => vec![processes::device(&global, ranks)?],
        None => global.open_at_most(u32::try_from(place.ranks()).unwrap_or(u32::MAX))?,
    };
    if place.staging == Staging::Device && devices.iter().any(|device| device.backend() == Backend::Cpu) {
        return Err(Failure::error("--staging device is for GPUs: the CPU has one memory"));
    }
    Ok(devices)
}

/// The matrix to multiply with, and what it is.
fn matrix(path: Option<&Path>) -> Result<(Csr<f32>, String), Failure> {
    let (matrix, name) = match path {
        Some(path) => {
            let matrix = market::read(path)?;
            Partition::of(&matrix, 1).map_err(|error| Failure::error(format_args!("{}: {error}", path.display())))?;
            (matrix, path.display().to_string())
        }
        None => (Band::default().matrix()?, "random band matrix".to_owned()),
    };
    let rows = format::counted(matrix.rows(), "row", "rows");
    let nonzeros = format::counted(matrix.nnz(), "nonzero", "nonzeros");
    Ok((matrix, format!("{name}, {rows}, {nonzeros}, f32")))
}
