//! Random expressions about devices, in every syntactic form, with the names of the forms that each has.
//!
//! Types fit mostly; what the compiler refuses is made again. The vocabulary is small, so that expressions meet the devices of
//! `devices`. Start with [`expression`]; `flags` makes conditions, `parts` parts of the device, `values` all else.

mod flags;
mod parts;
mod values;

use std::collections::BTreeSet;

use nodesift_cel::Program;
use nodesift_fixtures::rng::Rng;

/// Domains of attributes; two of them are drivers as well.
pub(crate) const DOMAINS: [&str; 3] = ["d", "e", "f"];
pub(crate) const ATTRIBUTES: [&str; 5] = ["model", "numa", "ok", "ver", "uuid"];
pub(crate) const CAPACITIES: [&str; 2] = ["mem", "cores"];

/// Levels of calls in the generator.
const DEPTH: usize = 5;

pub(crate) struct Expression {
    pub(crate) text: String,
    pub(crate) program: Program,
    /// The forms in it; see [`FORMS`].
    pub(crate) forms: BTreeSet<&'static str>,
}

/// All forms: those of the grammar, the macros, and the functions that take maps or optionals.
#[rustfmt::skip]
pub(crate) const FORMS: [&str; 84] = [
    // Constants and names.
    "int", "uint", "double", "text", "bytes", "flag", "null", "type name", "root name", "variable", "shadowed device",
    // Operators.
    "and", "or", "not", "minus", "conditional", "equal", "unequal", "order", "arithmetic", "concatenation",
    "in a list", "in a map", "in names", "in domains",
    // Fields and elements.
    "field", "optional field", "index", "optional index", "index of a list", "index of a map", "has a name", "has a domain",
    "has of an optional", "optional chain",
    // Literals.
    "list", "optional element", "map", "optional entry",
    // Macros.
    "all", "exists", "existsOne", "map macro", "map with a filter", "filter", "sortBy", "two variables", "transformList",
    "transformList with a filter", "transformMap", "transformMapEntry", "optMap", "optFlatMap", "bind",
    // Functions.
    "dyn", "type", "method", "function", "of", "none", "ofNonZeroValue", "hasValue", "value", "orValue", "or of optionals",
    "format",
    // Parts of the device, and what is done with them.
    "driver", "shared", "bound domain", "bound names", "bound key", "conditional names", "names of other conditions",
    "names in optionals", "computed domain", "computed name", "iterated domains", "iterated names", "compared names", "size of names",
    "names in a list", "names in a map", "device by dyn", "capacity",
];

/// Makes a random expression that compiles.
pub(crate) fn expression(rng: &mut Rng) -> Expression {
    loop {
        let mut maker = Maker { rng, forms: BTreeSet::new(), names: Vec::new(), ints: Vec::new() };
        let text = maker.flag(DEPTH);
        let forms = maker.forms;
        if let Ok(program) = Program::compile(&text) {
            return Expression { text, program, forms };
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Attributes,
    Capacity,
}

struct Maker<'r> {
    rng: &'r mut Rng,
    forms: BTreeSet<&'static str>,
    /// Variables that are attributes or capacities of a domain.
    names: Vec<(String, Kind)>,
    /// Variables that are numbers.
    ints: Vec<String>,
}

impl Maker<'_> {
    fn form(&mut self, form: &'static str) {
        assert!(FORMS.contains(&form), "{form} is not listed");
        self.forms.insert(form);
    }

    fn variable(&self) -> String {
        format!("v{}", self.names.len() + self.ints.len())
    }

    /// An expression in which a variable is a number.
    fn with_int(&mut self, make: impl FnOnce(&mut Self) -> String) -> (String, String) {
        let name = self.variable();
        self.ints.push(name.clone());
        let made = make(self);
        self.ints.pop();
        (name, made)
    }

    /// An expression in which a variable is the attributes or capacities of a domain.
    fn with_names(&mut self, kind: Kind, make: impl FnOnce(&mut Self) -> String) -> (String, String) {
        let name = self.variable();
        self.names.push((name.clone(), kind));
        let made = make(self);
        self.names.pop();
        (name, made)
    }

    fn domain(&mut self) -> &'static str {
        self.rng.word(&DOMAINS)
    }

    fn kind(&mut self) -> Kind {
        if self.rng.chance(70) { Kind::Attributes } else { Kind::Capacity }
    }

    fn name(&mut self, kind: Kind) -> &'static str {
        match kind {
            Kind::Attributes => self.rng.word(&ATTRIBUTES),
            Kind::Capacity => self.rng.word(&CAPACITIES),
        }
    }
}
