//! Columns of moments in the SDK for Rust: builder methods and answers of the fixture, and access per node.

use std::fmt::Write as _;

use super::{functions, method};
use crate::model::{Contract, Function, Interface};
use crate::text::snake;

fn moments(contract: &Contract) -> impl Iterator<Item = (&Interface, &Function)> {
    functions(contract).filter(|(_, function)| function.is_moment())
}

/// `native/moments.rs`: builder methods of the nodes of the fixture.
#[must_use]
pub fn builders(contract: &Contract) -> String {
    let mut text = String::from(
        "//! Moments of the nodes of the fixture. Made from the contract by `make contract`; not to be edited.\n\n\
         use super::node::Node;\n\nimpl Node {\n",
    );
    let mut is_first = true;
    for (interface, function) in moments(contract) {
        if !is_first {
            text.push('\n');
        }
        is_first = false;
        let (of, name) = (&interface.name, &function.name);
        let _ = writeln!(
            text,
            "    /// Sets `{name}` of `{of}`, in seconds since 1970-01-01T00:00:00Z.\n    #[must_use]\n    \
             pub fn {}(mut self, seconds: i64) -> Self {{\n        \
             self.moments.insert(\"{of}.{name}\", seconds);\n        self\n    }}",
            snake(name)
        );
    }
    text.push_str("}\n");
    text
}

/// Methods of `Facts` for the fixture, in `native/batch.rs`.
#[must_use]
pub fn answers(contract: &Contract) -> String {
    let mut text = String::new();
    for (interface, function) in moments(contract) {
        let _ = writeln!(
            text,
            "\n    fn {}(&self) -> Vec<i64> {{\n        self.column(|node| node.moment(\"{}.{}\"))\n    }}",
            method(interface, function),
            interface.name,
            function.name
        );
    }
    text
}

/// Methods of a node in `per_node.rs`.
#[must_use]
pub fn per_node(contract: &Contract) -> String {
    let mut text = String::new();
    for (interface, function) in moments(contract) {
        let (of, name) = (&interface.name, &function.name);
        let _ = writeln!(
            text,
            "\n    /// `{name}` of `{of}`, in seconds since 1970-01-01T00:00:00Z; none where that is not known.\n    \
             #[must_use]\n    pub fn {0}(&self) -> Option<i64> {{\n        \
             self.moment(\"{of}.{name}\", crate::columns::{1}::{0})\n    }}",
            snake(name),
            snake(of)
        );
    }
    text
}
