//! The functions outside of a component, which a test gives.

use std::fmt::Write as _;

use super::{MADE, function_name, parameters, results, signature, variable};
use crate::model::Contract;

/// The file `facts/native.go`: outside of a component, functions that call those which a test sets in `Host`.
#[must_use]
pub fn native(contract: &Contract) -> String {
    let mut text = format!("{MADE}\n//go:build !wasip1\n\npackage facts\n\n");
    text.push_str("// Host holds the functions of the contract that a test gives.\ntype Host struct {\n");
    for (interface, function) in contract.functions() {
        let name = function_name(interface, function);
        // The name of the function after its comment ends a run of aligned lines.
        let _ = writeln!(text, "\t// {name}: `{}` of {}.", function.name, interface.name);
        let _ = writeln!(text, "\t{name} func({}){}", parameters(contract, function), results(contract, function));
    }
    text.push_str("}\n");
    for (interface, function) in contract.functions() {
        let name = function_name(interface, function);
        signature(&mut text, contract, interface, function);
        let (interface, function_name) = (&interface.name, &function.name);
        let _ =
            writeln!(text, "\tif host.{name} == nil {{\n\t\tpanic(missing({interface:?}, {function_name:?}))\n\t}}");
        let arguments: Vec<String> = function.params.iter().map(|given| variable(&given.name)).collect();
        let returned = if function.result.is_some() { "return " } else { "" };
        let _ = writeln!(text, "\t{returned}host.{name}({})\n}}", arguments.join(", "));
    }
    text
}
