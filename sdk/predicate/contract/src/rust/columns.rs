//! The functions that authors call, `columns/{pod,node,cluster,state}.rs`: inside a component the host's, elsewhere those of `Facts`.

use std::fmt::Write as _;

use super::{borrowed, functions, method, parameter, result, signature};
use crate::model::{Contract, Function, Interface, Kind};
use crate::text::{camel, comment, snake};

/// The files, each with the beginnings of the names of its interfaces, and what they are about.
const FILES: [(&str, &[&str], &str); 4] = [
    ("pod", &["pod-", "namespace-"], "Facts about the pod being filtered: the interfaces `pod-*`"),
    ("node", &["node-"], "Columns over the rows of the batch: the interfaces `node-*`"),
    ("cluster", &["cluster-"], "Facts about all rows of the cluster: the interfaces `cluster-*`"),
    ("state", &[""], "Facts that are about neither the pod nor a node, and the same for every row"),
];

/// Name and text of each file. `values` is the text of `columns/values.rs`, in which constants are written by hand.
#[must_use]
pub fn columns(contract: &Contract, values: &str) -> Vec<(&'static str, String)> {
    let file = |interface: &Interface| {
        let begins = |names: &&[&str]| names.iter().any(|name| interface.name.starts_with(name));
        FILES.iter().find(|(_, names, _)| begins(names)).map(|(name, ..)| *name)
    };
    let made = |(name, _, about): (&'static str, &[&str], &str)| {
        let mut text = format!("//! {about}. Made from the contract by `make contract`; not to be\n//! edited.\n");
        let interfaces = contract.imports.iter().filter(|interface| interface.is_fact());
        for interface in interfaces.filter(|interface| file(interface) == Some(name)) {
            if !interface.functions.is_empty() {
                module(&mut text, contract, interface, values);
            }
        }
        (name, text)
    };
    FILES.into_iter().map(made).collect()
}

fn module(text: &mut String, contract: &Contract, interface: &Interface, values: &str) {
    let name = snake(&interface.name);
    text.push('\n');
    comment(text, "///", &interface.docs);
    let _ = writeln!(text, "pub mod {name} {{");
    let has_values = values.contains(&format!("mod {name} {{"));
    let mut types: Vec<String> = interface
        .own_types
        .iter()
        .chain(&interface.used_types)
        .map(|id| camel(&contract.definition(*id).name))
        .collect();
    types.sort();
    if !types.is_empty() {
        text.push_str(&imported(&format!("crate::bindings::nodesift::predicate::{name}"), &types));
    }
    if has_values {
        let _ = writeln!(text, "    pub use crate::columns::values::{name}::*;");
    }
    let mut is_first = types.is_empty() && !has_values;
    for (_, function) in functions(contract).filter(|(of, _)| of.name == interface.name) {
        if !is_first {
            text.push('\n');
        }
        is_first = false;
        wrapper(text, contract, interface, function);
    }
    text.push_str("}\n");
}

/// A `pub use`, as rustfmt writes it.
fn imported(path: &str, names: &[String]) -> String {
    if let [name] = names {
        return format!("    pub use {path}::{name};\n");
    }
    let one = format!("    pub use {path}::{{{}}};\n", names.join(", "));
    if one.len() <= 120 {
        return one;
    }
    let mut text = format!("    pub use {path}::{{\n");
    let mut line = " ".repeat(7);
    for name in names {
        if line.len() + name.len() + 2 > 120 {
            let _ = writeln!(text, "{line}");
            line = " ".repeat(7);
        }
        let _ = write!(line, " {name},");
    }
    text + &line + "\n    };\n"
}

fn wrapper(text: &mut String, contract: &Contract, interface: &Interface, function: &Function) {
    comment(text, "    ///", &function.docs);
    if matches!(function.result, Some(Kind::Result(..))) {
        text.push_str("    ///\n    /// # Errors\n    ///\n    /// As above.\n");
    } else {
        text.push_str("    #[must_use]\n");
    }
    let path = |_: &str| String::new();
    let params: Vec<String> = function
        .params
        .iter()
        .map(|param| format!("{}: {}", parameter(&param.name), borrowed(contract, &param.kind, &path)))
        .collect();
    let begin = format!("pub fn {}", snake(&function.name));
    text.push_str(&signature(&begin, &params, &result(contract, function, &path), "    "));
    let arguments: Vec<String> = function.params.iter().map(|param| parameter(&param.name)).collect();
    let _ = writeln!(
        text,
        "        ask!({}::{}({}) or {})\n    }}",
        snake(&interface.name),
        snake(&function.name),
        arguments.join(", "),
        method(interface, function)
    );
}
