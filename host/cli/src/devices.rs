//! `warpsmith devices`.

use clap::Args;
use serde::{Deserialize, Serialize};
use warpsmith::device::{self, Device, DeviceError};

use super::{Backend, Global, failure::Failure, format, processes, terminal};

#[derive(Args, Debug)]
#[command(
    long_about = "List the devices: GPUs and the CPU.\n\n\
        The PTX image is the program's image that the device's driver would compile: the one for the highest compute \
        capability that the device has. The CPU's multiprocessors are its worker threads, and its L2 is the last-level cache.",
    after_help = "Examples:\n  \
        warpsmith devices                   a table\n  \
        warpsmith devices --json            one JSON object; memory in bytes\n  \
        warpsmith devices --backend cuda    only the GPUs; an error if there is none\n  \
        mpirun -n 4 warpsmith devices       also the ranks, with their hosts and devices (feature mpi)"
)]
pub struct Arguments {
    /// Print one JSON object instead of a table; memory in bytes
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Object {
    devices: Vec<Row>,
    /// Device of commands that name none.
    default: Option<String>,
    /// Reason why such commands fail.
    default_error: Option<String>,
    /// Reason why no GPU can be used.
    no_cuda_reason: Option<String>,
    /// Processes that were started together, if there are several.
    ranks: Vec<Rank>,
}

/// One of several processes.
#[derive(Serialize, Deserialize)]
struct Rank {
    rank: usize,
    host: String,
    device: String,
}

#[derive(Serialize)]
struct Row {
    backend: String,
    ordinal: Option<u32>,
    name: String,
    compute_capability: Option<String>,
    multiprocessors: u32,
    memory_total: usize,
    memory_free: usize,
    l2: usize,
    driver_cuda: Option<String>,
    ptx_image: Option<String>,
}

pub fn run(global: &Global, arguments: &Arguments) -> Result<(), Failure> {
    let ranks = match ranks(global)? {
        // Rank 0 shows them, and the devices of its host.
        Some(ranks) if ranks.is_empty() => return Ok(()),
        ranks => ranks.unwrap_or_default(),
    };
    let mut devices = Vec::new();
    let mut no_cuda_reason = device::no_cuda_reason();
    match (global.backend, global.device) {
        (Backend::Cpu, None) => {}
        (_, Some(ordinal)) => devices.push(Row::new(&global.open()?, Some(ordinal))?),
        (backend, None) => match Device::all_cuda() {
            Ok(all) => {
                for (ordinal, device) in (0..).zip(all) {
                    devices.push(Row::new(&device, Some(ordinal))?);
                }
            }
            Err(error) if backend == Backend::Cuda => return Err(error.into()),
            Err(error) => {
                no_cuda_reason.get_or_insert(error.to_string());
            }
        },
    }
    if global.backend != Backend::Cuda && global.device.is_none() {
        devices.push(Row::new(&Device::cpu(), None)?);
    }
    let (default, default_error) = match Device::best() {
        Ok(device) => (Some(device.to_string()), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let object = Object { devices, default, default_error, no_cuda_reason, ranks };
    if arguments.json { terminal::print_json(&object) } else { object.print() }
}

/// Collects the ranks with their hosts and devices on rank 0. The list is empty on the others.
fn ranks(global: &Global) -> Result<Option<Vec<Rank>>, Failure> {
    let Some(ranks) = processes::several(None)? else { return Ok(None) };
    let device = match processes::device(global, &*ranks) {
        Ok(device) => device.to_string(),
        Err(Failure::Error(text)) => format!("none: {text}"),
        Err(failure) => return Err(failure),
    };
    let mine = Rank { rank: ranks.rank(), host: processes::host(), device };
    let all = ranks.gather(serde_json::to_vec(&mine).map_err(Failure::error)?).map_err(Failure::error)?;
    Ok(Some(all.iter().map(|rank| serde_json::from_slice(rank)).collect::<Result<_, _>>().map_err(Failure::error)?))
}

impl Row {
    fn new(device: &Device, ordinal: Option<u32>) -> Result<Self, DeviceError> {
        let info = device.info();
        let memory = device.memory()?;
        let version = |(major, minor): (u32, u32)| format!("{major}.{minor}");
        Ok(Row {
            backend: info.backend.to_string(),
            ordinal,
            name: info.name.clone(),
            compute_capability: info.compute_capability.map(version),
            multiprocessors: info.multiprocessors,
            memory_total: memory.total,
            memory_free: memory.free,
            l2: info.l2_bytes,
            driver_cuda: info.driver_version.map(version),
            ptx_image: device.image().map(|arch| format!("sm_{arch}")),
        })
    }
}

impl Object {
    fn print(&self) -> Result<(), Failure> {
        let header = ["backend", "device", "name", "capability", "SMs", "memory", "free", "L2", "CUDA", "PTX"];
        let mut table = terminal::table(header, [1, 4, 5, 6, 7]).keys(2);
        let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        for row in &self.devices {
            table.add_row([
                row.backend.clone(),
                row.ordinal.map_or_else(|| "-".to_owned(), |ordinal| ordinal.to_string()),
                row.name.clone(),
                or_none(&row.compute_capability),
                match row.ordinal {
                    Some(_) => row.multiprocessors.to_string(),
                    None => format::counted(row.multiprocessors as usize, "worker", "workers"),
                },
                format::memory(row.memory_total),
                format::memory(row.memory_free),
                if row.l2 == 0 { "-".to_owned() } else { format::memory(row.l2) },
                or_none(&row.driver_cuda),
                match row.ordinal {
                    Some(_) => row.ptx_image.clone().unwrap_or_else(|| "none".to_owned()),
                    None => "-".to_owned(),
                },
            ]);
        }
        terminal::print(table)?;
        if !self.ranks.is_empty() {
            let mut table = terminal::table(["rank", "host", "device"], [0]);
            for Rank { rank, host, device } in &self.ranks {
                table.add_row([rank.to_string(), host.clone(), device.clone()]);
            }
            terminal::print(table)?;
        }
        if let Some(reason) = &self.no_cuda_reason {
            terminal::print(format_args!("No GPU: {reason}."))?;
        }
        match (&self.default, &self.default_error) {
            (Some(device), _) => terminal::print(format_args!("By default commands run on {device}.")),
            (None, Some(error)) => terminal::print(format_args!("By default commands fail: {error}.")),
            (None, None) => Ok(()),
        }
    }
}
