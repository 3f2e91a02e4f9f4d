//! Files that may be pipes, as those of `<(…)` and of `mkfifo`. To open a named one waits until somebody opens it to write, which may be
//! never: here for [`PIPE_WRITER_TIME`] at most. Start at [`open`].

use std::fs::{self, File, OpenOptions};
use std::io::{self, Cursor, ErrorKind, Read};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, fcntl_setfl};

use crate::limits::{PIPE_POLL, PIPE_WRITER_TIME};

/// Whether a path leads to a pipe.
pub(crate) fn is_pipe(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo())
}

/// Opens a file to be read as a stream. A pipe is read for as long as somebody has it open to write.
///
/// # Errors
///
/// Those of the system, and [`ErrorKind::TimedOut`] where nobody writes the pipe.
pub fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    if !is_pipe(path) {
        return Ok(Box::new(File::open(path)?));
    }
    open_within(path, PIPE_WRITER_TIME)
}

fn open_within(path: &Path, time: Duration) -> io::Result<Box<dyn Read>> {
    let (begun, pipe) = begin(path, Instant::now() + time)?;
    // From here on a read waits for the writer. Nobody else has this opening of the pipe.
    fcntl_setfl(&pipe, OFlags::empty())?;
    Ok(Box::new(Cursor::new(begun).chain(pipe)))
}

/// Reads a pipe to its end, for at most so long; a byte more than `most` tells that there is more.
///
/// # Errors
///
/// Those of the system, and [`ErrorKind::TimedOut`] where nobody writes the pipe, or not to its end.
pub(crate) fn read_within(path: &Path, most: u64, time: Duration) -> io::Result<Vec<u8>> {
    let until = Instant::now() + time;
    let (mut bytes, mut pipe) = begin(path, until)?;
    loop {
        let left = most.saturating_add(1).saturating_sub(bytes.len() as u64);
        match pipe.by_ref().take(left).read_to_end(&mut bytes) {
            // What came before it would wait is in `bytes`.
            Err(error) if error.kind() == ErrorKind::WouldBlock => wait(until, "a pipe that has no end")?,
            read => return read.map(|_| bytes),
        }
    }
}

/// Opens a pipe without waiting, and gives what it has given until somebody has it open to write, or has had it.
fn begin(path: &Path, until: Instant) -> io::Result<(Vec<u8>, File)> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let mut pipe = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    // One without a name was open to write when it was made, and has an end as soon as it is not.
    let link = fs::read_link(format!("/proc/self/fd/{}", pipe.as_raw_fd()));
    let is_named = !link.is_ok_and(|link| link.to_string_lossy().starts_with("pipe:["));
    let mut byte = [0];
    loop {
        match pipe.read(&mut byte) {
            Ok(0) if is_named => wait(until, "a pipe that nobody writes")?,
            Ok(0) => return Ok((Vec::new(), pipe)),
            Ok(_) => return Ok((byte.to_vec(), pipe)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok((Vec::new(), pipe)),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Waits a little, unless the time is over.
fn wait(until: Instant, what: &'static str) -> io::Result<()> {
    if Instant::now() >= until {
        return Err(io::Error::new(ErrorKind::TimedOut, what));
    }
    thread::sleep(PIPE_POLL);
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::io::Write as _;
    use std::path::PathBuf;
    use std::process::Command;
    use std::sync::mpsc::channel;

    use tempfile::TempDir;

    use super::*;

    const LONG: Duration = Duration::from_secs(600);
    const SHORT: Duration = Duration::from_millis(50);

    fn named() -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        (folder, pipe)
    }

    fn text(mut from: impl Read) -> String {
        let mut text = String::new();
        from.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_pipe_that_nobody_writes_is_given_up() {
        let (_folder, pipe) = named();
        let opened = open_within(&pipe, SHORT).map(text);
        for error in [opened.unwrap_err(), read_within(&pipe, 9, SHORT).unwrap_err()] {
            assert_eq!((error.kind(), &*error.to_string()), (ErrorKind::TimedOut, "a pipe that nobody writes"));
        }
    }

    #[test]
    fn a_pipe_is_read_however_late_it_is_written() {
        let (_folder, pipe) = named();
        let (opened, has_opened) = channel();
        let (go_on, goes_on) = channel::<()>();
        let writer = thread::spawn({
            let pipe = pipe.clone();
            move || {
                // Waits for somebody to open it to read.
                let mut pipe = OpenOptions::new().write(true).open(pipe).unwrap();
                opened.send(()).unwrap();
                goes_on.recv().unwrap();
                pipe.write_all(b"late").unwrap();
            }
        });
        let reader = thread::spawn(move || text(open_within(&pipe, LONG).unwrap()));
        has_opened.recv().unwrap();
        go_on.send(()).unwrap();
        writer.join().unwrap();
        assert_eq!(reader.join().unwrap(), "late");
    }

    #[test]
    fn a_pipe_is_read_to_its_end_or_to_its_limit_or_given_up() {
        let (_folder, pipe) = named();
        let written = |text: &[u8]| {
            // Open in both directions it waits for nobody.
            let mut both = OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
            both.write_all(text).unwrap();
            both
        };
        let longer = written(b"123456789");
        assert_eq!(read_within(&pipe, 5, LONG).unwrap(), b"123456", "one more than it may have");
        drop(longer);
        let goes_on = written(b"1");
        assert_eq!(read_within(&pipe, 5, SHORT).unwrap_err().to_string(), "a pipe that has no end");
        drop(goes_on);
        let writer = thread::spawn({
            let pipe = pipe.clone();
            move || fs::write(pipe, "12").unwrap()
        });
        assert_eq!(read_within(&pipe, 5, LONG).unwrap(), b"12");
        writer.join().unwrap();
    }

    #[test]
    fn a_pipe_without_a_name_ends_with_its_writer_and_is_not_waited_for() {
        for (written, expected) in [("", ""), ("all of it", "all of it")] {
            let (from, mut to) = io::pipe().unwrap();
            to.write_all(written.as_bytes()).unwrap();
            drop(to);
            let path = PathBuf::from(format!("/proc/self/fd/{}", from.as_raw_fd()));
            assert!(is_pipe(&path));
            assert_eq!(text(open_within(&path, LONG).unwrap()), expected);
        }
    }

    #[test]
    fn other_files_are_opened_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "text").unwrap();
        assert_eq!(text(open(&file).unwrap()), "text");
        assert_eq!(text(open(Path::new("/dev/null")).unwrap()), "");
        assert_eq!(open(&folder.path().join("none")).map(text).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
