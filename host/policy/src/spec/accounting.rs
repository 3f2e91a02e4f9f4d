//! `spec.accounting`: its fields, the schema of these, and what they mean. Start at [`AccountingFields`] and [`AccountingSpec`].

use serde_json::{Map, Value, json};

use super::check::{Checker, names, readable, values, written};
use super::module::{ModuleFields, ModuleSource, NamedModule, Role};
use super::policy::{ANNOTATION_KEY, Place};
use crate::declare::{Maps, Texts, declare_map};
use crate::limits::{IGNORED_NAMESPACES_MAX, WATERMARK_PERCENT_MAX, WATERMARKS_MAX};
use crate::tree::At;
use nodesift_engine::{OnAccountError, Watermark};
use nodesift_sandbox::accounting::{ACCOUNTING_PACKAGE, ACCOUNTING_VERSION, ObjectInterface};
use nodesift_sandbox::limits::{ACCOUNTING_ANNOTATIONS, ACCOUNTING_SUMS};

/// Values of `onError` of the accounting component, as documents write them.
const ON_ACCOUNT_ERROR: [(&str, OnAccountError); 3] =
    [("Keep", OnAccountError::Keep), ("Standard", OnAccountError::Standard), ("Refuse", OnAccountError::Refuse)];

declare_map! {
    /// Fields of `spec.accounting`, as written.
    pub(crate) struct AccountingFields: json!({
        "description": "A module of your own that says what pods take of their nodes, in the place of what the API says",
    });
    /// Source of its module.
    module: At<ModuleFields> = "module" (Required), ModuleFields::schema();
    /// Keys of the annotations that it may read.
    annotations: Texts = "annotations", json!({
        "description": "Keys of the annotations that it may read; a module that reads others is refused",
        "type": "array", "maxItems": ACCOUNTING_ANNOTATIONS, "uniqueItems": true,
        "items": {"type": "string", "pattern": ANNOTATION_KEY},
    });
    /// Its arguments: a map, which the module receives as JSON.
    args: At<Value> = "args", json!({"description": "Its arguments", "type": "object"});
    /// Names of the only interfaces that it may import.
    allow: Texts = "allow", json!({
        "description": "The only interfaces that the module may import; all where the field is left out",
        "type": "array", "uniqueItems": true,
        "items": {"enum": ObjectInterface::ALL.map(ObjectInterface::name).as_slice()},
    });
    /// Usage that is assumed for a pod without a known account: `Keep`, `Standard` or `Refuse`.
    on_error: At<String> = "onError", json!({
        "description": "What counts of a pod where a call fails or its annotations are broken: Keep its last account, or \
                        without one what the API says (the default); Standard, always what the API says; Refuse, as Keep, \
                        and no node fits the pod itself",
        "enum": names(&ON_ACCOUNT_ERROR),
    });
    /// Namespaces whose pods take nothing.
    ignore_namespaces: Texts = "ignoreNamespaces", json!({
        "description": "Namespaces whose pods take nothing, whatever the module would say",
        "type": "array", "maxItems": IGNORED_NAMESPACES_MAX, "uniqueItems": true,
        "items": {"type": "string", "minLength": 1},
    });
    /// Names of the sums that are shown as gauges.
    gauges: Texts = "gauges", json!({
        "description": "Sums of the module that are shown as gauges by node, nodesift_node_sum",
        "type": "array", "maxItems": ACCOUNTING_SUMS, "uniqueItems": true,
        "items": {"type": "string", "minLength": 1},
    });
    /// Watermarks of the sums, which make events when nodes cross them.
    watermarks: Maps<WatermarkFields> = "watermarks", json!({
        "description": "Watermarks of sums: an event is made when a node crosses one",
        "type": "array", "maxItems": WATERMARKS_MAX,
        "items": WatermarkFields::schema(),
    });
}

