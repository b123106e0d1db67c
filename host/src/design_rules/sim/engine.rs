//! The loop over events; hosts, streams and GPUs.

use super::load::{Item, Load};
use super::machine::Machine;
use super::noise::Noise;
use super::order::{Call, Entry, Order};
use super::queue::Event;
use super::state::{At, Blocked, Ready, Running, State};

/// One run.
pub(super) struct Engine<'a> {
    pub machine: &'a Machine,
    pub load: &'a Load,
    pub order: &'a Order,
    pub noise: &'a Noise,
    pub state: &'a mut State,
}

impl Engine<'_> {
    /// Runs to the end. Hosts that wait for ever are not at theirs then.
    pub fn run(&mut self) {
        self.state.reset(self.load, self.order, self.machine.gpu.ranks);
        for rank in 0..self.load.ranks {
            self.state.ready.push(Ready::Host(rank));
            self.settle();
        }
        while let Some((time, number, event)) = self.state.queue.next() {
            self.state.now = time;
            match event {
                Event::Host(rank) => self.state.ready.push(Ready::Host(rank)),
                Event::Start(stream) => self.start(stream),
                Event::Kernel(gpu) => self.kernel_done(gpu, number),
                Event::Copied(stream) => self.item_done(stream),
                Event::Announced(message) => self.announced(message),
                Event::Answered(message) => self.answered(message),
                Event::Head(message) => self.arrives(message),
            }
            self.settle();
        }
    }

    /// Lets all go on who can.
    fn settle(&mut self) {
        while let Some(ready) = self.state.ready.pop() {
            match ready {
                Ready::Host(rank) => self.host(rank),
                Ready::Stream(stream) => self.stream(stream),
            }
        }
    }

    /// Lets a rank's host go on until it has to wait, or for the simulation to catch up.
    fn host(&mut self, rank: usize) {
        while let Some(&call) = self.order.calls.get(self.state.hosts[rank].step) {
            let step = self.state.hosts[rank].step;
            let span = rank * self.order.calls.len() + step;
            let begun = self.state.hosts[rank].time;
            let start = &mut self.state.steps[span][0];
            if start.is_nan() {
                *start = begun;
            }
            let costs = &self.machine.host;
            let factor = self.noise.host(rank, step);
            match call {
                Call::Cpu { op } => {
                    if !self.cpu(rank, op.index(), factor) {
                        return;
                    }
                }
                Call::Gpu { op, stream, slot } => {
                    let first = rank * self.order.slots + slot as usize;
                    let items = self.load.items(rank, op);
                    let time = &mut self.state.hosts[rank].time;
                    for (index, item) in items.iter().enumerate() {
                        *time += factor * if matches!(item, Item::Copy { .. }) { costs.copy } else { costs.launch };
                        self.state.enqueued[first + index] = *time;
                    }
                    if items.is_empty() {
                        self.state.enqueued[first] = *time;
                    }
                    self.wake(rank, stream);
                }
                Call::Record { stream, slot } => self.enqueue(rank, stream, slot, factor * costs.record),
                Call::StreamWait { stream, slot } => self.enqueue(rank, stream, slot, factor * costs.stream_wait),
                Call::Nothing => {}
                Call::Idle => self.state.hosts[rank].time += factor * costs.sync,
                Call::Sync { event } => {
                    let done = self.state.events[rank * self.order.events + event as usize];
                    let host = &mut self.state.hosts[rank];
                    if host.blocked == Blocked::No {
                        host.time += factor * costs.sync;
                    }
                    if done.is_infinite() {
                        host.blocked = Blocked::Event(event);
                        return;
                    }
                    host.blocked = Blocked::No;
                    host.time = host.time.max(done + self.machine.gpu.wake_latency);
                }
            }
            let host = &mut self.state.hosts[rank];
            self.state.steps[span][1] = host.time;
            host.step += 1;
        }
    }

    /// Lets a host go on in an operation of the CPU; whether it came to its end.
    fn cpu(&mut self, rank: usize, op: usize, factor: f64) -> bool {
        let id = super::super::OpId(op as u8);
        let span = rank * self.load.dag.len() + op;
        let load = self.load;
        let items = load.items(rank, id);
        let begun = self.state.hosts[rank].time;
        let start = &mut self.state.operations[span][0];
        if start.is_nan() {
            *start = begun;
        }
        while let Some(item) = items.get(self.state.hosts[rank].item) {
            if let Item::Host { seconds } = item {
                self.state.hosts[rank].time += factor * seconds;
            } else if !self.mpi(rank, item, factor) {
                return false;
            }
            self.state.hosts[rank].item += 1;
        }
        let host = &mut self.state.hosts[rank];
        host.item = 0;
        self.state.operations[span][1] = host.time;
        true
    }

    fn enqueue(&mut self, rank: usize, stream: u8, slot: u32, seconds: f64) {
        let time = &mut self.state.hosts[rank].time;
        *time += seconds;
        self.state.enqueued[rank * self.order.slots + slot as usize] = *time;
        self.wake(rank, stream);
    }

    /// Something is in a stream.
    fn wake(&mut self, rank: usize, stream: u8) {
        let stream = rank * self.order.used + usize::from(stream);
        if self.state.streams[stream].at == At::Idle {
            self.stream(stream);
        }
    }

    /// Lets a stream go on until it has a kernel or copy to start, or has to wait.
    fn stream(&mut self, index: usize) {
        let (rank, number) = (index / self.order.used, index % self.order.used);
        let gpu = &self.machine.gpu;
        let load = self.load;
        loop {
            let stream = &mut self.state.streams[index];
            stream.at = At::Idle;
            let Some(&entry) = self.order.streams[number].get(stream.entry) else { return };
            let (Entry::Gpu { slot, .. } | Entry::Record { slot, .. } | Entry::Wait { slot, .. }) = entry;
            let enqueued = self.state.enqueued[rank * self.order.slots + slot as usize + stream.item];
            if enqueued.is_infinite() {
                return;
            }
            match entry {
                Entry::Gpu { op, .. } if load.items(rank, op).is_empty() => {
                    stream.time = stream.time.max(enqueued);
                    self.state.operations[rank * load.dag.len() + op.index()] = [stream.time; 2];
                }
                Entry::Gpu { op, .. } => {
                    let copy = matches!(load.items(rank, op)[stream.item], Item::Copy { .. });
                    if stream.copied.is_some_and(|copied| copied != copy) {
                        stream.earliest += gpu.turn;
                    }
                    stream.copied = Some(copy);
                    (stream.at, stream.enqueued) = (At::Task, enqueued);
                    stream.time = stream.time.max(stream.earliest).max(enqueued + gpu.start_latency);
                    self.state.queue.add(stream.time, Event::Start(index));
                    return;
                }
                Entry::Record { event, .. } => {
                    stream.time = stream.time.max(enqueued);
                    self.state.events[rank * self.order.events + event as usize] = stream.time;
                    self.complete(rank, event);
                }
                Entry::Wait { event: None, .. } => stream.time = stream.time.max(enqueued),
                Entry::Wait { event: Some(event), .. } => {
                    let done = self.state.events[rank * self.order.events + event as usize];
                    if done.is_infinite() {
                        stream.at = At::Event(event);
                        return;
                    }
                    stream.time = stream.time.max(enqueued).max(done + gpu.event_latency);
                }
            }
            self.state.streams[index].entry += 1;
        }
    }

    /// Lets those go on who wait for an event of their rank.
    fn complete(&mut self, rank: usize, event: u32) {
        let used = self.order.used;
        let state = &mut *self.state;
        let waiting = (rank * used..(rank + 1) * used).filter(|&stream| state.streams[stream].at == At::Event(event));
        state.ready.extend(waiting.map(Ready::Stream));
        if state.hosts[rank].blocked == Blocked::Event(event) {
            state.ready.push(Ready::Host(rank));
        }
    }

    /// Starts a stream's next kernel or copy.
    fn start(&mut self, index: usize) {
        let rank = index / self.order.used;
        let stream = self.state.streams[index];
        let Entry::Gpu { op, step, .. } = self.order.streams[index % self.order.used][stream.entry] else {
            unreachable!("only operations are started")
        };
        let factor = self.noise.device(rank, step as usize);
        let gpu = rank / self.machine.gpu.ranks;
        let now = self.state.now;
        let begins = match self.load.items(rank, op)[stream.item] {
            Item::Kernel { seconds, share } => {
                let kernels = &mut self.state.gpus[gpu];
                kernels.pass(now);
                kernels.running.push(Running { until: kernels.work + factor * seconds, share, stream: index });
                self.next_kernel(gpu);
                now
            }
            Item::Copy { seconds, to_host } => {
                if !to_host {
                    let kernels = &self.state.gpus[gpu];
                    let busy = !kernels.running.is_empty() || kernels.done > stream.enqueued;
                    self.state.streams[index].held = if busy { 3 } else { 0 };
                }
                let free = &mut self.state.copies[gpu][usize::from(!to_host)];
                let begins = now.max(*free);
                *free = begins + factor * seconds;
                self.state.queue.add(*free, Event::Copied(index));
                begins
            }
            _ => unreachable!("operations of the GPU are kernels and copies"),
        };
        if stream.item == 0 {
            self.state.operations[rank * self.load.dag.len() + op.index()][0] = begins;
        }
    }

    /// Settles which kernel of a GPU will be done first, and when.
    fn next_kernel(&mut self, gpu: usize) {
        let kernels = &mut self.state.gpus[gpu];
        let shares: f64 = kernels.running.iter().map(|running| running.share).sum();
        kernels.rate = 1.0 / shares.max(1.0);
        let first = kernels.running.iter().map(|running| running.until).min_by(f64::total_cmp);
        kernels.next = first.map(|until| {
            let time = kernels.time + (until - kernels.work).max(0.0) / kernels.rate;
            self.state.queue.add(time, Event::Kernel(gpu))
        });
    }

    fn kernel_done(&mut self, gpu: usize, number: u32) {
        let now = self.state.now;
        let kernels = &mut self.state.gpus[gpu];
        // Else other kernels have started since, or ended.
        if kernels.next != Some(number) {
            return;
        }
        let first = (0..kernels.running.len()).min_by(|&a, &b| kernels.running[a].until.total_cmp(&kernels.running[b].until));
        let done = kernels.running.swap_remove(first.expect("the event is that of a kernel which runs"));
        (kernels.time, kernels.done) = (now, now);
        // Exactly, but for rounding, which alone would be left of it.
        kernels.work = if kernels.running.is_empty() { 0.0 } else { done.until };
        self.next_kernel(gpu);
        self.item_done(done.stream);
    }

    /// A stream's kernel or copy is done.
    fn item_done(&mut self, index: usize) {
        let rank = index / self.order.used;
        let now = self.state.now;
        let gpu = &self.machine.gpu;
        let stream = &mut self.state.streams[index];
        stream.time = now;
        stream.held = stream.held.saturating_sub(1);
        stream.earliest = now + gpu.gap + if stream.held == 1 { gpu.copy_stall } else { 0.0 };
        stream.item += 1;
        let Entry::Gpu { op, .. } = self.order.streams[index % self.order.used][stream.entry] else {
            unreachable!("only operations take time")
        };
        if stream.item == self.load.items(rank, op).len() {
            stream.item = 0;
            stream.entry += 1;
            self.state.operations[rank * self.load.dag.len() + op.index()][1] = now;
        }
        self.state.ready.push(Ready::Stream(index));
    }
}

impl super::state::Kernels {
    /// Time passes.
    fn pass(&mut self, now: f64) {
        if self.running.is_empty() {
            self.work = 0.0;
        } else {
            self.work += (now - self.time) * self.rate;
        }
        self.time = now;
    }
}
