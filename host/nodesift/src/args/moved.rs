//! Commands that `nodesift` had before `nodesift-dev` was split off: whoever types one is told where it is. Start at [`moved`].

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The commands of `nodesift-dev` that were commands of `nodesift`.
const COMMANDS: [&str; 3] = ["module", "bench", "cluster"];

/// The option of `explain` that is an option of `nodesift-dev explain` alone.
const RECORD: &str = "--record";

/// Where a command or an option is now, if that is why the arguments do not parse.
pub(crate) fn moved(error: &clap::Error) -> Option<String> {
    let named = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let typed = named(ContextKind::InvalidSubcommand)?;
            let command = COMMANDS.iter().find(|command| **command == typed)?;
            Some(format!("`nodesift {command}` is `nodesift-dev {command}` now: the same arguments, another program"))
        }
        ErrorKind::UnknownArgument if named(ContextKind::InvalidArg)? == RECORD => {
            Some(format!("`{RECORD}` is an option of `nodesift-dev explain {RECORD}` now"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::super::Args;
    use super::*;

    fn told(words: &[&str]) -> Option<String> {
        moved(&Args::try_parse_from(["nodesift"].iter().chain(words)).err()?)
    }

    #[test]
    fn what_has_moved_is_told_whatever_follows_it() {
        for words in [&["module"][..], &["module", "test", "--watch"], &["--log", "debug", "module", "--help"]] {
            assert!(told(words).is_some_and(|text| text.contains("`nodesift-dev module`")), "{words:?}");
        }
        assert!(told(&["bench", "--quick"]).is_some_and(|text| text.contains("`nodesift-dev bench`")));
        assert!(told(&["cluster", "synth"]).is_some_and(|text| text.contains("`nodesift-dev cluster`")));
        let record = ["explain", "--cluster", "c.json", "--record", "cases.yaml"];
        assert!(told(&record).is_some_and(|text| text.contains("`nodesift-dev explain --record`")));
    }

    #[test]
    fn other_mistakes_are_those_of_the_parser() {
        for words in [&["modules"][..], &["explain", "--recorded"], &["filter", "--cluster"], &["--help"]] {
            assert_eq!(told(words), None, "{words:?}");
        }
    }
}
