//! Whether a thread of this process waits for a processor, as `/proc` shows it: it could run, and has not run for a while.
//!
//! Start at [`Starvation::look`].

use std::fs::read_to_string;

/// Processor time of a thread at the last look.
#[derive(Debug, Default)]
pub(super) struct Starvation {
    /// The processor time that the thread had used, in nanoseconds.
    used: Option<u64>,
}

impl Starvation {
    /// Whether the thread can run and has not run since the last look, at least a tick of the scheduler ago: 10 ms at most.
    /// `false` where the system does not tell.
    pub(super) fn look(&mut self, thread: i32) -> bool {
        let folder = format!("/proc/self/task/{thread}");
        let read = |file: &str| read_to_string(format!("{folder}/{file}")).unwrap_or_default();
        let used = used(&read("schedstat"));
        let has_not_run = used.is_some() && self.used == used;
        self.used = used;
        has_not_run && can_run(&read("stat"))
    }
}

/// The time on a processor of a `schedstat` file.
fn used(schedstat: &str) -> Option<u64> {
    schedstat.split(' ').next()?.parse().ok()
}

/// Whether a `stat` file is that of a thread in state `R`. Its second field, a name in parentheses, may hold anything.
fn can_run(stat: &str) -> bool {
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('R'))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_state_follows_the_name_whatever_the_name_is() {
        assert!(can_run("12 (epoch-clock) R 1 12 12 0"));
        assert!(!can_run("12 (a) R b) S 1 12 12 0"));
        assert!(!can_run(""));
        assert_eq!(used("4711 12 3\n"), Some(4711));
        assert_eq!(used(""), None);
    }

    #[test]
    fn a_thread_that_sleeps_does_not_wait_for_a_processor() {
        let mut starvation = Starvation::default();
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let (tell, told) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
            stopped.recv().unwrap_err();
        });
        let sleeps = told.recv().unwrap();
        while !read_to_string(format!("/proc/self/task/{sleeps}/stat")).unwrap().contains(") S ") {}
        starvation.look(sleeps);
        assert!(!starvation.look(sleeps));
        drop(stop);
        thread.join().unwrap();
        assert!(!starvation.look(sleeps), "a thread that has ended waits for nothing");
    }
}
