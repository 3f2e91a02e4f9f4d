//! Mutations: a new input from one that is there. Each [`Form`] of input is changed by its structure most of the time, and
//! byte by byte otherwise.
//!
//! Start at [`Mutator::mutate`]. `json` changes trees of values, `protobuf` trees of fields, `bytes` anything.

mod bytes;
mod json;
mod protobuf;

use serde_json::Value;

use json::Dictionary;

/// Bytes of an input. Limits of sizes have tests of their own.
const INPUT_BYTES: usize = 64 << 10;

/// Mutations of one input, one after the other.
const MUTATIONS: usize = 4;

/// How a target's inputs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Bytes of which nothing is known.
    Bytes,
    /// A document in JSON or YAML.
    Document,
    /// A line, then JSON.
    Request,
    /// Lines that are JSON each.
    JsonLines,
    /// A byte, then a protobuf message.
    Protobuf,
}

/// Mutates the inputs of one form.
#[derive(Debug)]
pub struct Mutator {
    form: Form,
    dictionary: Dictionary,
}

impl Mutator {
    /// A mutator that inserts keys and values of these inputs.
    pub fn new<'a>(form: Form, inputs: impl Iterator<Item = &'a [u8]>) -> Self {
        let documents = inputs.flat_map(|input| match form {
            Form::Bytes | Form::Protobuf => Vec::new(),
            Form::Document => document(input).into_iter().collect(),
            Form::Request => document(split_line(input).1).into_iter().collect(),
            Form::JsonLines => input.split(|byte| *byte == b'\n').filter_map(document).collect(),
        });
        Self { form, dictionary: Dictionary::from_documents(documents) }
    }

    /// A mutation of `input`, perhaps with pieces of `other`.
    pub fn mutate(&self, input: &[u8], other: &[u8], random: &mut fastrand::Rng) -> Vec<u8> {
        let mut mutated = input.to_vec();
        for _ in 0..random.usize(1..=MUTATIONS) {
            mutated = self.once(&mutated, other, random);
        }
        mutated.truncate(INPUT_BYTES);
        mutated
    }

    fn once(&self, input: &[u8], other: &[u8], random: &mut fastrand::Rng) -> Vec<u8> {
        let by_structure = random.u8(..8) > 0;
        let structured = match self.form {
            _ if !by_structure => None,
            Form::Bytes => None,
            Form::Document => self.document(input, other, random),
            Form::Request => {
                let (line, json) = split_line(input);
                let json = self.json(json, split_line(other).1, random);
                json.map(|json| [line, b"\n", &json].concat())
            }
            Form::JsonLines => self.json_lines(input, other, random),
            Form::Protobuf => protobuf::mutate(input, random),
        };
        structured.unwrap_or_else(|| bytes::mutate(input, other, random))
    }

    fn json(&self, input: &[u8], other: &[u8], random: &mut fastrand::Rng) -> Option<Vec<u8>> {
        let mut value: Value = serde_json::from_slice(input).ok()?;
        let other = serde_json::from_slice(other).ok();
        json::mutate(&mut value, other.as_ref(), &self.dictionary, random);
        Some(value.to_string().into_bytes())
    }

    /// YAML stays YAML half of the time.
    fn document(&self, input: &[u8], other: &[u8], random: &mut fastrand::Rng) -> Option<Vec<u8>> {
        let mut value = document(input)?;
        json::mutate(&mut value, document(other).as_ref(), &self.dictionary, random);
        let was_json = input.trim_ascii_start().starts_with(b"{");
        let yaml = if was_json || random.bool() { None } else { serde_saphyr::to_string(&value).ok() };
        Some(yaml.unwrap_or_else(|| value.to_string()).into_bytes())
    }

    /// Changes one line, or the order and number of lines.
    fn json_lines(&self, input: &[u8], other: &[u8], random: &mut fastrand::Rng) -> Option<Vec<u8>> {
        let of = |input: &[u8]| input.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
        let (mut lines, others) = (of(input), of(other));
        let at = random.usize(..lines.len());
        let from = others.get(random.usize(..others.len()))?;
        match random.u8(..8) {
            0 => lines.insert(at, from.clone()),
            1 => lines.insert(at, lines.get(at)?.clone()),
            2 if lines.len() > 1 => drop(lines.remove(at)),
            3 => {
                let to = random.usize(..lines.len());
                lines.swap(at, to);
            }
            _ => *lines.get_mut(at)? = self.json(lines.get(at)?, from, random)?,
        }
        Some(lines.join(&b'\n'))
    }
}

/// The value of a document, if it is one.
pub(crate) fn document(input: &[u8]) -> Option<Value> {
    let json = serde_json::from_slice(input).ok();
    json.or_else(|| serde_saphyr::from_str(std::str::from_utf8(input).ok()?).ok())
}

/// An input's first line, and the rest.
pub(crate) fn split_line(input: &[u8]) -> (&[u8], &[u8]) {
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    (&input[..end], input.get(end + 1..).unwrap_or_default())
}
