//! Spinners and bars on stderr.

use std::{
    borrow::Cow,
    fmt,
    io::{IsTerminal as _, stderr},
    thread,
    time::Duration,
};

use indicatif::{ProgressBar, ProgressStyle};

use super::{printable::printable, terminal};

/// Minimum number of elements for a line to show: work on fewer is over before anyone looks.
const LONG: usize = 10_000_000;

/// Factory of progress lines, which may be hidden.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    shown: bool,
}

/// The line of one piece of work. Dropping removes it.
pub struct ProgressLine {
    bar: ProgressBar,
}

impl Progress {
    /// Shows progress if stderr is a terminal, unless it is `logged` or `--quiet` was given.
    pub fn new(logged: bool) -> Self {
        Progress { shown: !logged && !terminal::is_quiet() && stderr().is_terminal() }
    }

    /// Returns a spinner for work on `n` elements whose end can't be predicted.
    pub fn spinner(self, n: usize, text: impl Into<Cow<'static, str>>) -> ProgressLine {
        self.start(n, ProgressBar::new_spinner(), "{spinner} {msg} ({elapsed})", text)
    }

    /// Returns a bar for work on `n` elements.
    pub fn bar(self, n: usize, text: impl Into<Cow<'static, str>>) -> ProgressLine {
        self.start(n, ProgressBar::new(n as u64), "{spinner} {msg} {wide_bar} {human_pos}/{human_len} ({eta})", text)
    }

    /// Returns a bar for work on elements that take `cost` times as long as usual ones.
    pub fn costly_bar(self, n: usize, cost: usize, text: impl Into<Cow<'static, str>>) -> ProgressLine {
        let template = "{spinner} {msg} {wide_bar} {percent} % ({eta})";
        self.start(n.saturating_mul(cost), ProgressBar::new(n as u64), template, text)
    }

    fn start(self, n: usize, bar: ProgressBar, template: &str, text: impl Into<Cow<'static, str>>) -> ProgressLine {
        if !self.shown || n < LONG {
            return ProgressLine { bar: ProgressBar::hidden() };
        }
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = bar.with_style(style).with_message(printable(text.into()));
        // `enable_steady_tick` panics if it can't start a thread.
        if thread::Builder::new().spawn(|| {}).is_ok() {
            bar.enable_steady_tick(Duration::from_millis(100));
        }
        ProgressLine { bar }
    }
}

impl ProgressLine {
    /// Advances by `n` elements.
    pub fn advance(&self, n: usize) {
        self.bar.inc(n as u64);
    }

    /// Replaces the text in front of the bar.
    pub fn say(&self, text: impl Into<Cow<'static, str>>) {
        self.bar.set_message(printable(text.into()));
    }

    /// Prints a warning on stderr.
    pub fn warn(&self, text: impl fmt::Display) {
        self.bar.suspend(|| terminal::warn(text));
    }

    /// Shows that `n` elements of `total` are done.
    pub fn reach(&self, n: usize, total: usize) {
        self.bar.set_length(total as u64);
        self.bar.set_position(n as u64);
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
