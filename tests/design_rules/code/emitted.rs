// The program `exchange`, by this schedule:
//     y_L=tiles;y_L@0;Pack@1;CER-after-Pack;CES-b4-Send;Send;CER-after-y_L;CSWE-b4-add@1;add@1;CER-after-add;
//     CES-b4-end
// Written by `warpsmith rules emit --language rust`.
use warpsmith::device::{Device, DeviceError, Event, Stream};

/// What [`Schedule::run`] calls. A function that takes a stream enqueues its work there and returns at once; the
/// others return when they are done.
#[allow(non_snake_case)]
pub trait Operations {
    type Error: From<DeviceError>;

    fn y_L_tiles(&mut self, stream: &Stream) -> Result<(), Self::Error>;
    fn Pack(&mut self, stream: &Stream) -> Result<(), Self::Error>;
    fn Send(&mut self) -> Result<(), Self::Error>;
    fn add(&mut self, stream: &Stream) -> Result<(), Self::Error>;
}

/// The streams and events of the schedule.
pub struct Schedule {
    streams: [Stream; 2],
    events: [Event; 3],
}

impl Schedule {
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        Ok(Schedule { streams: [device.stream()?, device.stream()?], events: [device.event()?, device.event()?, device.event()?] })
    }

    /// One invocation. All work is done when it returns.
    pub fn run<O: Operations>(&self, op: &mut O) -> Result<(), O::Error> {
        op.y_L_tiles(&self.streams[0])?;
        op.Pack(&self.streams[1])?;
        self.streams[1].record_into(&self.events[0])?; // after Pack
        self.events[0].synchronize()?; // Pack
        op.Send()?;
        self.streams[0].record_into(&self.events[1])?; // after y_L_tiles
        self.streams[1].wait(&self.events[1])?; // for y_L_tiles
        op.add(&self.streams[1])?;
        self.streams[1].record_into(&self.events[2])?; // after add
        self.events[2].synchronize()?; // add
        Ok(())
    }
}
