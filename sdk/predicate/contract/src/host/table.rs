//! How the host answers each function: the lines of `host/engine/facts.txt`, whose head explains them. Start at [`Table::read`].

use std::collections::BTreeMap;

use crate::model::{Contract, Function, Interface};
use crate::text::camel;

/// Why the table cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// A line that has not the parts of one.
    #[error("line {0}: {1}")]
    Line(usize, &'static str),
    /// A function of the contract without a line.
    #[error("the function {0} has no line")]
    Missing(String),
    /// A line for what is no fact function of the contract.
    #[error("{0} is no fact function of the contract")]
    Unknown(String),
    /// Two functions with one method.
    #[error("the method `{0}` stands there twice")]
    Method(String),
}

/// The table in `host/engine/facts.txt`, parsed and matched with the fact functions of the contract.
#[derive(Debug)]
pub struct Table<'a> {
    /// Fact functions, in the order of the contract.
    pub answers: Vec<Answer<'a>>,
    /// Logs of changes that are not called after their interface.
    logs: BTreeMap<String, String>,
}

/// How a function is answered.
#[derive(Debug)]
pub struct Answer<'a> {
    /// The interface of the contract that has the function.
    pub interface: &'a Interface,
    /// The fact function that the host answers.
    pub function: &'a Function,
    /// `untimed`, `timed`, or `shared[…]` with what is kept.
    pub timing: String,
    /// Whether the method gets a meter.
    pub is_metered: bool,
    /// Whether it may have no value.
    pub may_trap: bool,
    /// The method of `Facts`.
    pub method: String,
    /// Its value, with types of `wire`.
    pub value: String,
    /// Words for the facts that the function reads, for example `field` and `Namespace`.
    pub reads: Vec<String>,
}

impl<'a> Table<'a> {
    /// Reads the lines for the functions of a contract.
    ///
    /// # Errors
    ///
    /// Where a line is none, or lines and functions are not the same.
    pub fn read(text: &str, contract: &'a Contract) -> Result<Self, TableError> {
        let (mut lines, mut logs) = (BTreeMap::new(), BTreeMap::new());
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let parts: Vec<&str> = line.split('|').map(str::trim).collect();
            match parts[..] {
                [log, name] if log.starts_with("log ") => {
                    logs.insert(log["log ".len()..].trim().to_owned(), name.to_owned());
                }
                [name, time, method, value, reads] if !reads.is_empty() && !method.is_empty() => {
                    if lines.insert(name, (number, time, method, value, reads)).is_some() {
                        return Err(TableError::Line(number, "the function stands there twice"));
                    }
                }
                _ => return Err(TableError::Line(number, "expected five parts, as the head of the file says")),
            }
        }
        let (mut answers, mut methods) = (Vec::new(), Vec::new());
        for (interface, function) in contract.facts() {
            let name = format!("{}.{}", interface.name, function.name);
            let (number, time, method, value, reads) = lines.remove(name.as_str()).ok_or(TableError::Missing(name))?;
            if methods.contains(&method) {
                return Err(TableError::Method(method.to_owned()));
            }
            methods.push(method);
            let mut times = time.split(',').map(str::trim);
            let timing = times.next().unwrap_or_default();
            let timing = match timing.split_once(' ') {
                Some(("shared", kept)) => format!("shared[{kept}]"),
                None if ["timed", "untimed"].contains(&timing) => timing.to_owned(),
                _ => return Err(TableError::Line(number, "the time is `untimed`, `timed` or `shared …`")),
            };
            let (mut is_metered, mut may_trap) = (false, false);
            for more in times {
                match more {
                    "metered" => is_metered = true,
                    "may trap" => may_trap = true,
                    _ => return Err(TableError::Line(number, "after the time can stand `metered` and `may trap`")),
                }
            }
            if function.is_moment() != reads.starts_with("moment ") {
                return Err(TableError::Line(number, "what reads a moment has the note `@moment` in the contract"));
            }
            answers.push(Answer {
                interface,
                function,
                timing,
                is_metered,
                may_trap,
                method: method.to_owned(),
                value: value.to_owned(),
                reads: reads.split_whitespace().map(str::to_owned).collect(),
            });
        }
        match lines.keys().next() {
            Some(left) => Err(TableError::Unknown((*left).to_owned())),
            None => Ok(Self { answers, logs }),
        }
    }

    /// The log of changes of a `node-*` interface, as a name of `NodeInterface`; none for others.
    #[must_use]
    pub fn log(&self, interface: &Interface) -> Option<String> {
        let name = interface.name.strip_prefix("node-")?;
        Some(self.logs.get(&interface.name).cloned().unwrap_or_else(|| camel(name)))
    }
}

impl Answer<'_> {
    /// The word for what it reads, and the names after it.
    #[must_use]
    pub fn read(&self) -> (&str, &[String]) {
        self.reads.split_first().map_or(("", &[]), |(word, names)| (word.as_str(), names))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    const WIT: &str = "package a:b@0.1.0;\ninterface node-age {\n  /// @moment\n  created: func() -> list<s64>;\n}\n\
                       interface predicate {\n  filter: func();\n}\nworld guest {\n  import node-age;\n  export predicate;\n}";

    #[test]
    fn each_function_has_one_line_and_no_line_is_left() {
        let contract = Contract::read(WIT).unwrap();
        let read = |text: &str| Table::read(text, &contract).map(|table| table.answers.len());
        let line = "node-age.created | shared X, metered, may trap | created | Arc<[i64]> | moment Created";
        assert_eq!(read(&format!("# A\n\n{line}")).unwrap(), 1);
        assert!(matches!(read(""), Err(TableError::Missing(_))));
        assert!(matches!(read(&format!("{line}\n{line}")), Err(TableError::Line(2, _))));
        assert!(matches!(read(&format!("{line}\nx.y | timed | z | bool | by hand")), Err(TableError::Unknown(_))));
        assert!(matches!(read("node-age.created | timed | created | bool | by hand"), Err(TableError::Line(1, _))));
        assert!(matches!(read("node-age.created | soon | created | bool | by hand"), Err(TableError::Line(1, _))));
    }
}
