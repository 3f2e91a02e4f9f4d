//! The JSON schema of policy documents, for editors and for those who write policies by program: `nodesift policy schema`, and
//! `deploy/policy.schema.json`.
//!
//! Each map of a document declares its own part, see [`declare`](crate::declare). A valid document fits the schema. A schema cannot say
//! everything: `name` may not be there twice in the list of predicates, an amount has a range, a module a file. `nodesift policy check`
//! says these. Start at [`schema`].

use serde_json::{Value, json};

use crate::declare::DocumentMap as _;
use crate::document::Document;
use crate::spec::KIND;

/// The schema, as draft 7, which editors know.
pub fn schema() -> Value {
    let mut schema = Document::schema();
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    schema["title"] = json!(KIND);
    schema["description"] =
        json!("Which predicates decide where pods may run, in which order, with which arguments and limits");
    schema
}

#[cfg(test)]
mod tests;
