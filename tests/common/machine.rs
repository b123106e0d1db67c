//! A simulated machine for closed forms.

use warpsmith::design_rules::sim::{Gpu, HostCosts, Link, Machine, Network, Nics, Progress, Rendezvous};

/// A machine on which only work takes time; each byte one second.
pub fn ideal() -> Machine {
    Machine {
        name: "ideal".to_owned(),
        host: HostCosts::default(),
        gpu: Gpu {
            ranks: 1,
            start_latency: 0.0,
            gap: 0.0,
            event_latency: 0.0,
            wake_latency: 0.0,
            kernel_floor: 0.0,
            memory_bandwidth: 1.0,
            threads: 1.0,
            copy_latency: 0.0,
            to_host_bandwidth: 1.0,
            to_device_bandwidth: 1.0,
            turn: 0.0,
            copy_stall: 0.0,
        },
        network: Network {
            ranks_per_node: 2,
            inside: Link { latency: 0.0, bandwidth: 1.0 },
            between: Link { latency: 0.0, bandwidth: 1.0 },
            nics: Nics::PerRank,
            eager_limit: 0,
            rendezvous: Rendezvous::Put,
            progress: Progress::Always,
        },
        noise: 0.0,
        outliers: 0.0,
        drift: 0.0,
    }
}
