//! The objects of the scripted server, one version counter, and the complete history of changes.
//!
//! Tests compare with it, so it is as simple as possible: every change is an [`Entry`] appended to one list, and the objects
//! at a version are found by applying the list from its start.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::resource::{self, RESOURCES};

/// A version: a counter like etcd's revision, incremented by every change of any object.
pub type Version = u64;

/// An object as it is stored.
#[derive(Debug)]
pub struct Stored {
    /// `namespace/name`, or the name for objects without a namespace.
    pub key: String,
    /// Its JSON without `kind` and `apiVersion`, as in a list.
    pub text: String,
}

/// A change, or a message to watches.
#[derive(Debug, Clone)]
pub enum Event {
    /// An object was created.
    Added(Arc<Stored>),
    /// An object was changed.
    Modified(Arc<Stored>),
    /// An object was deleted: its last state, with the version of the deletion.
    Deleted(Arc<Stored>),
    /// No change: watches get a bookmark with the current version.
    Bookmark,
    /// A line that is sent to watches unchanged. It changes no object.
    Line(Arc<str>),
}

/// An event and its version.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The version after it.
    pub version: Version,
    /// The index of its kind in [`RESOURCES`].
    pub place: usize,
    /// Change, or message to watches.
    pub event: Event,
    /// Whether it is never sent to a watch.
    pub lost: bool,
}

/// The objects of one kind, by key.
pub type Objects = BTreeMap<String, Arc<Stored>>;

/// Objects and their history.
#[derive(Debug)]
pub struct Store {
    version: Version,
    objects: Vec<Objects>,
    history: Vec<Entry>,
    compacted: Version,
    /// The prefix of versions as text; empty in a real API server.
    version_prefix: &'static str,
    /// The number in the next UID.
    next_uid: u64,
    /// By index of the kind: how often its watches were ended.
    endings: Vec<usize>,
}

impl Default for Store {
    fn default() -> Self {
        let objects = vec![Objects::new(); RESOURCES.len()];
        let endings = vec![0; RESOURCES.len()];
        Self { version: 1, objects, history: Vec::new(), compacted: 0, version_prefix: "", next_uid: 0, endings }
    }
}

impl Store {
    /// The version of the newest change.
    pub fn version(&self) -> Version {
        self.version
    }

    /// From now on versions are texts that cannot be compared; KEP-5504 requires clients to handle these.
    pub fn make_versions_opaque(&mut self) {
        self.version_prefix = "opaque-";
    }

    /// The text of a version.
    pub fn written(&self, version: Version) -> String {
        format!("{}{version}", self.version_prefix)
    }

    /// The version of a text.
    pub fn read(&self, text: &str) -> Option<Version> {
        text.strip_prefix(self.version_prefix).unwrap_or(text).parse().ok()
    }

