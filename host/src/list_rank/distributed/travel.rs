//! Walks the list by travellers, in rounds.

use cuda_std::{U64x2, launch::IntoParam};
use gpu_kernels::list_rank::{
    distributed::{self, Blocks, Findings, HEAD, PartArgs, THREADS, Traveller, Travellers, TravellersArgs},
    splitters::Splitters,
};

use super::{
    DistributedError,
    group::{Group, starts},
};
use crate::{
    device::{Buffer, Device, DeviceError, Stream},
    launch,
    list_rank::launches::blocks,
    ranks::RanksError,
};

/// This rank's part of a list.
pub struct Level<'a> {
    pub blocks: Blocks,
    pub next: &'a Buffer<i64>,
    /// One for each element, or none where each counts for one.
    pub weights: &'a Buffer<i64>,
    pub splitters: Splitters,
    /// Its first element.
    pub head: u64,
}

/// The travellers' task.
pub enum Task<'a> {
    /// Tell each splitter its predecessor among splitters, and the distance to it.
    Measure { before: &'a mut Buffer<i64>, distance: &'a mut Buffer<i64> },
    /// Store for each element the sum of everything before it.
    Number { sums: &'a mut Buffer<i64> },
}

/// The arrays of the travellers on one rank.
pub struct Travel {
    pub all: Buffer<U64x2>,
    sorted: Buffer<U64x2>,
    pub targets: Buffer<u32>,
    leaving: Buffer<u32>,
    places: Buffer<u32>,
    findings: Buffer<Findings>,
}

impl Travel {
    pub fn new(device: &Device) -> Self {
        Travel {
            all: device.empty(),
            sorted: device.empty(),
            targets: device.empty(),
            leaving: device.empty(),
            places: device.empty(),
            findings: device.empty(),
        }
    }

    /// Puts travellers at this rank's first `nodes` splitters, which are number `first_node` and on among all, and one
    /// at the head if it is here. Returns how many there are. See [`distributed::start`] for `after` and `total`.
    pub fn start(
        &mut self,
        stream: &Stream,
        level: &Level<'_>,
        (first_node, nodes): (u64, usize),
        after: &Buffer<i64>,
        total: i64,
        rank: usize,
    ) -> Result<usize, DeviceError> {
        let (home, element) = level.blocks.place(level.head);
        let is_home = home as usize == rank;
        self.all.ensure(nodes + 1)?;
        self.findings.ensure(1)?;
        stream.fill_zero(&mut self.findings)?;
        let (mut at_splitters, at_head) = self.all.split_at_mut(nodes)?;
        if nodes > 0 {
            let grid = blocks(nodes, THREADS);
            launch!(stream, distributed::start<<<grid, THREADS>>>(level.splitters, first_node, after, total, &mut at_splitters))?;
        }
        if is_home {
            stream.upload(at_head, &[Traveller { origin: HEAD, sum: 0, element }.pack()])?;
        }
        Ok(nodes + usize::from(is_home))
    }

    /// Lets `count` travellers walk until those of all ranks have reached their ends. Returns false
    /// if they have not after `rounds.limit` rounds: some may be walking in a circle.
    pub fn run(
        &mut self,
        group: &mut Group,
        stream: &Stream,
        level: &Level<'_>,
        mut count: usize,
        task: &mut Task<'_>,
        rounds: &mut Rounds,
    ) -> Result<bool, DistributedError> {
        loop {
            let goes_on = self.round(group, stream, &mut count, rounds.done == 0, |travel, args| {
                let part = PartArgs { next: level.next, weights: level.weights, first: level.blocks.first(args.rank) };
                let (grid, shared, blocks, splitters) = (args.grid, args.shared, level.blocks, level.splitters);
                let (travellers, findings) = travel.args(&args);
                match task {
                    // SAFETY: there is a thread for each traveller and shared memory for each rank's count; weights are
                    // as many as elements, or none; there are two numbers for each splitter, and all are different
                    // buffers.
                    Task::Measure { before, distance } => unsafe {
                        launch!(stream, distributed::measure<<<grid, THREADS, shared>>>(
                            part, blocks, splitters, travellers, findings, &mut **before, &mut **distance
                        ))
                    },
                    // SAFETY: as above, and there are as many sums as elements.
                    Task::Number { sums } => unsafe {
                        launch!(stream, distributed::number<<<grid, THREADS, shared>>>(
                            part, blocks, splitters, travellers, findings, &mut **sums
                        ))
                    },
                }
            })?;
            if !goes_on {
                return Ok(true);
            }
            rounds.done += 1;
            if rounds.limit == Some(rounds.done) {
                rounds.waiting = count;
                return Ok(false);
            }
        }
    }

