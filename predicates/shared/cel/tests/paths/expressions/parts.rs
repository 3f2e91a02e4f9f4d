//! Parts of the device, and attributes.

use super::{Kind, Maker};

impl Maker<'_> {
    pub(super) fn device(&mut self) -> String {
        if self.rng.chance(15) {
            self.form("device by dyn");
            self.form("dyn");
            return "dyn(device)".to_owned();
        }
        if self.rng.chance(15) {
            self.form("root name");
            return ".device".to_owned();
        }
        "device".to_owned()
    }

    pub(super) fn domains(&mut self, kind: Kind) -> String {
        let field = if kind == Kind::Attributes { "attributes" } else { "capacity" };
        if self.rng.chance(10) {
            return format!("dyn(device)[{field:?}]");
        }
        format!("{}.{field}", self.device())
    }

    /// The attributes or capacities of a domain.
    pub(super) fn names(&mut self, kind: Kind, depth: usize) -> String {
        let known: Vec<String> =
            self.names.iter().filter(|(_, of)| *of == kind).map(|(name, _)| name.clone()).collect();
        if let Some(name) = self.rng.choose(&known).cloned()
            && self.rng.chance(60)
        {
            self.form("variable");
            return name;
        }
        let (domains, domain) = (self.domains(kind), self.domain());
        let Some(depth) = depth.checked_sub(1) else {
            self.form("index");
            return format!("{domains}[{domain:?}]");
        };
        match self.rng.below(18) {
            0..=1 => {
                self.form("field");
                format!("{domains}.{domain}")
            }
            2 => {
                self.form("optional field");
                self.form("value");
                format!("{domains}.?{domain}.value()")
            }
            3 => {
                self.form("optional index");
                self.form("orValue");
                format!("{domains}[?{domain:?}].orValue({})", self.names(kind, depth))
            }
            4 => {
                self.form("or of optionals");
                format!("{domains}.?{domain}.or({domains}.?{}).value()", self.domain())
            }
            5 => {
                self.form("conditional names");
                let names = self.names(kind, depth);
                format!("(({}) ? {names} : {names})", self.flag(depth))
            }
            6 => {
                self.form("names of other conditions");
                format!("(({}) ? {} : {})", self.flag(depth), self.names(kind, depth), self.names(kind, depth))
            }
            7 => {
                self.form("dyn");
                format!("dyn({})", self.names(kind, depth))
            }
            8 => {
                self.form("names in optionals");
                format!("optional.of({}).value()", self.names(kind, depth))
            }
            9 => {
                self.form("optMap");
                format!("{domains}.?{domain}.optMap(m, m).value()")
            }
            10 => {
                self.form("optFlatMap");
                format!("{domains}.?{domain}.optFlatMap(m, optional.of(m)).value()")
            }
            11 => {
                self.form("bound key");
                format!("cel.bind(k, {domain:?}, {domains}[k])")
            }
            12 => {
                self.form("computed domain");
                let text = self.text(depth);
                format!("{domains}[{}]", self.rng.word(&[&format!("{domain:?} + ''"), &text]))
            }
            _ => {
                self.form("index");
                format!("{domains}[{domain:?}]")
            }
        }
    }

    /// An attribute, whose type is not known.
    pub(super) fn attribute(&mut self, depth: usize) -> String {
        let names = self.names(Kind::Attributes, depth);
        let name = self.name(Kind::Attributes);
        match self.rng.below(8) {
            0 => {
                self.form("index");
                format!("{names}[{name:?}]")
            }
            1 => {
                self.form("optional field");
                self.form("orValue");
                format!("{names}.?{name}.orValue({})", self.rng.word(&["1", "true", "'h100'"]))
            }
            2 => {
                self.form("optional index");
                self.form("value");
                format!("{names}[?{name:?}].value()")
            }
            3 => {
                self.form("optional chain");
                let domains = self.domains(Kind::Attributes);
                format!("{domains}.?{}.{name}.orValue(0)", self.domain())
            }
            4 if self.rng.chance(20) => {
                self.form("computed name");
                format!("{names}[string({names}.{name})]")
            }
            _ => {
                self.form("field");
                format!("{names}.{name}")
            }
        }
    }
}
