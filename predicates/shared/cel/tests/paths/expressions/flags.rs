//! Random conditions, which are expressions of type bool.

use super::{Kind, Maker};

impl Maker<'_> {
    pub(super) fn flag(&mut self, depth: usize) -> String {
        let Some(depth) = depth.checked_sub(1) else { return self.leaf() };
        match self.rng.below(34) {
            0..=4 => self.operator_of_flags(depth),
            5..=8 => self.comparison(depth),
            9..=12 => self.presence(depth),
            13..=16 => self.test_of_attribute(depth),
            17..=18 => self.test_of_capacity(depth),
            19..=21 => self.quantifier(depth),
            22..=23 => self.bound(depth),
            24..=25 => self.test_of_optional(depth),
            26..=27 => self.test_of_text(depth),
            28 => self.test_of_map(depth),
            29..=30 => self.opaque(depth),
            _ => self.leaf(),
        }
    }

    fn leaf(&mut self) -> String {
        match self.rng.below(9) {
            0 => {
                self.form("driver");
                let is = self.rng.word(&["==", "!="]);
                format!("{}.driver {is} {:?}", self.device(), self.domain())
            }
            1 => {
                self.form("shared");
                format!("{}.allowMultipleAllocations", self.device())
            }
            2 => {
                self.form("flag");
                self.rng.word(&["true", "false"]).to_owned()
            }
            3 => {
                self.form("bytes");
                self.form("uint");
                self.rng.word(&["b'a' == b'\\x61'", "2u > 1u", "bytes('a') != b'b'"]).to_owned()
            }
            4 => {
                self.form("double");
                format!("{} < 1.5", self.rng.word(&["0.5", "2e0", "double(1)"]))
            }
            5 => {
                self.form("null");
                format!("dyn(null) == {}", self.attribute(0))
            }
            6 => {
                self.form("type name");
                self.form("type");
                format!("type({}) == {}", self.attribute(0), self.rng.word(&["int", "string", "bool"]))
            }
            _ => self.attribute(0),
        }
    }

    fn operator_of_flags(&mut self, depth: usize) -> String {
        match self.rng.below(5) {
            0 => {
                self.form("and");
                format!("({} && {})", self.flag(depth), self.flag(depth))
            }
            1 => {
                self.form("or");
                format!("({} || {} || {})", self.flag(depth), self.flag(depth), self.flag(depth))
            }
            2 => {
                self.form("not");
                format!("!({})", self.flag(depth))
            }
            3 => {
                self.form("conditional");
                format!("(({}) ? {} : {})", self.flag(depth), self.flag(depth), self.flag(depth))
            }
            _ => {
                // The variable has the name of the device.
                self.form("shadowed device");
                let (of, value) = (self.rng.word(&["{'driver': 'd'}", "{'driver': 'x'}"]).to_owned(), self.flag(depth));
                format!("(cel.bind(device, {of}, device.driver == 'd') || {value})")
            }
        }
    }

    fn comparison(&mut self, depth: usize) -> String {
        match self.rng.below(4) {
            0 => {
                self.form("order");
                let is = self.rng.word(&["<", "<=", ">", ">="]);
                format!("{} {is} {}", self.int(depth), self.int(depth))
            }
            1 => {
                self.form("equal");
                format!("{} == {}", self.int(depth), self.int(depth))
            }
            2 => {
                self.form("unequal");
                format!("{} != {}", self.list(depth), self.list(depth))
            }
            _ => {
                self.form("in a list");
                format!("{} in {}", self.int(depth), self.list(depth))
            }
        }
    }

    /// Whether something is there.
    fn presence(&mut self, depth: usize) -> String {
        let kind = self.kind();
        match self.rng.below(5) {
            0 => {
                self.form("in names");
                format!("{:?} in {}", self.name(kind), self.names(kind, depth))
            }
            1 => {
                self.form("in domains");
                format!("{:?} in {}", self.domain(), self.domains(kind))
            }
            2 => {
                self.form("has a name");
                format!("has({}.{})", self.names(kind, depth), self.name(kind))
            }
            3 => {
                self.form("has a domain");
                format!("has({}.{})", self.domains(kind), self.domain())
            }
            _ => {
                self.form("has of an optional");
                format!("has({}.?{}.{})", self.domains(kind), self.domain(), self.name(kind))
            }
        }
    }

    fn test_of_attribute(&mut self, depth: usize) -> String {
        match self.rng.below(6) {
            0 => format!("{} == {:?}", self.attribute(depth), self.rng.word(&["h100", "a", "x"])),
            1 => format!("{} == {}", self.attribute(depth), self.attribute(depth)),
            2 => format!("{} < {}", self.attribute(depth), self.int(depth)),
            3 => format!("{}.isLessThan(semver({:?}))", self.attribute(depth), self.rng.word(&["1.2.3", "1.0.1"])),
            4 => format!("{} in ['h100', 'a']", self.attribute(depth)),
            _ => format!("{} == true", self.attribute(depth)),
        }
    }

    fn test_of_capacity(&mut self, depth: usize) -> String {
        self.form("capacity");
        let (names, name) = (self.names(Kind::Capacity, depth), self.name(Kind::Capacity));
        let amount = self.rng.word(&["1Gi", "1024Mi", "2"]);
        match self.rng.below(4) {
            0 => format!("{names}.{name}.compareTo(quantity({amount:?})) >= 0"),
            1 => format!("{names}.{name} == quantity({amount:?})"),
            2 => format!("{names}[{name:?}].add({}).isGreaterThan(quantity({amount:?}))", self.int(depth)),
            _ => format!("{names}.?{name}.hasValue()"),
        }
    }

    fn quantifier(&mut self, depth: usize) -> String {
        let (macro_name, form) = *self.rng.pick(&[
            ("all", "all"),
            ("exists", "exists"),
            ("existsOne", "existsOne"),
            ("exists_one", "existsOne"),
        ]);
        self.form(form);
        if self.rng.chance(40) {
            self.form("two variables");
            let range = if self.rng.chance(50) { self.list(depth) } else { self.map(depth) };
            let (value, body) = self.with_int(|maker| maker.flag(depth));
            return format!("{range}.{macro_name}(k, {value}, {body})");
        }
        let range = self.list(depth);
        let (value, body) = self.with_int(|maker| maker.flag(depth));
        format!("{range}.{macro_name}({value}, {body})")
    }

    fn bound(&mut self, depth: usize) -> String {
        self.form("bind");
        match self.rng.below(4) {
            0 => {
                let value = self.int(depth);
                let (name, body) = self.with_int(|maker| maker.flag(depth));
                format!("cel.bind({name}, {value}, {body})")
            }
            1 => {
                self.form("bound domain");
                let (kind, domain) = (self.kind(), self.domain());
                let (of, name) = (self.domains(kind), self.name(kind));
                format!("cel.bind(m, {of}, {domain:?} in m || has(m.{domain}.{name}))")
            }
            _ => {
                self.form("bound names");
                let kind = self.kind();
                let value = self.names(kind, depth);
                let (name, body) = self.with_names(kind, |maker| maker.flag(depth));
                format!("cel.bind({name}, {value}, {body})")
            }
        }
    }

    fn test_of_optional(&mut self, depth: usize) -> String {
        match self.rng.below(3) {
            0 => {
                self.form("hasValue");
                format!("{}.hasValue()", self.optional(depth))
            }
            1 => format!("{} == {}", self.optional(depth), self.optional(depth)),
            _ => {
                let kind = self.kind();
                format!("{}.?{}.hasValue()", self.domains(kind), self.domain())
            }
        }
    }

    fn test_of_text(&mut self, depth: usize) -> String {
        match self.rng.below(4) {
            0 => {
                self.form("method");
                format!("{}.startsWith({:?})", self.text(depth), self.rng.word(&["h", "d", ""]))
            }
            1 => {
                self.form("function");
                format!("{} == size({})", self.int(depth), self.text(depth))
            }
            // Errors that tell a value.
            2 => {
                self.form("index of a map");
                format!("{{'h100': 1, 'd': 2}}[{}] == 1", self.text(depth))
            }
            _ => format!("{} < {}", self.text(depth), self.text(depth)),
        }
    }

    fn test_of_map(&mut self, depth: usize) -> String {
        match self.rng.below(3) {
            0 => {
                self.form("in a map");
                format!("{} in {}", self.text(depth), self.map(depth))
            }
            1 => format!("{} == {}", self.map(depth), self.map(depth)),
            _ => format!("{}.size() > {}", self.map(depth), self.int(depth)),
        }
    }

    /// Makes a condition that may read anything of one domain or of all domains.
    fn opaque(&mut self, depth: usize) -> String {
        let kind = self.kind();
        match self.rng.below(8) {
            0 => {
                self.form("iterated domains");
                format!("{}.exists(k, k == {:?})", self.domains(kind), self.domain())
            }
            1 => {
                self.form("iterated names");
                let names = self.names(kind, depth);
                let name = self.name(kind);
                match self.rng.below(3) {
                    0 => format!("{names}.exists(k, k == {name:?})"),
                    1 => format!("{names}.all(k, v, k != {name:?} || v == v)"),
                    _ => format!("{names}.map(k, k) == [{name:?}]"),
                }
            }
            2 => {
                self.form("compared names");
                let other = if self.rng.chance(50) { "{}".to_owned() } else { self.names(kind, depth) };
                format!("{} == {other}", self.names(kind, depth))
            }
            3 => {
                self.form("size of names");
                format!("size({}) > {}", self.names(kind, depth), self.rng.below(3))
            }
            4 => {
                self.form("names in a list");
                let (names, other, name) = (self.names(kind, depth), self.names(kind, depth), self.name(kind));
                format!("[{names}, {other}].exists(m, has(m.{name}))")
            }
            5 => {
                self.form("names in a map");
                format!("has({{'a': {}}}.a.{})", self.names(kind, depth), self.name(kind))
            }
            6 => {
                self.form("ofNonZeroValue");
                format!("optional.ofNonZeroValue({}).hasValue()", self.names(kind, depth))
            }
            _ => {
                self.form("computed name");
                let name = self.name(kind);
                let (start, end) = name.split_at(2);
                format!("({start:?} + {end:?}) in {}", self.names(kind, depth))
            }
        }
    }
}
