//! The system's dynamic linker.

#[cfg(not(trampolines))]
pub(crate) use elsewhere::{Handle, file_of};
#[cfg(trampolines)]
pub(crate) use linux::{Handle, file_of};

#[cfg(trampolines)]
mod linux {
    use std::ffi::{CStr, OsStr, c_void};
    use std::os::unix::ffi::OsStrExt;
    use std::path::PathBuf;
    use std::ptr::NonNull;

    /// An open shared library. It is never closed, since the table points into it.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Handle(NonNull<c_void>);

    // SAFETY: the dynamic linker's functions may be called from any thread, and a handle belongs to none.
    unsafe impl Send for Handle {}
    // SAFETY: a handle is never changed, and the dynamic linker's functions may be called with it from any thread.
    unsafe impl Sync for Handle {}

    impl Handle {
        pub(crate) fn open(name: &CStr) -> Result<Self, String> {
            // SAFETY: `name` is a C string. The library's initialisers run: a driver's do no harm, and they can't come back
            // into the table being filled, as the trampolines are hidden.
            let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
            NonNull::new(handle).map(Self).ok_or_else(|| {
                // SAFETY: dlerror may be called at any time.
                let message = unsafe { libc::dlerror() };
                if message.is_null() {
                    return "no reason".into();
                }
                // SAFETY: a message that is not null is a C string, valid until this thread's next call of the dynamic
                // linker.
                let message = unsafe { CStr::from_ptr(message) };
                message.to_string_lossy().into_owned()
            })
        }

        pub(crate) fn symbol(self, name: &CStr) -> Option<NonNull<c_void>> {
            // SAFETY: the handle is open, and `name` is a C string.
            NonNull::new(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })
        }
    }

    /// The file that a function was loaded from.
    pub(crate) fn file_of(function: NonNull<c_void>) -> Option<PathBuf> {
        let mut info = std::mem::MaybeUninit::<libc::Dl_info>::uninit();
        // SAFETY: dladdr takes any address, and `info` may be written to.
        if unsafe { libc::dladdr(function.as_ptr(), info.as_mut_ptr()) } == 0 {
            return None;
        }
        // SAFETY: dladdr returned nonzero, so it has filled `info`.
        let name = unsafe { info.assume_init() }.dli_fname;
        // SAFETY: a name that is not null is a C string, which lives as long as the library is loaded: we never close it.
        let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) })?;
        Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
    }
}

/// There is nothing to open.
#[cfg(not(trampolines))]
mod elsewhere {
    use std::ffi::{CStr, c_void};
    use std::path::PathBuf;
    use std::ptr::NonNull;

    #[derive(Clone, Copy, Debug)]
    pub(crate) enum Handle {}

    impl Handle {
        pub(crate) fn open(_name: &CStr) -> Result<Self, String> {
            Err("no driver is for this system".into())
        }

        pub(crate) fn symbol(self, _name: &CStr) -> Option<NonNull<c_void>> {
            match self {}
        }
    }

    pub(crate) fn file_of(_function: NonNull<c_void>) -> Option<PathBuf> {
        None
    }
}
