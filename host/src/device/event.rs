//! Points in a stream's work.

use super::cuda::{Cuda, CudaEvent};
use super::error::DeviceError;
use super::{Device, Inner};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A point in a stream's work: it is reached once all is done that was enqueued before [`Stream::record`](super::Stream::record).
///
/// On the CPU all work is done as it is enqueued, so that an event has been reached as soon as it is recorded.
#[derive(Debug)]
pub struct Event {
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Cuda {
        event: CudaEvent,
        recorded: AtomicBool,
    },
    /// When it was last recorded.
    Cpu(Mutex<Option<Instant>>),
}

impl Event {
    pub(super) fn new(device: &Device, timed: bool) -> Result<Self, DeviceError> {
        let kind = match &device.inner {
            Inner::Cuda(cuda) => Kind::Cuda { event: CudaEvent::new(cuda, timed)?, recorded: AtomicBool::new(false) },
            Inner::Cpu(_) => Kind::Cpu(Mutex::new(None)),
        };
        Ok(Event { kind })
    }

    /// Waits until it is reached. One that was never recorded counts as reached.
    ///
    /// # Errors
    /// [`DeviceError::Fault`] where something went wrong on the device.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        match &self.kind {
            Kind::Cuda { event, .. } => event.synchronize(),
            Kind::Cpu(_) => Ok(()),
        }
    }

    /// Whether it is reached. One that was never recorded counts as reached.
    ///
    /// # Errors
    /// [`DeviceError::Fault`] where something went wrong on the device.
    pub fn is_done(&self) -> Result<bool, DeviceError> {
        match &self.kind {
            Kind::Cuda { event, .. } => event.is_done(),
            Kind::Cpu(_) => Ok(true),
        }
    }

    /// The time from `start` to this event, in milliseconds, once both are reached, for which this waits.
    ///
    /// CUDA measures it on the device, to about half a microsecond.
    ///
    /// # Errors
    /// [`DeviceError::NotRecorded`] where one of them was never recorded, [`DeviceError::WrongDevice`] where they are of two
    /// devices, and [`DeviceError::Fault`] where something went wrong on the device.
    pub fn elapsed_ms(&self, start: &Event) -> Result<f64, DeviceError> {
        match (&self.kind, &start.kind) {
            (Kind::Cuda { event: end, recorded: ended }, Kind::Cuda { event: start, recorded: started })
                if end.cuda().ordinal() == start.cuda().ordinal() =>
            {
                if !ended.load(Ordering::Acquire) || !started.load(Ordering::Acquire) {
                    return Err(DeviceError::NotRecorded);
                }
                end.synchronize()?;
                start.synchronize()?;
                end.elapsed_ms(start)
            }
            (Kind::Cpu(end), Kind::Cpu(start)) => {
                let at = |event: &Mutex<Option<Instant>>| {
                    (*event.lock().unwrap_or_else(PoisonError::into_inner)).ok_or(DeviceError::NotRecorded)
                };
                let (end, start) = (at(end)?, at(start)?);
                // Negative where the two are the other way round, as with CUDA.
                Ok(match end.checked_duration_since(start) {
                    Some(time) => 1e3 * time.as_secs_f64(),
                    None => -1e3 * start.duration_since(end).as_secs_f64(),
                })
            }
            _ => Err(DeviceError::WrongDevice { what: "an event", found: start.home(), expected: self.home() }),
        }
    }

    /// The device that it belongs to, in words.
    pub(super) fn home(&self) -> String {
        match &self.kind {
            Kind::Cuda { event, .. } => event.cuda().to_string(),
            Kind::Cpu(_) => "the CPU".to_owned(),
        }
    }

    pub(super) fn is_of(&self, cuda: &Cuda) -> bool {
        matches!(&self.kind, Kind::Cuda { event, .. } if event.cuda().ordinal() == cuda.ordinal())
    }
}
