//! Credentials of registries, as docker's configuration has them. Start at [`find`].
//!
//! The file is `config.json` in `$DOCKER_CONFIG`, else in `~/.docker`. As docker does: the helper that is named for the registry, else
//! the helper for all registries, else what is in the file.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nodesift_file::PIPE_WRITER_TIME;
use serde::Deserialize;
use serde_json::Value;

use crate::limits::{CONFIG_BYTES, HELPER, HELPER_BYTES};

/// Docker's own registry, as its configuration names it.
const DOCKER_HUB: &str = "https://index.docker.io/v1/";

/// Output of a credential helper that has no credentials for the registry.
const NOT_FOUND: &str = "credentials not found";

/// The name that helpers give in the place of a user where the secret is a token.
const TOKEN_USER: &str = "<token>";

/// How often it is looked whether a helper has ended.
const HELPER_LOOK: Duration = Duration::from_millis(20);

/// Why credentials cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// The file cannot be read.
    #[error("{}: {reason}: mend docker's configuration, or set DOCKER_CONFIG to another folder", .path.display())]
    Config {
        /// Path of docker's `config.json`.
        path: PathBuf,
        /// Cause: an I/O error, a file that is too large, the line that cannot be parsed, or an unreadable entry.
        reason: String,
    },
    /// The helper does not work.
    #[error(
        "docker's configuration names {program} for {registry}, which {reason}: mend it, or remove it from the configuration"
    )]
    Helper {
        /// Name of the program, `docker-credential-NAME`.
        program: String,
        /// Host and port of the registry.
        registry: String,
        /// Failure of the program, as a clause that follows its name in the message.
        reason: String,
    },
}

/// Credentials for one repository of a registry.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Credentials {
    /// No credentials: requests are sent anonymously.
    Anonymous,
    /// User name and password, for HTTP basic authentication.
    Basic { user: String, password: String },
    /// Identity token, an OAuth 2.0 refresh token that the registry's token server exchanges for access tokens.
    Identity(String),
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Secrets stay out of logs.
        f.write_str(match self {
            Self::Anonymous => "Anonymous",
            Self::Basic { .. } => "Basic",
            Self::Identity(_) => "Identity",
        })
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Config {
    /// Read once one of them is wanted: what is odd about another registry is none of this one's business.
    auths: Option<BTreeMap<String, Value>>,
    cred_helpers: Option<BTreeMap<String, Option<String>>>,
    creds_store: Option<String>,
}

/// Tools write null for what is not there, or leave it out.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Entry {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Told {
    username: String,
    secret: String,
}

/// The credentials for a repository of a registry. Waits for a helper.
pub(crate) fn find(registry: &str, repository: &str) -> Result<Credentials, CredentialsError> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("DOCKER_CONFIG").or_else(|| set("HOME").map(|home| home.join(".docker")));
    match folder {
        Some(folder) => in_file(&folder.join("config.json"), (registry, repository), None, PIPE_WRITER_TIME),
        None => Ok(Credentials::Anonymous),
    }
}

/// Returns the credentials for a repository from one configuration file, where that is a pipe within `time`. `path` is the folder of the
/// helper programs, for tests.
fn in_file(
    file: &Path,
    (registry, repository): (&str, &str),
    path: Option<&Path>,
    time: Duration,
) -> Result<Credentials, CredentialsError> {
    let failed = |reason: String| CredentialsError::Config { path: file.to_owned(), reason };
    let text = match nodesift_file::read_within(file, CONFIG_BYTES, time) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Credentials::Anonymous),
        Err(error) => return Err(failed(error.to_string())),
        Ok(text) if text.len() as u64 > CONFIG_BYTES => return Err(failed(format!("more than {CONFIG_BYTES} bytes"))),
        Ok(text) => text,
    };
    // Without the parser's words, which may repeat a secret.
    let unread = |error: serde_json::Error| failed(format!("cannot be read at line {}", error.line()));
    let config: Config = serde_json::from_slice(&text).map_err(unread)?;
    // Teams of one registry have credentials of their own, in the file and by helpers.
    let helpers = config.cred_helpers.iter().flatten();
    let helpers = helpers.filter_map(|(key, name)| Some((path_of(key, registry, repository)?, name.as_ref()?)));
    let own = helpers.max_by_key(|(path, _)| *path).map(|(_, name)| name);
    if let Some(name) = own.or(config.creds_store.as_ref()).filter(|name| !name.is_empty()) {
        let found = ask(name, registry, path)?;
        if own.is_some() || found != Credentials::Anonymous {
            return Ok(found);
        }
    }
    let of_it =
        config.auths.iter().flatten().filter_map(|(key, entry)| Some((path_of(key, registry, repository)?, entry)));
    match of_it.max_by_key(|(path, _)| *path) {
        Some((_, entry)) => {
            parse_entry(entry).ok_or_else(|| failed(format!("the entry of {registry} has no readable `auth`")))
        }
        None => Ok(Credentials::Anonymous),
    }
}

