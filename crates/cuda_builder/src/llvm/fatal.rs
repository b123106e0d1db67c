//! LLVM's fatal errors.

use std::{
    cell::Cell,
    ffi::{CStr, c_char},
    panic::resume_unwind,
    sync::mpsc,
    thread,
};

use llvm_sys::error_handling::LLVMInstallFatalErrorHandler;

use super::text::failed;
use crate::error::Result;

/// The stack of a thread that LLVM works on: its recursions are made for a main thread's.
const STACK: usize = 64 << 20;

thread_local! {
    /// Receiver of the reason of a fatal error on this thread.
    static REASON: Cell<Option<mpsc::Sender<String>>> = const { Cell::new(None) };
}

/// Has fatal errors reported to [`catch`]. Called once for the process.
pub fn install() {
    // SAFETY: the handler is a function of the type that LLVM wants, and stays.
    unsafe { LLVMInstallFatalErrorHandler(Some(report)) }
}

/// Called by LLVM, which can neither go on nor be unwound, and ends the process if this returns. On a thread of
/// [`catch`] it doesn't return: the thread rests until the process ends.
extern "C" fn report(reason: *const c_char) {
    if let Ok(Some(sender)) = REASON.try_with(Cell::take) {
        // SAFETY: LLVM gives a null-terminated text that stays while the handler runs.
        let reason = unsafe { CStr::from_ptr(reason) }.to_string_lossy();
        if sender.send(reason.trim().to_owned()).is_ok() {
            loop {
                thread::park();
            }
        }
    }
}

/// Does work with LLVM on a thread of its own, so that a fatal error is an error of this call. The thread is lost then,
/// with the context that it made.
pub fn catch<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let (sender, receiver) = mpsc::channel();
    let body = move || {
        REASON.set(Some(sender));
        let result = work();
        REASON.set(None);
        result
    };
    let thread = thread::Builder::new().name("llvm".to_owned()).stack_size(STACK).spawn(body);
    let thread = thread.map_err(|error| failed("start on a thread of its own", error.to_string()))?;
    match receiver.recv() {
        Ok(reason) => Err(failed("build PTX", reason)),
        // The sender is gone: the thread has ended, or is about to.
        Err(mpsc::RecvError) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
    }
}
