//! Costs of a machine: hosts, GPUs, network.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::super::RulesError;
use super::super::json::{object, parse};
use crate::io::files::FileError;
use crate::io::{quoted, text};

/// Costs of a machine whose ranks are all alike. Times are in seconds, bandwidths in bytes per
/// second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Costs of calls to the host's thread.
    #[serde(deserialize_with = "object")]
    pub host: HostCosts,
    /// The GPUs and their links to the hosts.
    #[serde(deserialize_with = "object")]
    pub gpu: Gpu,
    /// Costs of messages.
    #[serde(deserialize_with = "object")]
    pub network: Network,
    /// Standard deviation of the logarithms of times, for each step on each rank independently.
    /// Medians are those of the model. With 0, times don't vary.
    pub noise: f64,
    /// The share of measurements that something disturbs: they find twice to four times the time.
    #[serde(default, skip_serializing_if = "is_none")]
    pub outliers: f64,
    /// By which share of itself a time gets longer, and shorter again, in the course of every 1,000 measurements.
    #[serde(default, skip_serializing_if = "is_none")]
    pub drift: f64,
}

/// Times for which calls keep the host's thread busy; by default none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostCosts {
    /// Launching a kernel.
    pub launch: f64,
    /// Enqueueing an asynchronous copy.
    pub copy: f64,
    /// `cudaEventRecord`.
    pub record: f64,
    /// `cudaEventSynchronize`, besides waiting.
    pub sync: f64,
    /// `cudaStreamWaitEvent`.
    pub stream_wait: f64,
    /// `MPI_Isend`, for each message.
    pub post_send: f64,
    /// `MPI_Irecv`, for each message.
    pub post_receive: f64,
    /// `MPI_Waitall`, besides waiting.
    pub wait: f64,
}

/// A GPU and its links to the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// Number of ranks that share one. Their kernels and copies contend.
    pub ranks: usize,
    /// From the end of the host's call until the stream can start what it enqueued.
    pub start_latency: f64,
    /// Between the end of a kernel or copy and the start of the next in the same stream, which may have been enqueued
    /// long before.
    pub gap: f64,
    /// From the completion of an event until a stream that waits for it goes on.
    pub event_latency: f64,
    /// From the completion of an event until the host's thread knows.
    pub wake_latency: f64,
    /// Time of a [`MemoryKernel`](super::Task::MemoryKernel) besides its bytes.
    pub kernel_floor: f64,
    /// Bandwidth of the device's memory.
    pub memory_bandwidth: f64,
    /// Number of threads that fit on it at once.
    pub threads: f64,
    /// Time of a copy between host and device besides its bytes.
    pub copy_latency: f64,
    /// Of copies to the host. One goes at a time, those to the device beside it.
    pub to_host_bandwidth: f64,
    /// Of copies to the device, likewise.
    pub to_device_bandwidth: f64,
    /// Additional [`gap`](Self::gap) between a kernel and a copy, or a copy and a kernel: different
    /// parts of the GPU run them, and have to notify each other.
    #[serde(default)]
    pub turn: f64,
    /// Delay, beyond [`gap`](Self::gap), of the second kernel behind a copy to the device in the
    /// copy's stream, if the GPU had kernels to run when the copy was enqueued. A kernel in another
    /// stream, behind an event, is not delayed.
    #[serde(default)]
    pub copy_stall: f64,
}

/// Costs of messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Number of successive ranks on one node.
    pub ranks_per_node: usize,
    /// Between ranks of a node. Each rank has a port, through which its messages go in order, out and in.
    #[serde(deserialize_with = "object")]
    pub inside: Link,
    /// Between nodes, by network interfaces (NICs).
    #[serde(deserialize_with = "object")]
    pub between: Link,
    /// The sharing of NICs, through which messages go in order, out and in.
    pub nics: Nics,
    /// The most bytes of a message that is sent at once and counts as sent when it is posted. A larger one waits until
    /// the receiver is ready ([`Rendezvous`]).
    pub eager_limit: u64,
    /// Protocol of larger messages.
    #[serde(default)]
    pub rendezvous: Rendezvous,
    /// When ranks answer announcements, and start to send when they are answered.
    pub progress: Progress,
}

