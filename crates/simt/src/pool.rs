//! OS threads that outlive a launch, since starting one takes longer than many launches do.
//!
//! One pool serves the process. It grows to the largest number of helpers that any launch has asked for.

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

struct Pool {
    state: Mutex<State>,
    /// There is a task that wants helpers.
    wanted: Condvar,
    /// The last helper has left some task.
    left: Condvar,
}

struct State {
    tasks: Vec<Task>,
    helpers: usize,
    idle: usize,
    next_id: u64,
}

struct Task {
    id: u64,
    work: Work,
    /// Number of further helpers wanted.
    wanted: usize,
    /// Number of helpers at work.
    active: usize,
}

#[derive(Clone, Copy)]
struct Work(*const (dyn Fn() + Sync));

// SAFETY: what it points to is `Sync`, so it may be called from any thread; `with_helpers` sees that it lives long
// enough.
unsafe impl Send for Work {}

static POOL: Pool = Pool {
    state: Mutex::new(State { tasks: Vec::new(), helpers: 0, idle: 0, next_id: 0 }),
    wanted: Condvar::new(),
    left: Condvar::new(),
};

/// Calls `work` here and on up to `helpers` other OS threads at once, and returns when all those calls have returned.
/// Helpers may come late or, where others keep them busy, never; `work` here must be able to finish alone.
pub(crate) fn with_helpers(helpers: usize, work: &(dyn Fn() + Sync)) {
    let posted = Posted { id: POOL.post(helpers, work) };
    work();
    drop(posted);
}

/// A task in the pool; dropping it withdraws it and waits for its helpers.
struct Posted {
    id: u64,
}

impl Drop for Posted {
    fn drop(&mut self) {
        let mut state = POOL.lock();
        state.task(self.id).wanted = 0;
        while state.task(self.id).active > 0 {
            state = POOL.left.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.tasks.retain(|task| task.id != self.id);
    }
}

impl State {
    fn task(&mut self, id: u64) -> &mut Task {
        self.tasks.iter_mut().find(|task| task.id == id).expect("a task stays until `Posted` removes it")
    }
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn post<'a>(&'static self, helpers: usize, work: &'a (dyn Fn() + Sync + 'a)) -> u64 {
        let work: *const (dyn Fn() + Sync + 'a) = work;
        // SAFETY: only the lifetime changes. Helpers call it between `post` and the drop of the caller's `Posted`,
        // which waits for them and which `with_helpers` keeps within the borrow of `work`.
        let work =
            Work(unsafe { std::mem::transmute::<*const (dyn Fn() + Sync + 'a), *const (dyn Fn() + Sync + 'static)>(work) });
        let mut state = self.lock();
        let id = state.next_id;
        state.next_id += 1;
        state.tasks.push(Task { id, work, wanted: helpers, active: 0 });
        while state.helpers < helpers {
            let name = format!("simt-{}", state.helpers + 1);
            // Without the thread the launch is only slower.
            if thread::Builder::new().name(name).spawn(|| self.help()).is_err() {
                break;
            }
            state.helpers += 1;
        }
        let wake = helpers.min(state.idle);
        drop(state);
        for _ in 0..wake {
            self.wanted.notify_one();
        }
        id
    }

    fn help(&self) -> ! {
        let mut state = self.lock();
        loop {
            if let Some(task) = state.tasks.iter_mut().find(|task| task.wanted > 0) {
                task.wanted -= 1;
                task.active += 1;
                let (id, work) = (task.id, task.work);
                drop(state);
                // SAFETY: the task counts this helper as active, so its `Posted` has not been dropped, and `work`
                // lives.
                let work = unsafe { &*work.0 };
                // A launch catches the panics of its kernels; should anything else panic, the launch must not hang for
                // it.
                let _ = panic::catch_unwind(AssertUnwindSafe(work));
                state = self.lock();
                let task = state.task(id);
                task.active -= 1;
                if task.active == 0 {
                    self.left.notify_all();
                }
            } else {
                state.idle += 1;
                state = self.wanted.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
            }
        }
    }
}
