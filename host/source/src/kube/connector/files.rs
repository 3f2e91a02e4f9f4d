//! The files behind a connection, and whether they have changed. Start at [`Files`].

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::config::{AuthInfo, Kubeconfig, KubeconfigError};
use nodesift_file::{PIPE_WRITER_TIME, is_pipe, read_within};

use crate::limits::KUBE_FILE_BYTES;

/// Files, and what they were when they were looked at.
#[derive(Debug, Default)]
pub(super) struct Files(pub(super) Vec<(PathBuf, Option<State>)>);

/// Metadata that changes with a file's content: device, inode, time of modification in seconds and nanoseconds, length.
pub(super) type State = (u64, u64, i64, i64, u64);

/// Where a pod finds its service account.
pub(super) const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

impl Files {
    /// A kubeconfig, or those that are read where none is given, and what they name.
    pub(super) fn from_kubeconfig(file: Option<&Path>) -> Self {
        // A pipe is read once, and its writer changes it by writing.
        let kubeconfigs: Vec<_> = kubeconfigs(file).into_iter().filter(|file| !is_pipe(file)).collect();
        let mut paths = kubeconfigs.clone();
        paths
            .extend(kubeconfigs.iter().filter_map(|file| read(file).ok()).flat_map(|kubeconfig| named_in(&kubeconfig)));
        Self::new(paths)
    }

    /// Returns the files of a pod's service account: token and CA certificate.
    pub(super) fn from_service_account() -> Self {
        Self::new(["token", "ca.crt"].map(|file| Path::new(SERVICE_ACCOUNT).join(file)).into())
    }

    fn new(paths: Vec<PathBuf>) -> Self {
        let mut files = Self(paths.into_iter().map(|path| (path, None)).collect());
        files.look();
        files
    }

    /// These and the files of the credentials that were chosen.
    pub(super) fn and(mut self, auth: &AuthInfo) -> Self {
        for path in named_by(auth).filter(|path| !self.0.iter().any(|(known, _)| known == path)).collect::<Vec<_>>() {
            let state = state(&path);
            self.0.push((path, state));
        }
        self
    }

    /// Takes them for what they are now.
    pub(super) fn look(&mut self) {
        self.0.iter_mut().for_each(|(path, seen)| *seen = state(path));
    }

    /// Whether any of them is another than when it was looked at.
    pub(super) fn have_changed(&self) -> bool {
        self.0.iter().any(|(path, seen)| state(path) != *seen)
    }
}

/// Reads a kubeconfig, where neither it nor a file that it names is larger than any: each of them is read as a whole.
fn read(file: &Path) -> Result<Kubeconfig, KubeconfigError> {
    check(file)?;
    let kubeconfig = if is_pipe(file) { read_pipe(file, PIPE_WRITER_TIME)? } else { Kubeconfig::read_from(file)? };
    named_in(&kubeconfig).iter().try_for_each(|path| check(path))?;
    Ok(kubeconfig)
}

/// Reads a kubeconfig that is a pipe, which the library would do without any limit of time or of bytes.
fn read_pipe(file: &Path, time: Duration) -> Result<Kubeconfig, KubeconfigError> {
    let failed = |error| KubeconfigError::ReadConfig(error, file.to_owned());
    let mut kubeconfig = Kubeconfig::from_yaml(&text_of_pipe(file, time).map_err(failed)?)?;
    if let Some(folder) = file.parent() {
        place_below(folder, &mut kubeconfig);
    }
    Ok(kubeconfig)
}

/// Reads a token's file, whatever it is.
pub(super) fn read_text(file: &Path) -> io::Result<String> {
    if is_pipe(file) { text_of_pipe(file, PIPE_WRITER_TIME) } else { fs::read_to_string(file) }
}

