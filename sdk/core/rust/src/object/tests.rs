//! Objects as text and as messages, random ones and hostile ones, against the tree of messages.
#![allow(clippy::unwrap_used, reason = "tests")]
use prost::Message as _;
use serde_json::{Value as Json, json};

use super::*;

/// A random JSON value whose numbers are exact as doubles.
fn random_json(random: &mut fastrand::Rng, depth: u32) -> Json {
    let texts = ["", "a", "\"quoted\\\"", ",", "é\n\u{1}", "key"];
    match random.u32(..if depth == 0 { 5 } else { 7 }) {
        0 => Json::Null,
        1 => random.bool().into(),
        2 => random.i64(-9_007_199_254_740_992..=9_007_199_254_740_992).into(),
        3 => (f64::from(random.i32(..)) + 0.5).into(),
        4 => texts[random.usize(..texts.len())].into(),
        5 => (0..random.usize(..4)).map(|_| random_json(random, depth - 1)).collect::<Vec<_>>().into(),
        _ => random_object(random, depth - 1),
    }
}

fn random_object(random: &mut fastrand::Rng, depth: u32) -> Json {
    let entry = |random: &mut fastrand::Rng| (format!("k{}\"", random.u8(..9)), random_json(random, depth));
    (0..random.usize(..4)).map(|_| entry(random)).collect::<serde_json::Map<_, _>>().into()
}

#[test]
fn text_and_message_are_equal() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..500 {
        let json = random_object(&mut random, 4);
        let parse = |text: &str| serde_json::from_str::<Json>(text).unwrap();
        let object = Object::from_json(&json.to_string()).unwrap();
        assert_eq!(parse(&object.clone().into_json()), json);
        // Encoded and decoded, and compared with the generic message type.
        let sent = object.encode_to_vec();
        assert_eq!(sent.len(), object.encoded_len());
        assert_eq!(Object::decode(&*sent).unwrap(), object);
        assert_eq!(parse(&Object::decode(&*sent).unwrap().into_json()), json);
        let message: Struct = serde_json::from_value(json.clone()).unwrap();
        // Compared as JSON, because a message has two representations of null.
        let written = serde_json::to_value(&message).unwrap();
        assert_eq!(serde_json::to_value(Struct::decode(&*sent).unwrap()).unwrap(), written);
        assert_eq!(serde_json::to_value(&object).unwrap(), written);
        assert_eq!(parse(&Object::from(message).into_json()), json);
    }
}

/// Encodes a length-delimited field of the protobuf wire format.
fn field(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag << 3 | 2];
    prost::encoding::encode_varint(content.len() as u64, &mut bytes);
    bytes.extend_from_slice(content);
    bytes
}

/// A random `Value` as no encoder writes it: with unknown fields, and with scalars before the value that counts.
fn random_value(random: &mut fastrand::Rng, depth: u32) -> Vec<u8> {
    let scalars: [&[u8]; 5] = [&[8, 0], &[17, 0, 0, 0, 0, 0, 0, 240, 63], &[26, 2, b'"', b'a'], &[32, 1], &[120, 5]];
    let mut bytes: Vec<u8> =
        (0..random.usize(..3)).flat_map(|_| scalars[random.usize(..scalars.len())].to_vec()).collect();
    if depth > 0 && random.bool() {
        let values =
            (0..random.usize(..4)).flat_map(|_| field(1, &random_value(random, depth - 1))).collect::<Vec<_>>();
        bytes.extend(field(6, &values));
    } else if depth > 0 && random.bool() {
        let fields = random_fields(random, depth - 1);
        bytes.extend(field(5, &fields));
    }
    bytes
}

/// A random `Struct`; its keys are all different, and may come behind their values or not at all.
fn random_fields(random: &mut fastrand::Rng, depth: u32) -> Vec<u8> {
    let entry = |at: usize| {
        let key = field(1, format!("k{at}\n").as_bytes());
        let value = field(2, &random_value(random, depth));
        let parts = match random.u32(..4) {
            0 => [value, key].concat(),
            1 if at == 0 => value,
            2 => key,
            _ => [key, value].concat(),
        };
        field(1, &parts)
    };
    (0..4).flat_map(entry).collect()
}

#[test]
fn what_is_decoded_as_text_is_what_the_tree_of_messages_says() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..2_000 {
        let mut bytes = random_fields(&mut random, 4);
        if random.bool() {
            bytes.truncate(random.usize(..=bytes.len()));
        }
        let parse = |object: Object| serde_json::from_str::<Json>(&object.into_json()).unwrap();
        let (text, tree) = (Object::decode(&*bytes).map(parse), Struct::decode(&*bytes).map(Object::from).map(parse));
        assert_eq!(text.is_ok(), tree.is_ok(), "{bytes:?}: {text:?}, {tree:?}");
        assert_eq!(text.ok(), tree.ok(), "{bytes:?}");
    }
}

#[test]
fn a_list_of_nothing_takes_little_more_than_its_bytes() {
    let values = [10, 0].repeat(100_000);
    let bytes = field(1, &[field(1, b"k"), field(2, &field(6, &values))].concat());
    let text = Object::decode(&*bytes).unwrap().into_json();
    assert!(text.len() <= 3 * bytes.len(), "{} bytes of text, {} on the wire", text.len(), bytes.len());
}

#[test]
fn whole_numbers_are_written_as_integers() {
    for (written, read) in [
        ("3.0", "3"),
        ("-9007199254740992.0", "-9007199254740992"),
        ("0.1", "0.1"),
        ("1e300", "1e+300"),
        ("18446744073709551615", "18446744073709551615"),
    ] {
        let object = Object::from_json(&format!(r#"{{"n":{written}}}"#)).unwrap();
        assert_eq!(object.into_json(), format!(r#"{{"n":{read}}}"#));
    }
    let number = |number| Struct { fields: [("n".to_owned(), Value { kind: Some(Kind::NumberValue(number)) })].into() };
    assert_eq!(Object::from(number(f64::NAN)).into_json(), r#"{"n":null}"#);
    assert_eq!(Object::from(number(3.0)).into_json(), r#"{"n":3}"#);
}

#[test]
fn integers_beyond_2_53_are_rounded_in_messages_and_other_fields_are_kept() {
    for number in
        ["9007199254740992", "9007199254740993", "-9007199254740993", "-9223372036854775808", "18446744073709551615"]
    {
        let object = Object::from_json(&format!(r#"{{"n":{number},"other":"a"}}"#)).unwrap();
        let double: f64 = number.parse().unwrap();
        let sent = Struct::decode(&*object.encode_to_vec()).unwrap();
        assert_eq!(sent.fields["n"].kind, Some(Kind::NumberValue(double)), "{number}");
        assert_eq!(sent.fields["other"].kind, Some(Kind::StringValue("a".to_owned())));
        assert_eq!(serde_json::to_value(&object).unwrap()["n"].as_f64(), Some(double));
        let mut merged = object.clone();
        merged.merge(&*Object::from_json(r#"{"other":"b"}"#).unwrap().encode_to_vec()).unwrap();
        assert_eq!(merged.message().fields["n"].kind, Some(Kind::NumberValue(double)));
    }
}

#[test]
fn text_that_is_not_an_object_is_refused() {
    for text in ["[]", "1", "null", "\"a\"", "{", r#"{"a":1e400}"#] {
        assert!(Object::from_json(text).is_err(), "{text}");
    }
    assert_eq!(Object::from_json("{}").unwrap().into_json(), "{}");
    assert_eq!(serde_json::to_value(Object::default()).unwrap(), json!({}));
}
