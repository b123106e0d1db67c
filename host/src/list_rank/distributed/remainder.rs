//! The remainder: a list that is short enough to be ranked by one rank.

use gpu_kernels::list_rank::distributed::{self, Blocks};

use super::{
    DistributedError,
    group::{Group, starts},
};
use crate::{
    device::{Buffer, Device, DeviceError, Stream},
    launch,
    list_rank::{
        ListError, ListRanker, Options,
        launches::{BLOCK, blocks},
    },
    ranks::RanksError,
};

/// The list on rank 0, and what ranks it.
pub struct Remainder {
    ranker: ListRanker<i64>,
    next: Buffer<i64>,
    narrow: Buffer<i32>,
    weights: Buffer<i64>,
    sums: Buffer<i64>,
}

impl Remainder {
    pub fn new(device: &Device) -> Self {
        Remainder {
            ranker: ListRanker::new(device, Options::default()),
            next: device.empty(),
            narrow: device.empty(),
            weights: device.empty(),
            sums: device.empty(),
        }
    }

    /// The exclusive prefix sums of `weights` along the list from `head` to `tail`, for this rank's part of it; less
    /// than 0 for elements that aren't on it. Returns the sum of all that are.
    pub fn rank(
        &mut self,
        group: &mut Group,
        stream: &Stream,
        blocks: Blocks,
        (next, weights): (&Buffer<i64>, &Buffer<i64>),
        (head, tail): (u64, u64),
        sums: &mut Buffer<i64>,
    ) -> Result<i64, DistributedError> {
        let (size, own) = (group.size(), next.len());
        let parts = starts(group.share(own as u64)?.iter().map(|&len| len as usize));
        let n = parts[size];
        if n >= i32::MAX as usize {
            return Err(RanksError::Message(format!("{n} sublists are too many for one rank")).into());
        }
        // All of this rank's part goes to rank 0, and comes back.
        let part: Vec<usize> = (0..=size).map(|rank| if rank == 0 { 0 } else { own }).collect();
        let is_first = group.rank() == 0;
        let all = if is_first { parts.clone() } else { vec![0; size + 1] };
        for buffer in [&mut self.next, &mut self.weights, &mut self.sums] {
            buffer.ensure(all[size])?;
        }
        group.exchange(stream, (next, &part), (&mut self.next, &all))?;
        group.exchange(stream, (weights, &part), (&mut self.weights, &all))?;
        let mut total = 0;
        if is_first {
            let place = |index: u64| {
                let (rank, local) = blocks.place(index);
                parts[rank as usize] + local as usize
            };
            self.narrow.ensure(n)?;
            let starts = stream.device().upload(&parts.iter().map(|&start| start as u32).collect::<Vec<_>>())?;
            let grid = self::blocks(n, BLOCK);
            launch!(stream, distributed::narrow<<<grid, BLOCK>>>(&self.next, blocks, &starts, &mut self.narrow))?;
            total = self.rank_here(stream, place(head), place(tail))?;
        }
        sums.ensure(own)?;
        group.exchange(stream, (&self.sums, &all), (sums, &part))?;
        Ok(group.share(total)?[0])
    }

    fn rank_here(&mut self, stream: &Stream, head: usize, tail: usize) -> Result<i64, DeviceError> {
        let Remainder { ranker, narrow, weights, sums, .. } = self;
        match ranker.prefix_sums(stream, narrow, Some(head as i32), weights, sums) {
            Ok(_) => {
                let last = [stream.download_vec(sums.view(tail..=tail)?)?, stream.download_vec(weights.view(tail..=tail)?)?];
                Ok(last.concat().iter().sum())
            }
            Err(ListError::Device(error)) => Err(error),
            // Elements are missing: the whole list is bad, and the sums of this list help to
            // diagnose it.
            Err(_) => {
                let (next, weights) = (stream.download_vec(&*narrow)?, stream.download_vec(&*weights)?);
                let mut found = vec![-1; next.len()];
                let (mut element, mut sum) = (head, 0);
                while found[element] < 0 {
                    found[element] = sum;
                    sum += weights[element];
                    match usize::try_from(next[element]) {
                        Ok(next) => element = next,
                        Err(_) => break,
                    }
                }
                stream.upload(sums, &found)?;
                Ok(sum)
            }
        }
    }
}