/// The content in base64 of a file that is a pipe, and that is then named no more; none of other files, which the library reads.
pub(super) fn take_pipe(file: &mut Option<String>, time: Duration) -> Result<Option<String>, KubeconfigError> {
    let Some(path) = file.take_if(|path| is_pipe(Path::new(path.as_str()))) else { return Ok(None) };
    let path = PathBuf::from(path);
    let content = bytes_of_pipe(&path, time).map_err(|error| KubeconfigError::ReadConfig(error, path.clone()))?;
    Ok(Some(STANDARD.encode(content)))
}

fn text_of_pipe(file: &Path, time: Duration) -> io::Result<String> {
    String::from_utf8(bytes_of_pipe(file, time)?).map_err(|_| io::Error::other("not a text in UTF-8"))
}

fn bytes_of_pipe(file: &Path, time: Duration) -> io::Result<Vec<u8>> {
    let bytes = read_within(file, KUBE_FILE_BYTES, time)?;
    if bytes.len() as u64 > KUBE_FILE_BYTES { Err(too_large()) } else { Ok(bytes) }
}

/// Takes relative paths of a kubeconfig for those below its folder, as the library does where it reads a file.
fn place_below(folder: &Path, kubeconfig: &mut Kubeconfig) {
    let clusters = kubeconfig.clusters.iter_mut().filter_map(|named| named.cluster.as_mut());
    let users = kubeconfig.auth_infos.iter_mut().filter_map(|named| named.auth_info.as_mut());
    let of_users = users.flat_map(|user| {
        let command = user.exec.as_mut().and_then(|plugin| plugin.command.as_mut());
        // One without a folder is searched for.
        let command = command.filter(|command| command.contains('/'));
        [user.token_file.as_mut(), user.client_certificate.as_mut(), user.client_key.as_mut(), command]
    });
    let named = clusters.map(|cluster| cluster.certificate_authority.as_mut()).chain(of_users);
    for path in named.flatten() {
        // An absolute one stays as it is.
        if let Some(placed) = folder.join(path.as_str()).to_str() {
            *path = placed.to_owned();
        }
    }
}

fn check(path: &Path) -> Result<(), KubeconfigError> {
    if is_too_large(path) { Err(KubeconfigError::ReadConfig(too_large(), path.to_owned())) } else { Ok(()) }
}

fn too_large() -> io::Error {
    let kib = KUBE_FILE_BYTES >> 10;
    io::Error::other(format!("more than {kib} KiB, which is no kubeconfig, token or certificate"))
}

/// Whether a file has more than [`KUBE_FILE_BYTES`]. Pipes are not looked at, since what is read of them is gone.
fn is_too_large(path: &Path) -> bool {
    let Ok(metadata) = fs::metadata(path) else { return false };
    if metadata.is_file() {
        return metadata.len() > KUBE_FILE_BYTES;
    }
    // One device is a usual name for no kubeconfig, /dev/null, and another has no end.
    let length = |file: fs::File| io::copy(&mut file.take(KUBE_FILE_BYTES + 1), &mut io::sink());
    metadata.file_type().is_char_device()
        && fs::File::open(path).and_then(length).is_ok_and(|length| length > KUBE_FILE_BYTES)
}

/// The files that a kubeconfig names.
fn named_in(kubeconfig: &Kubeconfig) -> Vec<PathBuf> {
    let clusters = kubeconfig.clusters.iter().filter_map(|named| named.cluster.as_ref());
    let authorities = clusters.filter_map(|cluster| cluster.certificate_authority.as_ref()).map(PathBuf::from);
    let users = kubeconfig.auth_infos.iter().filter_map(|named| named.auth_info.as_ref());
    authorities.chain(users.flat_map(named_by)).collect()
}

fn named_by(auth: &AuthInfo) -> impl Iterator<Item = PathBuf> + use<> {
    let paths = [&auth.token_file, &auth.client_certificate, &auth.client_key].map(Clone::clone);
    paths.into_iter().flatten().map(PathBuf::from)
}

/// The kubeconfig file that is given, or those that are read where none is.
pub(super) fn kubeconfigs(given: Option<&Path>) -> Vec<PathBuf> {
    if let Some(file) = given {
        return vec![file.to_owned()];
    }
    match listed() {
        Some(list) => env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()).collect(),
        None => env::var_os("HOME").map(|home| Path::new(&home).join(".kube/config")).into_iter().collect(),
    }
}

