//! Measurements of another process from `/proc`: memory, open files, threads, processor time.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// The peak of the resident set in bytes, since the start of the process or the last call of [`forget_peak`].
pub fn peak_resident_bytes(id: u32) -> u64 {
    field(id, "VmHWM:") * 1024
}

/// Resets the peak of the resident set to its current value.
pub fn forget_peak(id: u32) {
    fs::write(format!("/proc/{id}/clear_refs"), "5").expect("the peak can be reset");
}

/// The resident set of a process in bytes.
pub fn resident_bytes(id: u32) -> u64 {
    field(id, "VmRSS:") * 1024
}

/// The number of threads of a process.
pub fn threads(id: u32) -> u64 {
    field(id, "Threads:")
}

/// The number of open files and sockets of a process.
pub fn open_files(id: u32) -> usize {
    fs::read_dir(format!("/proc/{id}/fd")).expect("the process exists").count()
}

/// The processor time used by the current threads of a process. That of a running thread may lag behind by some
/// milliseconds.
pub fn processor_time(id: u32) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{id}/task")).expect("the process exists");
    // A thread may end in between.
    let times = tasks.filter_map(|task| nanoseconds(&fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?));
    Duration::from_nanos(times.sum())
}

/// The processor time used by the threads of a process with this name.
pub fn processor_time_of(id: u32, thread: &str) -> Duration {
    let times = named(id, thread).filter_map(|path| nanoseconds(&fs::read_to_string(path.join("schedstat")).ok()?));
    Duration::from_nanos(times.sum())
}

/// How often the threads of a process with this name have given up their core because they waited for something.
pub fn waits_of(id: u32, thread: &str) -> u64 {
    let waits = |path: PathBuf| {
        let status = fs::read_to_string(path.join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse::<u64>().ok()
    };
    named(id, thread).filter_map(waits).sum()
}

/// The identifier of the thread of a process with this name.
pub fn thread(id: u32, name: &str) -> u32 {
    let threads = named(id, name).filter_map(|path| path.file_name()?.to_str()?.parse().ok());
    let [thread] = threads.collect::<Vec<u32>>()[..] else { panic!("there is one thread {name}") };
    thread
}

/// The folders in `/proc` of the threads of a process with this name.
fn named(id: u32, name: &str) -> impl Iterator<Item = PathBuf> {
    let tasks = fs::read_dir(format!("/proc/{id}/task")).expect("the process exists");
    tasks.filter_map(move |task| {
        let path = task.ok()?.path();
        (fs::read_to_string(path.join("comm")).ok()?.trim_end() == name).then_some(path)
    })
}

fn nanoseconds(schedstat: &str) -> Option<u64> {
    schedstat.split(' ').next()?.parse().ok()
}

fn field(id: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).expect("the process exists");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("the line exists");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_is_seen_after_it_has_gone_and_can_be_forgotten() {
        const BYTES: usize = 64 << 20;
        let own = std::process::id();
        let before = resident_bytes(own);
        drop(vec![1_u8; BYTES]);
        assert!(peak_resident_bytes(own) >= before + BYTES as u64 / 2);
        forget_peak(own);
        assert!(peak_resident_bytes(own) < before + BYTES as u64 / 2);
    }

    #[test]
    fn work_takes_processor_time() {
        let own = std::process::id();
        let before = processor_time(own);
        let mut sum = 0_u64;
        // The kernel updates the time of a running thread at intervals.
        while processor_time(own) < before + Duration::from_millis(5) {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(open_files(own) >= 3 && threads(own) >= 1);
    }
}
