//! Signals that end the process in the middle of a kernel: they say which kernel, block and thread it was.
//!
//! The handlers write one line, and pass the signal on to the previous handler: the standard
//! library's own, which knows the stacks of OS threads, or the program's. What a handler does here
//! is safe in one: it allocates nothing, locks nothing, and reads what its own OS thread has
//! written before.

use crate::current;
use libc::{c_int, c_void, sigaction, siginfo_t};
use std::cell::RefCell;
use std::fmt::{self, Write};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;

const SIGNALS: [(c_int, &str); 5] = [
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGABRT, "SIGABRT"),
];

/// Previous handlers.
static PREVIOUS: OnceLock<[sigaction; SIGNALS.len()]> = OnceLock::new();

/// Large enough for a report, the handler before, and both again where that one aborts. With AVX-512 the system alone
/// puts more than 3 KiB there for each signal.
const STACK_SIZE: usize = 64 * 1024;

/// Stack for the handlers of an OS thread that has none, or only the standard library's small one.
/// A thread whose own stack is exhausted can't run handlers on it.
struct Stack(Option<Box<[MaybeUninit<u8>]>>);

thread_local! {
    static STACK: RefCell<Option<Stack>> = const { RefCell::new(None) };
}

/// Sees to it that signals on this OS thread are reported.
pub(crate) fn install() {
    PREVIOUS.get_or_init(|| {
        let previous = SIGNALS.map(|(signal, _)| {
            let mut old = MaybeUninit::<sigaction>::zeroed();
            // SAFETY: without a new action the call only fills in the old one; all zeroes are an action, too, the
            // default.
            unsafe {
                libc::sigaction(signal, ptr::null(), old.as_mut_ptr());
                old.assume_init()
            }
        });
        for (signal, _) in SIGNALS {
            // SAFETY: the action is made of a handler of the type that SA_SIGINFO asks for, and of no blocked signals.
            unsafe {
                let mut action: sigaction = MaybeUninit::zeroed().assume_init();
                action.sa_sigaction = handle as extern "C" fn(c_int, *mut siginfo_t, *mut c_void) as usize;
                // In a checked run a handler may not return.
                let again = if cfg!(simt_check) { libc::SA_NODEFER } else { 0 };
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | again;
                libc::sigaction(signal, &action, ptr::null_mut());
            }
        }
        previous
    });
    // In the destructors of a thread's locals it does without.
    let _ = STACK.try_with(|stack| stack.borrow_mut().get_or_insert_with(Stack::new).0.is_some());
}

impl Stack {
    fn new() -> Self {
        let old = Self::current();
        if old.ss_flags & libc::SS_DISABLE == 0 && old.ss_size >= STACK_SIZE {
            return Stack(None);
        }
        let mut memory = Box::new_uninit_slice(STACK_SIZE);
        let stack = libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: 0, ss_size: STACK_SIZE };
        // SAFETY: the memory is this thread's until the drop, which takes it away from the system first.
        unsafe { libc::sigaltstack(&stack, ptr::null_mut()) };
        Stack(Some(memory))
    }

    /// The one that the system has for this thread.
    fn current() -> libc::stack_t {
        let mut current = MaybeUninit::<libc::stack_t>::zeroed();
        // SAFETY: without a new stack the call only fills in the present one; all zeroes are one, too.
        unsafe {
            libc::sigaltstack(ptr::null(), current.as_mut_ptr());
            current.assume_init()
        }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // The standard library has taken it away already where it had given the thread one before.
        if self.0.as_ref().is_some_and(|memory| ptr::eq(memory.as_ptr().cast(), Self::current().ss_sp)) {
            let none = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: STACK_SIZE };
            // SAFETY: no handler runs on the stack, since the thread is here.
            unsafe { libc::sigaltstack(&none, ptr::null_mut()) };
        }
    }
}

extern "C" fn handle(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    #[cfg(simt_check)]
    if signal == libc::SIGABRT {
        current::with_block(|block| block.stop_aborted());
    }
    let found = SIGNALS.iter().position(|&(known, _)| known == signal);
    // SAFETY: the system passes a description of the signal; for signals caused by an access it has
    // the address.
    let address = matches!(signal, libc::SIGSEGV | libc::SIGBUS).then(|| unsafe { (*info).si_addr() }.addr());
    let mut line = Line { text: [0; 1024], len: 0 };
    if current::report(&mut line, found.map_or("a signal", |i| SIGNALS[i].1), address).is_ok() && line.len > 0 {
        line.print();
    }
    let previous = found.and_then(|i| Some(&PREVIOUS.get()?[i]));
    match previous.map_or(libc::SIG_DFL, |previous| previous.sa_sigaction) {
        handler @ (libc::SIG_DFL | libc::SIG_IGN) => {
            // SAFETY: the default action, or none, is one that a signal can have. It comes again when this returns, as
            // it is blocked until then.
            unsafe {
                let mut action: sigaction = MaybeUninit::zeroed().assume_init();
                action.sa_sigaction = handler;
                libc::sigaction(signal, &action, ptr::null_mut());
                libc::raise(signal);
            }
        }
        handler if previous.is_some_and(|previous| previous.sa_flags & libc::SA_SIGINFO != 0) => {
            // SAFETY: with this flag the action had such a handler, and it gets what it would have got.
            unsafe {
                std::mem::transmute::<usize, extern "C" fn(c_int, *mut siginfo_t, *mut c_void)>(handler)(signal, info, context);
            }
        }
        // SAFETY: without the flag the action had such a handler.
        handler => unsafe { std::mem::transmute::<usize, extern "C" fn(c_int)>(handler)(signal) },
    }
}

/// Text of limited length; what is beyond is left out.
struct Line {
    text: [u8; 1024],
    len: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let text = &text.as_bytes()[..text.len().min(self.text.len() - self.len)];
        self.text[self.len..self.len + text.len()].copy_from_slice(text);
        self.len += text.len();
        Ok(())
    }
}

impl Line {
    fn print(&self) {
        let mut rest = &self.text[..self.len];
        while !rest.is_empty() {
            // SAFETY: so many bytes are there.
            let written = unsafe { libc::write(libc::STDERR_FILENO, rest.as_ptr().cast(), rest.len()) };
            match usize::try_from(written) {
                Ok(written @ 1..) => rest = &rest[written..],
                _ => return,
            }
        }
    }
}