    /// Creates or changes an object of the given `kind`. It gets the new version, and a new UID if it has none. Returns the
    /// version.
    pub fn apply(&mut self, mut object: Value) -> Version {
        let place = resource::place(object["kind"].as_str().unwrap_or_default());
        let key = key(&object);
        let known = self.objects.get(place).and_then(|objects| objects.get(&key)).cloned();
        if object["metadata"]["uid"].is_null() {
            let uid = known.as_ref().map_or(Value::Null, |known| value(known)["metadata"]["uid"].clone());
            object["metadata"]["uid"] = if uid.is_null() { json!(self.new_uid()) } else { uid };
        }
        if resource::has_status(object["kind"].as_str().unwrap_or_default()) {
            let known = known.as_ref().map(|known| value(known)).unwrap_or_default();
            let is_same = known["spec"] == object["spec"];
            let generation = known["metadata"]["generation"].as_i64().unwrap_or_default() + i64::from(!is_same);
            object["metadata"]["generation"] = json!(generation.max(1));
            object["status"] = known["status"].clone();
        }
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.written(self.version));
        let stored = Arc::new(Stored::new(object));
        let event = if known.is_some() { Event::Modified } else { Event::Added };
        self.happened(place, event(Arc::clone(&stored)), false);
        self.version
    }

    /// Applies a status as the manager whose entry has its name: entries of others stay. Returns whether the object has the UID
    /// that is meant; `None` where there is no object.
    pub fn apply_status(&mut self, kind: &str, key: &str, manager: &str, applied: &Value) -> Option<bool> {
        let place = resource::place(kind);
        let known = self.objects.get(place)?.get(key)?;
        let mut object = value(known);
        let uid = &applied["metadata"]["uid"];
        if !uid.is_null() && *uid != object["metadata"]["uid"] {
            return Some(false);
        }
        let before = object["status"].clone();
        let entries = |status: &Value| status["replicas"].as_array().cloned().unwrap_or_default();
        let mut replicas = entries(&before);
        replicas.retain(|entry| entry["name"] != manager);
        replicas.extend(entries(&applied["status"]));
        replicas.sort_by_key(|entry| entry["name"].to_string());
        let wanted = &applied["status"];
        object["status"] = match (wanted.is_null(), replicas.is_empty()) {
            (true, true) => Value::Null,
            (true, false) => before.clone(),
            (false, _) => wanted.clone(),
        };
        if !object["status"].is_null() {
            object["status"]["replicas"] = Value::Array(replicas);
        }
        // What changes nothing is no event.
        if object["status"] != before {
            self.version += 1;
            object["metadata"]["resourceVersion"] = json!(self.written(self.version));
            self.happened(place, Event::Modified(Arc::new(Stored::new(object))), false);
        }
        Some(true)
    }

    /// Deletes an object if it exists. Returns the version.
    pub fn delete(&mut self, kind: &str, key: &str) -> Version {
        self.remove(kind, key, false)
    }

    /// Deletes an object without sending the event to any watch.
    pub fn delete_unheard(&mut self, kind: &str, key: &str) -> Version {
        self.remove(kind, key, true)
    }

    fn remove(&mut self, kind: &str, key: &str, lost: bool) -> Version {
        let place = resource::place(kind);
        if let Some(known) = self.objects.get(place).and_then(|objects| objects.get(key)) {
            let mut object = value(known);
            self.version += 1;
            object["metadata"]["resourceVersion"] = json!(self.written(self.version));
            self.happened(place, Event::Deleted(Arc::new(Stored::new(object))), lost);
        }
        self.version
    }

    /// Sends every watch of the kind a bookmark. The version increases as by a change of another kind.
    pub fn bookmark(&mut self, kind: &str) -> Version {
        self.version += 1;
        self.happened(resource::place(kind), Event::Bookmark, false);
        self.version
    }

    /// Sends every watch of the kind a line unchanged. The version increases, so that no watch gets it twice.
    pub fn say(&mut self, kind: &str, line: &str) -> Version {
        self.version += 1;
        self.happened(resource::place(kind), Event::Line(line.into()), false);
        self.version
    }

    pub(super) fn end_watches(&mut self, place: usize) {
        if let Some(endings) = self.endings.get_mut(place) {
            *endings += 1;
        }
    }

    /// How often watches of a kind were ended. A watch ends when this exceeds the value at its start.
    pub(super) fn endings(&self, place: usize) -> usize {
        self.endings.get(place).copied().unwrap_or_default()
    }

    /// Repeats a recorded event of a watch, `{"type": …, "object": …}`, with the version that it was recorded with.
    pub fn replay(&mut self, mut recorded: Value) {
        let mut object = recorded["object"].take();
        let kind = object["kind"].as_str().unwrap_or_default().to_owned();
        let version = object["metadata"]["resourceVersion"].as_str().and_then(|version| version.parse().ok());
        let version: Version = version.expect("a recorded version is a number");
        self.version = self.version.max(version);
        let place = resource::place(&kind);
        // As recorded, managed fields included.
        let stored = |object: &mut Value| Arc::new(Stored::new(object.take()));
        let event = match recorded["type"].as_str() {
            Some("ADDED") => Event::Added(stored(&mut object)),
            Some("MODIFIED") => Event::Modified(stored(&mut object)),
            Some("DELETED") => Event::Deleted(stored(&mut object)),
            Some("BOOKMARK") => Event::Bookmark,
            other => panic!("a recorded event has the unknown type {other:?}"),
        };
        self.happened(place, event, false);
    }

    fn happened(&mut self, place: usize, event: Event, lost: bool) {
        let entry = Entry { version: self.version, place, event, lost };
        if let Some(objects) = self.objects.get_mut(place) {
            play(objects, &entry.event);
        }
        self.history.push(entry);
    }

    fn new_uid(&mut self) -> String {
        self.next_uid += 1;
        format!("00000000-0000-4000-8000-{:012}", self.next_uid)
    }

    /// Compacts the history like etcd: watches can only start from the current version on.
    pub fn compact(&mut self) {
        self.compacted = self.version;
    }

    /// Compacts the history up to a version, and frees the memory. Later entries are retained, so that a watch at that version
    /// continues or resumes without a gap.
    pub fn truncate(&mut self, version: Version) {
        self.compacted = self.compacted.max(version);
        let mut history = Vec::new();
        for place in 0..self.objects.len() {
            let added = |stored| Entry { version, place, event: Event::Added(stored), lost: true };
            history.extend(self.at(place, version).into_values().map(added));
        }
        history.extend(self.history.drain(..).filter(|entry| entry.version > version));
        self.history = history;
    }

    /// Restores a backup of a version, as etcd does: the server knows nothing of what came after it, and its next change has the
    /// version after that one. UIDs are not given twice.
    pub fn restore(&mut self, version: Version) {
        let objects = (0..self.objects.len()).map(|place| self.at(place, version)).collect();
        self.objects = objects;
        self.history.retain(|entry| entry.version <= version);
        self.version = version;
    }

    /// The oldest version from which a watch can start.
    pub fn compacted(&self) -> Version {
        self.compacted
    }

    /// The current objects of a kind.
    pub fn now(&self, kind: &str) -> &Objects {
        self.at_place(resource::place(kind))
    }

    #[allow(clippy::indexing_slicing, reason = "there is a map for every kind")]
    pub(super) fn at_place(&self, place: usize) -> &Objects {
        &self.objects[place]
    }

    /// The objects of a kind at a version.
    pub fn at(&self, place: usize, version: Version) -> Objects {
        if version >= self.version {
            return self.at_place(place).clone();
        }
        let mut objects = Objects::new();
        let until = self.history.iter().filter(|entry| entry.place == place && entry.version <= version);
        until.for_each(|entry| play(&mut objects, &entry.event));
        objects
    }

    /// The objects of a kind at a version, with `kind` and `apiVersion`.
    pub fn objects_at(&self, kind: &str, version: Version) -> Vec<Value> {
        self.at(resource::place(kind), version).values().map(|stored| whole(kind, stored)).collect()
    }

    /// All current objects, with `kind` and `apiVersion`.
    pub fn objects(&self) -> Vec<Value> {
        let of_kind = |(resource, objects): (&resource::Resource, &Objects)| {
            objects.values().map(|stored| whole(resource.kind, stored)).collect::<Vec<_>>()
        };
        RESOURCES.iter().zip(&self.objects).flat_map(of_kind).collect()
    }

    /// The entries for a watch of a kind after a version, at most `most`.
    pub(super) fn after(&self, place: usize, version: Version, most: usize) -> Vec<Entry> {
        let start = self.history.partition_point(|entry| entry.version <= version);
        let later = self.history.get(start..).unwrap_or_default().iter();
        later.filter(|entry| entry.place == place && !entry.lost).take(most).cloned().collect()
    }
}

