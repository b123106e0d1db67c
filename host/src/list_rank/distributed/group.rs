//! Communication between the ranks of a list.

use std::{sync::Arc, time::Instant};

use bytemuck::Pod;

use super::DistributedError;
use crate::{
    device::{Backend, Buffer, Stream},
    ranks::{Communicator, Message, Plan, Region},
};

/// Tag of the messages of lists.
const TAG: u16 = 0x11;

/// All ranks, seen from this one.
pub struct Group {
    pub ranks: Arc<dyn Communicator>,
    /// True if messages are sent from and into device memory.
    on_device: bool,
    /// Bytes that this rank has sent in bulk, and the time that this took, in ms.
    pub sent: u64,
    pub exchanging_ms: f64,
}

/// Returns the start of each rank's part, and the end of the last one.
pub fn starts(counts: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let mut starts = vec![0];
    starts.extend(counts.into_iter().scan(0, |end, count| {
        *end += count;
        Some(*end)
    }));
    starts
}

impl Group {
    pub fn new(ranks: Arc<dyn Communicator>, backend: Backend) -> Self {
        let on_device = backend == Backend::Cuda && ranks.takes_device_memory();
        Group { ranks, on_device, sent: 0, exchanging_ms: 0.0 }
    }

    pub fn rank(&self) -> usize {
        self.ranks.rank()
    }

    pub fn size(&self) -> usize {
        self.ranks.size()
    }

    /// Exchanges one value between each two ranks: `values` has an element for each rank, as has
    /// the result.
    pub fn trade<T: Pod>(&self, values: &[T]) -> Result<Vec<T>, DistributedError> {
        let received = self.ranks.all_to_all(bytemuck::cast_slice(values))?;
        Ok(received.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect())
    }

    /// Returns the value of each rank.
    pub fn share<T: Pod>(&self, value: T) -> Result<Vec<T>, DistributedError> {
        self.trade(&vec![value; self.size()])
    }

    /// Sends each other rank its part of `send`, which begins at `sends[rank]` and ends at `sends[rank + 1]`, into its
    /// part of `receive`. This rank's own part is copied.
    pub fn exchange<T: Pod>(
        &mut self,
        stream: &Stream,
        (send, sends): (&Buffer<T>, &[usize]),
        (receive, receives): (&mut Buffer<T>, &[usize]),
    ) -> Result<(), DistributedError> {
        let start = Instant::now();
        let rank = self.rank();
        if sends[rank] < sends[rank + 1] {
            let own = receives[rank]..receives[rank + 1];
            stream.copy(send.view(sends[rank]..sends[rank + 1])?, receive.view_mut(own)?)?;
        }
        if self.on_device {
            stream.synchronize()?;
            let region = |address: u64, len: usize| Region::on_device(address, len);
            let (from, to) = (region(send.as_device_ptr(), send.byte_len()), region(receive.as_device_ptr(), receive.byte_len()));
            // SAFETY: both buffers are there until the call returns. The stream is done with them, and no other work on
            // them is enqueued meanwhile, as they are borrowed.
            unsafe { self.send::<T>(from, sends, to, receives)? };
        } else {
            let sent = stream.download_vec(send.view(..sends[self.size()])?)?;
            let others = receives[self.size()];
            let mut received = vec![T::zeroed(); others];
            let from = Region::new(sent.as_ptr().cast_mut().cast(), size_of_val(&sent[..]));
            let to = Region::new(received.as_mut_ptr().cast(), size_of_val(&received[..]));
            // SAFETY: both vectors live until the call returns; what is sent is only read.
            unsafe { self.send::<T>(from, sends, to, receives)? };
            for range in [0..receives[rank], receives[rank + 1]..others] {
                stream.upload(receive.view_mut(range.clone())?, &received[range])?;
            }
        }
        self.exchanging_ms += start.elapsed().as_secs_f64() * 1e3;
        Ok(())
    }

    /// [`exchange`](Self::exchange) of vectors in host memory, one for each rank.
    pub fn exchange_vecs<T: Pod>(&mut self, send: &[Vec<T>]) -> Result<Vec<T>, DistributedError> {
        let counts: Vec<u64> = send.iter().map(|part| part.len() as u64).collect();
        let received = self.trade(&counts)?;
        let (sends, receives) = (starts(send.iter().map(Vec::len)), starts(received.iter().map(|&count| count as usize)));
        let (all, mut result) = (send.concat(), vec![T::zeroed(); receives[self.size()]]);
        let rank = self.rank();
        result[receives[rank]..receives[rank + 1]].copy_from_slice(&send[rank]);
        let from = Region::new(all.as_ptr().cast_mut().cast(), size_of_val(&all[..]));
        let to = Region::new(result.as_mut_ptr().cast(), size_of_val(&result[..]));
        // SAFETY: both vectors live until the call returns; what is sent is only read.
        unsafe { self.send::<T>(from, &sends, to, &receives)? };
        Ok(result)
    }

    /// # Safety
    /// Until it returns, the regions are live, nobody writes the sent bytes, and nobody accesses
    /// the received ones.
    unsafe fn send<T>(
        &mut self,
        send: Region,
        sends: &[usize],
        receive: Region,
        receives: &[usize],
    ) -> Result<(), DistributedError> {
        let rank = self.rank();
        let messages = |starts: &[usize]| -> Vec<Message> {
            let message =
                |(rank, pair): (usize, &[usize])| Message { rank, bytes: pair[0] * size_of::<T>()..pair[1] * size_of::<T>() };
            starts
                .windows(2)
                .enumerate()
                .map(message)
                .filter(|message| message.rank != rank && !message.bytes.is_empty())
                .collect()
        };
        let plan = Plan { tag: TAG, sends: messages(sends), receives: messages(receives), send, receive };
        self.sent += plan.sends.iter().map(|message| message.bytes.len() as u64).sum::<u64>();
        // SAFETY: this function's contract.
        unsafe { self.ranks.exchange(&plan)? };
        Ok(())
    }
}
