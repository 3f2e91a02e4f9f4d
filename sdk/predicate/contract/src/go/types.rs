//! The types of all interfaces, for components and for tests.

use std::fmt::Write as _;

use super::{MADE, go, type_name};
use crate::model::{Body, Contract};
use crate::text::{camel, comment};

/// The file `facts/types.go`: the types of all imported interfaces, in Go.
#[must_use]
pub fn types(contract: &Contract) -> String {
    let mut text = format!("{MADE}\npackage facts\n");
    let own = contract.imports.iter().flat_map(|interface| interface.own_types.iter().map(move |id| (interface, *id)));
    for (interface, id) in own {
        let (name, definition) = (type_name(contract, id), contract.definition(id));
        let first = format!("{name}: the type `{}` of {}.", definition.name, interface.name);
        text.push('\n');
        comment(&mut text, "//", &[&[first][..], &definition.docs].concat());
        match &definition.body {
            Body::Record(fields) => {
                let fields = fields.iter().map(|field| (&*field.docs, camel(&field.name), go(contract, &field.kind)));
                structure(&mut text, &name, &fields.collect::<Vec<_>>());
            }
            Body::Variant(cases) => {
                let fields = cases.iter().map(|case| {
                    let kind =
                        case.kind.as_ref().map_or_else(|| "bool".into(), |kind| format!("*{}", go(contract, kind)));
                    (&*case.docs, camel(&case.name), kind)
                });
                structure(&mut text, &name, &fields.collect::<Vec<_>>());
            }
            Body::Enum(cases) => {
                let _ = writeln!(text, "type {name} uint8\n\n// The values of {name}.\nconst (");
                for (index, case) in cases.iter().enumerate() {
                    comment(&mut text, "\t//", &case.docs);
                    let first = if index == 0 { format!(" {name} = iota") } else { String::new() };
                    let _ = writeln!(text, "\t{name}{}{first}", camel(&case.name));
                }
                text.push_str(")\n");
            }
        }
    }
    text
}

/// A structure as gofmt writes it: types are aligned in each run of lines without a comment.
fn structure(text: &mut String, name: &str, fields: &[(&[String], String, String)]) {
    let _ = writeln!(text, "type {name} struct {{");
    let mut left = fields;
    while let [(docs, ..), others @ ..] = left {
        let run = 1 + others.iter().take_while(|(docs, ..)| docs.is_empty()).count();
        comment(text, "\t//", docs);
        let (aligned, rest) = left.split_at(run);
        let width = aligned.iter().map(|(_, name, _)| name.len()).max().unwrap_or_default();
        for (_, name, kind) in aligned {
            let _ = writeln!(text, "\t{name:width$} {kind}");
        }
        left = rest;
    }
    text.push_str("}\n");
}
