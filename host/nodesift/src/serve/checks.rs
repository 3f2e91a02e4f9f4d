//! Checks before anything is bound: arguments that depend on the machine or on each other, files of certificates, policy and
//! cluster. All errors are reported in one go.
//!
//! Start at [`check`].

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use nodesift_api::listen;
use nodesift_api::tls::{self, Tls};
use nodesift_policy::Reach;
use nodesift_policy::kubernetes::{Auto, ServerVersion};
use nodesift_policy::reload::{ObjectState, PolicyObject};
use nodesift_source::kube::connection::Connection;
use tokio::runtime::Runtime;

use super::live;
use super::policy_object::Followed;
use super::server_version;
use crate::args::{RecordPlace, ServeArgs};
use crate::cluster::{self, Opened, Origin};
use crate::exit::{self, Failure, collect};
use crate::terminal;

/// Values that have passed all checks.
pub(super) struct Checked {
    pub(super) tls: Option<Tls>,
    pub(super) socket: PathBuf,
    pub(super) connection: Option<Connection>,
    pub(super) opened: Opened,
}

/// Checks everything that `serve` is given.
///
/// # Errors
///
/// All that is wrong, as one error.
pub(super) fn check(
    args: &ServeArgs,
    reach: &Reach,
    runtime: &Runtime,
    followed: Option<&Followed>,
    version: &ServerVersion,
) -> anyhow::Result<Checked> {
    let mut errors = Vec::new();
    // Wrong arguments first: they decide the exit code.
    collect(&mut errors, check_listen(args));
    collect(&mut errors, check_record(args));
    let files = args.cluster.cluster.as_slice();
    let origin = match files {
        [] if args.kube.origin().is_some() => Origin::Live,
        [] if args.sample => Origin::Sample,
        [] => {
            errors.push(Failure::Usage(NO_SOURCE.to_owned()).into());
            Origin::Live
        }
        files => Origin::Files(files),
    };
    let socket = collect(&mut errors, socket_path(args.socket.as_ref()));
    let tls = args.tls.files().map(Tls::open).transpose().map_err(|error: tls::Error| Failure::Files(error.into()));
    let tls = collect(&mut errors, tls);
    let connection = match followed {
        Some(followed) => Ok(Some(followed.connection.clone())),
        None => args.kube.origin().map(|origin| runtime.block_on(live::connect(&origin))).transpose(),
    };
    let connection = collect(&mut errors, connection);
    if let Some(Some(connection)) = &connection {
        runtime.block_on(server_version::ask_once(&connection.server, version));
    }
    let auto = version.auto();
    let opened = match followed {
        Some(followed) => open_object(args, &origin, &followed.object, &auto),
        None => open_file(args, &origin, reach, &auto).or_else(|error| open_remembered(args, &origin, error, &auto)),
    };
    let opened = collect(&mut errors, opened);
    match (tls, socket, connection, opened) {
        (Some(tls), Some(socket), Some(connection), Some(opened)) if errors.is_empty() => {
            Ok(Checked { tls, socket, connection, opened })
        }
        _ => Err(exit::all(errors).unwrap_or_else(|| Failure::Usage(NO_SOURCE.to_owned()).into())),
    }
}

/// The cluster with the policy of the command line.
fn open_file(args: &ServeArgs, origin: &Origin<'_>, reach: &Reach, auto: &Auto) -> anyhow::Result<Opened> {
    let text = cluster::policy_text(&args.policy).map_err(Failure::Policy)?.within(reach).under(auto.clone());
    cluster::open_text(origin, text, &cluster::pulled_folder(args.state_folder.as_deref()), true)
}

/// The cluster with the policy of an object. Where that is not there, with the last good policy, else with the default one.
fn open_object(args: &ServeArgs, origin: &Origin<'_>, object: &PolicyObject, auto: &Auto) -> anyhow::Result<Opened> {
    let is_missing = matches!(object.state(), ObjectState::Absent | ObjectState::NotServed);
    let opened = match object.text() {
        Ok(text) => cluster::open_text(
            origin,
            text.under(auto.clone()),
            &cluster::pulled_folder(args.state_folder.as_deref()),
            true,
        ),
        Err(error) => Err(Failure::Policy(error.into()).into()),
    };
    opened.or_else(|error| open_remembered(args, origin, error, auto)).or_else(|error| {
        if !is_missing {
            return Err(error);
        }
        tracing::warn!(reason = %terminal::escaped(&exit::text(&error)), "the policy is missing: serving the default policy");
        let text = cluster::policy_text(&args.policy).map_err(Failure::Policy)?.under(auto.clone());
        cluster::open_text(origin, text, &cluster::pulled_folder(args.state_folder.as_deref()), true)
    })
}

