//! Files that somebody names, read within bounds: as a whole within bytes and time, as a stream until its first byte is there. A leaf that
//! every crate of the host may use. They may be pipes, as those of `<(…)` and of `mkfifo`: to open a named one waits until somebody opens it
//! to write, which may be never: here for [`PIPE_WRITER_TIME`] at most. Start at [`read`], and at [`open`] for a stream.
//!
//! Files whose place a policy names are no pipes: `nodesift-policy` refuses them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Cursor, ErrorKind, Read};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, fcntl_setfl};

/// Time that somebody has to open a pipe to write it that is named as a file: a program that is begun at the same time does within
/// milliseconds, a person who begins it by hand within seconds. What is read as a whole is also written to its end within it.
pub const PIPE_WRITER_TIME: Duration = Duration::from_secs(10);

/// Time between two looks at a pipe from which nothing has come yet.
const PIPE_POLL: Duration = Duration::from_millis(10);

/// Error of a pipe that nobody has open to write: nobody has been there, or whoever was has written nothing.
const NO_WRITER: &str = "a pipe that nobody writes";

/// Error of a pipe that is open to write, and from which nothing has come.
const SILENT: &str = "a pipe whose writer has written nothing";

/// Error of a pipe from which something has come, and that is still open to write.
const UNENDED: &str = "a pipe that has no end";

/// Whether a path leads to a pipe.
pub fn is_pipe(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo())
}

/// Reads a file as a whole, a byte more than `most` at the most: so many tell that there is more. A pipe has to be written to its end
/// within [`PIPE_WRITER_TIME`].
///
/// # Errors
///
/// Those of the system, and [`ErrorKind::TimedOut`] where a pipe is not written, or not to its end; the text says which.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_within(path, most, PIPE_WRITER_TIME)
}

/// Opens a file to be read as a stream. A pipe is read for as long as somebody has it open to write.
///
/// # Errors
///
/// Those of the system, and [`ErrorKind::TimedOut`] where nobody writes the pipe.
pub fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    open_within(path, PIPE_WRITER_TIME)
}

fn open_within(path: &Path, time: Duration) -> io::Result<Box<dyn Read>> {
    let (begun, file) = begin(path, Instant::now() + time)?;
    wait_in_reads(&file)?;
    Ok(Box::new(Cursor::new(begun).chain(file)))
}

/// Reads a file as [`read`] does, with another time for a pipe to be written to its end.
///
/// # Errors
///
/// As [`read`].
pub fn read_within(path: &Path, most: u64, time: Duration) -> io::Result<Vec<u8>> {
    let until = Instant::now() + time;
    let (mut bytes, mut file) = begin(path, until)?;
    loop {
        let left = most.saturating_add(1).saturating_sub(bytes.len() as u64);
        match file.by_ref().take(left).read_to_end(&mut bytes) {
            // What came before it would wait is in `bytes`.
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                wait(until, if bytes.is_empty() { SILENT } else { UNENDED })?
            }
            read => return read.map(|_| bytes),
        }
    }
}

/// Opens a file without waiting. A pipe is given once somebody has it open to write, or has had it, with what it has given until then; reads
/// of it do not wait.
fn begin(path: &Path, until: Instant) -> io::Result<(Vec<u8>, File)> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let mut file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    // Asked of what is open: the path may lead to another file at any time.
    if !file.metadata()?.file_type().is_fifo() {
        wait_in_reads(&file)?;
        return Ok((Vec::new(), file));
    }
    // One without a name was open to write when it was made, and has an end as soon as it is not.
    let link = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()));
    let is_named = !link.is_ok_and(|link| link.to_string_lossy().starts_with("pipe:["));
    let mut byte = [0];
    loop {
        match file.read(&mut byte) {
            Ok(0) if is_named => wait(until, NO_WRITER)?,
            Ok(0) => return Ok((Vec::new(), file)),
            Ok(_) => return Ok((byte.to_vec(), file)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok((Vec::new(), file)),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Has reads of a file wait for its bytes from here on. Nobody else has this opening of it.
fn wait_in_reads(file: &File) -> io::Result<()> {
    Ok(fcntl_setfl(file, OFlags::empty())?)
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

    use rustix::fs::fcntl_getfl;
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
            assert_eq!((error.kind(), &*error.to_string()), (ErrorKind::TimedOut, NO_WRITER));
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
        for (text, said) in [(&b"1"[..], UNENDED), (&b""[..], SILENT)] {
            let goes_on = written(text);
            let error = read_within(&pipe, 5, SHORT).unwrap_err();
            assert_eq!((error.kind(), &*error.to_string()), (ErrorKind::TimedOut, said));
            drop(goes_on);
        }
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
        let zeros = Path::new("/dev/zero");
        for (path, most, expected) in [(&*file, 9, "text"), (&*file, 4, "text"), (&*file, 2, "tex"), (zeros, 1, "\0\0")]
        {
            assert_eq!(read(path, most).unwrap(), expected.as_bytes());
        }
        assert_eq!(read(&folder.path().join("none"), 9).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(open(&folder.path().join("none")).map(text).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn only_a_pipe_is_waited_for_whatever_its_path_led_to_before() {
        let folder = tempfile::tempdir().unwrap();
        let empty = folder.path().join("empty");
        fs::write(&empty, "").unwrap();
        assert_eq!(read_within(&empty, 9, SHORT).unwrap(), b"");
        assert_eq!(text(open_within(&empty, SHORT).unwrap()), "");
        for path in [&*empty, Path::new("/dev/null")] {
            let (begun, file) = begin(path, Instant::now()).unwrap();
            assert!(begun.is_empty() && !fcntl_getfl(&file).unwrap().contains(OFlags::NONBLOCK), "{}", path.display());
        }
    }
}
