//! The credentials of a user of a kubeconfig, made ready for kube: a token, a name with a password, or a certificate with its key.
//! Whatever leads to them (a file, a plugin, an old `auth-provider`) is asked here, once, so that kube starts no process and reads no
//! file at a request. Start at [`resolve`].

use std::io;
use std::path::Path;
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use kube::config::AuthInfo;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::Instant;

use super::plugin::{self, Credential};
use super::{ConnectError, files};
use crate::limits::{KUBE_EXPIRY_MARGIN, KUBE_PLUGIN_TIME};

/// Reads the credentials in the order of the library: those of an `auth-provider`, a name and its password, a token, a plugin. May take
/// as long as a plugin may. Returns when they are to be read again because they end.
pub(super) fn resolve(auth: &mut AuthInfo) -> Result<Option<Instant>, ConnectError> {
    read_token(auth)?;
    read_provider(auth)?;
    check_headers(auth)?;
    let plugin = auth.exec.take();
    let has_password = auth.username.is_some() && auth.password.is_some();
    let Some(plugin) = plugin.filter(|_| !has_password && auth.token.is_none()) else { return Ok(None) };
    let Credential { token, identity, expires } =
        plugin::run(&plugin, KUBE_PLUGIN_TIME).map_err(ConnectError::Plugin)?;
    auth.token = token.map(|token| sendable(&token, "token that the plugin of the user gives")).transpose()?.flatten();
    if let Some((certificate, key)) = identity {
        auth.client_certificate_data = Some(STANDARD.encode(certificate));
        auth.client_key_data = Some(SecretString::from(STANDARD.encode(key.expose_secret())));
    }
    Ok(expires.map(due))
}

/// When credentials that end at a time, in seconds since 1970, are to be read again.
#[allow(
    clippy::disallowed_methods,
    reason = "their end is told by the wall clock alone; all else by the monotonic one"
)]
fn due(expires: i64) -> Instant {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let left = std::time::Duration::from_secs(u64::try_from(expires).unwrap_or(0)).saturating_sub(now);
    let wait = left.saturating_sub(KUBE_EXPIRY_MARGIN).max(left / 2);
    let now = Instant::now();
    // What lies beyond the clock's end never comes.
    now.checked_add(wait).unwrap_or_else(|| now + KUBE_EXPIRY_MARGIN)
}

/// Reads the token's file as client-go does: without white space around it, and before a token in the kubeconfig itself. Editors of
/// Windows write a mark before the text.
pub(super) fn read_token(auth: &mut AuthInfo) -> Result<(), ConnectError> {
    let Some(path) = auth.token_file.take() else { return Ok(()) };
    let has_token = auth.token.as_ref().is_some_and(|token| !token.expose_secret().trim().is_empty());
    match files::read_text(Path::new(&path)) {
        Ok(text) => match text.trim_start_matches('\u{feff}').trim() {
            "" if has_token => {}
            "" => return Err(ConnectError::Token { path, source: io::Error::other("is empty") }),
            token => auth.token = Some(SecretString::from(token)),
        },
        Err(_) if has_token => {}
        Err(source) => return Err(ConnectError::Token { path, source }),
    }
    Ok(())
}

/// Takes the token of an `auth-provider`. Those that run a command are refused, as kubectl refuses them since 1.26.
fn read_provider(auth: &mut AuthInfo) -> Result<(), ConnectError> {
    let Some(mut provider) = auth.auth_provider.take() else { return Ok(()) };
    let field = match provider.name.as_str() {
        "oidc" => "id-token",
        name => return Err(ConnectError::Provider { name: name.to_owned() }),
    };
    let token = provider.config.remove(field).map(SecretString::from).map(|token| sendable(&token, PROVIDER_TOKEN));
    let token = token.transpose()?.flatten().ok_or(ConnectError::NoProviderToken { field })?;
    (auth.username, auth.password, auth.token) = (None, None, Some(token));
    Ok(())
}

const PROVIDER_TOKEN: &str = "id-token of the user's auth-provider";

/// Refuses what no header can hold: the library would panic. A blank token is none.
fn check_headers(auth: &mut AuthInfo) -> Result<(), ConnectError> {
    if let Some(token) = auth.token.take() {
        auth.token = sendable(&token, "token of the user")?;
    }
    let groups = auth.impersonate_groups.iter().flatten();
    for name in auth.impersonate.iter().chain(groups) {
        if HeaderValue::from_str(name).is_err() {
            return Err(ConnectError::Unsendable { what: "name to impersonate" });
        }
    }
    Ok(())
}

/// A token without the white space around it, as editors, `echo` and plugins leave a line break behind it; none where nothing is left.
fn sendable(token: &SecretString, what: &'static str) -> Result<Option<SecretString>, ConnectError> {
    let trimmed = token.expose_secret().trim();
    if HeaderValue::from_str(trimmed).is_err() {
        return Err(ConnectError::Unsendable { what });
    }
    Ok((!trimmed.is_empty()).then(|| SecretString::from(trimmed)))
}