/// The cluster with the last good policy, where the one that is named is broken and another is remembered.
fn open_remembered(args: &ServeArgs, origin: &Origin<'_>, error: anyhow::Error, auto: &Auto) -> anyhow::Result<Opened> {
    let Some(folder) = args.state_folder.as_deref().filter(|_| is_about_policy(&error)) else {
        return Err(error);
    };
    let opened = match cluster::remembered(folder, auto) {
        Ok(None) => return Err(error),
        Ok(Some(remembered)) => cluster::open_remembered(origin, remembered),
        Err(damaged) => Err(damaged.into()),
    };
    let reason = terminal::escaped(&exit::text(&error));
    match &opened {
        Ok(_) => tracing::warn!(reason, "the policy is broken: serving the last good one, which is remembered"),
        Err(unusable) => {
            let why = exit::text(unusable);
            tracing::warn!(reason = %terminal::escaped(&why), "the policy that is remembered cannot be used");
        }
    }
    opened.map_err(|_| error)
}

/// The error of `serve` without a cluster. A production start whose source was forgotten must not serve another cluster.
const NO_SOURCE: &str = "no cluster given: use --kube, --kubeconfig FILE or --context NAME to watch one, --cluster FILE to \
                         read one from files, or --sample for the built-in sample";

/// Files have no place for decisions.
fn check_record(args: &ServeArgs) -> Result<(), Failure> {
    if args.record == Some(RecordPlace::Object) && args.kube.origin().is_none() {
        let needs = "--record object needs a cluster to watch: use --kube, --kubeconfig FILE or --context NAME";
        return Err(Failure::Usage(needs.to_owned()));
    }
    Ok(())
}

/// Off loopback, TLS and client certificates are required: what can be asked and assumed there is not for everybody.
pub(super) fn check_listen(args: &ServeArgs) -> Result<(), Failure> {
    let addresses = [(!args.no_tcp).then_some(args.listen), args.explorer_address()];
    addresses.into_iter().flatten().try_for_each(|address| check_address(args, address))
}

fn check_address(args: &ServeArgs, address: SocketAddr) -> Result<(), Failure> {
    if listen::check_loopback(address).is_ok() {
        return Ok(());
    }
    if args.tls.tls_cert.is_none() {
        return listen::check_loopback(address).map_err(|error| Failure::Usage(error.to_string()));
    }
    if args.tls.tls_client_ca.is_none() && !args.access.insecure_anonymous {
        return Err(Failure::Usage(format!(
            "{address} is reachable from other machines: listening there needs client certificates (--tls-client-ca FILE); \
             --insecure-anonymous lets everybody call who can open a connection"
        )));
    }
    Ok(())
}

/// The Unix socket that is given, or `nodesift.sock` in `$XDG_RUNTIME_DIR` or `/run/nodesift`. A folder that everybody may
/// write to is not used: anybody could put a socket of his own there first.
///
/// # Errors
///
/// [`Failure::Usage`] without such a folder.
pub(crate) fn socket_path(given: Option<&PathBuf>) -> Result<PathBuf, Failure> {
    const NAME: &str = "nodesift.sock";
    const SYSTEM_FOLDER: &str = "/run/nodesift";
    if let Some(path) = given {
        return Ok(path.clone());
    }
    let user_folder = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let system_folder = || {
        let folder = Path::new(SYSTEM_FOLDER);
        // Fails where it is there already, and where this user may not make it.
        let _there_or_not = std::fs::create_dir_all(folder);
        folder.to_owned()
    };
    let found = user_folder.filter(|folder| listen::is_runtime_folder(folder));
    let found = found.or_else(|| Some(system_folder()).filter(|folder| listen::is_runtime_folder(folder)));
    found.map(|folder| folder.join(NAME)).ok_or_else(|| {
        Failure::Usage(format!(
            "no folder for the Unix socket: neither $XDG_RUNTIME_DIR nor {SYSTEM_FOLDER} is a folder that not everybody may \
             write to; give the path with --socket PATH"
        ))
    })
}

/// Whether nothing but the policy is wrong.
pub(super) fn is_about_policy(error: &anyhow::Error) -> bool {
    matches!(error.chain().find_map(|cause| cause.downcast_ref()), Some(Failure::Policy(_)))
}
