//! Reading Kubernetes objects as plain JSON: an absent field, `null` and the empty value of a field's type mean the same.

use serde_json::{Map, Value};

/// The value at a path of field names joined by dots; `Null` where any of them is absent.
pub fn at<'a>(object: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(object, |value, field| value.get(field).unwrap_or(&Value::Null))
}

/// The text at a path, or the empty text.
pub fn text<'a>(object: &'a Value, path: &str) -> &'a str {
    at(object, path).as_str().unwrap_or("")
}

/// The list at a path, or the empty list.
pub fn list<'a>(object: &'a Value, path: &str) -> &'a [Value] {
    at(object, path).as_array().map_or(&[], Vec::as_slice)
}

/// The texts of the list at a path.
pub fn texts(object: &Value, path: &str) -> Vec<String> {
    list(object, path).iter().map(|value| value.as_str().unwrap_or("").to_owned()).collect()
}

/// The entries of the map at a path, sorted by key.
pub fn entries<'a>(object: &'a Value, path: &str) -> Vec<(&'a String, &'a Value)> {
    let mut entries: Vec<_> = at(object, path).as_object().into_iter().flat_map(Map::iter).collect();
    entries.sort_by_key(|(key, _)| *key);
    entries
}

/// Whether the flag at a path is true.
pub fn flag(object: &Value, path: &str) -> bool {
    at(object, path).as_bool().unwrap_or(false)
}

/// Whether anything is written at a path.
pub fn is_set(object: &Value, path: &str) -> bool {
    !at(object, path).is_null()
}

/// A map's value for a key that may hold dots; the map may be `Null`.
pub fn lookup<'a>(map: &'a Value, key: &str) -> Option<&'a str> {
    map.get(key).map(|value| value.as_str().unwrap_or(""))
}

/// One of the object's labels.
pub fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    lookup(labels(object), key)
}

/// The object's labels; `Null` where there are none.
pub fn labels(object: &Value) -> &Value {
    at(object, "metadata.labels")
}

/// One of the object's annotations.
pub fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    lookup(at(object, "metadata.annotations"), key)
}

/// `metadata.name`.
pub fn name(object: &Value) -> &str {
    text(object, "metadata.name")
}

/// `metadata.namespace`.
pub fn namespace(object: &Value) -> &str {
    text(object, "metadata.namespace")
}

/// `namespace/name`, or the name of an object without a namespace.
pub fn key(object: &Value) -> String {
    match namespace(object) {
        "" => name(object).to_owned(),
        namespace => format!("{namespace}/{}", name(object)),
    }
}
