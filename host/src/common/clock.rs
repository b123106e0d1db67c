//! The times of steps.

use crate::device::{DeviceError, Event, Stream};

/// One step of a computation.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct StepTime {
    /// Its name.
    pub name: &'static str,
    /// Its time in ms; 0 if the steps are not measured.
    pub ms: f64,
    /// The bytes that it has to move: each array element that is read or written, once.
    pub bytes: u64,
}

impl StepTime {
    /// Runs `work` as one step, timed by events on the stream.
    ///
    /// # Errors
    /// Those of `work`, and of the device.
    pub fn of<E: From<DeviceError>>(
        stream: &Stream,
        name: &'static str,
        bytes: usize,
        work: impl FnOnce(&Stream) -> Result<(), E>,
    ) -> Result<Self, E> {
        Ok(StepTime { name, ms: stream.time(work)?, bytes: bytes as u64 })
    }

    /// Returns the time of all `steps` together, in ms.
    pub fn total_ms(steps: &[StepTime]) -> f64 {
        steps.iter().fold(0.0, |total, step| total + step.ms)
    }
}

/// Marks the ends of steps on a stream.
pub struct Clock<'s> {
    stream: &'s Stream,
    timed: bool,
    marks: Vec<(&'static str, u64, Option<Event>)>,
}

#[cfg_attr(not(feature = "list-rank"), allow(dead_code))]
impl<'s> Clock<'s> {
    pub fn start(stream: &'s Stream, timed: bool) -> Result<Self, DeviceError> {
        let mut clock = Clock { stream, timed, marks: Vec::new() };
        clock.end("", 0)?;
        Ok(clock)
    }

    /// Ends step `name`: everything that was enqueued since the last mark.
    pub fn end(&mut self, name: &'static str, bytes: u64) -> Result<(), DeviceError> {
        let event = if self.timed { Some(self.stream.record()?) } else { None };
        self.marks.push((name, bytes, event));
        Ok(())
    }

    pub fn steps(self) -> Result<Vec<StepTime>, DeviceError> {
        self.marks
            .windows(2)
            .map(|pair| {
                let (name, bytes, end) = &pair[1];
                let ms = match (&pair[0].2, end) {
                    (Some(start), Some(end)) => end.elapsed_ms(start)?,
                    _ => 0.0,
                };
                Ok(StepTime { name, ms, bytes: *bytes })
            })
            .collect()
    }
}
