//! Events.

use super::driver::{self, CUevent, Code};
use super::{Cuda, DeviceError};
use std::ptr;

/// A driver's event, destroyed when dropped.
#[derive(Debug)]
pub(in super::super) struct CudaEvent {
    pub(super) cuda: &'static Cuda,
    pub(super) raw: CUevent,
}

// SAFETY: the driver's functions for events may be called from any thread with a current context.
unsafe impl Send for CudaEvent {}
// SAFETY: the driver's functions for events may be called from several threads at the same time.
unsafe impl Sync for CudaEvent {}

impl CudaEvent {
    pub(in super::super) fn new(cuda: &'static Cuda, timed: bool) -> Result<Self, DeviceError> {
        let _entered = cuda.enter()?;
        let mut raw = ptr::null_mut();
        let flags = if timed { driver::CU_EVENT_DEFAULT } else { driver::CU_EVENT_DISABLE_TIMING };
        // SAFETY: the result may be written to.
        cuda.check("cuEventCreate", unsafe { driver::cuEventCreate(&mut raw, flags) })?;
        Ok(CudaEvent { cuda, raw })
    }

    pub(in super::super) fn cuda(&self) -> &'static Cuda {
        self.cuda
    }

    pub(in super::super) fn synchronize(&self) -> Result<(), DeviceError> {
        let _entered = self.cuda.enter()?;
        // SAFETY: the event lives.
        self.cuda.check("cuEventSynchronize", unsafe { driver::cuEventSynchronize(self.raw) })
    }

    pub(in super::super) fn is_done(&self) -> Result<bool, DeviceError> {
        let _entered = self.cuda.enter()?;
        // SAFETY: the event lives.
        match unsafe { driver::cuEventQuery(self.raw) } {
            Code::NOT_READY => Ok(false),
            code => self.cuda.check("cuEventQuery", code).map(|()| true),
        }
    }

    /// Both have been recorded, and are done.
    pub(in super::super) fn elapsed_ms(&self, start: &Self) -> Result<f64, DeviceError> {
        let _entered = self.cuda.enter()?;
        let mut milliseconds = 0.0;
        // SAFETY: both events live, and the result may be written to.
        let code = unsafe { driver::cuEventElapsedTime(&mut milliseconds, start.raw, self.raw) };
        self.cuda.check("cuEventElapsedTime", code)?;
        Ok(milliseconds.into())
    }
}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        let _entered = self.cuda.enter();
        // SAFETY: the event lives until here. If it is still to come, the driver frees it then.
        _ = unsafe { driver::cuEventDestroy_v2(self.raw) };
    }
}