/// Applies an event to objects.
fn play(objects: &mut Objects, event: &Event) {
    match event {
        Event::Added(stored) | Event::Modified(stored) => {
            objects.insert(stored.key.clone(), Arc::clone(stored));
        }
        Event::Deleted(stored) => {
            objects.remove(&stored.key);
        }
        Event::Bookmark | Event::Line(_) => {}
    }
}

impl Stored {
    fn new(mut object: Value) -> Self {
        let key = key(&object);
        if let Some(fields) = object.as_object_mut() {
            fields.remove("kind");
            fields.remove("apiVersion");
        }
        Self { key, text: object.to_string() }
    }

    /// With `kind` and `apiVersion`, as in an event.
    pub(super) fn whole(&self, place: usize) -> String {
        let Some(resource) = RESOURCES.get(place) else { return self.text.clone() };
        let fields = self.text.strip_prefix('{').unwrap_or(&self.text);
        format!(r#"{{"kind":"{}","apiVersion":"{}",{fields}"#, resource.kind, resource.api_version)
    }
}

fn value(stored: &Stored) -> Value {
    serde_json::from_str(&stored.text).expect("stored objects are JSON")
}

fn whole(kind: &str, stored: &Stored) -> Value {
    serde_json::from_str(&stored.whole(resource::place(kind))).expect("stored objects are JSON")
}

/// `namespace/name`, or the name for objects without a namespace.
pub fn key(object: &Value) -> String {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    match text("namespace") {
        namespace if namespace.is_empty() => text("name"),
        namespace => format!("{namespace}/{}", text("name")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, label: &str) -> Value {
        json!({"kind": "Pod", "apiVersion": "v1",
               "metadata": {"namespace": "default", "name": name, "labels": {"l": label}}})
    }

    #[test]
    fn what_was_there_at_a_version_is_what_was_played_until_then() {
        let mut store = Store::default();
        let first = store.apply(pod("a", "1"));
        let second = store.apply(pod("a", "2"));
        let other = store.apply(json!({"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n"}}));
        let gone = store.delete_unheard("Pod", "default/a");
        let labels = |version| {
            let pods = store.objects_at("Pod", version);
            pods.iter().map(|pod| pod["metadata"]["labels"]["l"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(
            (labels(first), labels(second), labels(other)),
            (vec!["1".into()], vec!["2".into()], vec!["2".into()])
        );
        assert!(labels(gone).is_empty() && store.now("Pod").is_empty());
        let pods = resource::place("Pod");
        assert_eq!(store.after(pods, first, 9).len(), 1, "the deletion of the pod is not sent");
        assert_eq!(store.objects()[0]["kind"], "Node");
    }

    #[test]
    fn a_truncated_history_tells_what_came_later_and_knows_what_was_there() {
        let mut store = Store::default();
        store.apply(pod("gone", "1"));
        store.apply(pod("stays", "1"));
        let heard = store.delete("Pod", "default/gone");
        let later = store.apply(pod("new", "2"));
        let pods = resource::place("Pod");
        let names = |store: &Store, version| store.at(pods, version).into_keys().collect::<Vec<_>>();
        let before = (names(&store, heard), names(&store, later));
        store.truncate(heard);
        assert_eq!((names(&store, heard), names(&store, later)), before);
        let told: Vec<Version> = store.after(pods, heard, 9).iter().map(|entry| entry.version).collect();
        assert_eq!((told, store.compacted()), (vec![later], heard));
    }

    #[test]
    fn a_status_is_applied_by_each_manager_for_itself_and_survives_a_change() {
        let policy = |spec: u32| json!({"kind": "PredicatePolicy", "apiVersion": "nodesift.dev/v1alpha1", "metadata": {"name": "a"}, "spec": spec});
        let entry = |name: &str, generation: u32| json!({"status": {"observedGeneration": generation, "replicas": [{"name": name}]}});
        let mut store = Store::default();
        assert_eq!(store.apply_status("PredicatePolicy", "a", "x", &entry("x", 1)), None);
        store.apply(policy(1));
        let now = |store: &Store| value(&store.now("PredicatePolicy")["a"]);
        for name in ["x", "y", "x"] {
            assert_eq!(store.apply_status("PredicatePolicy", "a", name, &entry(name, 1)), Some(true));
        }
        assert_eq!(now(&store)["status"]["replicas"], json!([{"name": "x"}, {"name": "y"}]));
        let version = store.version();
        store.apply_status("PredicatePolicy", "a", "x", &entry("x", 1));
        assert_eq!(store.version(), version, "nothing has changed");
        store.apply(policy(2));
        assert_eq!(now(&store)["metadata"]["generation"], 2);
        assert_eq!(now(&store)["status"]["observedGeneration"], 1);
        store.apply(policy(2));
        assert_eq!(now(&store)["metadata"]["generation"], 2);
        for name in ["x", "y"] {
            store.apply_status("PredicatePolicy", "a", name, &json!({}));
        }
        assert!(now(&store)["status"].is_null());
        let other = json!({"metadata": {"uid": "other"}, "status": {}});
        assert_eq!(store.apply_status("PredicatePolicy", "a", "x", &other), Some(false));
    }

    #[test]
    fn an_object_keeps_its_uid_while_it_lives() {
        let mut store = Store::default();
        let uid = |store: &Store| value(&store.now("Pod")["default/a"])["metadata"]["uid"].clone();
        store.apply(pod("a", "1"));
        let first = uid(&store);
        store.apply(pod("a", "2"));
        assert_eq!(uid(&store), first);
        store.delete("Pod", "default/a");
        store.apply(pod("a", "3"));
        assert_ne!(uid(&store), first);
    }
}