/// How many bytes of the repository's path a key of the configuration names; none where it is about something else. A key is a host, an
/// address with scheme and the version of the API, or a host with the path of repositories, as podman and oras write them.
fn path_of(key: &str, registry: &str, repository: &str) -> Option<usize> {
    let short = key.split_once("://").map_or(key, |(_, rest)| rest);
    let (host, path) = short.split_once('/').unwrap_or((short, ""));
    let path = path.trim_end_matches('/');
    if host != registry && !(is_docker_hub(host) && is_docker_hub(registry)) {
        return None;
    }
    if path.is_empty() || path == "v1" || path == "v2" {
        return Some(0);
    }
    let rest = repository.strip_prefix(path)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(path.len())
}

fn is_docker_hub(host: &str) -> bool {
    ["docker.io", "index.docker.io", "registry-1.docker.io"].contains(&host)
}

/// None where it cannot be read.
fn parse_entry(entry: &Value) -> Option<Credentials> {
    let set = |text: Option<String>| text.filter(|text| !text.is_empty());
    let Entry { auth, username, password, identitytoken } = Option::deserialize(entry).ok()?.unwrap_or_default();
    if let Some(token) = set(identitytoken) {
        return Some(Credentials::Identity(token));
    }
    let Some(auth) = set(auth) else {
        return Some(basic_or_anonymous(username.unwrap_or_default(), password.unwrap_or_default()));
    };
    let text = String::from_utf8(STANDARD.decode(auth.trim()).ok()?).ok()?;
    let (user, password) = text.split_once(':')?;
    Some(basic_or_anonymous(user.to_owned(), password.trim_end_matches('\0').to_owned()))
}

/// Without a user it is nobody: an empty entry is what `docker login` leaves where a helper has the secret.
fn basic_or_anonymous(user: String, password: String) -> Credentials {
    if user.is_empty() { Credentials::Anonymous } else { Credentials::Basic { user, password } }
}

/// Asks the program `docker-credential-NAME`.
fn ask(name: &str, registry: &str, path: Option<&Path>) -> Result<Credentials, CredentialsError> {
    let program = format!("docker-credential-{name}");
    let failed =
        |reason: String| CredentialsError::Helper { program: program.clone(), registry: registry.to_owned(), reason };
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    if !is_name {
        return Err(failed("is no name of a program".to_owned()));
    }
    let mut command = Command::new(path.map_or(OsString::from(&program), |path| path.join(&program).into()));
    command.arg("get").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| failed(format!("does not start: {error}")))?;
    let server = if is_docker_hub(registry) { DOCKER_HUB } else { registry };
    if let Some(mut stdin) = child.stdin.take() {
        // Fails where it ends without reading, which its status tells.
        let _unread = stdin.write_all(server.as_bytes());
    }
    let outcome = wait(&mut child);
    // Fails where it has ended. Its output ends with it.
    let _ended = child.kill();
    let _reaped = child.wait();
    let (is_success, text) = outcome.map_err(failed)?;
    match (is_success, serde_json::from_slice::<Told>(&text)) {
        (true, Ok(told)) if told.username == TOKEN_USER => Ok(Credentials::Identity(told.secret)),
        (true, Ok(told)) => Ok(basic_or_anonymous(told.username, told.secret)),
        (true, Err(_)) => Err(failed("prints no credentials".to_owned())),
        (false, _) if String::from_utf8_lossy(&text).contains(NOT_FOUND) => Ok(Credentials::Anonymous),
        (false, _) => Err(failed("fails".to_owned())),
    }
}

