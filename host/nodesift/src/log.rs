//! Logging: tracing events on stderr, as text or JSON. It sets the filter and the format, and logs nothing else itself.
//!
//! With JSON, every line on stderr is an event, notes, errors and panics included, and `serve` prints nothing on stdout: see
//! [`is_json`].

use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicBool, Ordering};

use tracing_subscriber::EnvFilter;

use crate::args::{LogArgs, LogFormat};

static JSON: AtomicBool = AtomicBool::new(false);

/// Whether log lines are JSON.
pub(crate) fn is_json() -> bool {
    JSON.load(Ordering::Relaxed)
}

/// Starts logging. An invalid filter is replaced by `warn`, with a warning.
pub fn start(args: &LogArgs, default: &str) {
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
    if args.log_format == LogFormat::Json {
        JSON.store(true, Ordering::Relaxed);
        std::panic::set_hook(Box::new(|panic| tracing::error!(%panic, "a thread panicked")));
    }
    if let Some(error) = invalid {
        tracing::warn!(filter = requested, %error, "invalid log filter; logging at level warn");
    }
}