/// Whether the environment lists kubeconfig files.
pub(super) fn is_listed() -> bool {
    listed().is_some()
}

fn listed() -> Option<OsString> {
    env::var_os("KUBECONFIG").filter(|list| !list.is_empty())
}

/// Reads kubeconfig files as one, as client-go does and the library does not: those that do not exist are passed over as long as one
/// does, and an empty `current-context`, which `kubectl config unset` leaves behind, is none.
pub(super) fn merged(files: &[PathBuf]) -> Result<Kubeconfig, KubeconfigError> {
    let mut merged: Option<Kubeconfig> = None;
    let mut missing = KubeconfigError::FindPath;
    for file in files {
        let next = match read(file) {
            Err(KubeconfigError::ReadConfig(error, path)) if error.kind() == io::ErrorKind::NotFound => {
                missing = KubeconfigError::ReadConfig(error, path);
                continue;
            }
            read => read?,
        };
        let next = Kubeconfig { current_context: next.current_context.filter(|name| !name.is_empty()), ..next };
        merged = Some(match merged {
            Some(before) => before.merge(next)?,
            None => next,
        });
    }
    merged.ok_or(missing)
}

/// `None` where the file does not exist.
fn state(path: &Path) -> Option<State> {
    let file = fs::metadata(path).ok()?;
    Some((file.dev(), file.ino(), file.mtime(), file.mtime_nsec(), file.size()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::process::Command;
    use std::thread;

    use super::*;

    #[test]
    fn a_kubeconfig_that_is_a_pipe_is_read_as_a_file_and_is_not_waited_for_without_end() {
        let text = r#"{"apiVersion": "v1", "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": "https://c", "certificate-authority": "ca.crt"}}],
            "users": [{"name": "u", "user": {"tokenFile": "../token", "client-key": "/etc/key"}},
                {"name": "v", "user": {"exec": {"command": "bin/login"}}},
                {"name": "w", "user": {"exec": {"command": "login"}}}]}"#;
        let folder = tempfile::tempdir().unwrap();
        let (pipe, file) = (folder.path().join("pipe"), folder.path().join("file"));
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let error = read_pipe(&pipe, Duration::from_millis(50)).unwrap_err();
        let is_given_up = matches!(&error, KubeconfigError::ReadConfig(source, path)
            if source.to_string() == "a pipe that nobody writes" && *path == pipe);
        assert!(is_given_up, "{error:?}");
        fs::write(&file, text).unwrap();
        let writer = thread::spawn({
            let pipe = pipe.clone();
            move || fs::write(pipe, text).unwrap()
        });
        let [of_pipe, of_file] = [&pipe, &file].map(|path| serde_json::to_value(read(path).unwrap()).unwrap());
        writer.join().unwrap();
        assert_eq!(of_pipe, of_file);
        assert_eq!(of_file["users"][1]["user"]["exec"]["command"], folder.path().join("bin/login").to_str().unwrap());
    }

    #[test]
    fn a_certificate_that_is_a_pipe_is_taken_in_and_one_that_nobody_writes_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let named = Some(pipe.to_str().unwrap().to_owned());
        let error = take_pipe(&mut named.clone(), Duration::from_millis(50)).unwrap_err();
        assert!(error.to_string().contains("a pipe that nobody writes"), "{error}");
        let writer = thread::spawn(move || fs::write(pipe, "PEM").unwrap());
        let mut file = named;
        let content = take_pipe(&mut file, Duration::from_secs(600)).unwrap();
        assert_eq!((content, file), (Some(STANDARD.encode("PEM")), None));
        writer.join().unwrap();
        let mut other = Some("/dev/null".to_owned());
        assert_eq!(take_pipe(&mut other, Duration::ZERO).unwrap(), None);
        assert_eq!(other.as_deref(), Some("/dev/null"));
    }
}
