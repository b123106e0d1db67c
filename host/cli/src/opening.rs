//! Devices opened on a thread of their own while the command does something else.

use std::{
    cell::{Cell, OnceCell},
    panic::resume_unwind,
    thread::{Scope, ScopedJoinHandle},
};

use warpsmith::{device::Device, threads};

use super::failure::Failure;

type Opened = Result<Vec<Device>, Failure>;

/// Devices that another thread opens.
pub struct Opening<'scope> {
    thread: Cell<Option<ScopedJoinHandle<'scope, Opened>>>,
    devices: OnceCell<Opened>,
}

impl<'scope> Opening<'scope> {
    /// Calls `open` on a thread of its own.
    pub fn start(scope: &'scope Scope<'scope, '_>, open: impl FnOnce() -> Opened + Send + 'scope) -> Result<Self, Failure> {
        let thread = threads::spawn(scope, "devices".to_owned(), open).map_err(Failure::error)?;
        Ok(Opening { thread: Cell::new(Some(thread)), devices: OnceCell::new() })
    }

    /// Waits until the devices are open and returns them.
    pub fn devices(&self) -> Result<&[Device], Failure> {
        let join = || match self.thread.take() {
            Some(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            None => Ok(Vec::new()),
        };
        self.devices.get_or_init(join).as_deref().map_err(Clone::clone)
    }
}
