//! Times the steps of a computation on a stream.

use crate::device::{DeviceError, Event, Stream};

/// Duration and memory traffic of one step of a computation.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct StepTime {
    /// The step's name.
    pub name: &'static str,
    /// Duration, in ms; 0 if the computation was not timed.
    pub ms: f64,
    /// Number of bytes that the step must move: each array element read or written counts once.
    pub bytes: u64,
}

/// Marks the ends of steps on a stream.
#[cfg_attr(not(feature = "list-rank"), allow(dead_code))]
pub struct Clock<'s> {
    stream: &'s Stream,
    timed: bool,
    marks: Vec<(&'static str, u64, Option<Event>)>,
}

#[cfg_attr(not(feature = "list-rank"), allow(dead_code))]
impl<'s> Clock<'s> {
    /// Starts the first step. Without `timed`, every duration is 0 and no events are recorded.
    pub fn start(stream: &'s Stream, timed: bool) -> Result<Self, DeviceError> {
        let mut clock = Clock { stream, timed, marks: Vec::new() };
        clock.end("", 0)?;
        Ok(clock)
    }

    /// Ends the step `name`: everything enqueued since the last mark belongs to it.
    pub fn end(&mut self, name: &'static str, bytes: u64) -> Result<(), DeviceError> {
        let event = if self.timed { Some(self.stream.record()?) } else { None };
        self.marks.push((name, bytes, event));
        Ok(())
    }

    /// Waits for the last step and returns all of them, in order.
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
