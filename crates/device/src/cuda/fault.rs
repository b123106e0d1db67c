//! Names the kernel behind a fault, which the driver reports without a name.
//!
//! Launches are asynchronous: that a kernel reached for an illegal address shows at some later call, on whatever
//! stream, and from then on at each. So each stream notes which kernels it has launched since it was last waited for.

use super::driver::Code;
use crate::{error::DeviceError, order::lock};
use std::sync::{Arc, Mutex, OnceLock, Weak};

/// Number of different kernels that a stream remembers.
const KEPT: usize = 16;

/// The kernels that a stream has launched since it was last waited for, each once.
#[derive(Debug, Default)]
pub(super) struct Recent(Mutex<Names>);

#[derive(Debug, Default)]
struct Names {
    kernels: Vec<&'static str>,
    /// True if earlier ones were forgotten.
    more: bool,
}

impl Recent {
    /// Notes a launch that is about to be made, and says whether it is new.
    pub(super) fn note(&self, kernel: &'static str) -> bool {
        let mut names = lock(&self.0);
        if names.kernels.contains(&kernel) {
            return false;
        }
        if names.kernels.len() == KEPT {
            names.kernels.remove(0);
            names.more = true;
        }
        names.kernels.push(kernel);
        true
    }

    /// Takes back a note, as the launch was not made.
    pub(super) fn take_back(&self, kernel: &'static str) {
        lock(&self.0).kernels.retain(|name| *name != kernel);
    }

    /// Calls `wait`, and forgets what had been launched before if it succeeds.
    pub(super) fn while_waiting(&self, wait: impl FnOnce() -> Code) -> Code {
        // Another thread may launch on the stream meanwhile. Until the wait is over, what was there before stays in
        // view, too.
        let before = lock(&self.0).kernels.len();
        let code = wait();
        if code == Code::SUCCESS {
            let mut names = lock(&self.0);
            let before = before.min(names.kernels.len());
            names.kernels.drain(..before);
            names.more = false;
        }
        code
    }

    fn add_to(&self, all: &mut Names) {
        let names = lock(&self.0);
        all.more |= names.more;
        for name in &names.kernels {
            if !all.kernels.contains(name) {
                all.kernels.push(name);
            }
        }
    }
}

/// A device's streams' launches, and what became of them.
#[derive(Debug, Default)]
pub(super) struct Faults {
    streams: Mutex<Vec<Weak<Recent>>>,
    /// Kernels of streams that were dropped before they were waited for.
    dropped: Recent,
    /// The device's first and last failure.
    fault: OnceLock<DeviceError>,
}

impl Faults {
    /// A new stream's list.
    pub(super) fn register(&self) -> Arc<Recent> {
        let recent = Arc::new(Recent::default());
        let mut streams = lock(&self.streams);
        streams.retain(|stream| stream.strong_count() > 0);
        streams.push(Arc::downgrade(&recent));
        recent
    }

    /// Keeps what a stream had launched that is dropped with work still to be done.
    pub(super) fn keep(&self, recent: &Recent) {
        for name in std::mem::take(&mut *lock(&recent.0)).kernels {
            _ = self.dropped.note(name);
        }
    }

    /// The error for a code that the context now returns for ever.
    pub(super) fn fault(&self, device: &str, code: Code) -> DeviceError {
        let find = || {
            let mut all = Names::default();
            for stream in lock(&self.streams).iter().filter_map(Weak::upgrade) {
                stream.add_to(&mut all);
            }
            // These are suspects of last resort: nobody waits for them, so they may have ended well long ago.
            if all.kernels.is_empty() {
                self.dropped.add_to(&mut all);
            }
            let hint = match code {
                // A trap gives one or the other, depending on the GPU.
                Code::ILLEGAL_INSTRUCTION | Code::LAUNCH_FAILED => ", which is also what a panic in a kernel comes to",
                _ => "",
            };
            let what = format!("{}{hint}", code.text());
            DeviceError::Fault { device: device.to_owned(), kernels: all.kernels, more: all.more, what }
        };
        self.fault.get_or_init(find).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suspects(faults: &Faults) -> (Vec<&'static str>, bool) {
        match faults.fault("GPU", Code(700)) {
            DeviceError::Fault { kernels, more, .. } => (kernels, more),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn a_successful_wait_clears_a_kernel() {
        let faults = Faults::default();
        let (first, second) = (faults.register(), faults.register());
        assert!(first.note("a") && !first.note("a"));
        assert_eq!(first.while_waiting(|| Code::SUCCESS), Code::SUCCESS);
        first.note("b");
        second.note("c");
        second.note("d");
        second.take_back("d");
        assert_eq!(first.while_waiting(|| Code(700)), Code(700));
        assert_eq!(suspects(&faults), (vec!["b", "c"], false));
        // The first report is for good.
        second.note("e");
        assert_eq!(suspects(&faults), (vec!["b", "c"], false));
    }

    #[test]
    fn a_launch_during_a_wait_stays_suspect() {
        let faults = Faults::default();
        let stream = faults.register();
        stream.note("a");
        _ = stream.while_waiting(|| {
            stream.note("b");
            Code::SUCCESS
        });
        assert_eq!(suspects(&faults), (vec!["b"], false));
    }

    #[test]
    fn old_kernels_are_forgotten() {
        const NAMES: [&str; 20] =
            ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"];
        let faults = Faults::default();
        let stream = faults.register();
        for name in NAMES {
            stream.note(name);
        }
        assert_eq!(suspects(&faults), (NAMES[20 - KEPT..].to_vec(), true));
    }

    #[test]
    fn a_dropped_stream_s_kernels_are_kept() {
        let faults = Faults::default();
        let stream = faults.register();
        stream.note("a");
        faults.keep(&stream);
        drop(stream);
        assert_eq!(suspects(&faults), (vec!["a"], false));
    }
}
