//! Selectors of classes and requests, compiled once per text and dialect.

use std::cell::RefCell;
use std::collections::BTreeMap;

use nodesift_cel::{Attribute, Device, Dialect, Program};
use nodesift_fixtures::json::{at, entries, flag, text};
use serde_json::Value;

use crate::kubernetes::Switches;

/// Compiled expressions by their dialect and text.
#[derive(Debug, Default)]
pub struct Selectors {
    programs: RefCell<BTreeMap<(Dialect, String), Result<Program, String>>>,
}

impl Selectors {
    /// Whether a device matches all selectors of a version of Kubernetes.
    ///
    /// # Errors
    /// A selector is no expression or fails for the device: the fault, with the number of the selector.
    pub fn match_all(
        &self,
        switches: &Switches,
        selectors: &[Value],
        driver: &str,
        device: &Value,
    ) -> Result<bool, String> {
        let lists = switches.has("ListAttributes");
        // Attributes are lists from the version on that has cel-go 0.29.
        let dialect = Dialect { lists, includes: switches.has("SelectorIncludes"), cel_go29: lists };
        for (number, selector) in selectors.iter().enumerate() {
            let expression = text(selector, "cel.expression");
            let mut programs = self.programs.borrow_mut();
            let program = programs
                .entry((dialect, expression.to_owned()))
                .or_insert_with(|| Program::compile_in(dialect, expression));
            let matches = match program {
                Ok(program) => program
                    .matches(&seen(dialect, driver, device))
                    .map_err(|error| format!("selector #{number}: CEL runtime error: {error}"))?,
                Err(error) => return Err(format!("selector #{number}: CEL compile error: {error}")),
            };
            if !matches {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// A device as CEL sees it.
fn seen(dialect: Dialect, driver: &str, device: &Value) -> Device {
    let attributes = entries(device, "attributes").into_iter();
    let capacity = entries(device, "capacity").into_iter();
    let amount =
        |value: &Value| at(value, "value").as_str().map_or_else(|| at(value, "value").to_string(), str::to_owned);
    Device {
        driver: driver.to_owned(),
        allow_multiple_allocations: flag(device, "allowMultipleAllocations"),
        attributes: attributes.map(|(name, value)| (name.clone(), attribute(dialect, value))).collect(),
        capacity: capacity.map(|(name, value)| (name.clone(), amount(value))).collect(),
    }
}

fn attribute(dialect: Dialect, value: &Value) -> Attribute {
    let of_text = |field: &str| value.get(field).and_then(Value::as_str).map(str::to_owned);
    if let Some(int) = value.get("int").and_then(Value::as_i64) {
        Attribute::Int(int)
    } else if let Some(bool) = value.get("bool").and_then(Value::as_bool) {
        Attribute::Bool(bool)
    } else if let Some(text) = of_text("string") {
        Attribute::String(text)
    } else if let Some(version) = of_text("version") {
        Attribute::Version(version)
    } else if let Some(list) = list(value).filter(|_| dialect.lists) {
        Attribute::List(list)
    } else {
        Attribute::Unsupported
    }
}

/// The elements of an attribute that is a list.
fn list(value: &Value) -> Option<Vec<Attribute>> {
    let (field, elements) = ["ints", "bools", "strings", "versions"]
        .into_iter()
        .find_map(|field| Some((field, value.get(field)?.as_array()?)))?;
    let element = |value: &Value| match (field, value) {
        ("ints", value) => value.as_i64().map(Attribute::Int),
        ("bools", value) => value.as_bool().map(Attribute::Bool),
        ("strings", value) => value.as_str().map(|text| Attribute::String(text.to_owned())),
        (_, value) => value.as_str().map(|text| Attribute::Version(text.to_owned())),
    };
    elements.iter().map(element).collect()
}
