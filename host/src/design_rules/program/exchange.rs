//! Arrays that are sent to other ranks and received from them, for programs.

use std::sync::{PoisonError, RwLock};

use bytemuck::Pod;

use crate::design_rules::RulesError;
use crate::device::{Backend, Buffer, Device, MappedBuffer, Stream, View, ViewMut};
use crate::ranks::{Communicator, Link, Message, Plan, Region};

/// Memory of messages while they are sent and received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Staging {
    /// In the GPU's memory if ranks can send that (threads with GPUs, a CUDA-aware MPI), else in the host's
    #[default]
    Auto,
    /// In page-locked memory of the host, which kernels write in place
    Host,
    /// In the GPU's memory
    Device,
}

impl Staging {
    /// Returns the words for this memory in the description of a platform, and so in a file of
    /// runs. They are empty for [`Auto`](Self::Auto).
    pub const fn words(self) -> &'static str {
        match self {
            Staging::Auto => "",
            Staging::Host => "messages in the host's memory",
            Staging::Device => "messages in the GPU's memory",
        }
    }
}

/// An array to send parts of to other ranks, and one that they send parts of, of elements `T`; sent again and again.
pub struct Exchange<T: Pod> {
    // The link goes first: it refers to the memory.
    link: Box<dyn Link>,
    send: Memory<T>,
    receive: Memory<T>,
}

enum Memory<T: Pod> {
    Host(RwLock<MappedBuffer<T>>),
    Device(RwLock<Buffer<T>>),
}

impl<T: Pod> Memory<T> {
    fn new(device: &Device, len: usize, on_device: bool) -> Result<Self, RulesError> {
        Ok(if on_device {
            Memory::Device(RwLock::new(device.alloc_zeroed(len)?))
        } else {
            Memory::Host(RwLock::new(device.mapped(len)?))
        })
    }

    fn region(&self) -> Region {
        let view = |view: View<'_, T>| Region::on_device(view.as_device_ptr(), view.byte_len());
        match self {
            Memory::Host(buffer) => {
                let buffer = buffer.read().unwrap_or_else(PoisonError::into_inner);
                Region::new(buffer.host_ptr().cast(), buffer.as_view().byte_len())
            }
            Memory::Device(buffer) => view(buffer.read().unwrap_or_else(PoisonError::into_inner).as_view()),
        }
    }