declare_map! {
    /// Fields of a watermark, as written.
    pub(crate) struct WatermarkFields: json!({});
    /// Name of the sum that is compared.
    sum: At<String> = "sum" (Required),
        json!({"description": "A sum of the module", "type": "string", "minLength": 1});
    /// Name of what the sum is a share of.
    of: At<String> = "of" (Required), json!({
        "description": "Another sum of the module, or a resource, of which the allocatable amount counts",
        "type": "string", "minLength": 1,
    });
    /// Percent with more than which a node is above.
    above: At<Value> = "above" (Required), json!({
        "description": "Percent: a node whose sum is more than so much is above",
        "type": "integer", "minimum": 1, "maximum": WATERMARK_PERCENT_MAX,
    });
    /// Percent with at most which a node that was above is below again.
    below: At<Value> = "below" (Required), json!({
        "description": "Percent, less than above: a node that was above is below again once its sum is at most so much",
        "type": "integer", "minimum": 0, "maximum": WATERMARK_PERCENT_MAX,
    });
}

/// The accounting component of a policy.
#[derive(Debug, Clone, PartialEq)]
pub struct AccountingSpec {
    /// Where it is written.
    pub place: Place,
    /// Where its module is; never a built-in.
    pub module: ModuleSource,
    /// Keys of the annotations that it may read, sorted, each once.
    pub annotation_keys: Vec<String>,
    /// The arguments that it is configured with: always a JSON object, empty where the document has none.
    pub args: Value,
    /// The only interfaces that it may import; `None` allows all.
    pub allow: Option<Vec<ObjectInterface>>,
    /// Usage that is assumed for a pod without a known account.
    pub on_error: OnAccountError,
    /// Namespaces whose pods take nothing, sorted, each once.
    pub ignored_namespaces: Vec<String>,
    /// Sums that are shown as gauges, sorted, each once.
    pub gauges: Vec<String>,
    /// Watermarks of sums, in the order of the document.
    pub watermarks: Vec<Watermark>,
}

impl AccountingSpec {
    /// Returns its module, with the name [`ACCOUNTING`] and its place.
    pub fn named_module(&self) -> NamedModule<'_> {
        NamedModule { name: ACCOUNTING, place: &self.place, module: &self.module, role: Role::Accounting }
    }
}

/// Name of the accounting component in messages.
pub const ACCOUNTING: &str = "accounting";

