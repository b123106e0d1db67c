//! A workload on a machine, made ready to be simulated: durations instead of bytes, messages with both their ends.

use std::collections::HashMap;
use std::ops::Range;

use super::super::{Dag, Kind, OpId, RulesError};
use super::machine::{Machine, Nics};
use super::workload::{MessageSize, Task, Workload};

/// The most messages, and streams of all ranks, in one simulation.
pub(super) const MAX_INDEX: usize = 1 << 29;

/// A part of the work of an operation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    Host {
        seconds: f64,
    },
    Kernel {
        seconds: f64,
        share: f64,
    },
    Copy {
        seconds: f64,
        to_host: bool,
    },
    /// Sends these of [`Load::transfers`].
    PostSend {
        first: u32,
        count: u32,
    },
    /// Receives these of [`Load::receives`].
    PostReceive {
        exchange: u32,
        first: u32,
        count: u32,
    },
    WaitSend {
        exchange: u32,
    },
    WaitReceive {
        exchange: u32,
    },
}

/// A message with both its ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub from: u32,
    pub to: u32,
    /// Dense, from 0.
    pub exchange: u32,
    /// The ports that it leaves and arrives by.
    pub ports: [u32; 2],
    /// The operation that sends it.
    pub op: u8,
    pub eager: bool,
    /// Latency of each way through the network.
    pub latency: f64,
    /// Time for which it occupies a port.
    pub seconds: f64,
}

/// The work of each operation on each rank.
#[derive(Clone, Debug)]
pub(super) struct Load {
    pub dag: Dag,
    pub ranks: usize,
    /// Number of exchanges.
    pub exchanges: usize,
    /// Number of ports for messages: those of the ranks inside their nodes, and behind them the
    /// NICs.
    pub ports: usize,
    /// The most items that an operation has on any rank.
    pub widths: Vec<usize>,
    pub transfers: Vec<Transfer>,
    /// Indices of transfers.
    pub receives: Vec<u32>,
    items: Vec<Item>,
    /// Start of the items of each rank's operations.
    offsets: Vec<u32>,
}

/// One end of a message: the exchange, the sender, the receiver, which one it is at this end, its bytes.
type End = (u32, u32, u32, u32, u64);

impl Load {
    pub fn new(workload: &(impl Workload + ?Sized), machine: &Machine) -> Result<Self, RulesError> {
        machine.validate()?;
        let ranks = workload.ranks();
        let dag = workload.dag().clone();
        if ranks == 0 || ranks > MAX_INDEX / super::super::schedule::MAX_STREAMS {
            return Err(RulesError::Setup(format!("{ranks} ranks can't be simulated")));
        }
        let nics = match machine.network.nics {
            Nics::PerRank => ranks,
            Nics::PerNode => ranks.div_ceil(machine.network.ranks_per_node),
        };
        let mut load = Load {
            ranks,
            exchanges: 0,
            ports: ranks + nics,
            widths: vec![0; dag.len()],
            transfers: Vec::new(),
            receives: Vec::new(),
            items: Vec::new(),
            offsets: vec![0],
            dag,
        };
        let (mut exchanges, mut sent, mut received) = (HashMap::new(), Vec::new(), Vec::new());
        for rank in 0..ranks {
            for op in workload.dag().operations() {
                let works = workload.work(rank, op);
                load.widths[op.index()] = load.widths[op.index()].max(works.len());
                for work in &works {
                    let wrong = |reason: String| {
                        let name = load.dag.name_of(op);
                        Err(RulesError::Setup(format!("`{name}` on rank {rank} of {ranks} can't be simulated: {reason}")))
                    };
                    if let Some(reason) = odd(work, load.dag.kind(op), ranks) {
                        return wrong(reason);
                    }
                    let mut dense = |exchange: usize| {
                        let next = exchanges.len() as u32;
                        *exchanges.entry(exchange).or_insert(next)
                    };
                    let item = match *work {
                        Task::PostSend { exchange, ref messages } => {
                            let exchange = dense(exchange);
                            let first = load.transfers.len() as u32;
                            for message in messages {
                                let index = load.transfers.len() as u32;
                                sent.push((exchange, rank as u32, message.rank as u32, index, message.bytes));
                                load.transfers.push(transfer(machine, ranks, rank, op, exchange, message));
                            }
                            Item::PostSend { first, count: messages.len() as u32 }
                        }
                        Task::PostReceive { exchange, ref messages } => {
                            let exchange = dense(exchange);
                            let first = load.receives.len() as u32;
                            for message in messages {
                                let index = load.receives.len() as u32;
                                received.push((exchange, message.rank as u32, rank as u32, index, message.bytes));
                                // Settled when all ranks are known.
                                load.receives.push(u32::MAX);
                            }
                            Item::PostReceive { exchange, first, count: messages.len() as u32 }
                        }
                        Task::WaitSend { exchange } => Item::WaitSend { exchange: dense(exchange) },
                        Task::WaitReceive { exchange } => Item::WaitReceive { exchange: dense(exchange) },
                        ref work => local(work, machine),
                    };
                    load.items.push(item);
                }
                if load.transfers.len().max(load.receives.len()).max(load.items.len()) > MAX_INDEX {
                    return Err(RulesError::Setup(format!("{} messages are too many to simulate", load.transfers.len())));
                }
                load.offsets.push(load.items.len() as u32);
            }
        }
        load.exchanges = exchanges.len();
        load.settle_receives(sent, received)?;
        Ok(load)
    }