/// A kind of connection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Time from the start of sending until the first byte arrives.
    pub latency: f64,
    /// Bandwidth of a port or NIC, in each direction.
    pub bandwidth: f64,
}

/// The sharing of network interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Nics {
    /// Nobody: each rank has one.
    PerRank,
    /// All ranks of a node.
    PerNode,
}

/// The protocol of a message once its receiver is ready. It is announced first, which takes the
/// link's latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rendezvous {
    /// The receiver answers, which takes the latency once more, and the sender writes. It is done when the message has
    /// left.
    #[default]
    Put,
    /// The receiver reads, and tells the sender, who is done a latency after it. So do MPI libraries where ranks reach
    /// each other's memory: those of a host, and GPUs of one.
    Get,
}

/// When a rank does its part of a rendezvous.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Progress {
    /// At once: by a thread of its own, or by hardware.
    Always,
    /// Only while its host's thread is in a call of MPI, as with most MPI libraries as they come.
    InCalls,
}

impl Machine {
    /// Reads a file of JSON.
    ///
    /// # Errors
    /// [`RulesError::File`], which names the file, if it can't be read or isn't such JSON, and as
    /// [`validate`](Self::validate).
    pub fn read(path: &Path) -> Result<Self, RulesError> {
        let text = text(path).map_err(|reason| FileError::new(path, reason))?;
        let machine: Machine = parse(&text).map_err(|reason| FileError::new(path, reason))?;
        machine.validate().map_err(|error| FileError::new(path, error.to_string()))?;
        Ok(machine)
    }

    /// One host with 4 H200s, one rank per GPU. Messages go through page-locked host memory that the ranks share.
    ///
    /// The numbers were fitted to 800 of the 5,390 schedules of the distributed multiplication, measured with 2 ranks
    /// on 2 H200s under Open MPI 4.1.6 (the runs and the fit are in this repository's history, at commit f3b561e). On
    /// the other schedules the root mean square error is 0.93 %, where a measurement's noise is about 1 %, and the
    /// rank correlation is 0.948.
    ///
    /// Costs that follow each other in every schedule, such as a copy's call and the copy's latency, are known only as
    /// a sum. The costs of events and of messages between hosts are not fitted: they are those of data sheets and
    /// usual measurements. The fitted messages had 124 kB; the latency of much smaller ones may be longer.
    pub fn h200_node() -> Self {
        Machine {
            name: "4 H200s of one host".to_owned(),
            host: HostCosts {
                launch: 3.83e-6,
                copy: 1.25e-6,
                record: 0.5e-6,
                sync: 0.6e-6,
                stream_wait: 0.5e-6,
                post_send: 0.5e-6,
                post_receive: 0.144e-6,
                wait: 0.163e-6,
            },
            gpu: Gpu {
                ranks: 1,
                start_latency: 3.59e-6,
                gap: 1.39e-6,
                event_latency: 0.771e-6,
                wake_latency: 2.89e-6,
                kernel_floor: 2.05e-6,
                memory_bandwidth: 3.48e12,
                threads: 132.0 * 2048.0,
                copy_latency: 1.12e-6,
                to_host_bandwidth: 51.6e9,
                to_device_bandwidth: 78e9,
                turn: 2.14e-6,
                copy_stall: 3.98e-6,
            },
            network: Network {
                ranks_per_node: 4,
                inside: Link { latency: 0.29e-6, bandwidth: 7.13e9 },
                between: Link { latency: 2.2e-6, bandwidth: 48e9 },
                nics: Nics::PerRank,
                eager_limit: 4096,
                rendezvous: Rendezvous::Get,
                progress: Progress::InCalls,
            },
            noise: 0.0,
            outliers: 0.0,
            drift: 0.0,
        }
    }