/// Whether it has succeeded, and what it has printed.
fn wait(child: &mut Child) -> Result<(bool, Vec<u8>), String> {
    let deadline = Instant::now() + HELPER;
    let stdout = child.stdout.take().ok_or("has no output")?;
    let reader = thread::spawn(move || {
        let mut text = Vec::new();
        stdout.take(HELPER_BYTES).read_to_end(&mut text).map(|_| text)
    });
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            break status;
        }
        if Instant::now() >= deadline {
            return Err(format!("has not ended after {} s", HELPER.as_secs()));
        }
        thread::sleep(HELPER_LOOK);
    };
    // A child of it may hold the output open.
    while !reader.is_finished() {
        if Instant::now() >= deadline {
            return Err(format!("has not closed its output after {} s", HELPER.as_secs()));
        }
        thread::sleep(HELPER_LOOK);
    }
    let text = reader.join().map_err(|_| "cannot be read")?.map_err(|error| error.to_string())?;
    Ok((status.success(), text))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    fn basic(user: &str, password: &str) -> Credentials {
        Credentials::Basic { user: user.to_owned(), password: password.to_owned() }
    }

    fn found(config: &str, registry: &str, helpers: &[(&str, &str)]) -> Result<Credentials, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("config.json"), config).unwrap();
        for (name, script) in helpers {
            let path = folder.path().join(format!("docker-credential-{name}"));
            // By another process: what is open for writing in this one may be in a child, and then cannot be started.
            let write = r#"printf '#!/bin/sh\n%s\n' "$2" > "$1" && chmod 700 "$1""#;
            let path = path.to_str().unwrap();
            assert!(Command::new("sh").args(["-c", write, "sh", path, script]).status().unwrap().success());
        }
        let whole = registry.split_once('/').unwrap_or((registry, "team/module"));
        let (file, programs) = (folder.path().join("config.json"), Some(folder.path()));
        in_file(&file, whole, programs, PIPE_WRITER_TIME).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_that_is_a_pipe_which_nobody_writes_is_given_up_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("config.json");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let error = in_file(&pipe, ("r.example", "team/x"), None, Duration::from_millis(50)).unwrap_err();
        let is_given_up = matches!(&error, CredentialsError::Config { path, reason }
            if *path == pipe && reason == "a pipe that nobody writes");
        assert!(is_given_up, "{error}");
    }

    #[test]
    fn an_entry_is_found_by_host_and_by_address() {
        // ann:secret:1
        let config = r#"{"auths": {"https://a.example.com/v1/": {"auth": "YW5uOnNlY3JldDox"}, "b.example.com:5000": {"username": "bo", "password": "p"},
            "https://index.docker.io/v1/": {"identitytoken": "t"}, "empty.example.com": {}}, "HttpHeaders": {"x": "y"}}"#;
        assert_eq!(found(config, "a.example.com", &[]), Ok(basic("ann", "secret:1")));
        assert_eq!(found(config, "b.example.com:5000", &[]), Ok(basic("bo", "p")));
        assert_eq!(found(config, "index.docker.io", &[]), Ok(Credentials::Identity("t".into())));
        for other in ["b.example.com", "c.example.com", "a.example.com.evil.org", "empty.example.com"] {
            assert_eq!(found(config, other, &[]), Ok(Credentials::Anonymous), "{other}");
        }
        assert!(found(r#"{"auths": {"a": {"auth": "!"}}}"#, "a", &[]).unwrap_err().contains("no readable `auth`"));
        assert!(found("{", "a", &[]).unwrap_err().contains("mend docker's configuration"));
    }

    #[test]
    fn what_is_null_is_not_there_and_what_is_odd_elsewhere_does_not_matter() {
        for config in [
            r#"{"auths": null, "credHelpers": null, "credsStore": null}"#,
            r#"{"auths": {"a.b": null}, "credHelpers": {"a.b": null}}"#,
            r#"{"auths": {"a.b": {"auth": null, "identitytoken": null, "username": null}}}"#,
            r#"{"auths": {"a.b": {"auth": "Og=="}}}"#,
        ] {
            assert_eq!(found(config, "a.b", &[]), Ok(Credentials::Anonymous), "{config}");
        }
        let config = r#"{"auths": {"other": {"auth": 5}, "a.b": {"auth": "YW5uOnNlY3JldDox", "email": null, "identitytoken": null}}}"#;
        assert_eq!(found(config, "a.b", &[]), Ok(basic("ann", "secret:1")));
        for config in [
            r#"{"auths": {"a.b": "hunter2"}}"#,
            r#"{"auths": "hunter2"}"#,
            r#"{"auths": {"a.b": {"auth": ["hunter2"]}}}"#,
        ] {
            let error = found(config, "a.b", &[]).unwrap_err();
            assert!(!error.contains("hunter2") && error.contains("mend docker's configuration"), "{error}");
        }
        let nobody = ("own", r#"printf '{"ServerURL":"","Username":"","Secret":""}'"#);
        assert_eq!(found(r#"{"credHelpers": {"a.b": "own"}}"#, "a.b", &[nobody]), Ok(Credentials::Anonymous));
    }

    #[test]
    fn the_entry_with_the_longest_path_of_the_repository_is_taken() {
        // ann:secret:1
        let config = r#"{"auths": {"r.example.com/team": {"username": "team", "password": "p"}, "r.example.com": {"username": "all", "password": "p"},
            "r.example.com/team/inner": {"username": "inner", "password": "p"}, "only.example.com/team-b": {"auth": "YW5uOnNlY3JldDox"}}}"#;
        for (repository, user) in [
            ("team/module", "team"),
            ("team", "team"),
            ("team/inner/module", "inner"),
            ("team/inner", "inner"),
            ("team/inner-2", "team"),
            ("teams/module", "all"),
            ("other", "all"),
        ] {
            assert_eq!(
                found(config, &format!("r.example.com/{repository}"), &[]),
                Ok(basic(user, "p")),
                "{repository}"
            );
        }
        assert_eq!(found(config, "only.example.com/team-b/module", &[]), Ok(basic("ann", "secret:1")));
        assert_eq!(found(config, "only.example.com/team-bc/module", &[]), Ok(Credentials::Anonymous));
    }

    #[test]
    fn the_helper_with_the_longest_path_of_the_repository_is_asked() {
        let config = r#"{"credHelpers": {"r.example.com": "all", "r.example.com/team": "team", "r.example.com/team/inner": "inner"}}"#;
        let says = |user: &str| format!(r#"printf '{{"ServerURL":"","Username":"{user}","Secret":"s"}}'"#);
        let scripts = ["all", "team", "inner"].map(|user| (user, says(user)));
        let helpers = scripts.each_ref().map(|(user, script)| (*user, script.as_str()));
        for (repository, user) in
            [("team/module", "team"), ("team/inner/module", "inner"), ("teams/module", "all"), ("other", "all")]
        {
            let found = found(config, &format!("r.example.com/{repository}"), &helpers);
            assert_eq!(found, Ok(basic(user, "s")), "{repository}");
        }
    }

    #[test]
    fn helpers_come_before_the_file_and_their_failures_are_told() {
        let file = r#""auths": {"a.b": {"auth": "YW5uOnNlY3JldDox"}}"#;
        let of = |name: &str| format!(r#"{{{file}, "credHelpers": {{"a.b": "{name}"}}, "credsStore": "store"}}"#);
        let says =
            r#"read server; printf '{"ServerURL":"%s","Username":"helped-%s","Secret":"s"}' "$server" "$server""#;
        let store = ("store", "echo credentials not found in native keychain; exit 1");
        assert_eq!(found(&of("own"), "a.b", &[("own", says), store]), Ok(basic("helped-a.b", "s")));
        // Nobody is logged in at the helper of this registry.
        assert_eq!(found(&of("store"), "a.b", &[store]), Ok(Credentials::Anonymous));
        // The helper of all others does not know it: the file does.
        assert_eq!(
            found(&format!(r#"{{{file}, "credsStore": "store"}}"#), "a.b", &[store]),
            Ok(basic("ann", "secret:1"))
        );
        let token = r#"printf '{"ServerURL":"","Username":"<token>","Secret":"t"}'"#;
        assert_eq!(found(&of("own"), "a.b", &[("own", token)]), Ok(Credentials::Identity("t".into())));
        for (name, script, reason) in [
            ("own", "exit 3", "which fails"),
            ("own", "echo hello", "prints no credentials"),
            ("absent", "", "does not start"),
            ("../own", "", "is no name of a program"),
        ] {
            let error = found(&of(name), "a.b", &[("own", script)]).unwrap_err();
            assert!(error.contains(reason) && error.contains("a.b"), "{error}");
        }
    }
}
