//! The trait of all fact functions, `facts/functions.rs`.

use std::fmt::Write as _;

use super::{borrowed, functions, method, parameter, result, signature};
use crate::model::Contract;
use crate::text::snake;

const HEAD: &str = "//! The fact functions of the contract, as a trait. Made from it by `make contract`; not to be edited.

use super::missing;
use crate::bindings::nodesift::predicate as wit;

/// The fact functions of the contract. Each method is named after its interface and its function; the functions with
/// the same names in [`columns`](crate::columns) say what they return. A method that an implementation leaves out ends the
/// test that calls it, with its name.
#[allow(missing_docs, unused_variables, reason = \"documented in `columns` under the same names\")]
pub trait Facts {
";

/// The file `facts/functions.rs`: the trait `Facts`, with a method for each fact function of the SDK.
#[must_use]
pub fn facts(contract: &Contract) -> String {
    let path = |interface: &str| format!("wit::{}::", snake(interface));
    let mut text = HEAD.to_owned();
    let mut last = "";
    for (interface, function) in functions(contract) {
        if !last.is_empty() {
            text.push('\n');
        }
        last = &interface.name;
        let params = function.params.iter();
        let params =
            params.map(|param| format!("{}: {}", parameter(&param.name), borrowed(contract, &param.kind, &path)));
        let params: Vec<String> = std::iter::once("&self".to_owned()).chain(params).collect();
        let begin = format!("fn {}", method(interface, function));
        text.push_str(&signature(&begin, &params, &result(contract, function, &path), "    "));
        let _ = writeln!(text, "        missing({:?}, {:?})\n    }}", interface.name, function.name);
    }
    text.push_str("}\n");
    text
}
