//! Work that is written down once and launched often.

use super::cpu::Cpu;
use super::cuda::CudaGraph;
use super::{Device, DeviceError, Inner, Stream};
use std::fmt;

/// Launches, copies and fills that are enqueued together, by one call: [`Device::capture`].
///
/// A GPU's driver has then seen all of it before, so that a kernel of a graph takes the host and the device less time
/// to start than one that is launched by itself. On the CPU it is done one after the other, as it would have been.
///
/// It holds addresses, not buffers.
pub struct Graph {
    device: Device,
    work: Recorded,
}

enum Recorded {
    Cuda(CudaGraph),
    Cpu(Vec<Work>),
}

/// One thing to be done on the CPU.
pub(super) struct Work(Box<DoWork>);

type DoWork = dyn Fn(&Cpu) -> Result<(), DeviceError> + Send + Sync;

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Work")
    }
}

impl Work {
    pub(super) fn new(work: impl Fn(&Cpu) -> Result<(), DeviceError> + Send + Sync + 'static) -> Self {
        Work(Box::new(work))
    }
}

/// Streams that write down what they are told. The capture ends with them, if not before.
struct Capture {
    device: Device,
    streams: Vec<Stream>,
    open: bool,
}

impl Capture {
    fn begin(device: &Device, branches: usize) -> Result<Self, DeviceError> {
        let streams = Stream::for_capture(device, branches.max(1))?;
        let mut capture = Capture { device: device.clone(), streams, open: false };
        if let Inner::Cuda(_) = device.inner {
            // A capture that fails half way has begun.
            capture.open = true;
            CudaGraph::begin(&capture.cuda_streams())?;
        }
        Ok(capture)
    }

    fn end(mut self) -> Result<Graph, DeviceError> {
        let work = match self.device.inner {
            Inner::Cuda(_) => {
                self.open = false;
                Recorded::Cuda(CudaGraph::end(&self.cuda_streams())?)
            }
            Inner::Cpu(_) => Recorded::Cpu(self.streams[0].take_recorded()),
        };
        Ok(Graph { device: self.device.clone(), work })
    }

    fn cuda_streams(&self) -> Vec<&super::cuda::CudaStream> {
        self.streams.iter().filter_map(Stream::cuda).collect()
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        if self.open {
            CudaGraph::abandon(&self.cuda_streams());
        }
    }
}

impl Device {
    /// Writes down what `work` enqueues on the stream that it is given, in place of doing it.
    ///
    /// That can be launches, copies on the device, and fills. Waiting is an error, and so is
    /// anything that the host or another stream would wait for. Kernels are compiled when they are
    /// first launched; a graph whose kernels have been launched before is captured without that
    /// delay.
    ///
    /// ```
    /// use gpu_kernels::samples;
    /// use warpsmith::device::{Device, DeviceError};
    /// use warpsmith::launch;
    ///
    /// let device = Device::best()?;
    /// let stream = device.stream()?;
    /// let x = device.upload(&[1.0f32, 2.0, 3.0])?;
    /// let mut y = device.alloc(3)?;
    /// let graph = device.capture(|stream| {
    ///     stream.fill(&mut y, 10.0)?;
    ///     launch!(stream, samples::saxpy<<<1, 32>>>(2.0, &x, &mut y))?;
    ///     launch!(stream, samples::saxpy<<<1, 32>>>(2.0, &x, &mut y))
    /// })?;
    /// // SAFETY: `x` and `y` are there, and nothing else uses them before `download_vec`, on the same stream.
    /// unsafe { graph.launch(&stream)? };
    /// assert_eq!(stream.download_vec(&y)?, [14.0, 18.0, 22.0]);
    /// # Ok::<(), DeviceError>(())
    /// ```
    ///
    /// # Errors
    /// What `work` returns, [`DeviceError::InCapture`] for what can't be part of a graph among it; and what earlier
    /// work on the device came to.
    pub fn capture<E: From<DeviceError>>(&self, work: impl FnOnce(&Stream) -> Result<(), E>) -> Result<Graph, E> {
        self.capture_branches(1, |streams| work(&streams[0]))
    }

    /// The same with several streams (at least one). The graph may do their work at the same time,
    /// but for where one [waits for](Stream::wait_for) another, and is done once all of them are.
    /// On the CPU the work is done in the order in which it was recorded.
    ///
    /// # Errors
    /// As [`capture`](Self::capture).
    pub fn capture_branches<E: From<DeviceError>>(
        &self,
        branches: usize,
        work: impl FnOnce(&[Stream]) -> Result<(), E>,
    ) -> Result<Graph, E> {
        let capture = Capture::begin(self, branches)?;
        work(&capture.streams)?;
        Ok(capture.end()?)
    }
}

impl Graph {
    /// The device that it is for.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Lets the device prepare for the first launch, on a stream of the device that may wait for that. Later launches
    /// need nothing of the kind, nor does the CPU.
    ///
    /// # Errors
    /// [`DeviceError::WrongDevice`], [`DeviceError::InCapture`].
    pub fn prepare(&self, stream: &Stream) -> Result<(), DeviceError> {
        let stream = stream.for_graph(&self.device)?;
        match (&self.work, stream.cuda()) {
            (Recorded::Cuda(graph), Some(stream)) => graph.upload(stream),
            _ => Ok(()),
        }
    }

    /// Does what was captured, as if it were now enqueued on `stream`. On CUDA a launch waits for the one before of the
    /// same graph, whichever stream that was on.
    ///
    /// # Safety
    /// Until all work is done, the requirements of every captured launch, copy and fill
    /// hold: the buffers are alive and were not given other memory
    /// ([`Buffer::ensure`](super::Buffer::ensure)), nothing else uses what is written or writes
    /// what is read, and the contracts of `unsafe` kernels hold. This includes work on other
    /// streams, which isn't ordered with graphs. Branches don't use what another one writes, unless
    /// they wait for it.
    ///
    /// # Errors
    /// [`DeviceError::WrongDevice`] where the stream is another device's; [`DeviceError::InCapture`]; what earlier work
    /// on the device came to. CPU: [`DeviceError::Simt`] where a kernel fails.
    pub unsafe fn launch(&self, stream: &Stream) -> Result<(), DeviceError> {
        let stream = stream.for_graph(&self.device)?;
        match (&self.work, stream.cuda()) {
            // SAFETY: by this function's contract the memory stays allocated until the graph is
            // done.
            (Recorded::Cuda(graph), Some(stream)) => unsafe { graph.launch(stream) },
            (Recorded::Cpu(work), _) => {
                let Inner::Cpu(cpu) = &self.device.inner else { return Ok(()) };
                stream.in_turn(|| work.iter().try_for_each(|work| work.0(cpu)))
            }
            (Recorded::Cuda(_), None) => Ok(()),
        }
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.work {
            Recorded::Cuda(graph) => write!(f, "Graph({graph:?})"),
            Recorded::Cpu(work) => write!(f, "Graph({} pieces of work, the CPU)", work.len()),
        }
    }
}
