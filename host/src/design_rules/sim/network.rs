//! Calls of MPI, and messages.

use super::engine::Engine;
use super::load::Item;
use super::machine::{Progress, Rendezvous};
use super::queue::Event;
use super::state::{Blocked, Pending, Requests};

impl Engine<'_> {
    /// Lets a host go on in a call of MPI; whether it came back from it.
    pub(super) fn mpi(&mut self, rank: usize, item: &Item, factor: f64) -> bool {
        // Others see it: it must not be ahead.
        if self.state.hosts[rank].time > self.state.now {
            self.state.queue.add(self.state.hosts[rank].time, Event::Host(rank));
            return false;
        }
        let part = self.state.hosts[rank].part;
        if part == 0 {
            self.state.hosts[rank].part = 1;
            self.chores(rank);
        }
        let costs = &self.machine.host;
        let more = match *item {
            Item::PostSend { first, count } => {
                // Part k + 1 begins with message k - 1, which has been posted, and posts message k.
                if part >= 2 {
                    self.sent((first + part - 2) as usize);
                }
                let next = part.max(1);
                self.state.hosts[rank].part = next + 1;
                if next <= count {
                    self.state.hosts[rank].time += factor * costs.post_send;
                }
                next <= count
            }
            Item::PostReceive { first, count, exchange } if part == 0 => {
                self.post_receives(rank, first, count, exchange, factor * costs.post_receive);
                count > 0
            }
            Item::WaitSend { exchange } if part == 0 => self.wait(rank, Blocked::Sends(exchange), factor * costs.wait),
            Item::WaitReceive { exchange } if part == 0 => self.wait(rank, Blocked::Receives(exchange), factor * costs.wait),
            _ => false,
        };
        if !more {
            self.state.hosts[rank].part = 0;
            return true;
        }
        let host = &self.state.hosts[rank];
        if host.blocked == Blocked::No {
            self.state.queue.add(host.time, Event::Host(rank));
        }
        false
    }

    /// Posts receives one after the other. The host is in the call until the last is.
    fn post_receives(&mut self, rank: usize, first: u32, count: u32, exchange: u32, seconds: f64) {
        let load = self.load;
        for &message in &load.receives[load.received(first, count)] {
            let message = message as usize;
            self.state.hosts[rank].time += seconds;
            let posted = self.state.hosts[rank].time;
            let mail = &mut self.state.mail[message];
            mail.posted = posted;
            let arrived = mail.arrived;
            let eager = load.transfers[message].eager;
            let receives = &mut self.requests(rank, exchange).receives;
            if eager && arrived.is_finite() {
                receives.done = receives.done.max(arrived).max(posted);
            } else {
                receives.left += 1;
            }
            if !eager && arrived.is_finite() {
                self.answer(message, posted);
            }
        }
    }

    /// Returns whether the host has to wait, if only for the call.
    fn wait(&mut self, rank: usize, what: Blocked, seconds: f64) -> bool {
        let pending = *self.pending(rank, what);
        let host = &mut self.state.hosts[rank];
        host.time += seconds;
        if pending.left == 0 {
            host.time = host.time.max(pending.done);
        } else {
            host.blocked = what;
        }
        true
    }

    fn requests(&mut self, rank: usize, exchange: u32) -> &mut Requests {
        &mut self.state.requests[rank * self.load.exchanges + exchange as usize]
    }

    fn pending(&mut self, rank: usize, what: Blocked) -> &mut Pending {
        match what {
            Blocked::Sends(exchange) => &mut self.requests(rank, exchange).sends,
            Blocked::Receives(exchange) => &mut self.requests(rank, exchange).receives,
            Blocked::No | Blocked::Event(_) => unreachable!("requests are of messages"),
        }
    }

    /// One of a rank's requests is done, or will be at a time that is known.
    fn request_done(&mut self, rank: usize, what: Blocked, time: f64) {
        let pending = self.pending(rank, what);
        pending.left -= 1;
        pending.done = pending.done.max(time);
        let Pending { left, done } = *pending;
        let host = &mut self.state.hosts[rank];
        if left == 0 && host.blocked == what {
            host.blocked = Blocked::No;
            host.time = host.time.max(done);
            self.state.queue.add(host.time, Event::Host(rank));
        }
    }

    /// A message has been posted.
    fn sent(&mut self, message: usize) {
        let transfer = &self.load.transfers[message];
        let now = self.state.now;
        if transfer.eager {
            let sends = &mut self.requests(transfer.from as usize, transfer.exchange).sends;
            sends.done = sends.done.max(now);
            self.inject(message);
        } else {
            self.requests(transfer.from as usize, transfer.exchange).sends.left += 1;
            self.state.queue.add(now + transfer.latency, Event::Announced(message));
        }
    }

    /// A message goes into the network. Says when the last of it has left.
    fn inject(&mut self, message: usize) -> f64 {
        let transfer = &self.load.transfers[message];
        let seconds = self.seconds(message);
        let port = &mut self.state.ports[transfer.ports[0] as usize][0];
        let start = port.max(self.state.now);
        *port = start + seconds;
        let left = *port;
        self.state.queue.add(start + transfer.latency, Event::Head(message));
        left
    }

    /// Returns the time for which a message occupies a port.
    fn seconds(&self, message: usize) -> f64 {
        let transfer = &self.load.transfers[message];
        let step = self.order.step_of[usize::from(transfer.op)];
        transfer.seconds * step.map_or(1.0, |step| self.noise.device(transfer.from as usize, step as usize))
    }

    /// The first byte of a message arrives.
    pub(super) fn arrives(&mut self, message: usize) {
        let transfer = &self.load.transfers[message];
        let seconds = self.seconds(message);
        let port = &mut self.state.ports[transfer.ports[1] as usize][1];
        *port = port.max(self.state.now) + seconds;
        let arrived = *port;
        let mail = &mut self.state.mail[message];
        mail.arrived = arrived;
        if mail.posted.is_finite() {
            let done = arrived.max(mail.posted);
            self.request_done(transfer.to as usize, Blocked::Receives(transfer.exchange), done);
        }
        if !transfer.eager && self.gets() {
            self.request_done(transfer.from as usize, Blocked::Sends(transfer.exchange), arrived + transfer.latency);
        }
    }

    /// A rendezvous message is announced to its receiver.
    pub(super) fn announced(&mut self, message: usize) {
        let receiver = self.load.transfers[message].to as usize;
        let now = self.state.now;
        let mail = &mut self.state.mail[message];
        mail.arrived = now;
        if mail.posted.is_infinite() {
            return;
        }
        let posted = mail.posted;
        if self.makes_progress(receiver) {
            self.answer(message, posted);
        } else {
            self.state.chores[receiver].push((message, false));
        }
    }

    /// The receiver is ready, from a time on that may be to come.
    fn answer(&mut self, message: usize, time: f64) {
        let time = time.max(self.state.now);
        // A receiver that reads sends no answer.
        let latency = if self.gets() { 0.0 } else { self.load.transfers[message].latency };
        self.state.queue.add(time + latency, Event::Answered(message));
    }

    /// The sender knows that the receiver is ready, or the receiver reads.
    pub(super) fn answered(&mut self, message: usize) {
        let sender = self.load.transfers[message].from as usize;
        if self.gets() {
            self.inject(message);
        } else if self.makes_progress(sender) {
            self.deliver(message);
        } else {
            self.state.chores[sender].push((message, true));
        }
    }

    fn deliver(&mut self, message: usize) {
        let transfer = &self.load.transfers[message];
        let left = self.inject(message);
        self.request_done(transfer.from as usize, Blocked::Sends(transfer.exchange), left);
    }

    fn gets(&self) -> bool {
        self.machine.network.rendezvous == Rendezvous::Get
    }

    fn makes_progress(&self, rank: usize) -> bool {
        self.machine.network.progress == Progress::Always || self.state.hosts[rank].part > 0
    }

    /// Does what waited for the rank to be in a call of MPI.
    fn chores(&mut self, rank: usize) {
        for index in 0..self.state.chores[rank].len() {
            let (message, answered) = self.state.chores[rank][index];
            if answered {
                self.deliver(message);
            } else {
                self.answer(message, self.state.now);
            }
        }
        self.state.chores[rank].clear();
    }
}