    /// The same host with messages in the GPUs' memory, as a CUDA-aware MPI library sends them.
    ///
    /// Fitted in the same way: the root mean square error is 0.81 %, and the rank correlation 0.974. With two ranks per
    /// GPU, it predicts 4 ranks on 2 H200s 4 % too slow. Apart from this factor, the error is 1.6 % and the rank
    /// correlation 0.928. Copies between host and device cost what they do in [`h200_node`](Self::h200_node), because
    /// the program has none here.
    pub fn h200_node_direct() -> Self {
        let mut machine = Self::h200_node();
        machine.name = "4 H200s of one host, messages in their memory".to_owned();
        machine.host = HostCosts {
            launch: 3.59e-6,
            record: 0.159e-6,
            stream_wait: 0.159e-6,
            post_send: 0.49e-6,
            post_receive: 0.171e-6,
            wait: 0.164e-6,
            ..machine.host
        };
        machine.gpu = Gpu {
            start_latency: 2.45e-6,
            gap: 0.654e-6,
            event_latency: 0.544e-6,
            wake_latency: 2.1e-6,
            kernel_floor: 0.604e-6,
            memory_bandwidth: 2.63e12,
            ..machine.gpu
        };
        machine.network.inside = Link { latency: 0.517e-6, bandwidth: 15.4e9 };
        machine
    }

    /// A cluster of hosts as [`h200_node`](Self::h200_node), with one 400 Gb/s NIC per host. The numbers of the NICs
    /// are those of data sheets.
    pub fn cluster() -> Self {
        let mut machine = Self::h200_node();
        machine.name = "hosts of 4 H200s with a 400 Gb/s NIC".to_owned();
        machine.network.nics = Nics::PerNode;
        machine
    }

    /// # Errors
    /// [`RulesError::Setup`], which names the first invalid field: a time outside of 0 to 1e9 s, a
    /// bandwidth in B/s or a number outside of 1e-9 to 1e18, noise or drift above 10, outliers
    /// above 1.
    pub fn validate(&self) -> Result<(), RulesError> {
        macro_rules! named {
            ($($($field:ident).+)+) => {
                [$(([$(stringify!($field)),+].join("."), self.$($field).+ as f64)),+]
            };
        }
        let times = named!(
            host.launch host.copy host.record host.sync host.stream_wait host.post_send host.post_receive host.wait
            gpu.start_latency gpu.gap gpu.event_latency gpu.wake_latency gpu.kernel_floor gpu.copy_latency gpu.turn
            gpu.copy_stall network.inside.latency network.between.latency noise outliers drift
        );
        let positive = named!(
            gpu.memory_bandwidth gpu.to_host_bandwidth gpu.to_device_bandwidth network.inside.bandwidth
            network.between.bandwidth gpu.ranks gpu.threads network.ranks_per_node
        );
        let wrong = |field: &str, value: f64, what: &str| {
            // Large values are shown in short.
            let value = format!("{value:?}");
            let value = value.trim_end_matches(".0");
            Err(RulesError::Setup(format!("the machine {} has {field} = {value}, which {what}", quoted(&self.name))))
        };
        // Within these, what is computed of them stays finite.
        if let Some((field, value)) = times.iter().find(|(_, value)| !(0.0..=1e9).contains(value)) {
            return wrong(field, *value, "is not from 0 to 1e9");
        }
        if let Some((field, value)) = positive.iter().find(|(_, value)| !(1e-9..=1e18).contains(value)) {
            return wrong(field, *value, "is not from 1e-9 to 1e18");
        }
        // Such factors are no noise, and with more of it times would not be finite.
        let most = [("noise", self.noise, 10.0), ("outliers", self.outliers, 1.0), ("drift", self.drift, 10.0)];
        if let Some((field, value, most)) = most.into_iter().find(|(_, value, most)| value > most) {
            return wrong(field, value, &format!("is more than {most}"));
        }
        Ok(())
    }
}

/// Returns whether a share is 0, and so left out of the file.
fn is_none(share: &f64) -> bool {
    *share == 0.0
}
