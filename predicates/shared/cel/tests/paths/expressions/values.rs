//! Numbers, texts, lists, maps, optionals.

use super::{Kind, Maker};

impl Maker<'_> {
    pub(super) fn int(&mut self, depth: usize) -> String {
        if let Some(name) = self.rng.choose(&self.ints).cloned()
            && self.rng.chance(50)
        {
            self.form("variable");
            return name;
        }
        let Some(depth) = depth.checked_sub(1) else {
            self.form("int");
            return self.rng.word(&["0", "1", "2", "0x2", "-1"]).to_owned();
        };
        match self.rng.below(12) {
            0 => format!("int({})", self.attribute(depth)),
            1 => {
                self.form("arithmetic");
                let operator = self.rng.word(&["+", "-", "*", "/", "%"]);
                format!("({} {operator} {})", self.int(depth), self.int(depth))
            }
            2 => {
                self.form("minus");
                format!("-({})", self.int(depth))
            }
            3 => format!("{}.size()", self.list(depth)),
            4 => {
                self.form("index of a list");
                format!("{}[{}]", self.list(depth), self.int(depth))
            }
            5 => format!("{}[?{}].orValue(1)", self.list(depth), self.int(depth)),
            6 => {
                self.form("index of a map");
                format!("{}{}", self.map(depth), self.rng.word(&["['a']", ".b", ".?a.orValue(3)"]))
            }
            7 => format!("({} ? {} : {})", self.flag(depth), self.int(depth), self.int(depth)),
            8 => {
                self.form("orValue");
                format!("{}.orValue({})", self.optional(depth), self.int(depth))
            }
            9 => {
                let value = self.int(depth);
                let (name, body) = self.with_int(|maker| maker.int(depth));
                format!("cel.bind({name}, {value}, {body})")
            }
            _ => {
                self.form("int");
                self.rng.word(&["0", "1", "2"]).to_owned()
            }
        }
    }

    pub(super) fn text(&mut self, depth: usize) -> String {
        let Some(depth) = depth.checked_sub(1) else {
            self.form("text");
            return self.rng.word(&["'a'", "\"d\"", "'''h100'''", "r'\\d'", "'\\u00e9'"]).to_owned();
        };
        match self.rng.below(8) {
            0..=1 => format!("string({})", self.attribute(depth)),
            2 => {
                self.form("concatenation");
                format!("({} + {})", self.text(depth), self.text(depth))
            }
            3 => {
                self.form("driver");
                format!("{}.driver", self.device())
            }
            4 => {
                self.form("format");
                format!("'%s%d'.format([{}, {}])", self.attribute(depth), self.int(depth))
            }
            5 => {
                self.form("method");
                format!("{}.lowerAscii()", self.text(depth))
            }
            6 => format!("({} ? {} : {})", self.flag(depth), self.text(depth), self.text(depth)),
            _ => self.text(0),
        }
    }

    pub(super) fn list(&mut self, depth: usize) -> String {
        let Some(depth) = depth.checked_sub(1) else {
            self.form("list");
            return self.rng.word(&["[1, 2]", "[0]", "[2, 1, 0]"]).to_owned();
        };
        match self.rng.below(12) {
            0 => {
                self.form("list");
                format!("[{}, {}]", self.int(depth), self.int(depth))
            }
            1 => {
                self.form("optional element");
                format!("[?{}, {}]", self.optional(depth), self.int(depth))
            }
            2 => {
                self.form("map macro");
                let range = self.list(depth);
                let (name, body) = self.with_int(|maker| maker.int(depth));
                format!("{range}.map({name}, {body})")
            }
            3 => {
                self.form("map with a filter");
                let range = self.list(depth);
                let (name, body) = self.with_int(|maker| format!("{}, {}", maker.flag(depth), maker.int(depth)));
                format!("{range}.map({name}, {body})")
            }
            4 => {
                self.form("filter");
                let range = self.list(depth);
                let (name, body) = self.with_int(|maker| maker.flag(depth));
                format!("{range}.filter({name}, {body})")
            }
            5 => {
                self.form("sortBy");
                let range = self.list(depth);
                let (name, body) = self.with_int(|maker| maker.int(depth));
                format!("{range}.sortBy({name}, {body})")
            }
            6 => {
                self.form("transformList");
                let range = self.list(depth);
                let (name, body) = self.with_int(|maker| maker.int(depth));
                format!("{range}.transformList(k, {name}, {body})")
            }
            7 => {
                self.form("transformList with a filter");
                let range = self.map(depth);
                let (name, body) = self.with_int(|maker| format!("{}, {}", maker.flag(depth), maker.int(depth)));
                format!("{range}.transformList(k, {name}, {body})")
            }
            8 => {
                self.form("concatenation");
                format!("({} + {})", self.list(depth), self.list(depth))
            }
            9 => {
                self.form("method");
                format!("{}.{}", self.list(depth), self.rng.word(&["sort()", "reverse()", "distinct()", "slice(0, 1)"]))
            }
            _ => {
                self.form("function");
                format!("lists.range({})", self.rng.below(4))
            }
        }
    }

    pub(super) fn map(&mut self, depth: usize) -> String {
        let Some(depth) = depth.checked_sub(1) else {
            self.form("map");
            return self.rng.word(&["{'a': 1, 'b': 2}", "{'a': 0}"]).to_owned();
        };
        match self.rng.below(6) {
            0 => {
                self.form("map");
                format!("{{'a': {}, 'b': {}}}", self.int(depth), self.int(depth))
            }
            1 => {
                self.form("optional entry");
                format!("{{?'a': {}, {}: 1}}", self.optional(depth), self.text(depth))
            }
            2 => {
                self.form("transformMap");
                let range = self.map(depth);
                let (name, body) = self.with_int(|maker| maker.int(depth));
                format!("{range}.transformMap(k, {name}, {body})")
            }
            3 => {
                self.form("transformMapEntry");
                let range = self.map(depth);
                let (name, body) = self.with_int(|maker| maker.int(depth));
                format!("{range}.transformMapEntry(k, {name}, {{k + 'b': {body}}})")
            }
            _ => self.map(0),
        }
    }

    /// Makes an expression of an optional number.
    pub(super) fn optional(&mut self, depth: usize) -> String {
        let Some(depth) = depth.checked_sub(1) else {
            self.form("none");
            return self.rng.word(&["optional.none()", "optional.of(1)"]).to_owned();
        };
        match self.rng.below(9) {
            0 => {
                self.form("of");
                format!("optional.of({})", self.int(depth))
            }
            1 => {
                self.form("optional field");
                format!("{}.?{}", self.names(Kind::Attributes, depth), self.name(Kind::Attributes))
            }
            2 => {
                self.form("optMap");
                let range = self.optional(depth);
                let (name, body) = self.with_int(|maker| maker.int(depth));
                format!("{range}.optMap({name}, {body})")
            }
            3 => {
                self.form("optFlatMap");
                let range = self.optional(depth);
                let (name, body) = self.with_int(|maker| maker.optional(depth));
                format!("{range}.optFlatMap({name}, {body})")
            }
            4 => {
                self.form("or of optionals");
                format!("{}.or({})", self.optional(depth), self.optional(depth))
            }
            5 => {
                self.form("ofNonZeroValue");
                format!("optional.ofNonZeroValue({})", self.int(depth))
            }
            6 => format!("{}.?a", self.map(depth)),
            7 => format!("{}[?{}]", self.list(depth), self.int(depth)),
            _ => self.optional(0),
        }
    }
}
