//! A dialogue with another program, by lines through pipes: a line to its standard input, and one from its standard
//! output.
//!
//! One thread does both. It waits for either pipe at most until a limit, and ends when the user cancels. It reads no
//! further than it has to: what the program writes beyond that stays in the pipe, so that the program waits.

use std::{
    ffi::OsString,
    io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Write as _},
    mem,
    os::unix::process::CommandExt as _,
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::ioctl_fionread,
    process::{Pid, Signal, kill_process_group, test_kill_process_group},
};

use crate::common::Cancel;

/// The longest line that a program may write, in bytes.
const LONGEST: u64 = 1 << 20;
/// Time until the flag of the user is looked at again.
const GLANCE: Duration = Duration::from_millis(50);
/// Time that a program has to end after its output has ended, and after it was asked to.
pub(super) const GRACE: Duration = Duration::from_millis(400);

/// The process groups of all programs that run.
static RUNNING: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

fn running() -> MutexGuard<'static, Vec<Pid>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills all programs, with their process groups. Afterwards, starting one blocks forever, so the process must end.
pub fn kill_programs() {
    let list = running();
    for &group in &*list {
        let _ = kill_process_group(group, Signal::KILL);
    }
    mem::forget(list);
}

/// The reason why a dialogue can't go on.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The program broke down: a clause.
    Broken(String),
    /// It wrote a line that nothing had asked for.
    Unasked(String),
    /// The user has cancelled.
    Cancelled,
}

/// A program that runs.
#[derive(Debug)]
pub(super) struct Dialogue {
    child: Child,
    group: Option<Pid>,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// The beginning of the next line.
    line: Vec<u8>,
    /// `true` after the end of the output.
    is_over: bool,
    cancel: Cancel,
}

/// A moment from which a limit counts.
#[derive(Clone, Copy)]
struct Limit {
    start: Instant,
    limit: Duration,
}

impl Limit {
    fn new(limit: Duration) -> Self {
        Limit { start: Instant::now(), limit }
    }

    fn left(self) -> Duration {
        self.limit.saturating_sub(self.start.elapsed())
    }

    /// Returns a pause that is short in comparison with the time until now.
    fn pause(self) -> Duration {
        (self.start.elapsed() / 8).max(Duration::from_micros(20))
    }
}

impl Dialogue {
    /// Starts a program in a process group of its own: Ctrl-C is for this process, which lets the other one end.
    pub fn start(command: &[OsString], cancel: Cancel) -> io::Result<Self> {
        let mut command_line = Command::new(&command[0]);
        command_line.args(&command[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        // While the list is locked, no signal ends this process without the other.
        let mut list = running();
        let mut child = command_line.spawn()?;
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        list.extend(group);
        drop(list);
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = BufReader::new(output.expect("it is a pipe"));
        let dialogue = Dialogue { child, group, input, output, line: Vec::new(), is_over: false, cancel };
        fcntl_setfl(dialogue.output.get_ref(), fcntl_getfl(dialogue.output.get_ref())? | OFlags::NONBLOCK)?;
        let input = dialogue.input.as_ref().expect("it is a pipe");
        fcntl_setfl(input, fcntl_getfl(input)? | OFlags::NONBLOCK)?;
        Ok(dialogue)
    }

    /// Sends a line, and returns the first line of the answer that begins with `{`.
    ///
    /// The end of the line is sent only when the program has read the rest of it: by then it waits, and has written
    /// everything that it had to write before. Nothing of that is an answer.
    pub fn ask(&mut self, line: &str, limit: Duration) -> Result<String, Trouble> {
        let limit = Limit::new(limit);
        self.send(line.as_bytes(), limit)?;
        while !self.has_read() {
            self.hear_nothing(limit)?;
            if self.wait(Some(PollFlags::empty()), limit.left().min(limit.pause())) {
                return Err(self.closed(limit));
            }
        }
        self.send(b"\n", limit)?;
        loop {
            self.check(limit)?;
            match self.next()? {
                Some(line) if line.starts_with('{') => return Ok(line),
                Some(line) => tracing::debug!("{line}"),
                None if self.is_over => return Err(ended()),
                None => drop(self.wait(None, limit.left())),
            }
        }
    }

    fn check(&self, limit: Limit) -> Result<(), Trouble> {
        if self.cancel.is_cancelled() {
            return Err(Trouble::Cancelled);
        }
        let reason = || Trouble::Broken(format!("no answer in {} s", limit.limit.as_secs_f64()));
        if limit.left().is_zero() { Err(reason()) } else { Ok(()) }
    }

    /// Writes to the program, once it has nothing to say.
    fn send(&mut self, mut bytes: &[u8], limit: Limit) -> Result<(), Trouble> {
        while !bytes.is_empty() {
            self.hear_nothing(limit)?;
            match self.input.as_mut().map_or(Ok(0), |input| input.write(bytes)) {
                Ok(written) if written > 0 => bytes = &bytes[written..],
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                    self.wait(Some(PollFlags::OUT), limit.left());
                }
                _ => return Err(self.closed(limit)),
            }
        }
        Ok(())
    }

    /// Returns true if the program has read all that was sent.
    fn has_read(&self) -> bool {
        self.input.as_ref().is_some_and(|input| ioctl_fionread(input).is_ok_and(|unread| unread == 0))
    }

    /// Returns why nothing can be written any more: the program has ended, or has closed its input.
    fn closed(&mut self, limit: Limit) -> Trouble {
        let grace = Limit::new(limit.left().min(GRACE));
        while !self.is_over && !grace.left().is_zero() {
            match self.next() {
                Ok(Some(_)) => {}
                Ok(None) => drop(self.wait(None, grace.left())),
                Err(trouble) => return trouble,
            }
        }
        if self.is_over { ended() } else { Trouble::Broken("it has closed its input".to_owned()) }
    }

    /// Reads the lines that are there. None of them is an answer.
    fn hear_nothing(&mut self, limit: Limit) -> Result<(), Trouble> {
        loop {
            self.check(limit)?;
            match self.next()? {
                Some(line) if line.starts_with('{') => return Err(Trouble::Unasked(line)),
                Some(line) => tracing::debug!("{line}"),
                None if self.is_over => return Err(ended()),
                None => return Ok(()),
            }
        }
    }

    /// Returns the next line, or `None` if the program has not written one yet.
    fn next(&mut self) -> Result<Option<String>, Trouble> {
        if self.is_over {
            return Ok(None);
        }
        let room = LONGEST - self.line.len() as u64;
        match self.output.by_ref().take(room).read_until(b'\n', &mut self.line) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(Trouble::Broken(format!("its output can't be read: {error}"))),
            Ok(_) if self.line.ends_with(b"\n") => {}
            Ok(_) if self.line.len() as u64 == LONGEST => {
                let reason = format!("its output can't be read: a line is longer than {LONGEST} bytes");
                return Err(Trouble::Broken(reason));
            }
            Ok(_) => {
                self.is_over = true;
                if self.line.is_empty() {
                    return Ok(None);
                }
            }
        }
        Ok(Some(String::from_utf8_lossy(&mem::take(&mut self.line)).trim().to_owned()))
    }

