//! Errors of the device layer, as sentences.

use crate::threads::ThreadsError;
use std::fmt;

/// Why a call of this module failed.
///
/// Its `Display` is a sentence for the program's user, with the kernel's or the device's name and the numbers at hand.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a message says what its fields are")]
pub enum DeviceError {
    /// There is no CUDA device to use, or not the one that was asked for.
    #[error("no CUDA device: {reason}")]
    NoDevice { reason: String },
    /// `WARPSMITH_BACKEND` names no backend.
    #[error("WARPSMITH_BACKEND is {value:?}; it is `cuda`, `cpu`, or unset for CUDA where there is a device and else the CPU")]
    InvalidBackend { value: String },
    /// The CPU can't work with as many threads as were asked for.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    /// A device, or the process, has too little memory left for `requested` bytes (`usize::MAX` where it is even more).
    #[error(
        "out of memory on {device}: {} asked for, {} of {} free",
        Bytes(*requested),
        Bytes(*free),
        Bytes(*total)
    )]
    OutOfMemory { requested: usize, free: usize, total: usize, device: String },
    /// A kernel was not launched.
    #[error("kernel `{kernel}` was not launched: {reason}")]
    LaunchFailed { kernel: &'static str, reason: String },
    /// A kernel's argument lives elsewhere than its stream.
    #[error("kernel `{kernel}` was not launched: an argument is in the memory of {buffer}, and the stream belongs to {stream}")]
    ArgumentElsewhere { kernel: &'static str, buffer: String, stream: String },
    /// A buffer, an event or a module was used with a stream of another device.
    #[error("{what} belongs to {found}, but {expected} was to use it")]
    WrongDevice { what: &'static str, found: String, expected: String },
    /// A kernel went wrong on a CUDA device, which this process can't use any more.
    #[error("{}", fault(device, kernels, *more, what))]
    Fault { device: String, kernels: Vec<&'static str>, more: bool, what: String },
    /// A kernel went wrong on the CPU, or was launched there with extents that no GPU would take.
    #[error(transparent)]
    Simt(#[from] simt::SimtError),
    /// Two things that must be of one length are not.
    #[error("{what} has {found} elements where {expected} are needed")]
    LengthMismatch { what: &'static str, found: usize, expected: usize },
    /// A view was asked for that the buffer does not contain.
    #[error("elements {start}..{end} of a buffer of {len}")]
    OutOfRange { start: usize, end: usize, len: usize },
    /// A value that a device can't fill memory with.
    #[error("a fill repeats 1, 2 or 4 bytes, and a value of {size} bytes whose parts differ is none of these; use a kernel")]
    NotAPattern { size: usize },
    /// The time between two events was asked for, and one of them has never been recorded.
    #[error("an event was never recorded on a stream")]
    NotRecorded,
    /// Work was to be captured that a graph can't do.
    #[error("{what} can't be part of a graph: while a stream is captured it takes launches, and copies and fills on the device")]
    InCapture { what: &'static str },
    /// A tensor can't be described for copies of its boxes.
    #[error("a tensor map wasn't made: {reason}")]
    TensorMap { reason: String },
    /// None of a module's PTX images suits the device. Compute capabilities are times ten.
    #[error(
        "the kernels can't run on {device}, a GPU of compute capability {}.{}: they were built for {}",
        capability / 10,
        capability % 10,
        Archs(archs)
    )]
    NoImage { device: String, capability: u32, archs: Vec<u32> },
    /// The driver refused a PTX image for the compute capability `arch`, times ten.
    #[error("{device} refused the kernels' PTX for compute capability {}.{}: {text}{}", arch / 10, arch % 10, Log(log))]
    Module { device: String, arch: u32, text: String, log: String },
    /// A PTX module has no such constant, or one of another size.
    #[error("constant `{name}`: {reason}")]
    Constant { name: &'static str, reason: String },
    /// Any other failure of a driver's function.
    #[error("{device}: {call} failed: {text}")]
    Driver { device: String, call: &'static str, code: u32, text: String },
}

/// A number of bytes in a unit that suits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub usize);

impl DeviceError {
    /// Returns true if a launch was [stopped](crate::Device::stopped_by).
    pub fn is_stopped(&self) -> bool {
        matches!(self, DeviceError::Simt(simt::SimtError::Stopped { .. }))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        if self.0 < 1024 {
            return write!(f, "{} byte{}", self.0, if self.0 == 1 { "" } else { "s" });
        }
        let mut value = self.0 as f64 / 1024.0;
        let mut unit = 0;
        // The number that is written has one digit after the point, so 1023.95 would come out as 1024.0.
        while value >= 1023.95 && unit + 1 < UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        write!(f, "{value:.1} {}", UNITS[unit])
    }
}

struct Archs<'a>(&'a [u32]);

impl fmt::Display for Archs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.iter().min() {
            Some(lowest) => write!(f, "{}.{} and later", lowest / 10, lowest % 10),
            None => f.write_str("no GPU at all"),
        }
    }
}

struct Log<'a>(&'a str);

impl fmt::Display for Log<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.trim() {
            "" => Ok(()),
            log => write!(f, "; its compiler says:\n{log}"),
        }
    }
}

fn fault(device: &str, kernels: &[&'static str], more: bool, what: &str) -> String {
    let who = match kernels {
        [] => "an earlier call failed".to_owned(),
        [kernel] if !more => format!("kernel `{kernel}` failed"),
        kernels => {
            let more = if more { ", or one launched before these" } else { "" };
            format!("one of the kernels `{}`{more} failed", kernels.join("`, `"))
        }
    };
    let hint = if kernels.len() == 1 && !more { "" } else { " (with WARPSMITH_SYNC=1 set, the error names the kernel)" };
    format!("{who} on {device}: {what}. This process can't use the device any more; start the program again{hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_readable() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            ((1 << 20) - 1, "1.0 MiB"),
            (4 << 30, "4.0 GiB"),
            (1 << 50, "1.0 PiB"),
            (usize::MAX, "16.0 EiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
    }

    #[test]
    fn a_fault_names_its_suspects() {
        let text = |kernels: &[&'static str], more| fault("GPU 0", kernels, more, "an illegal address");
        assert!(text(&["a"], false).starts_with("kernel `a` failed on GPU 0: an illegal address. "));
        assert!(text(&["a", "b"], false).starts_with("one of the kernels `a`, `b` failed on"));
        assert!(text(&["a", "b"], true).contains("or one launched before these"));
        assert!(text(&["a", "b"], false).contains("WARPSMITH_SYNC=1"));
        assert!(text(&[], false).starts_with("an earlier call failed on"));
    }
}
