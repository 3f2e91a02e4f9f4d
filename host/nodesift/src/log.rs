//! Diagnostics: tracing to stderr, as text or JSON.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use super::args::{LogArgs, LogFormat};

/// Starts logging. A filter that cannot be read is replaced by `warn`, and said so.
pub(super) fn start(args: &LogArgs, default: &str) {
    let wanted = args.log.as_deref().unwrap_or(default);
    let (filter, refused) = match EnvFilter::try_new(wanted) {
        Ok(filter) => (filter, None),
        Err(error) => (EnvFilter::new("warn"), Some(error)),
    };
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colour);
    // A second start would only mean that a host process logs already.
    let _already_started = match args.log_format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    if let Some(error) = refused {
        tracing::warn!(filter = wanted, %error, "the log filter cannot be read");
    }
}
