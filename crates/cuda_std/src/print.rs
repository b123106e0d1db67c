//! Text from kernels: [`println!`](crate::println!).

use core::fmt;

/// [`println!`](crate::println!) without the end of the line.
#[macro_export]
macro_rules! print {
    ($($argument:tt)*) => {
        $crate::__private::print($crate::__private::format_args!($($argument)*))
    };
}

/// Prints a line, as the standard library's macro of this name does: with its formats, of whatever implements
/// `Display`, `Debug` and so on.
///
/// GPU: the text is put together on the thread's stack and handed to the driver (`vprintf`), which prints it when the
/// host next waits for the device or for a stream; a line is printed as a whole. The driver's buffer holds about 1 MB,
/// and older text is lost where more is printed. CPU: the standard library's, at once.
///
/// The prelude leaves it out: where the standard library is, too, its own would be as good a name.
///
/// ```
/// use cuda_std::{prelude::*, println};
///
/// #[kernel]
/// pub fn show(values: &[f32]) {
///     if let Some(value) = values.get(thread::index_1d() as usize) {
///         println!("thread {:>4} has {value:.3}", thread::index_1d());
///     }
/// }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! println {
    () => {
        $crate::print!("\n")
    };
    ($($argument:tt)*) => {
        $crate::print!("{}\n", $crate::__private::format_args!($($argument)*))
    };
}

/// Expansion of [`print!`].
#[cfg(not(cuda_device))]
#[doc(hidden)]
pub fn print(text: fmt::Arguments<'_>) {
    std::print!("{text}");
}

/// Expansion of [`print!`]. Out of line: printing is rare, and its buffer large.
#[cfg(cuda_device)]
#[doc(hidden)]
#[cold]
#[inline(never)]
pub fn print(text: fmt::Arguments<'_>) {
    let mut buffer = Buffer { bytes: [0; SIZE], len: 0 };
    // The buffer takes it all, and a `Display` that fails has printed what it could.
    let _ = fmt::write(&mut buffer, text);
    buffer.flush();
}

/// The bytes of a piece of text, with the zero at its end.
#[cfg(cuda_device)]
pub(crate) const SIZE: usize = 256;

#[cfg(cuda_device)]
unsafe extern "C" {
    /// The driver's: text that the host prints later. The arguments lie one behind the other, as C would pass them.
    pub(crate) fn vprintf(format: *const u8, arguments: *const u8) -> i32;
}

/// Text on its way to the driver. Text longer than the buffer is printed in pieces.
#[cfg(cuda_device)]
struct Buffer {
    bytes: [u8; SIZE],
    len: usize,
}

#[cfg(cuda_device)]
impl Buffer {
    #[inline(never)]
    fn flush(&mut self) {
        static FORMAT: [u8; 3] = *b"%s\0";
        self.bytes[self.len] = 0;
        let text = self.bytes.as_ptr();
        // SAFETY: the format takes one argument, the address of a text that ends with a zero.
        unsafe { vprintf(FORMAT.as_ptr(), (&raw const text).cast()) };
        self.len = 0;
    }
}

#[cfg(cuda_device)]
impl fmt::Write for Buffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for &byte in text.as_bytes() {
            if self.len == SIZE - 1 {
                self.flush();
            }
            self.bytes[self.len] = byte;
            self.len += 1;
        }
        Ok(())
    }
}
