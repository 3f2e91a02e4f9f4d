//! What the system knows of another process: memory, open files, threads, processor time.

use std::fs;
use std::time::Duration;

/// The most memory that a process has held at once since it began or [`forget_peak`] was called.
pub fn peak_resident_bytes(id: u32) -> u64 {
    field(id, "VmHWM:") * 1024
}

/// Has the peak start again from what the process holds now.
pub fn forget_peak(id: u32) {
    fs::write(format!("/proc/{id}/clear_refs"), "5").expect("the peak can be forgotten");
}

/// Memory that a process holds.
pub fn resident_bytes(id: u32) -> u64 {
    field(id, "VmRSS:") * 1024
}

/// Threads of a process.
pub fn threads(id: u32) -> u64 {
    field(id, "Threads:")
}

/// Files and sockets that a process has open.
pub fn open_files(id: u32) -> usize {
    fs::read_dir(format!("/proc/{id}/fd")).expect("the process is there").count()
}

/// Processor time that the threads of a process have used which are there now. That of a thread which is just running may
/// lag behind by some milliseconds.
pub fn processor_time(id: u32) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{id}/task")).expect("the process is there");
    // A thread may end between the two looks.
    let times = tasks.filter_map(|task| nanoseconds(&fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?));
    Duration::from_nanos(times.sum())
}

fn nanoseconds(schedstat: &str) -> Option<u64> {
    schedstat.split(' ').next()?.parse().ok()
}

fn field(id: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).expect("the process is there");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("the line is there");
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
        // The system brings the time of a running thread up to date at its own pace.
        while processor_time(own) < before + Duration::from_millis(5) {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(open_files(own) >= 3 && threads(own) >= 1);
    }
}
