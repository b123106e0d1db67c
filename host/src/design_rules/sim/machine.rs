//! What things cost: hosts, GPUs, network.

use serde::{Deserialize, Serialize};

use super::super::RulesError;

/// What things cost on a machine whose ranks are all alike. Times are in seconds, bandwidths in bytes a second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// What it is called.
    pub name: String,
    /// What calls cost the host's thread.
    pub host: HostCosts,
    /// The GPUs and their links to the hosts.
    pub gpu: Gpu,
    /// What messages take.
    pub network: Network,
    /// How much times vary: the standard deviation of their logarithms, for each step on each rank by itself. Their medians are
    /// those of the model. With 0 they don't vary.
    pub noise: f64,
}

/// How long calls keep the host's thread busy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// How many ranks share one. Their kernels and copies contend.
    pub ranks: usize,
    /// From the end of the host's call until the stream can start what it enqueued.
    pub start_latency: f64,
    /// Between the end of a kernel or copy and the start of the next in the same stream, which may have been enqueued long before.
    pub gap: f64,
    /// From the completion of an event until a stream that waits for it goes on.
    pub event_latency: f64,
    /// From the completion of an event until the host's thread knows.
    pub wake_latency: f64,
    /// What a [`MemoryKernel`](super::Work::MemoryKernel) takes besides its bytes.
    pub kernel_floor: f64,
    /// Of the device's memory.
    pub memory_bandwidth: f64,
    /// How many threads fit on it at once.
    pub threads: f64,
    /// What a copy between host and device takes besides its bytes.
    pub copy_latency: f64,
    /// Of copies to the host. One goes at a time, those to the device beside it.
    pub to_host_bandwidth: f64,
    /// Of copies to the device, likewise.
    pub to_device_bandwidth: f64,
}

/// What messages take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// How many successive ranks are on one node.
    pub ranks_per_node: usize,
    /// Between ranks of a node. Each rank has a port, through which its messages go in order, out and in.
    pub inside: Link,
    /// Between nodes, by network interfaces (NICs).
    pub between: Link,
    /// Who shares a NIC, through which messages go in order, out and in.
    pub nics: Nics,
    /// The most bytes of a message that is sent at once and counts as sent when it is posted. A larger one waits until the receiver
    /// is ready (rendezvous): the announcement and the answer take the link's latency each.
    pub eager_limit: u64,
    /// When ranks answer announcements, and start to send when they are answered.
    pub progress: Progress,
}

/// A kind of connection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// From the start of sending until the first byte is there.
    pub latency: f64,
    /// Of a port or NIC, in each direction.
    pub bandwidth: f64,
}

/// Who shares a NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Nics {
    /// Nobody: each rank has one.
    PerRank,
    /// All ranks of a node.
    PerNode,
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
    /// One host with 4 H200s, a rank for each; messages go through page-locked host memory, which the ranks share.
    ///
    /// The numbers are what such hosts have by their data sheets and usual measurements: PCIe 5.0 with 16 lanes, 4.8 TB/s of device
    /// memory, calls of CUDA of 1 to 3 µs, Open MPI over shared memory with its default limits.
    pub fn h200_node() -> Self {
        Machine {
            name: "4 H200s of one host".to_owned(),
            host: HostCosts {
                launch: 2.2e-6,
                copy: 2.5e-6,
                record: 0.5e-6,
                sync: 0.6e-6,
                stream_wait: 0.5e-6,
                post_send: 0.5e-6,
                post_receive: 0.3e-6,
                wait: 0.3e-6,
            },
            gpu: Gpu {
                ranks: 1,
                start_latency: 3e-6,
                gap: 0.9e-6,
                event_latency: 1.2e-6,
                wake_latency: 2.5e-6,
                kernel_floor: 2e-6,
                memory_bandwidth: 4.8e12,
                threads: 132.0 * 2048.0,
                copy_latency: 1.4e-6,
                to_host_bandwidth: 55e9,
                to_device_bandwidth: 55e9,
            },
            network: Network {
                ranks_per_node: 4,
                inside: Link { latency: 0.6e-6, bandwidth: 11e9 },
                between: Link { latency: 2.2e-6, bandwidth: 48e9 },
                nics: Nics::PerRank,
                eager_limit: 4096,
                progress: Progress::InCalls,
            },
            noise: 0.0,
        }
    }

    /// A cluster of such hosts, with one 400 Gb/s NIC on each.
    pub fn cluster() -> Self {
        let mut machine = Self::h200_node();
        machine.name = "hosts of 4 H200s with a 400 Gb/s NIC".to_owned();
        machine.network.nics = Nics::PerNode;
        machine
    }

    /// # Errors
    /// [`RulesError::Setup`], which names the first field that can't be: a time that is negative or not finite, a bandwidth or a
    /// number that is not positive, noise of more than 10.
    pub fn validate(&self) -> Result<(), RulesError> {
        let Machine { host, gpu, network, .. } = self;
        let times = [
            ("host.launch", host.launch),
            ("host.copy", host.copy),
            ("host.record", host.record),
            ("host.sync", host.sync),
            ("host.stream_wait", host.stream_wait),
            ("host.post_send", host.post_send),
            ("host.post_receive", host.post_receive),
            ("host.wait", host.wait),
            ("gpu.start_latency", gpu.start_latency),
            ("gpu.gap", gpu.gap),
            ("gpu.event_latency", gpu.event_latency),
            ("gpu.wake_latency", gpu.wake_latency),
            ("gpu.kernel_floor", gpu.kernel_floor),
            ("gpu.copy_latency", gpu.copy_latency),
            ("network.inside.latency", network.inside.latency),
            ("network.between.latency", network.between.latency),
            ("noise", self.noise),
        ];
        let positive = [
            ("gpu.ranks", gpu.ranks as f64),
            ("gpu.memory_bandwidth", gpu.memory_bandwidth),
            ("gpu.threads", gpu.threads),
            ("gpu.to_host_bandwidth", gpu.to_host_bandwidth),
            ("gpu.to_device_bandwidth", gpu.to_device_bandwidth),
            ("network.ranks_per_node", network.ranks_per_node as f64),
            ("network.inside.bandwidth", network.inside.bandwidth),
            ("network.between.bandwidth", network.between.bandwidth),
        ];
        let wrong = |(field, value): (&str, f64), what: &str| {
            Err(RulesError::Setup(format!("the machine `{}` has {field} = {value}, which {what}", self.name)))
        };
        if let Some(&odd) = times.iter().find(|(_, value)| !(value.is_finite() && *value >= 0.0)) {
            return wrong(odd, "is not finite, or negative");
        }
        if let Some(&odd) = positive.iter().find(|(_, value)| !(value.is_finite() && *value > 0.0)) {
            return wrong(odd, "is not finite and positive");
        }
        // Such factors are no noise, and with more of it times would not be finite.
        if self.noise > 10.0 {
            return wrong(("noise", self.noise), "is more than 10");
        }
        Ok(())
    }
}
