//! Points in a stream's work.

use super::cuda::{Cuda, CudaEvent, CudaStream};
use super::error::DeviceError;
use super::order::{self, lock};
use super::{Device, Inner};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// A point in a stream's work: it is reached once all is done that was enqueued before
/// [`Stream::record`](super::Stream::record).
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
        /// Work that precedes it, once it has been recorded. Locked while the driver records it
        /// again or makes a stream wait.
        clock: Mutex<Option<Arc<Clock>>>,
    },
    /// When it was last recorded.
    Cpu(Mutex<Option<Instant>>),
}

type Clock = order::Clock<CudaStream>;

impl Event {
    pub(super) fn new(device: &Device, timed: bool) -> Result<Self, DeviceError> {
        let kind = match &device.inner {
            Inner::Cuda(cuda) => Kind::Cuda { event: CudaEvent::new(cuda, timed)?, clock: Mutex::default() },
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
            Kind::Cuda { event, clock } => reached(clock, || event.synchronize().map(|()| true)).map(|_| ()),
            Kind::Cpu(_) => Ok(()),
        }
    }

    /// Returns true if it is reached or was never recorded.
    ///
    /// # Errors
    /// [`DeviceError::Fault`] where something went wrong on the device.
    pub fn is_done(&self) -> Result<bool, DeviceError> {
        match &self.kind {
            Kind::Cuda { event, clock } => reached(clock, || event.is_done()),
            Kind::Cpu(_) => Ok(true),
        }
    }

    /// Returns the time from `start` to this event, in milliseconds. Waits until both are reached.
    ///
    /// CUDA measures it on the device, to about half a microsecond.
    ///
    /// # Errors
    /// [`DeviceError::NotRecorded`] where one of them was never recorded, [`DeviceError::WrongDevice`] where they are
    /// of two devices, and [`DeviceError::Fault`] where something went wrong on the device.
    pub fn elapsed_ms(&self, start: &Event) -> Result<f64, DeviceError> {
        match (&self.kind, &start.kind) {
            (Kind::Cuda { event: end, clock: ended }, Kind::Cuda { event: start, clock: started })
                if end.cuda().ordinal() == start.cuda().ordinal() =>
            {
                if lock(ended).is_none() || lock(started).is_none() {
                    return Err(DeviceError::NotRecorded);
                }
                end.synchronize()?;
                start.synchronize()?;
                end.elapsed_ms(start)
            }
            (Kind::Cpu(end), Kind::Cpu(start)) => {
                let at = |event: &Mutex<Option<Instant>>| (*lock(event)).ok_or(DeviceError::NotRecorded);
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

/// Asks the driver whether an event has been reached. If so, all work before it is done.
fn reached(clock: &Mutex<Option<Arc<Clock>>>, ask: impl FnOnce() -> Result<bool, DeviceError>) -> Result<bool, DeviceError> {
    let before = lock(clock).clone();
    let reached = ask()?;
    if let (true, Some(before)) = (reached, before) {
        // If another thread has recorded it again meanwhile, the answer may be for that record.
        if lock(clock).as_ref().is_some_and(|now| Arc::ptr_eq(now, &before)) {
            before.note_done();
        }
    }
    Ok(reached)
}