impl Checker<'_> {
    /// The accounting component; none where it has no module that could be read.
    pub(super) fn accounting(&mut self, at: &At<AccountingFields>, field: &str) -> Option<AccountingSpec> {
        let AccountingFields { module, annotations, args, allow, on_error, ignore_namespaces, gauges, watermarks } =
            &at.value;
        let module = module.as_ref().map(|module| self.module(module, &format!("{field}.module")));
        let annotations = annotations.as_ref();
        let annotation_keys = annotations
            .map(|keys| self.annotation_keys(keys, &format!("{field}.annotations"), ACCOUNTING_ANNOTATIONS))
            .unwrap_or_default();
        let args = args.as_ref().map_or_else(|| Value::Object(Map::new()), |args| self.args(args, field));
        let allow = allow.as_ref().map(|allow| self.object_interfaces(allow, &format!("{field}.allow")));
        let on_error = on_error.as_ref().map_or(OnAccountError::default(), |on_error| {
            self.choice(on_error, &format!("{field}.onError"), &ON_ACCOUNT_ERROR)
        });
        let ignored = ignore_namespaces.as_ref();
        let ignored_namespaces =
            ignored.map(|names| self.namespaces(names, &format!("{field}.ignoreNamespaces"))).unwrap_or_default();
        let gauges = gauges.as_ref().map(|names| self.gauges(names, &format!("{field}.gauges"))).unwrap_or_default();
        let watermarks = watermarks.as_ref().map(|marks| self.watermarks(marks, &format!("{field}.watermarks")));
        let watermarks = watermarks.unwrap_or_default();
        // What is wrong with a module has been said, and gives the place of a built-in.
        let module = module.filter(|module| *module != ModuleSource::Builtin)?;
        let place = Place { file: at.file.clone(), line: at.line, column: at.column, field: field.to_owned() };
        Some(AccountingSpec {
            place,
            module,
            annotation_keys,
            args,
            allow,
            on_error,
            ignored_namespaces,
            gauges,
            watermarks,
        })
    }

    fn object_interfaces(&mut self, allow: &Texts, field: &str) -> Vec<ObjectInterface> {
        let field = |index| format!("{field}[{index}]");
        self.refuse_repeats(readable(&allow.value), field);
        let mut allowed = Vec::new();
        for (index, name) in readable(&allow.value) {
            match ObjectInterface::from_name(&name.value) {
                Some(interface) => allowed.push(interface),
                None => {
                    let known = ObjectInterface::ALL.map(ObjectInterface::name).join(", ");
                    let reason = format!(
                        "{:?} is no interface of {ACCOUNTING_PACKAGE} {ACCOUNTING_VERSION}; there are {known}",
                        name.value
                    );
                    self.refuse(name, &field(index), reason);
                }
            }
        }
        allowed.sort_unstable();
        allowed
    }

    fn gauges(&mut self, names: &Texts, field: &str) -> Vec<String> {
        self.refuse_repeats(readable(&names.value), |index| format!("{field}[{index}]"));
        let mut read = values(names);
        read.sort_unstable();
        read
    }

    fn watermarks(&mut self, marks: &Maps<WatermarkFields>, field: &str) -> Vec<Watermark> {
        if marks.value.len() > WATERMARKS_MAX {
            let reason = format!("{} watermarks; at most {WATERMARKS_MAX} are allowed", marks.value.len());
            self.refuse(marks, field, reason);
        }
        let mut read: Vec<Watermark> = Vec::new();
        for (index, at) in readable(&marks.value) {
            let field = format!("{field}[{index}]");
            let Some(mark) = self.watermark(at, &field) else { continue };
            // Both would count nodes in the same gauge.
            let key = |mark: &Watermark| (mark.sum.clone(), mark.whole.clone(), mark.above);
            if read.iter().any(|earlier| key(earlier) == key(&mark)) {
                let reason = format!("{} of {} above {} % is there twice", mark.sum, mark.whole, mark.above);
                self.refuse(at, &field, reason);
            }
            read.push(mark);
        }
        read
    }

    fn watermark(&mut self, at: &At<WatermarkFields>, field: &str) -> Option<Watermark> {
        let WatermarkFields { sum, of, above, below } = &at.value;
        let mut percent = |at: &At<Value>, name: &str| {
            let read = at.value.as_u64().and_then(|percent| u32::try_from(percent).ok());
            let read = read.filter(|percent| *percent <= WATERMARK_PERCENT_MAX);
            if read.is_none() {
                let reason = format!("{} is not a number from 0 to {WATERMARK_PERCENT_MAX}", written(&at.value));
                self.refuse(at, &format!("{field}.{name}"), reason);
            }
            read
        };
        // What is missing has been said.
        let (sum, of, above_at, below) = (sum.as_ref()?, of.as_ref()?, above.as_ref()?, below.as_ref()?);
        let (above, below) = (percent(above_at, "above"), percent(below, "below"));
        let (above, below) = (above?, below?);
        if below >= above {
            let reason = format!("{above} is not more than below, {below}: a node would cross with every pod");
            self.refuse(above_at, &format!("{field}.above"), reason);
        }
        Some(Watermark { sum: sum.value.as_str().into(), whole: of.value.as_str().into(), above, below })
    }

    fn namespaces(&mut self, names: &Texts, field: &str) -> Vec<String> {
        if names.value.len() > IGNORED_NAMESPACES_MAX {
            let reason = format!("{} namespaces; at most {IGNORED_NAMESPACES_MAX} are allowed", names.value.len());
            self.refuse(names, field, reason);
        }
        let field = |index| format!("{field}[{index}]");
        for (index, name) in readable(&names.value).filter(|(_, name)| name.value.is_empty()) {
            self.refuse(name, &field(index), "empty; a namespace has a name");
        }
        self.refuse_repeats(readable(&names.value), field);
        let mut read = values(names);
        read.sort_unstable();
        read
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::spec::Policy;

    /// A document whose `spec.accounting` is this, on line 7.
    fn read(accounting: &str) -> Result<Policy, String> {
        let text = format!(
            "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nspec:\n  schedulerNames: [a]\n  predicates:\n  \
             - name: NodeName\n  accounting: {accounting}\n"
        );
        Policy::read(&text, "p", Path::new("/etc"), &["NodeName"]).map_err(|error| error.to_string())
    }

    #[test]
    fn every_field_is_read() {
        assert_eq!(read("{module: {path: a.wasm}}").unwrap().accounting.unwrap().on_error, OnAccountError::Keep);
        let text = "{module: {path: a.wasm}, annotations: [b, a.com/x], args: {x: 1}, allow: [object-requests, object-annotations], \
                    onError: Refuse, ignoreNamespaces: [z, kube-system], gauges: [t, s], \
                    watermarks: [{sum: s, of: cpu, above: 90, below: 80}]}";
        let policy = read(text).unwrap();
        assert_eq!(policy.modules().take(2).map(|named| named.name).collect::<Vec<_>>(), ["NodeName", "accounting"]);
        let spec = policy.accounting.unwrap();
        assert_eq!(spec.module, ModuleSource::Path { path: "/etc/a.wasm".into(), digest: None });
        assert_eq!(spec.annotation_keys, ["a.com/x", "b"]);
        assert_eq!(spec.args, json!({"x": 1}));
        assert_eq!(spec.allow.unwrap(), [ObjectInterface::Annotations, ObjectInterface::Requests]);
        assert_eq!(spec.on_error, OnAccountError::Refuse);
        assert_eq!(
            (spec.ignored_namespaces, spec.gauges),
            (vec!["kube-system".into(), "z".into()], vec!["s".into(), "t".into()])
        );
        let mark = Watermark { sum: "s".into(), whole: "cpu".into(), above: 90, below: 80 };
        assert_eq!(spec.watermarks, [mark]);
        assert_eq!((spec.place.line, &*spec.place.field), (7, "spec.accounting"));
    }

    #[test]
    fn what_is_wrong_is_refused_with_its_field() {
        for (text, expected) in [
            ("{}", "spec.accounting.module: missing"),
            ("{module: {}}", "spec.accounting.module: neither `path` nor `oci`"),
            (
                "{module: {path: a}, annotations: [-c]}",
                "spec.accounting.annotations[0]: \"-c\" is not an annotation key",
            ),
            ("{module: {path: a}, annotations: [c, c]}", "spec.accounting.annotations[1]: \"c\" is there twice"),
            (
                "{module: {path: a}, allow: [pod-labels]}",
                "there are object-annotations, object-owners, object-requests",
            ),
            (
                "{module: {path: a}, onError: Reject}",
                "spec.accounting.onError: \"Reject\" is not Keep or Standard or Refuse",
            ),
            ("{module: {path: a}, ignoreNamespaces: ['']}", "spec.accounting.ignoreNamespaces[0]: empty"),
            ("{module: {path: a}, gauges: [s, s]}", "spec.accounting.gauges[1]: \"s\" is there twice"),
            (
                "{module: {path: a}, watermarks: [{sum: s, of: cpu, above: 80, below: 70}, \
                 {sum: s, of: cpu, above: 80, below: 60}]}",
                "spec.accounting.watermarks[1]: s of cpu above 80 % is there twice",
            ),
            (
                "{module: {path: a}, watermarks: [{sum: s, of: cpu, above: 80, below: 80}]}",
                "spec.accounting.watermarks[0].above: 80 is not more than below, 80",
            ),
            (
                "{module: {path: a}, watermarks: [{sum: s, of: cpu, above: much, below: 1}]}",
                "spec.accounting.watermarks[0].above: \"much\" is not a number from 0 to 10000",
            ),
            (
                "{module: {path: a}, watermarks: [{sum: s, above: 2, below: 1}]}",
                "spec.accounting.watermarks[0].of: missing",
            ),
            ("{module: {path: a}, args: 7}", "spec.accounting.args: expected a map"),
            ("{module: {path: a}, needs: 7}", "spec.accounting.needs: unknown field"),
        ] {
            let refused = read(text).map(|policy| panic!("accepted: {policy:?}")).unwrap_err();
            assert!(refused.contains(expected), "{text}: {refused}");
        }
    }
}
