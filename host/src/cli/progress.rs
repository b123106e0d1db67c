//! Spinners and bars on stderr.

use std::{
    borrow::Cow,
    fmt,
    io::{IsTerminal as _, Write as _, stderr},
    thread,
    time::Duration,
};

use indicatif::{ProgressBar, ProgressStyle};

/// ProgressLine on fewer elements than this is over before anyone looks.
const LONG: usize = 10_000_000;

/// Whether and how progress is shown.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    shown: bool,
}

/// One piece of work; its line goes with it.
pub struct ProgressLine {
    bar: ProgressBar,
}

impl Progress {
    /// Shown on a terminal, unless `quiet`.
    pub fn new(quiet: bool) -> Self {
        Progress { shown: !quiet && stderr().is_terminal() }
    }

    /// A spinner for work on `n` elements whose end can't be told.
    pub fn spinner(self, n: usize, text: impl Into<Cow<'static, str>>) -> ProgressLine {
        self.start(n, ProgressBar::new_spinner(), "{spinner} {msg} ({elapsed})", text)
    }

    /// A bar for work on `n` elements, each of which counts one.
    pub fn bar(self, n: usize, text: impl Into<Cow<'static, str>>) -> ProgressLine {
        self.start(n, ProgressBar::new(n as u64), "{spinner} {msg} {wide_bar} {human_pos}/{human_len} ({eta})", text)
    }

    /// A bar for work on elements each of which takes as long as `cost` of others.
    pub fn costly_bar(self, n: usize, cost: usize, text: impl Into<Cow<'static, str>>) -> ProgressLine {
        let template = "{spinner} {msg} {wide_bar} {percent} % ({eta})";
        self.start(n.saturating_mul(cost), ProgressBar::new(n as u64), template, text)
    }

    fn start(self, n: usize, bar: ProgressBar, template: &str, text: impl Into<Cow<'static, str>>) -> ProgressLine {
        if !self.shown || n < LONG {
            return ProgressLine { bar: ProgressBar::hidden() };
        }
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = bar.with_style(style).with_message(text);
        // Its thread is started by a call that panics where there can't be any more of them.
        if thread::Builder::new().spawn(|| {}).is_ok() {
            bar.enable_steady_tick(Duration::from_millis(100));
        }
        ProgressLine { bar }
    }
}

impl ProgressLine {
    /// `n` more elements are done.
    pub fn advance(&self, n: usize) {
        self.bar.inc(n as u64);
    }

    /// Says something else in front of the bar.
    pub fn say(&self, text: impl Into<Cow<'static, str>>) {
        self.bar.set_message(text);
    }

    /// Says on stderr what went wrong and is no reason to stop.
    pub fn warn(&self, text: impl fmt::Display) {
        // There is nowhere left to complain where stderr is closed.
        self.bar.suspend(|| drop(writeln!(stderr(), "warning: {text}")));
    }

    /// `n` elements of `total` are done.
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