    /// Returns the arguments of a launch.
    pub fn args<'a>(&'a mut self, args: &Args) -> (impl IntoParam<Travellers> + use<'a>, &'a mut Buffer<Findings>) {
        let Travel { all, targets, leaving, findings, .. } = self;
        let Args { count, ranks, start, .. } = *args;
        (TravellersArgs { all, targets, leaving, count, ranks, start }, findings)
    }

    /// Runs one round: the launch that `walk` enqueues, and the exchange of the travellers that
    /// then leave. Returns false if none left any rank.
    pub fn round(
        &mut self,
        group: &mut Group,
        stream: &Stream,
        count: &mut usize,
        start: bool,
        walk: impl FnOnce(&mut Self, Args) -> Result<(), DeviceError>,
    ) -> Result<bool, DistributedError> {
        let (rank, size) = (group.rank(), group.size());
        let mut leaving = vec![0u32; size];
        let (grid, shared) = (blocks(*count, THREADS), size_of::<u32>() * size);
        if *count > 0 {
            self.targets.ensure(*count)?;
            self.leaving.ensure(size)?;
            stream.fill_zero(&mut self.leaving)?;
            let args = Args { grid, shared, count: *count as u32, ranks: size as u32, start: u32::from(start), rank };
            walk(self, args)?;
            stream.download(&self.leaving, &mut leaving)?;
        }
        let total: u64 = leaving.iter().map(|&count| u64::from(count)).sum();
        let mine: Vec<[u64; 2]> = leaving.iter().map(|&count| [u64::from(count), total]).collect();
        let theirs = group.trade(&mine)?;
        if theirs.iter().all(|&[_, total]| total == 0) {
            return Ok(false);
        }
        let sends = starts(leaving.iter().map(|&count| count as usize));
        let receives = starts(theirs.iter().map(|&[count, _]| count as usize));
        if total > 0 {
            self.sorted.ensure(total as usize)?;
            self.places.ensure(size)?;
            stream.upload(&mut self.places, &sends[..size].iter().map(|&start| start as u32).collect::<Vec<_>>())?;
            let (all, targets) = (self.all.view(..*count)?, self.targets.view(..*count)?);
            // SAFETY: there is a thread for each traveller and shared memory for each rank's count, and places for all
            // that were counted.
            unsafe {
                launch!(stream, distributed::sort<<<grid, THREADS, shared>>>(
                    all, targets, size as u32, &mut self.places, &mut self.sorted
                ))?;
            }
        }
        *count = receives[size];
        if *count >= i32::MAX as usize {
            return Err(RanksError::Message(format!(
                "{count} travellers reach rank {rank} at once, and at most 2^31 - 2 can: raise `Options::group`"
            ))
            .into());
        }
        self.all.ensure(*count)?;
        group.exchange(stream, (&self.sorted, &sends), (&mut self.all, &receives))?;
        Ok(true)
    }

    /// Returns the findings of this rank's travellers.
    pub fn findings(&self, stream: &Stream) -> Result<Findings, DeviceError> {
        Ok(stream.download_vec(&self.findings)?[0])
    }
}

/// Arguments of a launch with one thread per traveller.
pub struct Args {
    pub grid: u32,
    pub shared: usize,
    pub count: u32,
    pub ranks: u32,
    pub start: u32,
    pub rank: usize,
}

/// Number of rounds that were done, their limit, and the number of travellers that wait here after
/// it.
#[derive(Default)]
pub struct Rounds {
    pub done: usize,
    pub limit: Option<usize>,
    pub waiting: usize,
}
