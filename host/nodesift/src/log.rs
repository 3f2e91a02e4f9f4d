//! Logging: tracing events on stderr, as text or JSON. It sets the filter and the format, and logs nothing else itself.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use crate::args::{LogArgs, LogFormat};

/// Starts logging. An invalid filter is replaced by `warn`, with a warning.
pub(crate) fn start(args: &LogArgs, default: &str) {
    let requested = args.log.as_deref().unwrap_or(default);
    let (filter, invalid) = match EnvFilter::try_new(requested) {
        Ok(filter) => (filter, None),
        Err(error) => (EnvFilter::new("warn"), Some(error)),
    };
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colour);
    // It fails only if the calling process has set a subscriber already; that one stays.
    let _already_started = match args.log_format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    if let Some(error) = invalid {
        tracing::warn!(filter = requested, %error, "invalid log filter; logging at level warn");
    }
}