    /// Waits for output and for these `events` of the input: at most this long. Returns true if nobody reads the input.
    fn wait(&self, events: Option<PollFlags>, most: Duration) -> bool {
        let mut pipes = Vec::with_capacity(2);
        if let Some((input, events)) = self.input.as_ref().zip(events) {
            pipes.push(PollFd::new(input, events));
        }
        if !self.is_over {
            pipes.push(PollFd::new(self.output.get_ref(), PollFlags::IN));
        }
        let most = Timespec::try_from(most.min(GLANCE)).expect("it is short");
        // An interrupted call returns too early, which does no harm.
        let _ = poll(&mut pipes, Some(&most));
        events.is_some() && pipes.first().is_some_and(|input| input.revents().contains(PollFlags::ERR))
    }

    /// Closes the program's input, waits until it ends by itself, and otherwise ends its process group. Returns its
    /// status if it ended by itself.
    ///
    /// # Errors
    /// [`Trouble::Unasked`] if it wrote a line that begins with `{` in that time.
    pub fn end(&mut self, patience: Duration) -> Result<Option<ExitStatus>, Trouble> {
        self.input = None;
        let limit = Limit::new(patience);
        let (mut status, mut unasked) = (None, None);
        while status.is_none() && self.check(limit).is_ok() {
            status = self.child.try_wait().ok().flatten();
            // All that it wrote before its end is in the pipe.
            while let Ok(Some(line)) = self.next()
                && self.check(limit).is_ok()
            {
                unasked = unasked.or(Some(line).filter(|line| line.starts_with('{')));
            }
            if status.is_none() {
                self.wait(None, limit.left().min(limit.pause()));
            }
        }
        if !status.is_some_and(|status| status.success()) {
            self.kill();
        }
        if let Some(group) = self.group.take() {
            running().retain(|&other| other != group);
        }
        unasked.map_or(Ok(status), |line| Err(Trouble::Unasked(line)))
    }

    /// Asks the process group to end, and kills it after a while. (`mpirun` ends its processes when it is asked to, and
    /// can't when it is killed.)
    fn kill(&mut self) {
        let Some(group) = self.group else { return };
        let _ = kill_process_group(group, Signal::TERM);
        let limit = Limit::new(GRACE);
        loop {
            // The group is empty when all processes have ended, and this one was waited for.
            let _ = self.child.try_wait();
            if test_kill_process_group(group).is_err() {
                return;
            }
            if limit.left().is_zero() {
                break;
            }
            thread::sleep(limit.pause().min(limit.left()));
        }
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.child.wait();
    }
}

fn ended() -> Trouble {
    Trouble::Broken("it ended without an answer".to_owned())
}

impl Drop for Dialogue {
    fn drop(&mut self) {
        if self.group.is_some() {
            let _ = self.end(GRACE);
        }
    }
}
