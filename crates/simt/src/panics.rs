//! Panics of kernel bodies: kept from being printed, and turned into a message.

use std::any::Any;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use std::thread;

/// Panic payload that unwinds a thread whose block has already failed.
struct Abandoned;

/// The messages of those panics of `core` that end the process. They come upon another panic.
const CANNOT_UNWIND: [&str; 2] = ["panic in a function that cannot unwind", "panic in a destructor during cleanup"];

/// The beginnings of the messages of rustc's checks of pointers in debug builds. They end the process, too.
#[cfg(simt_check)]
pub(crate) const POINTERS: [&str; 3] = ["misaligned pointer", "null pointer", "unsafe precondition(s) violated"];

/// Payload of the panic of [`forget`].
#[cfg(simt_check)]
struct Forget;

/// Makes up for a panic that nobody has caught, since its thread was stopped: the standard library counts panics. Of one
/// in a hook it counts the end alone.
#[cfg(simt_check)]
pub(crate) fn forget() {
    _ = panic::catch_unwind(|| panic::panic_any(Forget));
}

/// Unwinds the running thread, and prints nothing.
pub(crate) fn abandon() -> ! {
    panic::resume_unwind(Box::new(Abandoned))
}

/// Keeps the panic of a kernel body from being printed, since it is in the launch's error; every other panic goes to
/// the hook that was there before, as does one that can't unwind: there will be no error. `note` gets the panic's
/// message and location, and returns false where no body is running.
pub(crate) fn install_hook(note: fn(&str, Option<String>) -> bool) {
    static ONCE: Once = Once::new();
    // A hook cannot be set during a panic, and destructors that run then may launch kernels.
    if !thread::panicking() {
        ONCE.call_once(|| {
            let previous = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                #[cfg(simt_check)]
                if info.payload().is::<Forget>() {
                    _ = panic::catch_unwind(|| abandon());
                    return;
                }
                let message = info.payload_as_str().unwrap_or("(a value that is not text)");
                let unwinds = cfg!(panic = "unwind") && !CANNOT_UNWIND.contains(&message);
                if !unwinds || !note(message, info.location().map(ToString::to_string)) {
                    previous(info);
                }
            }));
        });
    }
}

/// The message of a panic, or nothing where it is [`abandon`]'s.
pub(crate) fn message(payload: Box<dyn Any + Send>) -> Option<String> {
    if payload.is::<Abandoned>() {
        return None;
    }
    let message = if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "(a value that is not text)".to_owned()
    };
    discard(payload);
    Some(message)
}

/// Drops a panic's payload. It may be anything, so that its destructor may panic too, and the payload of that panic in
/// its turn; one that does not come to an end soon is leaked.
fn discard(mut payload: Box<dyn Any + Send>) {
    for _ in 0..8 {
        match panic::catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            Ok(()) => return,
            Err(next) => payload = next,
        }
    }
    mem::forget(payload);
}