    /// Settles which message each receive takes.
    fn settle_receives(&mut self, mut sent: Vec<End>, mut received: Vec<End>) -> Result<(), RulesError> {
        // Messages between two ranks in an exchange are adjacent then, in their order.
        sent.sort_unstable();
        received.sort_unstable();
        let pair = |end: &End| (end.0, end.1, end.2);
        for (send, receive) in sent.iter().zip(&received) {
            if (pair(send), send.4) != (pair(receive), receive.4) {
                return Err(self.unmatched(&sent, &received, pair(send.min(receive))));
            }
            self.receives[receive.3 as usize] = send.3;
        }
        let common = sent.len().min(received.len());
        match sent[common..].iter().chain(&received[common..]).next() {
            Some(end) => Err(self.unmatched(&sent, &received, pair(end))),
            None => Ok(()),
        }
    }

    /// Describes the mismatch of messages between two ranks in an exchange.
    fn unmatched(&self, sent: &[End], received: &[End], (exchange, from, to): (u32, u32, u32)) -> RulesError {
        let bytes = |ends: &[End]| -> Vec<u64> {
            ends.iter().filter(|end| (end.0, end.1, end.2) == (exchange, from, to)).map(|end| end.4).collect()
        };
        let (sent, received) = (bytes(sent), bytes(received));
        RulesError::Setup(format!(
            "rank {from} sends rank {to} messages of {sent:?} bytes, and it receives messages of {received:?} bytes"
        ))
    }

    /// Returns the work of an operation on a rank.
    pub fn items(&self, rank: usize, op: OpId) -> &[Item] {
        let at = rank * self.dag.len() + op.index();
        &self.items[self.offsets[at] as usize..self.offsets[at + 1] as usize]
    }

    /// Returns the range of these receives.
    pub fn received(&self, first: u32, count: u32) -> Range<usize> {
        first as usize..(first + count) as usize
    }
}

/// Returns the item of a task that does not concern other ranks.
fn local(work: &Task, machine: &Machine) -> Item {
    let gpu = &machine.gpu;
    // Even one thread makes some progress.
    let share = |threads: u64| (threads.max(1) as f64 / gpu.threads).min(1.0);
    match *work {
        Task::Kernel { seconds, share } => Item::Kernel { seconds, share },
        Task::MemoryKernel { bytes, threads } => {
            let share = share(threads);
            Item::Kernel { seconds: gpu.kernel_floor + bytes as f64 / (gpu.memory_bandwidth * share), share }
        }
        Task::KernelToHost { bytes, threads } => {
            let seconds = gpu.kernel_floor + gpu.copy_latency + bytes as f64 / gpu.to_host_bandwidth;
            Item::Kernel { seconds, share: share(threads) }
        }
        Task::CopyToHost { bytes } => {
            Item::Copy { seconds: gpu.copy_latency + bytes as f64 / gpu.to_host_bandwidth, to_host: true }
        }
        Task::CopyToDevice { bytes } => {
            Item::Copy { seconds: gpu.copy_latency + bytes as f64 / gpu.to_device_bandwidth, to_host: false }
        }
        Task::Host { seconds } => Item::Host { seconds },
        _ => unreachable!("messages are seen to by the caller"),
    }
}

fn transfer(machine: &Machine, ranks: usize, rank: usize, op: OpId, exchange: u32, message: &MessageSize) -> Transfer {
    let network = &machine.network;
    let node = |rank: usize| rank / network.ranks_per_node;
    let inside = node(rank) == node(message.rank);
    let link = if inside { network.inside } else { network.between };
    let port = |rank: usize| match network.nics {
        _ if inside => rank,
        Nics::PerRank => ranks + rank,
        Nics::PerNode => ranks + node(rank),
    };
    Transfer {
        from: rank as u32,
        to: message.rank as u32,
        exchange,
        ports: [port(rank) as u32, port(message.rank) as u32],
        op: op.index() as u8,
        eager: message.bytes <= network.eager_limit,
        latency: link.latency,
        seconds: message.bytes as f64 / link.bandwidth,
    }
}

/// Why an operation of this kind can't do this, if so.
fn odd(work: &Task, kind: Kind, ranks: usize) -> Option<String> {
    let place = match work {
        Task::Kernel { .. } | Task::MemoryKernel { .. } | Task::KernelToHost { .. } => Kind::Gpu,
        Task::CopyToHost { .. } | Task::CopyToDevice { .. } => Kind::Gpu,
        _ => Kind::Cpu,
    };
    if place != kind {
        return Some(format!("it is an operation of the {kind}, and does what belongs to the {place}: {work:?}"));
    }
    match work {
        Task::Host { seconds } | Task::Kernel { seconds, .. } if !(seconds.is_finite() && *seconds >= 0.0) => {
            Some(format!("it takes {seconds} s"))
        }
        Task::Kernel { share, .. } if !(*share > 0.0 && *share <= 1.0) => {
            Some(format!("a kernel's share of the GPU is {share}, and not more than 0 and at most 1"))
        }
        Task::PostSend { messages, .. } | Task::PostReceive { messages, .. } => {
            let far = messages.iter().find(|message| message.rank >= ranks)?;
            Some(format!("it exchanges with rank {}", far.rank))
        }
        _ => None,
    }
}
