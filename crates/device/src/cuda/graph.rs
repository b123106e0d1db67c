//! Graphs.

use super::driver::{self, CUgraphExec, Code};
use super::{Cuda, CudaEvent, CudaStream, DeviceError};
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// A graph that can be launched, destroyed when dropped; what it is doing then goes on to its end.
#[derive(Debug)]
pub(in super::super) struct CudaGraph {
    cuda: &'static Cuda,
    /// Held during a call: a graph's functions may not be called by two threads at a time.
    exec: Mutex<CUgraphExec>,
    /// Kernels to suspect after a fault.
    kernels: Vec<&'static str>,
}

// SAFETY: the driver's functions for graphs may be called from any thread with the context current.
unsafe impl Send for CudaGraph {}
// SAFETY: the mutex lets only one thread at a time use the executable graph.
unsafe impl Sync for CudaGraph {}

impl CudaGraph {
    /// Starts the capture of `streams`, made for it: what they are told from now on is written down. There is at least
    /// one.
    pub(in super::super) fn begin(streams: &[&CudaStream]) -> Result<(), DeviceError> {
        let origin = streams[0];
        let cuda = origin.cuda;
        let _entered = cuda.enter()?;
        // SAFETY: the stream lives.
        let code = unsafe { driver::cuStreamBeginCapture_v2(origin.raw, driver::CU_STREAM_CAPTURE_MODE_RELAXED) };
        cuda.check("cuStreamBeginCapture", code)?;
        if let [origin, branches @ ..] = streams
            && !branches.is_empty()
        {
            // A stream that waits for an event of the capture belongs to it.
            let fork = CudaEvent::new(cuda, false)?;
            origin.record(&fork)?;
            for branch in branches {
                branch.wait(&fork)?;
            }
        }
        Ok(())
    }

    /// Ends the capture that `begin` started, and makes a graph of the recorded work.
    pub(in super::super) fn end(streams: &[&CudaStream]) -> Result<Self, DeviceError> {
        let origin = streams[0];
        let cuda = origin.cuda;
        let _entered = cuda.enter()?;
        let joined = streams[1..].iter().try_for_each(|branch| {
            let join = CudaEvent::new(cuda, false)?;
            branch.record(&join)?;
            origin.wait(&join)
        });
        let mut graph = ptr::null_mut();
        // SAFETY: the stream lives, and the result may be written to.
        let code = unsafe { driver::cuStreamEndCapture(origin.raw, &mut graph) };
        cuda.check("cuStreamEndCapture", code)?;
        if let Err(error) = joined {
            // SAFETY: the graph is nobody else's.
            _ = unsafe { driver::cuGraphDestroy(graph) };
            return Err(error);
        }

        let mut exec = ptr::null_mut();
        // SAFETY: the graph is the one that the capture gave, and the result may be written to. An executable graph
        // doesn't need the graph that it was made of.
        let code = unsafe {
            let code = driver::cuGraphInstantiateWithFlags(&mut exec, graph, 0);
            _ = driver::cuGraphDestroy(graph);
            code
        };
        cuda.check("cuGraphInstantiateWithFlags", code)?;
        let mut kernels: Vec<_> = streams.iter().flat_map(|stream| stream.take_captured()).collect();
        kernels.sort_unstable();
        kernels.dedup();
        Ok(CudaGraph { cuda, exec: Mutex::new(exec), kernels })
    }

    /// Ends a capture and discards it.
    pub(in super::super) fn abandon(streams: &[&CudaStream]) {
        let origin = streams[0];
        let _entered = origin.cuda.enter();
        let mut graph = ptr::null_mut();
        // SAFETY: the stream lives, the result may be written to, and the graph, if there is one, is nobody else's.
        unsafe {
            _ = driver::cuStreamEndCapture(origin.raw, &mut graph);
            if !graph.is_null() {
                _ = driver::cuGraphDestroy(graph);
            }
        }
    }

    /// Brings the graph to the device ahead of its first launch.
    pub(in super::super) fn upload(&self, stream: &CudaStream) -> Result<(), DeviceError> {
        let _entered = self.cuda.enter()?;
        let exec = self.exec.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: graph and stream live, and are of one context.
        self.cuda.check("cuGraphUpload", unsafe { driver::cuGraphUpload(*exec, stream.raw) })
    }

    /// Enqueues all that was captured.
    ///
    /// # Safety
    /// The memory that it uses stays allocated until it is done.
    pub(in super::super) unsafe fn launch(&self, stream: &CudaStream) -> Result<(), DeviceError> {
        let _entered = self.cuda.enter()?;
        let exec = self.exec.lock().unwrap_or_else(PoisonError::into_inner);
        // The notes come first: another thread may be the one that sees a kernel fail.
        let new: Vec<_> = self.kernels.iter().filter(|kernel| stream.recent.note(kernel)).collect();
        // SAFETY: graph and stream are alive and of one context; by this function's contract the
        // memory stays allocated until the graph is done; modules stay loaded.
        let code = unsafe { driver::cuGraphLaunch(*exec, stream.raw) };
        if code == Code::SUCCESS {
            return if self.cuda.synchronous { stream.synchronize() } else { Ok(()) };
        }
        if !code.is_sticky() {
            new.into_iter().for_each(|kernel| stream.recent.take_back(kernel));
        }
        Err(self.cuda.error("cuGraphLaunch", code))
    }
}

impl Drop for CudaGraph {
    fn drop(&mut self) {
        let _entered = self.cuda.enter();
        let exec = self.exec.get_mut().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the graph lives until here. If it is still at work, the driver frees it afterwards.
        _ = unsafe { driver::cuGraphExecDestroy(*exec) };
    }
}