    fn read<R>(&self, use_it: impl FnOnce(View<'_, T>) -> R) -> R {
        match self {
            Memory::Host(buffer) => use_it(buffer.read().unwrap_or_else(PoisonError::into_inner).as_view()),
            Memory::Device(buffer) => use_it(buffer.read().unwrap_or_else(PoisonError::into_inner).as_view()),
        }
    }

    fn write<R>(&self, use_it: impl FnOnce(ViewMut<'_, T>) -> R) -> R {
        match self {
            Memory::Host(buffer) => use_it(buffer.write().unwrap_or_else(PoisonError::into_inner).as_view_mut()),
            Memory::Device(buffer) => use_it(buffer.write().unwrap_or_else(PoisonError::into_inner).as_view_mut()),
        }
    }
}

impl<T: Pod> Memory<T> {
    fn fill(&self, stream: &Stream, value: T) -> Result<(), RulesError> {
        match self {
            Memory::Host(buffer) => {
                let mut buffer = buffer.write().unwrap_or_else(PoisonError::into_inner);
                stream.device().synchronize()?;
                // SAFETY: all work is done, and who enqueues more waits for the lock.
                unsafe { buffer.as_mut_slice() }.fill(value);
            }
            Memory::Device(buffer) => {
                let mut buffer = buffer.write().unwrap_or_else(PoisonError::into_inner);
                stream.device().synchronize()?;
                stream.fill(&mut *buffer, value)?;
                stream.synchronize()?;
            }
        }
        Ok(())
    }
}

/// The messages of an exchange: a rank and a range of elements each.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    /// To others, of the array to send.
    pub sends: Vec<(usize, std::ops::Range<usize>)>,
    /// From others, of the array that is received.
    pub receives: Vec<(usize, std::ops::Range<usize>)>,
}

impl<T: Pod> Exchange<T> {
    /// Arrays as long as the messages take. `tag` tells the exchanges of one program apart.
    ///
    /// # Errors
    /// [`RulesError::Setup`] where `staging` asks for the GPU's memory and the ranks' library doesn't take that, or the
    /// messages name ranks that aren't there; what the device says.
    ///
    /// # Safety
    /// From a post to the end of its wait, nothing writes the array to send, nor reads or writes the one that is
    /// received, and nothing that does so is under way on a stream at the post. The exchange outlives all work that
    /// uses it.
    pub unsafe fn new(
        device: &Device,
        ranks: &dyn Communicator,
        tag: u16,
        messages: &Messages,
        staging: Staging,
    ) -> Result<Self, RulesError> {
        let takes = ranks.takes_device_memory();
        let on_device = device.backend() == Backend::Cuda
            && match staging {
                Staging::Auto => takes,
                Staging::Host => false,
                Staging::Device if takes => true,
                Staging::Device => {
                    return Err(RulesError::Setup(format!(
                        "messages can't be in the GPU's memory: ranks talk by {}, which takes memory of the host only",
                        ranks.kind()
                    )));
                }
            };
        let len = |messages: &[(usize, std::ops::Range<usize>)]| messages.iter().map(|(_, range)| range.end).max().unwrap_or(0);
        let send = Memory::new(device, len(&messages.sends), on_device)?;
        let receive = Memory::new(device, len(&messages.receives), on_device)?;
        let bytes = |messages: &[(usize, std::ops::Range<usize>)]| {
            let size = size_of::<T>();
            let message = |(rank, range): &(usize, std::ops::Range<usize>)| Message {
                rank: *rank,
                bytes: range.start * size..range.end * size,
            };
            messages.iter().map(message).collect()
        };
        let plan = Plan {
            tag,
            sends: bytes(&messages.sends),
            receives: bytes(&messages.receives),
            send: send.region(),
            receive: receive.region(),
        };
        // SAFETY: the memory lives as long as the link, which is dropped before it. Nobody accesses it between a post
        // and the end of its wait (this function's contract).
        let link = unsafe { ranks.link(plan)? };
        Ok(Exchange { link, send, receive })
    }

    /// The messages: posts and waits.
    pub fn link(&self) -> &dyn Link {
        &*self.link
    }

    /// Calls `fill` with the array to send, for streams and kernels.
    pub fn to_send<R>(&self, fill: impl FnOnce(ViewMut<'_, T>) -> R) -> R {
        self.send.write(fill)
    }

    /// Calls `take` with the array that is received, for streams and kernels.
    pub fn received<R>(&self, take: impl FnOnce(View<'_, T>) -> R) -> R {
        self.receive.read(take)
    }

    /// Sets all elements of both arrays, once the device has done all that was enqueued.
    pub fn fill(&self, stream: &Stream, value: T) -> Result<(), RulesError> {
        self.send.fill(stream, value)?;
        self.receive.fill(stream, value)
    }

    /// Returns the memory of messages, in [words](Staging::words). They are empty on the CPU, which
    /// has one memory.
    pub fn place(&self, device: &Device) -> &'static str {
        match (device.backend(), &self.send) {
            (Backend::Cpu, _) => "",
            (Backend::Cuda, Memory::Host(_)) => Staging::Host.words(),
            (Backend::Cuda, Memory::Device(_)) => Staging::Device.words(),
        }
    }

    /// Returns whether kernels reach the received array only across the bus, so that they should
    /// read a copy.
    pub fn is_far(&self, device: &Device) -> bool {
        device.backend() == Backend::Cuda && matches!(self.receive, Memory::Host(_))
    }
}
