// Made from the contract by `make contract`; not to be edited.
//
// Every type and function of the contract. What `nodesift.h` has is easier to use. Lists and texts that a function
// returns are valid until the end of the call of `filter`.
#ifndef NODESIFT_CONTRACT_H
#define NODESIFT_CONTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The version of the contract.
#define NS_CONTRACT_VERSION "0.2.0"

// Text in UTF-8: not terminated by a zero.
typedef struct ns_text {
    const char *data;
    size_t length;
} ns_text;

// pod-labels
// The pod's namespace and labels.

// Namespace of the pod: `metadata.namespace`.
ns_text ns_pod_labels_namespace(void);

typedef struct ns_option_text {
    bool is_some;
    ns_text value;
} ns_option_text;

// The value of the label `key` in `metadata.labels`; none where the pod does not have the label.
ns_option_text ns_pod_labels_label(ns_text key);

// pod-annotations
// Annotations of the pod. The host keeps only the keys that the policy lists in `spec.facts.annotations`; any other key
// reads as absent.

// The value of the annotation `key` in `metadata.annotations`; none where the pod does not have it, or the policy does
// not list the key.
ns_option_text ns_pod_annotations_annotation(ns_text key);

// pod-placement
// `spec.nodeName`, `spec.nodeSelector` and node affinity of the pod, as written and unvalidated. The
// predicate itself compares them with label columns.

// The operator of a node selector requirement.
enum {
    NS_POD_PLACEMENT_OPERATOR_IN,
    NS_POD_PLACEMENT_OPERATOR_NOT_IN,
    NS_POD_PLACEMENT_OPERATOR_EXISTS,
    NS_POD_PLACEMENT_OPERATOR_DOES_NOT_EXIST,
    NS_POD_PLACEMENT_OPERATOR_GT,
    NS_POD_PLACEMENT_OPERATOR_LT,
    // Any other text. Kubernetes cannot parse such a requirement.
    NS_POD_PLACEMENT_OPERATOR_UNKNOWN,
};
typedef uint8_t ns_pod_placement_operator;

typedef struct ns_list_text {
    const ns_text *items;
    size_t length;
} ns_list_text;

// A NodeSelectorRequirement: `key operator values`.
typedef struct ns_pod_placement_requirement {
    // The key of a label, or the name of a field.
    ns_text key;
    ns_pod_placement_operator operator_;
    // `values` of the requirement, as written and in order.
    ns_list_text values;
} ns_pod_placement_requirement;

typedef struct ns_list_pod_placement_requirement {
    const ns_pod_placement_requirement *items;
    size_t length;
} ns_list_pod_placement_requirement;

// A NodeSelectorTerm: all of its requirements must hold. A term without requirements matches no node.
typedef struct ns_pod_placement_term {
    // `matchExpressions`: requirements on labels.
    ns_list_pod_placement_requirement expressions;
    // `matchFields`: requirements on fields. Kubernetes supports only `metadata.name`.
    ns_list_pod_placement_requirement fields;
} ns_pod_placement_term;

// A PreferredSchedulingTerm: a number that a node is worth which matches the term. Since 0.2.
typedef struct ns_pod_placement_preferred_term {
    // The weight: 0 switches the preference off.
    int32_t weight;
    // `preference`: a term without requirements expresses no preference.
    ns_pod_placement_term preference;
} ns_pod_placement_preferred_term;

// `spec.nodeName`; none where it is absent or empty.
ns_option_text ns_pod_placement_node_name(void);

typedef struct ns_tuple_text_text {
    ns_text part_0;
    ns_text part_1;
} ns_tuple_text_text;

typedef struct ns_list_tuple_text_text {
    const ns_tuple_text_text *items;
    size_t length;
} ns_list_tuple_text_text;

// `spec.nodeSelector`: label key and value of each entry, sorted by key. All entries must hold.
ns_list_tuple_text_text ns_pod_placement_node_selector(void);

typedef struct ns_list_pod_placement_term {
    const ns_pod_placement_term *items;
    size_t length;
} ns_list_pod_placement_term;

typedef struct ns_option_list_pod_placement_term {
    bool is_some;
    ns_list_pod_placement_term value;
} ns_option_list_pod_placement_term;

// `spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution`: its terms, at least one of which
// must hold. None where the pod has no required node affinity. An empty list matches no node.
ns_option_list_pod_placement_term ns_pod_placement_required_terms(void);

typedef struct ns_list_pod_placement_preferred_term {
    const ns_pod_placement_preferred_term *items;
    size_t length;
} ns_list_pod_placement_preferred_term;

typedef struct ns_option_list_pod_placement_preferred_term {
    bool is_some;
    ns_list_pod_placement_preferred_term value;
} ns_option_list_pod_placement_preferred_term;

// `spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution`, in order. None where the pod has no such
// list. Since 0.2.
ns_option_list_pod_placement_preferred_term ns_pod_placement_preferred_terms(void);

// pod-tolerations
// Tolerations of the pod for taints of nodes.

// The operator of a toleration.
enum {
    // Also where the pod leaves the operator out.
    NS_POD_TOLERATIONS_OPERATOR_EQUAL,
    NS_POD_TOLERATIONS_OPERATOR_EXISTS,
    // Any other text, including `Gt` and `Lt`. Such a toleration tolerates no taint.
    NS_POD_TOLERATIONS_OPERATOR_OTHER,
};
typedef uint8_t ns_pod_tolerations_operator;

// The effect of a taint.
enum {
    NS_POD_TOLERATIONS_EFFECT_NO_SCHEDULE,
    NS_POD_TOLERATIONS_EFFECT_PREFER_NO_SCHEDULE,
    NS_POD_TOLERATIONS_EFFECT_NO_EXECUTE,
    // Any other text as the effect of a taint.
    NS_POD_TOLERATIONS_EFFECT_OTHER,
};
typedef uint8_t ns_pod_tolerations_effect;

typedef struct ns_option_pod_tolerations_effect {
    bool is_some;
    ns_pod_tolerations_effect value;
} ns_option_pod_tolerations_effect;

// One entry of `spec.tolerations`.
typedef struct ns_pod_tolerations_toleration {
    // The key of the taint. Empty: every key.
    ns_text key;
    ns_pod_tolerations_operator operator_;
    // The value of the taint, compared only by `equal`.
    ns_text value;
    // The effect of the taint. None: every effect.
    ns_option_pod_tolerations_effect effect;
} ns_pod_tolerations_toleration;

typedef struct ns_list_pod_tolerations_toleration {
    const ns_pod_tolerations_toleration *items;
    size_t length;
} ns_list_pod_tolerations_toleration;

// Tolerations of the pod: `spec.tolerations`, in order.
ns_list_pod_tolerations_toleration ns_pod_tolerations_tolerations(void);

// pod-resources
// The pod's resource requests. Containers, init and sidecar containers, overhead and pod-level resources are combined
// as in kube-scheduler.

// The requested amount of one resource.
typedef struct ns_pod_resources_request {
    // The resource name, for example `cpu` or `example.com/gpu`.
    ns_text resource;
    // `cpu` in millicores; `memory`, `ephemeral-storage` and `hugepages-*` in bytes; others as a count. Rounded up
    // once, after the sum over the pod.
    int64_t amount;
} ns_pod_resources_request;

typedef struct ns_list_pod_resources_request {
    const ns_pod_resources_request *items;
    size_t length;
} ns_list_pod_resources_request;

// The pod's requests, one entry per resource. First `cpu`, `memory` and `ephemeral-storage`, each only where it is
// above 0. Then every other resource that the pod names, sorted by name; here an amount can be 0.
ns_list_pod_resources_request ns_pod_resources_requests(void);

// pod-non-zero-requests
// The pod's requests as the score of kube-scheduler's NodeResourcesFit counts them. Every container that names no `cpu` counts with
// 100 millicores, and every one that names no `memory` with 200 MiB, so that pods without requests count as well. Since 0.2.

// Requests of the containers of the pod and its overhead, sorted by name, in the units of `pod-resources`. `cpu` and `memory`
// are in the list, also at 0. Requests of the pod as a whole (`spec.resources`) are not counted.
ns_list_pod_resources_request ns_pod_non_zero_requests_requests(void);

// pod-images
// Images that the pod uses, as kube-scheduler's ImageLocality compares them: a name without a tag and without a digest has the tag
// `latest`. Since 0.2.

// Images of init containers and then those of containers, in order, each as often as it is used.
ns_list_text ns_pod_images_containers(void);

// Images that are mounted as volumes, in order, each as often as it is used.
ns_list_text ns_pod_images_volumes(void);

// selectors
// Label selector types that other interfaces use. This interface has no functions.

// The operator of a label selector requirement.
enum {
    NS_SELECTORS_OPERATOR_IN,
    NS_SELECTORS_OPERATOR_NOT_IN,
    NS_SELECTORS_OPERATOR_EXISTS,
    NS_SELECTORS_OPERATOR_DOES_NOT_EXIST,
    // Any other text. Kubernetes cannot parse such a requirement.
    NS_SELECTORS_OPERATOR_UNKNOWN,
};
typedef uint8_t ns_selectors_operator;

// A LabelSelectorRequirement: `key operator values`.
typedef struct ns_selectors_requirement {
    // The key of the label.
    ns_text key;
    ns_selectors_operator operator_;
    // `values` of the requirement, as written and in order.
    ns_list_text values;
    // The operator as written, for error texts.
    ns_text operator_text;
} ns_selectors_requirement;

typedef struct ns_list_selectors_requirement {
    const ns_selectors_requirement *items;
    size_t length;
} ns_list_selectors_requirement;

// A meta/v1 LabelSelector as written, unvalidated. All parts must hold. A selector without parts matches
// everything.
typedef struct ns_selectors_label_selector {
    // Label key and value of each entry, sorted by key.
    ns_list_tuple_text_text match_labels;
    // `matchExpressions`: requirements on labels, in order.
    ns_list_selectors_requirement match_expressions;
} ns_selectors_label_selector;

// pod-spread
// Topology spread constraints of the pod, as written and unvalidated.

// `whenUnsatisfiable`: what happens to a node on which the pod would exceed `max-skew`.
enum {
    NS_POD_SPREAD_WHEN_UNSATISFIABLE_DO_NOT_SCHEDULE,
    NS_POD_SPREAD_WHEN_UNSATISFIABLE_SCHEDULE_ANYWAY,
    // Any other text as `whenUnsatisfiable`.
    NS_POD_SPREAD_WHEN_UNSATISFIABLE_OTHER,
};
typedef uint8_t ns_pod_spread_when_unsatisfiable;

// Whether nodes that the pod cannot run on are excluded from the counts (`honor`) or included (`ignore`).
enum {
    NS_POD_SPREAD_INCLUSION_HONOR,
    NS_POD_SPREAD_INCLUSION_IGNORE,
    // Any other text as the policy.
    NS_POD_SPREAD_INCLUSION_OTHER,
};
typedef uint8_t ns_pod_spread_inclusion;

typedef struct ns_option_selectors_label_selector {
    bool is_some;
    ns_selectors_label_selector value;
} ns_option_selectors_label_selector;

typedef struct ns_option_s32 {
    bool is_some;
    int32_t value;
} ns_option_s32;

typedef struct ns_option_pod_spread_inclusion {
    bool is_some;
    ns_pod_spread_inclusion value;
} ns_option_pod_spread_inclusion;

// One entry of `spec.topologySpreadConstraints`.
typedef struct ns_pod_spread_constraint {
    // A number of pods.
    int32_t max_skew;
    // The key of the node label whose values are the topology domains.
    ns_text topology_key;
    ns_pod_spread_when_unsatisfiable when_unsatisfiable;
    // `labelSelector`: the pods that are counted. None: matches no pod.
    ns_option_selectors_label_selector selector;
    // A number of domains. None: 1.
    ns_option_s32 min_domains;
    // `nodeAffinityPolicy`, about nodes that the pod's node selector and node affinity exclude. None: honor.
    ns_option_pod_spread_inclusion node_affinity_policy;
    // `nodeTaintsPolicy`, about nodes with taints that the pod does not tolerate. None: ignore.
    ns_option_pod_spread_inclusion node_taints_policy;
    // Label keys. The values of the pod being filtered for these keys are added to the selector.
    ns_list_text match_label_keys;
} ns_pod_spread_constraint;

typedef struct ns_list_pod_spread_constraint {
    const ns_pod_spread_constraint *items;
    size_t length;
} ns_list_pod_spread_constraint;

// Constraints of the pod: `spec.topologySpreadConstraints`, in order.
ns_list_pod_spread_constraint ns_pod_spread_constraints(void);

// The combined selector of the Services that select the pod and of the controller that owns it. Default
// constraints, which a policy gives to pods without constraints, use this selector. None where the pod has
// neither.
ns_option_selectors_label_selector ns_pod_spread_default_selector(void);

// pod-affinity
// Required pod affinity and anti-affinity of the pod, as written and unvalidated; of preferred terms only invalid ones.

// A PodAffinityTerm of the Kubernetes API, as written.
typedef struct ns_pod_affinity_term {
    // `labelSelector`: the other pods that the term is about. None: matches no pod.
    ns_option_selectors_label_selector selector;
    // Namespaces of the other pods. Where this list is empty and there is no `namespace-selector`: the namespace
    // of the pod that has the term.
    ns_list_text namespaces;
    // Further namespaces of the other pods, selected by the labels of the Namespace objects. None: no further
    // ones.
    ns_option_selectors_label_selector namespace_selector;
    // The key of the node label whose values are the topology domains.
    ns_text topology_key;
    // Label keys. The other pods must have the same values for these keys as the pod that has the term.
    ns_list_text match_label_keys;
    // Label keys. The other pods must have other values for these keys than the pod that has the term.
    ns_list_text mismatch_label_keys;
} ns_pod_affinity_term;

typedef struct ns_list_pod_affinity_term {
    const ns_pod_affinity_term *items;
    size_t length;
} ns_list_pod_affinity_term;

// Terms of `spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution`, in order.
ns_list_pod_affinity_term ns_pod_affinity_affinity(void);

// Terms of `spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution`, in order.
ns_list_pod_affinity_term ns_pod_affinity_anti_affinity(void);

typedef struct ns_tuple_list_pod_affinity_term_list_pod_affinity_term {
    ns_list_pod_affinity_term part_0;
    ns_list_pod_affinity_term part_1;
} ns_tuple_list_pod_affinity_term_list_pod_affinity_term;

// The terms of `preferredDuringSchedulingIgnoredDuringExecution` that have an invalid selector, first those of the pod
// affinity, then those of the anti-affinity, each in order. kube-scheduler rejects a pod with such a term; valid
// preferred terms reject no node.
ns_tuple_list_pod_affinity_term_list_pod_affinity_term ns_pod_affinity_invalid_preferred(void);

// pod-preferred-affinity
// Preferred pod affinity and anti-affinity of the pod, as written and unvalidated, each term with its weight. An interface of its own,
// because the host keeps these terms only where a component imports it. Since 0.2.

typedef struct ns_tuple_s32_pod_affinity_term {
    int32_t part_0;
    ns_pod_affinity_term part_1;
} ns_tuple_s32_pod_affinity_term;

typedef struct ns_list_tuple_s32_pod_affinity_term {
    const ns_tuple_s32_pod_affinity_term *items;
    size_t length;
} ns_list_tuple_s32_pod_affinity_term;

// Weights and terms of `spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution`, in order. A weight is the
// points of each matching pod.
ns_list_tuple_s32_pod_affinity_term ns_pod_preferred_affinity_affinity(void);

// Weights and terms of `spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution`, in order. A weight is the
// points that each matching pod takes away, as a positive number.
ns_list_tuple_s32_pod_affinity_term ns_pod_preferred_affinity_anti_affinity(void);

// pod-features
// Node features that the pod requires.

// The names of the required features, as in `status.declaredFeatures` of nodes; sorted. The host infers them from
// the pod's spec.
ns_list_text ns_pod_features_required(void);

// pod-volumes
// The volumes of the pod that can make a node unsuitable: disks and PersistentVolumeClaims.

// The in-tree volume types that kube-scheduler checks for conflicts.
enum {
    NS_POD_VOLUMES_DISK_KIND_GCE_PERSISTENT_DISK,
    NS_POD_VOLUMES_DISK_KIND_AWS_ELASTIC_BLOCK_STORE,
    NS_POD_VOLUMES_DISK_KIND_ISCSI,
    NS_POD_VOLUMES_DISK_KIND_RBD,
};
typedef uint8_t ns_pod_volumes_disk_kind;

// A disk that the pod names directly, without a claim.
typedef struct ns_pod_volumes_disk {
    ns_pod_volumes_disk_kind kind;
    // The identity within the kind: the name of a GCE persistent disk, the ID of an EBS volume, the IQN of an
    // iSCSI target, `pool/image` of an RBD device.
    ns_text id;
    bool read_only;
    // The monitors of an RBD device; empty for other kinds. Two RBD devices with the same `id` are the same device
    // only where their monitors overlap.
    ns_list_text monitors;
} ns_pod_volumes_disk;

// A reference to a PersistentVolumeClaim.
typedef struct ns_pod_volumes_claim_ref {
    // The name of the claim in the pod's namespace; empty where the pod leaves it out.
    ns_text name;
    // Whether the volume is a generic ephemeral volume, whose claim is created for this pod.
    bool ephemeral;
} ns_pod_volumes_claim_ref;

// One entry of `spec.volumes`.
enum {
    NS_POD_VOLUMES_VOLUME_DISK,
    NS_POD_VOLUMES_VOLUME_CLAIM,
};
typedef struct ns_pod_volumes_volume {
    // One of NS_POD_VOLUMES_VOLUME_….
    uint8_t tag;
    union {
        ns_pod_volumes_disk disk;
        ns_pod_volumes_claim_ref claim;
    };
} ns_pod_volumes_volume;

typedef struct ns_list_pod_volumes_volume {
    const ns_pod_volumes_volume *items;
    size_t length;
} ns_list_pod_volumes_volume;

// The disks and claims of `spec.volumes`, in order. Other volume types are left out.
ns_list_pod_volumes_volume ns_pod_volumes_volumes(void);

typedef struct ns_tuple_text_text_text {
    ns_text part_0;
    ns_text part_1;
    ns_text part_2;
} ns_tuple_text_text_text;

// Namespace, name and UID of the pod. The claim of a generic ephemeral volume must have this pod as its
// controller.
ns_tuple_text_text_text ns_pod_volumes_owner(void);

// namespace-labels
// Labels of the pod's Namespace. Since 0.2.

// The value of the label `key` of the Namespace object of the pod's namespace; none where it does not have the label, or
// there is no such object.
ns_option_text ns_namespace_labels_label(ns_text key);

// pod-spec
// Fields of the pod's spec. A cached verdict depends only on the fields that were read. Since 0.2.

// `spec.priority`; 0 where it is absent.
int32_t ns_pod_spec_priority(void);

// `spec.priorityClassName`; none where it is absent or empty.
ns_option_text ns_pod_spec_priority_class(void);

// `spec.serviceAccountName`; none where it is absent or empty.
ns_option_text ns_pod_spec_service_account(void);

// `spec.runtimeClassName`; none where it is absent or empty.
ns_option_text ns_pod_spec_runtime_class(void);

// Whether the pod uses the node's network: `spec.hostNetwork`.
bool ns_pod_spec_host_network(void);

// The images of containers and init containers as written: sorted, without duplicates and empty texts.
ns_list_text ns_pod_spec_images(void);

// Name of the scheduler that places the pod: `spec.schedulerName`.
ns_text ns_pod_spec_scheduler_name(void);

// pod-owner
// The controller of the pod: the entry of `metadata.ownerReferences` whose `controller` is true. Since 0.2.

// An object that owns pods.
typedef struct ns_pod_owner_owner {
    // `apiVersion` of the owner, for example `apps/v1`.
    ns_text api_version;
    // `kind` of the owner, for example `ReplicaSet`.
    ns_text kind;
    ns_text name;
} ns_pod_owner_owner;

typedef struct ns_option_pod_owner_owner {
    bool is_some;
    ns_pod_owner_owner value;
} ns_option_pod_owner_owner;

// The controller; none where the pod has none.
ns_option_pod_owner_owner ns_pod_owner_controller(void);

// The UID of the controller; none where the pod has none. Pods of different controllers share no cached verdict of a
// predicate that has read it.
ns_option_text ns_pod_owner_controller_uid(void);

// pod-claims
// The pod's claims of devices: ResourceClaims as DynamicResources of kube-scheduler resolves them. Amounts here are exact, and not
// in the units of resources. Since 0.2.

// An amount in billionths: `high` × 2^64 + `low`.
typedef struct ns_pod_claims_nano_units {
    // The upper 64 bits, which carry the sign.
    int64_t high;
    uint64_t low;
} ns_pod_claims_nano_units;

// A quantity of the Kubernetes API.
typedef struct ns_pod_claims_amount {
    // The exact amount, in billionths of a unit.
    ns_pod_claims_nano_units nano_units;
    // In whole units as Go's `Quantity.Value()` rounds and overflows, which depends on how the quantity is written.
    int64_t units;
} ns_pod_claims_amount;

// Why no claim of the pod can be allocated on any node.
typedef struct ns_pod_claims_obstacle {
    // The text of kube-scheduler's reason or error.
    ns_text text;
    // Whether it ends the scheduling of the pod with an error; otherwise the pod is unschedulable.
    bool is_error;
} ns_pod_claims_obstacle;

typedef struct ns_option_list_text {
    bool is_some;
    ns_list_text value;
} ns_option_list_text;

// A DeviceClass that is asked for by its name.
typedef struct ns_pod_claims_class {
    // The name as asked for, whether or not there is such a class.
    ns_text name;
    // The CEL expressions of its selectors, in order; an empty text for a selector that is not CEL. None where there is no such
    // class.
    ns_option_list_text selectors;
} ns_pod_claims_class;

// A toleration of a request, with the fields of the Kubernetes API as written; empty where they are absent.
typedef struct ns_pod_claims_toleration {
    ns_text key;
    ns_text operator_;
    ns_text value;
    ns_text effect;
} ns_pod_claims_toleration;

typedef struct ns_list_option_text {
    const ns_option_text *items;
    size_t length;
} ns_list_option_text;

typedef struct ns_list_pod_claims_toleration {
    const ns_pod_claims_toleration *items;
    size_t length;
} ns_list_pod_claims_toleration;

typedef struct ns_tuple_text_pod_claims_amount {
    ns_text part_0;
    ns_pod_claims_amount part_1;
} ns_tuple_text_pod_claims_amount;

typedef struct ns_list_tuple_text_pod_claims_amount {
    const ns_tuple_text_pod_claims_amount *items;
    size_t length;
} ns_list_tuple_text_pod_claims_amount;

// The devices that a request, or one of its alternatives, asks for.
typedef struct ns_pod_claims_asked {
    // The name without that of the request to which an alternative belongs.
    ns_text own_name;
    // Whether it is listed as an alternative, alone or with others.
    bool is_alternative;
    ns_pod_claims_class class_;
    // The CEL expressions of its own selectors, in order; none for a selector that is not CEL.
    ns_list_option_text selectors;
    // `allocationMode`: `ExactCount`, `All`, or any other text.
    ns_text mode;
    // A number of devices, for `ExactCount`.
    int64_t count;
    // Whether use of a device by others does not matter; never for alternatives.
    bool admin_access;
    // `tolerations` of the request, in order.
    ns_list_pod_claims_toleration tolerations;
    // `capacity.requests`: the name and amount of each, sorted by name.
    ns_list_tuple_text_pod_claims_amount capacity;
} ns_pod_claims_asked;

typedef struct ns_list_pod_claims_asked {
    const ns_pod_claims_asked *items;
    size_t length;
} ns_list_pod_claims_asked;

// A request of a claim.
typedef struct ns_pod_claims_request {
    // Its name in the claim.
    ns_text base;
    // At least one, in order. A request without alternatives has one entry: itself.
    ns_list_pod_claims_asked alternatives;
} ns_pod_claims_request;

// The demand of a constraint on an attribute, which is given by its full name.
enum {
    // `matchAttribute`: the same value on all devices.
    NS_POD_CLAIMS_CONSTRAINT_KIND_MATCH,
    // `distinctAttribute`: another value on each device.
    NS_POD_CLAIMS_CONSTRAINT_KIND_DISTINCT,
    // A kind of constraint that this version of the contract does not know.
    NS_POD_CLAIMS_CONSTRAINT_KIND_UNKNOWN,
};
typedef struct ns_pod_claims_constraint_kind {
    // One of NS_POD_CLAIMS_CONSTRAINT_KIND_….
    uint8_t tag;
    union {
        ns_text match;
        ns_text distinct;
    };
} ns_pod_claims_constraint_kind;

// A constraint over the devices of a claim.
typedef struct ns_pod_claims_constraint {
    // Names of requests or of alternatives (`request/alternative`). Empty: all of the claim.
    ns_list_text requests;
    ns_pod_claims_constraint_kind kind;
} ns_pod_claims_constraint;

typedef struct ns_list_pod_claims_request {
    const ns_pod_claims_request *items;
    size_t length;
} ns_list_pod_claims_request;

typedef struct ns_list_pod_claims_constraint {
    const ns_pod_claims_constraint *items;
    size_t length;
} ns_list_pod_claims_constraint;

// A claim that has to be allocated.
typedef struct ns_pod_claims_unallocated {
    // `spec.devices.requests` of the claim, in order.
    ns_list_pod_claims_request requests;
    // `spec.devices.constraints` of the claim, in order.
    ns_list_pod_claims_constraint constraints;
} ns_pod_claims_unallocated;

typedef struct ns_list_u8 {
    const uint8_t *items;
    size_t length;
} ns_list_u8;

// A claim of the pod.
enum {
    NS_POD_CLAIMS_CLAIM_UNALLOCATED,
    // Allocated: a flag that is 1 where it can be used. One entry per row of the batch.
    NS_POD_CLAIMS_CLAIM_ALLOCATED,
};
typedef struct ns_pod_claims_claim {
    // One of NS_POD_CLAIMS_CLAIM_….
    uint8_t tag;
    union {
        ns_pod_claims_unallocated unallocated;
        ns_list_u8 allocated;
    };
} ns_pod_claims_claim;

// An extended resource in the requests of a container.
typedef struct ns_pod_claims_container_resource {
    // Its number from 0 among all requests of the container, sorted by name.
    uint32_t key;
    // Its number in `extended-resources.resources`.
    uint32_t resource;
    // A count; 0 where it is not a whole number of 64 bits.
    int64_t count;
} ns_pod_claims_container_resource;

typedef struct ns_list_pod_claims_container_resource {
    const ns_pod_claims_container_resource *items;
    size_t length;
} ns_list_pod_claims_container_resource;

// A container of the pod.
typedef struct ns_pod_claims_container {
    // Whether it is an init container that ends, which a sidecar container does not.
    bool is_short;
    // Its requests for resources of `extended-resources.resources`.
    ns_list_pod_claims_container_resource resources;
} ns_pod_claims_container;

typedef struct ns_list_pod_claims_container {
    const ns_pod_claims_container *items;
    size_t length;
} ns_list_pod_claims_container;

// The state of the claim for extended resources.
enum {
    // It exists and has requests, from an earlier attempt to schedule the pod; whether or not it is allocated.
    NS_POD_CLAIMS_EXTENDED_CLAIM_HAS_REQUESTS,
    // Allocated, without requests: a flag that is 1 where it can be used. One entry per row of the batch.
    NS_POD_CLAIMS_EXTENDED_CLAIM_ALLOCATED,
    // To be made for these containers: all of the pod, init containers first.
    NS_POD_CLAIMS_EXTENDED_CLAIM_TO_BE_MADE,
};
typedef struct ns_pod_claims_extended_claim {
    // One of NS_POD_CLAIMS_EXTENDED_CLAIM_….
    uint8_t tag;
    union {
        ns_list_u8 allocated;
        ns_list_pod_claims_container to_be_made;
    };
} ns_pod_claims_extended_claim;

typedef struct ns_option_pod_claims_class {
    bool is_some;
    ns_pod_claims_class value;
} ns_option_pod_claims_class;

// An extended resource that the pod requests.
typedef struct ns_pod_claims_extended_resource {
    // The DeviceClass that provides it; none where no class does.
    ns_option_pod_claims_class class_;
    // Whether the node itself has the resource: 0 where it does not list the resource in `status.allocatable`, 1 where it
    // lists an amount of zero, 2 where it has some. One entry per row of the batch.
    ns_list_u8 own;
} ns_pod_claims_extended_resource;

typedef struct ns_list_pod_claims_extended_resource {
    const ns_pod_claims_extended_resource *items;
    size_t length;
} ns_list_pod_claims_extended_resource;

// The extended resources of the pod, at least one of which a DeviceClass provides.
typedef struct ns_pod_claims_extended_resources {
    ns_pod_claims_extended_claim claim;
    // The resources of which the pod requests an amount other than zero, sorted by name.
    ns_list_pod_claims_extended_resource resources;
} ns_pod_claims_extended_resources;

typedef struct ns_list_pod_claims_claim {
    const ns_pod_claims_claim *items;
    size_t length;
} ns_list_pod_claims_claim;

typedef struct ns_result_list_pod_claims_claim_pod_claims_obstacle {
    bool is_error;
    union {
        ns_list_pod_claims_claim ok;
        ns_pod_claims_obstacle error;
    };
} ns_result_list_pod_claims_claim_pod_claims_obstacle;

// The claims that the pod names, in the order of `spec.resourceClaims`; an error where none can be allocated anywhere.
ns_result_list_pod_claims_claim_pod_claims_obstacle ns_pod_claims_claims(void);

typedef struct ns_option_pod_claims_extended_resources {
    bool is_some;
    ns_pod_claims_extended_resources value;
} ns_option_pod_claims_extended_resources;

// The extended resources of the pod; none where no DeviceClass provides any of them.
ns_option_pod_claims_extended_resources ns_pod_claims_extended(void);

// `namespace/name` of the claim with this number in `claims`; the one for extended resources has the number after the last.
// Empty for any other number. Pods with other claims share no cached verdict of a predicate that has read it.
ns_text ns_pod_claims_claim_name(uint32_t claim);

typedef struct ns_list_u32 {
    const uint32_t *items;
    size_t length;
} ns_list_u32;

// Alternatives that the claim with this number in `claims` has got by its status: for each of its requests that lists
// alternatives, the numbers from 0 of those that have a device, ascending, in the order of requests: mostly one, and several where
// kube-scheduler until 1.35 has mixed them. Empty for a claim that is not allocated, and for any other number. Since 0.2.
ns_list_u32 ns_pod_claims_chosen(uint32_t claim);

// Requests with `derivedAttributes` in the claim with this number in `claims`: numbers of its `asked` records, counted over the
// alternatives of all of its requests in order, ascending. Empty for an allocated claim, and for any other number.
ns_list_u32 ns_pod_claims_deriving(uint32_t claim);

// node-identity
// Names of the nodes of the batch.

// `metadata.name`; one entry per row of the batch.
ns_list_text ns_node_identity_names(void);

typedef struct ns_option_u32 {
    bool is_some;
    uint32_t value;
} ns_option_u32;

// The row of the node `name`; none where no node of the batch has this name.
ns_option_u32 ns_node_identity_row(ns_text name);

// node-labels
// Labels of the nodes of the batch. Each label key has a column of codes and a dictionary: code i stands for entry i
// of the dictionary. Code 0 means that the node does not have the label. Codes are valid during the running `filter`
// call only. A verdict must depend only on the entries of a dictionary that rows of the batch have; whether any node of the
// cluster has a value is what `code` says.

// The code of the label `key`; one entry per row of the batch. All entries are 0 for a key that no node has.
ns_list_u32 ns_node_labels_column(ns_text key);

// The code of the value `text` of the label `key`. None where no node of the cluster has this value, so that it
// equals the label of no row.
ns_option_u32 ns_node_labels_code(ns_text key, ns_text text);

// The dictionary of the label `key`: one value per code, not per row. Entry 0 is the empty text and stands for an
// absent label; entries that no node of the cluster uses are empty as well. The dictionary can hold values that no row of
// the batch has.
ns_list_text ns_node_labels_dictionary(ns_text key);

typedef struct ns_list_s64 {
    const int64_t *items;
    size_t length;
} ns_list_s64;

// The dictionary of the label `key`, parsed: one integer per code, not per row. The entry is the minimum s64 where
// the value is not a decimal integer that fits s64, and for code 0.
ns_list_s64 ns_node_labels_integers(ns_text key);

// The rows whose label `key` has one of these values, as a row set. Since 0.2.
uint32_t ns_node_labels_rows_in(ns_text key, ns_list_text values);

// The rows that have the label `key`, as a row set. Since 0.2.
uint32_t ns_node_labels_rows_with(ns_text key);

// node-annotations
// Annotations of the nodes of the batch. They have the form of `node-labels`: per key a column of codes and a dictionary, code 0
// for an absent annotation. The host keeps only the keys that the policy lists in `spec.facts.annotations`; any other key
// reads as absent on every node.

// The code of the annotation `key`; one entry per row of the batch. All entries are 0 for a key that no node has.
ns_list_u32 ns_node_annotations_column(ns_text key);

// The code of the value `text` of the annotation `key`. None where no node of the cluster has this value.
ns_option_u32 ns_node_annotations_code(ns_text key, ns_text text);

// The dictionary of the annotation `key`: one value per code, not per row. Entry 0 is the empty text and stands for an
// absent annotation; entries that no node of the cluster uses are empty as well. The dictionary can hold values that no row
// of the batch has.
ns_list_text ns_node_annotations_dictionary(ns_text key);

// The dictionary of the annotation `key`, parsed: one integer per code, not per row. The entry is the minimum s64 where
// the value is not a decimal integer that fits s64, and for code 0.
ns_list_s64 ns_node_annotations_integers(ns_text key);

// The rows whose annotation `key` has one of these values, as a row set. Since 0.2.
uint32_t ns_node_annotations_rows_in(ns_text key, ns_list_text values);

// The rows that have the annotation `key`, as a row set. Since 0.2.
uint32_t ns_node_annotations_rows_with(ns_text key);

// node-taints
// Taints and the unschedulable flag of the nodes of the batch.

// One entry of a node's `spec.taints`.
typedef struct ns_node_taints_taint {
    ns_text key;
    ns_text value;
    ns_pod_tolerations_effect effect;
} ns_node_taints_taint;

// `spec.unschedulable` as a flag; one entry per row of the batch.
ns_list_u8 ns_node_taints_unschedulable(void);

typedef struct ns_list_node_taints_taint {
    const ns_node_taints_taint *items;
    size_t length;
} ns_list_node_taints_taint;

typedef struct ns_list_list_node_taints_taint {
    const ns_list_node_taints_taint *items;
    size_t length;
} ns_list_list_node_taints_taint;

// The distinct taint lists of the cluster: one entry per set, not per row. Set 0 is empty. The list can hold sets
// that no row of the batch has: a verdict must depend only on those of the batch's rows.
ns_list_list_node_taints_taint ns_node_taints_sets(void);

// The index of the node's set in `sets`; one entry per row of the batch.
ns_list_u32 ns_node_taints_column(void);

// The rows with `spec.unschedulable`, as a row set. Since 0.2.
uint32_t ns_node_taints_rows_unschedulable(void);

// The rows with a taint of the effect NoSchedule or NoExecute that the pod being filtered does not tolerate, as a row set.
// Since 0.2.
uint32_t ns_node_taints_rows_untolerated(void);

// node-resources
// Resources of the nodes of the batch, one column per resource name. Amounts are in the units of `pod-resources`:
// `cpu` in millicores, `memory`, `ephemeral-storage` and `hugepages-*` in bytes, others as a count. Sums and
// differences wrap on overflow, as in Go. All entries are 0 for a name that no node and no pod on a node uses.
//
// Pods on a node are the pods bound to it, plus the pods that a scheduler has assumed there. A pod is foreign where
// its `spec.schedulerName` is none of the policy's `schedulerNames`, or where the kubelet created it (a static pod).

// `status.allocatable` of the resource; 0 where the node does not list it. One entry per row of the batch.
ns_list_s64 ns_node_resources_allocatable(ns_text resource);

// The sum of the requests of all pods on the node; one entry per row of the batch.
ns_list_s64 ns_node_resources_requested(ns_text resource);

// The part of `requested` that foreign pods request; one entry per row of the batch.
ns_list_s64 ns_node_resources_foreign(ns_text resource);

// `allocatable` minus `requested`; negative where the node is overcommitted. One entry per row of the batch.
ns_list_s64 ns_node_resources_free(ns_text resource);

// The number of pods on the node; one entry per row of the batch.
ns_list_s64 ns_node_resources_pods(void);

// The number of foreign pods on the node; one entry per row of the batch.
ns_list_s64 ns_node_resources_foreign_pods(void);

// `status.allocatable.pods`, a number of pods; 0 where the node does not list it. One entry per row of the batch.
ns_list_s64 ns_node_resources_pod_limit(void);

// `pod-limit` minus `pods`: how many more pods the node accepts. One entry per row of the batch.
ns_list_s64 ns_node_resources_pod_room(void);

// Whether a DeviceClass provides this extended resource, so that a node need not list it in `status.allocatable`.
// About the cluster, not about a row.
bool ns_node_resources_device_class_serves(ns_text resource);

// The rows on which at least `amount` of the resource is free, as a row set. Since 0.2.
uint32_t ns_node_resources_rows_with_free(ns_text resource, int64_t amount);

// node-sums
// Sums by name, which the policy's accounting component makes of nodes and of the pods on them. Since 0.2.
//
// A pod adds on the node that it is on, bound or assumed, and to no other. Sums are no resources: `node-resources` does not show
// them. Additions wrap on overflow.

// Sum of the node and of the pods on it under the name; one entry per row of the batch. 0 in every row for a name that no
// accounting component of the policy declares, as for a resource that nobody uses.
ns_list_s64 ns_node_sums_column(ns_text name);

// node-non-zero-requests
// Sums of requests in which every container counts that names no `cpu` or no `memory`, as in `pod-non-zero-requests`. An interface of
// its own, because the host keeps these sums only where a component imports it. Since 0.2.

// Sum of the requests of the pods on the node for `cpu`, in millicores, or `memory`, in bytes; one entry per row of the batch.
// 0 in every row for any other resource. Of a pod whose requests an accounting component says, these are counted. Sums wrap on
// overflow, as in Go.
ns_list_s64 ns_node_non_zero_requests_requested(ns_text resource);

// node-ports
// Host port conflicts between the pod being filtered and the pods on the nodes of the batch.

typedef struct ns_option_list_u8 {
    bool is_some;
    ns_list_u8 value;
} ns_option_list_u8;

// A flag: a pod on the node uses a host port that the pod being filtered requests. One entry per row of the batch.
// None where the pod requests no host port.
ns_option_list_u8 ns_node_ports_conflicts(void);

// node-features
// Features that the nodes of the batch declare.

typedef struct ns_list_list_text {
    const ns_list_text *items;
    size_t length;
} ns_list_list_text;

// The distinct sets of `status.declaredFeatures` of the cluster, each sorted: one entry per set, not per row. Set
// 0 is empty. The list can hold sets that no row of the batch has: a verdict must depend only on those of the batch's rows.
ns_list_list_text ns_node_features_sets(void);

// The index of the node's set in `sets`; one entry per row of the batch.
ns_list_u32 ns_node_features_column(void);

// node-conditions
// Conditions of the nodes of the batch: their status alone, not the times of heartbeats. Since 0.2.

// The status of the condition `type` in `status.conditions`: 0 where the node does not have it, 1 True, 2 False, 3 Unknown
// or any other text. One entry per row of the batch.
ns_list_u8 ns_node_conditions_column(ns_text type);

// node-info
// System information of the nodes of the batch: `status.nodeInfo` and the provider. It has the form of `node-labels`: per field
// a column of codes and a dictionary, code 0 for an absent or empty field. Since 0.2.

// A field of `status.nodeInfo`, or `spec.providerID`.
enum {
    NS_NODE_INFO_FIELD_KUBELET_VERSION,
    NS_NODE_INFO_FIELD_KERNEL_VERSION,
    NS_NODE_INFO_FIELD_CONTAINER_RUNTIME_VERSION,
    NS_NODE_INFO_FIELD_OS_IMAGE,
    NS_NODE_INFO_FIELD_OPERATING_SYSTEM,
    NS_NODE_INFO_FIELD_ARCHITECTURE,
    NS_NODE_INFO_FIELD_PROVIDER_ID,
};
typedef uint8_t ns_node_info_field;

// The code of the field; one entry per row of the batch.
ns_list_u32 ns_node_info_column(ns_node_info_field field);

// The code of the value `text` of the field. None where no node of the cluster has this value.
ns_option_u32 ns_node_info_code(ns_node_info_field field, ns_text text);

// The dictionary of the field: one value per code, not per row. Entry 0 is the empty text and stands for an absent field;
// entries that no node of the cluster uses are empty as well. The dictionary can hold values that no row of the batch has.
ns_list_text ns_node_info_dictionary(ns_node_info_field field);

// node-images
// Images that are present on the nodes of the batch. A kubelet reports only the largest images, 50 by default. Since 0.2.

// A flag: `status.images` of the node lists the image under this name, compared as written. One entry per row of the batch.
ns_list_u8 ns_node_images_present(ns_text image);

// node-age
// Ages of the nodes of the batch. Since 0.2.

// `metadata.creationTimestamp` in seconds since 1970-01-01T00:00:00Z; the minimum s64 where it is absent. One entry per row
// of the batch.
ns_list_s64 ns_node_age_created(void);

// node-devices
// Devices that the nodes of the batch can reach, from ResourceSlices, and their use. Nodes that see the same share a situation.
// Since 0.2.

// The facts that are asked for about devices. At most 4,096 lists with 16,384 expressions in all, and 4,096
// attributes.
typedef struct ns_node_devices_query {
    // Lists of CEL expressions, none of them empty. A device matches a list where it matches all expressions of it.
    ns_list_list_text selector_lists;
    // Full names of attributes (`domain/name`).
    ns_list_text attributes;
    // Whether to name pools and devices. Without names, more nodes share a situation.
    bool names;
} ns_node_devices_query;

// The pools that a row sees, or the error that keeps it from seeing any.
enum {
    // The number of its pools.
    NS_NODE_DEVICES_SITUATION_POOLS,
    // The error of kube-scheduler in gathering them.
    NS_NODE_DEVICES_SITUATION_ERROR,
};
typedef struct ns_node_devices_situation {
    // One of NS_NODE_DEVICES_SITUATION_….
    uint8_t tag;
    union {
        uint32_t pools;
        ns_text error;
    };
} ns_node_devices_situation;

// Whether a pool can be used.
enum {
    NS_NODE_DEVICES_POOL_STATE_OK,
    // ResourceSlices of its newest generation are missing.
    NS_NODE_DEVICES_POOL_STATE_INCOMPLETE,
    // Its ResourceSlices contradict each other, for example by two devices of one name.
    NS_NODE_DEVICES_POOL_STATE_INVALID,
};
typedef uint8_t ns_node_devices_pool_state;

// A pool of devices.
typedef struct ns_node_devices_pool {
    // The index of its driver in `device-columns.drivers`.
    uint32_t driver;
    ns_node_devices_pool_state state;
    // The number of its devices in the columns; 0 unless it can be used.
    uint32_t devices;
    // The number of its counters in the columns.
    uint32_t counters;
} ns_node_devices_pool;

// A counter of a pool.
typedef struct ns_node_devices_counter {
    ns_pod_claims_nano_units total;
    // The sum that devices in use draw from it; more than `total` where a driver has lowered that.
    ns_pod_claims_nano_units held;
} ns_node_devices_counter;

// The amount of one capacity of a device that shares of it hold.
typedef struct ns_node_devices_held {
    // The index of the device in the columns.
    uint32_t device;
    // The index of the capacity in the kind of the device.
    uint32_t capacity;
    // The sum over all shares.
    ns_pod_claims_nano_units amount;
} ns_node_devices_held;

// An answer that may fail.
enum {
    NS_NODE_DEVICES_ANSWER_NO,
    NS_NODE_DEVICES_ANSWER_YES,
    // An error of kube-scheduler in place of an answer.
    NS_NODE_DEVICES_ANSWER_ERROR,
};
typedef struct ns_node_devices_answer {
    // One of NS_NODE_DEVICES_ANSWER_….
    uint8_t tag;
    union {
        ns_text error;
    };
} ns_node_devices_answer;

typedef struct ns_option_pod_claims_amount {
    bool is_some;
    ns_pod_claims_amount value;
} ns_option_pod_claims_amount;

// A range of amounts.
typedef struct ns_node_devices_range {
    ns_option_pod_claims_amount min;
    ns_option_pod_claims_amount max;
    // The distance between amounts, from `min` on.
    ns_option_pod_claims_amount step;
} ns_node_devices_range;

typedef struct ns_list_pod_claims_amount {
    const ns_pod_claims_amount *items;
    size_t length;
} ns_list_pod_claims_amount;

typedef struct ns_option_node_devices_range {
    bool is_some;
    ns_node_devices_range value;
} ns_option_node_devices_range;

// A capacity of a device.
typedef struct ns_node_devices_capacity {
    ns_text name;
    ns_pod_claims_amount value;
    // The amount that a share takes where a request asks for nothing; none: all of it.
    ns_option_pod_claims_amount default_;
    // The amounts that a share can take; empty: any.
    ns_list_pod_claims_amount valid_values;
    // The range of amounts that a share can take; none: any.
    ns_option_node_devices_range valid_range;
} ns_node_devices_capacity;

typedef struct ns_list_node_devices_answer {
    const ns_node_devices_answer *items;
    size_t length;
} ns_list_node_devices_answer;

typedef struct ns_list_node_devices_capacity {
    const ns_node_devices_capacity *items;
    size_t length;
} ns_list_node_devices_capacity;

typedef struct ns_tuple_u32_pod_claims_nano_units {
    uint32_t part_0;
    ns_pod_claims_nano_units part_1;
} ns_tuple_u32_pod_claims_nano_units;

typedef struct ns_list_tuple_u32_pod_claims_nano_units {
    const ns_tuple_u32_pod_claims_nano_units *items;
    size_t length;
} ns_list_tuple_u32_pod_claims_nano_units;

// The properties that devices of one kind have in common: everything but name, attributes and use.
typedef struct ns_node_devices_kind {
    // Whether they match; one entry per list of the query. An error begins with the number of the selector in its list.
    ns_list_node_devices_answer matches;
    // Whether they are for the node, where their ResourceSlice leaves that to devices; otherwise yes.
    ns_node_devices_answer reaches;
    // The index of their taints in `device-columns.taints`.
    uint32_t taints;
    // `allowMultipleAllocations`: whether several claims can have shares of one.
    bool multiple_allocations;
    // The capacities of each of them, sorted by name.
    ns_list_node_devices_capacity capacities;
    // The amounts that each of them draws from counters: the index of a counter in the pool, and how much. A
    // counter can appear twice. Where `DRAPartitionableDevices` is off, pools have no counters, and a device that draws
    // from some has the index 4294967295 with the amount 0: it cannot be allocated.
    ns_list_tuple_u32_pod_claims_nano_units consumes;
} ns_node_devices_kind;

// A taint of a device, with the fields of the Kubernetes API as written; empty where they are absent.
typedef struct ns_node_devices_taint {
    ns_text key;
    ns_text value;
    ns_text effect;
} ns_node_devices_taint;

typedef struct ns_list_node_devices_situation {
    const ns_node_devices_situation *items;
    size_t length;
} ns_list_node_devices_situation;

typedef struct ns_list_node_devices_pool {
    const ns_node_devices_pool *items;
    size_t length;
} ns_list_node_devices_pool;

typedef struct ns_list_node_devices_counter {
    const ns_node_devices_counter *items;
    size_t length;
} ns_list_node_devices_counter;

typedef struct ns_list_node_devices_held {
    const ns_node_devices_held *items;
    size_t length;
} ns_list_node_devices_held;

typedef struct ns_list_node_devices_kind {
    const ns_node_devices_kind *items;
    size_t length;
} ns_list_node_devices_kind;

typedef struct ns_list_node_devices_taint {
    const ns_node_devices_taint *items;
    size_t length;
} ns_list_node_devices_taint;

typedef struct ns_list_list_node_devices_taint {
    const ns_list_node_devices_taint *items;
    size_t length;
} ns_list_list_node_devices_taint;

// Devices as columns. First the pools of situation 0 in kube-scheduler's order, which has pools with binding conditions last;
// then those of situation 1, and so on. Counters and devices follow each other in the order of pools.
typedef struct ns_node_devices_device_columns {
    // The index of the row's situation; one entry per row of the batch.
    ns_list_u32 codes;
    // The distinct situations: one entry per situation, not per row.
    ns_list_node_devices_situation situations;
    // The pools of all situations, one situation after the other.
    ns_list_node_devices_pool pools;
    // The counters of all pools, one pool after the other.
    ns_list_node_devices_counter counters;
    // The index of the device's kind; one entry per device, of all pools, in kube-scheduler's order.
    ns_list_u32 device_kinds;
    // Bit 0: one claim has the device for itself. Bit 1: claims have shares of it. One entry per device.
    ns_list_u8 in_use;
    // The amounts that shares hold, sorted by device and capacity, without those that are zero.
    ns_list_node_devices_held held;
    // Values of attributes: one entry per device and attribute of the query, all attributes of a device after each other. 0
    // where the device has no such attribute. Within a situation, equal numbers are equal values of one type; they are given by
    // first appearance. The maximum u32 stands for a value of an unknown type, which cannot be compared.
    ns_list_u32 values;
    // One entry per pool; empty where the query does not ask for names.
    ns_list_text pool_names;
    // One entry per device; empty where the query does not ask for names.
    ns_list_text names;
    // The distinct kinds: one entry per kind, not per device.
    ns_list_node_devices_kind kinds;
    // The names of the drivers that pools refer to.
    ns_list_text drivers;
    // The distinct lists of taints.
    ns_list_list_node_devices_taint taints;
} ns_node_devices_device_columns;

// The devices that rows of the batch see. A query beyond its limits traps.
ns_node_devices_device_columns ns_node_devices_devices(ns_node_devices_query query);

// node-parties
// Answers of external parties about the nodes of the batch, for the pod. Parties are those of the policy that decide about the pod being
// filtered, or about a claim of it that is to be allocated. Since 0.2.

// The answers of one party, as a column with a dictionary of reasons.
typedef struct ns_node_parties_party_column {
    // The name of the party in the policy.
    ns_text party;
    // The answer about the node: 0 nothing, or nothing any more; 1 that it suits; 2 that it does not. One entry per row of
    // the batch.
    ns_list_u8 states;
    // The code of the reason for which the node does not suit; 0 where `states` is not 2. One entry per row of the batch.
    ns_list_u32 reasons;
    // The dictionary of reasons: one text per code, not per row. Entry 0 is the empty text.
    ns_list_text texts;
    // Whether a node fits of which the party says nothing. True where the policy says so, and for whoever is to ask the party before
    // the pod is bound; otherwise the pod waits for it.
    bool unknown_fits;
} ns_node_parties_party_column;

typedef struct ns_list_node_parties_party_column {
    const ns_node_parties_party_column *items;
    size_t length;
} ns_list_node_parties_party_column;

// One entry per party, in the order of the policy; none where no party decides about the pod.
ns_list_node_parties_party_column ns_node_parties_unsuitable(void);

// cluster-pods
// Counts of the pods on all nodes of the cluster, by selector. Assumed pods are included.

typedef struct ns_option_list_selectors_requirement {
    bool is_some;
    ns_list_selectors_requirement value;
} ns_option_list_selectors_requirement;

// Selects pods by namespace and by labels. Both parts must hold.
typedef struct ns_cluster_pods_pod_selector {
    // Namespaces by name. They need no Namespace object.
    ns_list_text namespaces;
    // Further namespaces: those whose Namespace object has labels that meet all of these requirements. An empty
    // list is every namespace, also those without a Namespace object. None: no further ones. An unknown operator
    // traps.
    ns_option_list_selectors_requirement namespace_requirements;
    // Requirements on the labels of the pod; all must hold. An unknown operator traps.
    ns_list_selectors_requirement requirements;
} ns_cluster_pods_pod_selector;

typedef struct ns_list_cluster_pods_pod_selector {
    const ns_cluster_pods_pod_selector *items;
    size_t length;
} ns_list_cluster_pods_pod_selector;

// The number of pods on the node that match every selector; one entry per row of the cluster. Pods with a deletion
// timestamp are counted only where `terminating` is true. The host maintains the counts as pods change, so a
// repeated call is cheap.
ns_list_u32 ns_cluster_pods_matching(ns_list_cluster_pods_pod_selector selectors, bool terminating);

// Whether the pod being filtered matches every selector.
bool ns_cluster_pods_matches_this_pod(ns_list_cluster_pods_pod_selector selectors);

// The sum of the requests for one resource of the pods on the node that match every selector, in the units of
// `pod-resources`; one entry per row of the cluster. Pods with a deletion timestamp are included only where `terminating`
// is true. Since 0.2.
ns_list_s64 ns_cluster_pods_requested(ns_list_cluster_pods_pod_selector selectors, ns_text resource, bool terminating);

// cluster-controllers
// The pods that have the same controller as the pod being filtered, on all nodes of the cluster. Assumed pods are included. An
// interface of its own, because the host keeps the controller of every pod only where a predicate imports it. Since 0.2.

typedef struct ns_option_list_u32 {
    bool is_some;
    ns_list_u32 value;
} ns_option_list_u32;

// The number of pods on the node whose controller has the UID of this pod's controller; one entry per row of the cluster.
// None where the pod has no controller. Pods with a deletion timestamp are counted only where `terminating` is true. Pods
// of different controllers share no cached verdict of a predicate that has read it.
ns_option_list_u32 ns_cluster_controllers_same_controller(bool terminating);

// cluster-candidates
// The nodes of which a `score` call chooses. A scorer that imports it depends on every predicate of the policy; one that does not has
// scores that the host may keep. Since 0.2.

// A flag: the node fits by all predicates of the policy, and is one of those that are asked about. One entry per row of the
// cluster. In a `filter` or `allocate` call, where nothing is known of other predicates: 1 in every row.
ns_list_u8 ns_cluster_candidates_feasible(void);

// cluster-affinity
// Required anti-affinity terms of the pods on all nodes of the cluster, as far as they match the pod being filtered.

// The topology keys of the matching terms, sorted, without duplicates.
ns_list_text ns_cluster_affinity_topology_keys(void);

// The number of matching terms with this topology key that the pods on the node have; one entry per row of the
// cluster.
ns_list_u32 ns_cluster_affinity_anti_affinity_terms(ns_text topology_key);

// cluster-preferences
// Preferred terms and required affinity terms of the pods on all nodes of the cluster, as far as they match the pod being filtered.
// An interface of its own, because the host keeps these terms only where a component imports it. Since 0.2.

// The topology keys of the matching terms, sorted, without duplicates.
ns_list_text ns_cluster_preferences_topology_keys(void);

// The number of matching preferred terms with this topology key, of affinity and of anti-affinity, that the pods on the node
// have; one entry per row of the cluster.
ns_list_u32 ns_cluster_preferences_preferred_terms(ns_text topology_key);

// The sum of the weights of these terms, those of anti-affinity as negative numbers; one entry per row of the cluster.
ns_list_s64 ns_cluster_preferences_weights(ns_text topology_key);

// The number of matching terms of required affinity with this topology key that the pods on the node have; one entry per row
// of the cluster.
ns_list_u32 ns_cluster_preferences_required_terms(ns_text topology_key);

// cluster-volume-use
// Disks and claims that the pods on all nodes of the cluster use.

// A use of a disk by a pod on a node.
typedef struct ns_cluster_volume_use_disk_user {
    // The row of the cluster that holds the node.
    uint32_t row;
    // Whether the pod mounts the disk read-only.
    bool read_only;
    // The monitors that the pod names for an RBD device; empty for other kinds.
    ns_list_text monitors;
} ns_cluster_volume_use_disk_user;

typedef struct ns_list_cluster_volume_use_disk_user {
    const ns_cluster_volume_use_disk_user *items;
    size_t length;
} ns_list_cluster_volume_use_disk_user;

// The uses of the disk `id` of this kind, over all rows of the cluster. One entry per use, not per row.
ns_list_cluster_volume_use_disk_user ns_cluster_volume_use_disk_users(ns_pod_volumes_disk_kind kind, ns_text id);

// The number of uses of the claim of this name in the pod's namespace by pods on nodes, over all rows of the
// cluster. Claims of generic ephemeral volumes are not counted.
uint32_t ns_cluster_volume_use_claim_users(ns_text claim);

// cluster-attachments
// Attached volumes and attach limits of CSI drivers, over all rows of the cluster. A volume of an in-tree type counts
// as a volume of the CSI driver that replaces the type.

// A volume of a CSI driver.
typedef struct ns_cluster_attachments_attachment {
    // The name of the CSI driver.
    ns_text driver;
    // The volume handle, unique for the driver. For a volume that is not provisioned yet: a text that identifies
    // its claim.
    ns_text handle;
} ns_cluster_attachments_attachment;

// Why the volumes of a pod cannot be counted.
enum {
    // A claim volume has no claim name.
    NS_CLUSTER_ATTACHMENTS_OBSTACLE_UNNAMED_CLAIM,
    // The claim of this name does not exist. Reported for the pod being filtered only; for pods on nodes the
    // volume is left out.
    NS_CLUSTER_ATTACHMENTS_OBSTACLE_MISSING_CLAIM,
    // The claim of this name exists for a generic ephemeral volume, but the pod is not its controller.
    NS_CLUSTER_ATTACHMENTS_OBSTACLE_FOREIGN_CLAIM,
    // An in-tree volume in the pod's spec cannot be translated to its CSI driver: the name of the volume, and the
    // reason.
    NS_CLUSTER_ATTACHMENTS_OBSTACLE_UNTRANSLATABLE,
};
typedef struct ns_cluster_attachments_obstacle {
    // One of NS_CLUSTER_ATTACHMENTS_OBSTACLE_….
    uint8_t tag;
    union {
        ns_text missing_claim;
        ns_text foreign_claim;
        ns_tuple_text_text untranslatable;
    };
} ns_cluster_attachments_obstacle;

// A pod on a node whose volumes cannot be counted.
typedef struct ns_cluster_attachments_uncounted_pod {
    // The row of the cluster that holds the node.
    uint32_t row;
    // The namespace of the pod.
    ns_text namespace_;
    // The name of the pod.
    ns_text pod;
    ns_cluster_attachments_obstacle obstacle;
} ns_cluster_attachments_uncounted_pod;

typedef struct ns_list_cluster_attachments_attachment {
    const ns_cluster_attachments_attachment *items;
    size_t length;
} ns_list_cluster_attachments_attachment;

typedef struct ns_result_list_cluster_attachments_attachment_cluster_attachments_obstacle {
    bool is_error;
    union {
        ns_list_cluster_attachments_attachment ok;
        ns_cluster_attachments_obstacle error;
    };
} ns_result_list_cluster_attachments_attachment_cluster_attachments_obstacle;

// The volumes that the pod being filtered would attach to a node, without duplicates. `registered` says whether
// the node has a CSINode; without one, in-tree types are left out. Volumes whose driver is known neither from a
// PersistentVolume nor from a StorageClass are left out too. An error is the first volume that cannot be counted.
ns_result_list_cluster_attachments_attachment_cluster_attachments_obstacle ns_cluster_attachments_wanted(bool registered);

// A flag: the node has a CSINode. One entry per row of the cluster.
ns_list_u8 ns_cluster_attachments_registered(void);

// A flag: the CSINode limits at least one driver. One entry per row of the cluster.
ns_list_u8 ns_cluster_attachments_limited(void);

// A flag: the CSIDriver of this name sets `spec.preventPodSchedulingIfMissing`, and the node has no CSINode, or one that does
// not list the driver. One entry per row of the cluster. Since 0.2.
ns_list_u8 ns_cluster_attachments_driver_missing(ns_text driver);

// How many volumes the driver can attach to the node; the maximum s64 where there is no limit. One entry per row
// of the cluster.
ns_list_s64 ns_cluster_attachments_limit(ns_text driver);

// The number of distinct volumes of the driver that are attached to the node or used by pods on it; one entry per
// row of the cluster.
ns_list_s64 ns_cluster_attachments_used(ns_text driver);

// The rows of the cluster on which a pod uses this volume; one entry per such row. There `used` includes the
// volume. A volume that is attached but used by no pod is in `used` too, but its row is not in this list.
ns_list_u32 ns_cluster_attachments_rows_with(ns_cluster_attachments_attachment volume);

typedef struct ns_list_cluster_attachments_uncounted_pod {
    const ns_cluster_attachments_uncounted_pod *items;
    size_t length;
} ns_list_cluster_attachments_uncounted_pod;

// Pods on nodes whose volumes cannot be counted, over all rows of the cluster. At most one entry per row: the
// first pod by namespace and name.
ns_list_cluster_attachments_uncounted_pod ns_cluster_attachments_uncounted(void);

// cluster-storage
// Storage objects: PersistentVolumeClaims, PersistentVolumes, StorageClasses, CSIDrivers and CSIStorageCapacities.

// `volumeBindingMode` of a StorageClass.
enum {
    NS_CLUSTER_STORAGE_BINDING_MODE_IMMEDIATE,
    NS_CLUSTER_STORAGE_BINDING_MODE_WAIT_FOR_FIRST_CONSUMER,
};
typedef uint8_t ns_cluster_storage_binding_mode;

typedef struct ns_option_s64 {
    bool is_some;
    int64_t value;
} ns_option_s64;

// A PersistentVolumeClaim, with the fields that kube-scheduler reads.
typedef struct ns_cluster_storage_claim {
    ns_text name;
    ns_text uid;
    // `spec.volumeName`; empty where the claim has no volume yet.
    ns_text volume_name;
    // The name of the StorageClass, from the spec or the beta annotation; none where neither names one.
    ns_option_text class_name;
    // `spec.accessModes`: the access modes that the claim asks for, as written.
    ns_list_text access_modes;
    // `spec.resources.requests.storage` in bytes, rounded up; none where the claim requests none.
    ns_option_s64 requested;
    // `spec.volumeMode`: `Filesystem` or `Block`.
    ns_text volume_mode;
    // `spec.volumeAttributesClassName`; empty where there is none.
    ns_text attributes_class;
    // `spec.selector`: the labels of acceptable volumes. None: every volume.
    ns_option_selectors_label_selector selector;
    // Whether the annotation `pv.kubernetes.io/bind-completed` is present.
    bool bind_completed;
    // The annotation `volume.kubernetes.io/selected-node`: the name of the node that was selected for the claim.
    ns_option_text selected_node;
    // `status.phase`, for example `Bound`; empty where it is absent.
    ns_text phase;
    // Whether the claim has a deletion timestamp.
    bool deleting;
    // The UID of the owner that controls the claim; none where there is none.
    ns_option_text controller_uid;
    // Whether `spec.dataSource` or `spec.dataSourceRef` is present.
    bool has_data_source;
    // Label key and value of each label, sorted by key.
    ns_list_tuple_text_text labels;
} ns_cluster_storage_claim;

typedef struct ns_option_tuple_text_text_text {
    bool is_some;
    ns_tuple_text_text_text value;
} ns_option_tuple_text_text_text;

typedef struct ns_result_text_text {
    bool is_error;
    union {
        ns_text ok;
        ns_text error;
    };
} ns_result_text_text;

// A PersistentVolume, with the fields that kube-scheduler reads.
typedef struct ns_cluster_storage_volume {
    ns_text name;
    // The name of the StorageClass; empty where there is none.
    ns_text class_name;
    // `spec.accessModes`: the access modes that the volume offers, as written.
    ns_list_text access_modes;
    // `spec.capacity.storage` in bytes, rounded up.
    int64_t capacity;
    // `spec.volumeMode`: `Filesystem` or `Block`.
    ns_text volume_mode;
    // `spec.volumeAttributesClassName`; empty where there is none.
    ns_text attributes_class;
    // Label key and value of each label, sorted by key.
    ns_list_tuple_text_text labels;
    // The terms of `spec.nodeAffinity.required`. None: every node can use the volume.
    ns_option_list_pod_placement_term node_terms;
    // `spec.claimRef`: namespace, name and UID of the claim that the volume is reserved for or bound to. The UID
    // can be empty.
    ns_option_tuple_text_text_text claim_ref;
    // `status.phase`, for example `Available`; empty where it is absent.
    ns_text phase;
    // Whether the volume has a deletion timestamp.
    bool deleting;
    // The name of the in-tree plugin where a CSI driver replaces it, for example `kubernetes.io/aws-ebs`; empty
    // for other volumes.
    ns_text in_tree_plugin;
    // The CSI driver of the volume, or the one that replaces its in-tree plugin; empty for other volumes.
    ns_text driver;
    // The volume handle, unique for the driver. An error says why an in-tree volume cannot be translated to its
    // driver.
    ns_result_text_text handle;
} ns_cluster_storage_volume;

typedef struct ns_option_cluster_storage_binding_mode {
    bool is_some;
    ns_cluster_storage_binding_mode value;
} ns_option_cluster_storage_binding_mode;

typedef struct ns_tuple_text_list_text {
    ns_text part_0;
    ns_list_text part_1;
} ns_tuple_text_list_text;

typedef struct ns_list_tuple_text_list_text {
    const ns_tuple_text_list_text *items;
    size_t length;
} ns_list_tuple_text_list_text;

typedef struct ns_list_list_tuple_text_list_text {
    const ns_list_tuple_text_list_text *items;
    size_t length;
} ns_list_list_tuple_text_list_text;

// A StorageClass, with the fields that kube-scheduler reads.
typedef struct ns_cluster_storage_class {
    ns_text name;
    ns_text provisioner;
    // None where the class does not set it.
    ns_option_cluster_storage_binding_mode binding_mode;
    // `allowedTopologies`: alternative terms. Each term is a list of label key and accepted values; all must hold.
    ns_list_list_tuple_text_list_text allowed_topologies;
} ns_cluster_storage_class;

// A CSIStorageCapacity, with the fields that kube-scheduler reads.
typedef struct ns_cluster_storage_capacity {
    // `capacity` in bytes; none where unknown.
    ns_option_s64 bytes;
    // `maximumVolumeSize` in bytes; none where unknown.
    ns_option_s64 maximum_volume_bytes;
    // `nodeTopology`: the nodes that can access the storage. None: no node.
    ns_option_selectors_label_selector node_selector;
} ns_cluster_storage_capacity;

// An exact size in billionths of a byte: `high` × 2^64 + `low`. Larger sizes than fit are given as the largest. Sizes are
// ordered as the pairs of `high` and `low` are.
typedef struct ns_cluster_storage_exact_size {
    int64_t high;
    uint64_t low;
} ns_cluster_storage_exact_size;

typedef struct ns_list_cluster_storage_exact_size {
    const ns_cluster_storage_exact_size *items;
    size_t length;
} ns_list_cluster_storage_exact_size;

// The sizes by which volumes are chosen for a claim. `claim` and `volume` have them rounded up to bytes and cut to 64
// bits, which is not how kube-scheduler compares them.
typedef struct ns_cluster_storage_exact_sizes {
    // `spec.resources.requests.storage` of the claim; 0 where it requests nothing.
    ns_cluster_storage_exact_size requested;
    // The capacities of the volumes that `volumes-for` lists; one entry per volume, in its order.
    ns_list_cluster_storage_exact_size capacities;
} ns_cluster_storage_exact_sizes;

typedef struct ns_option_cluster_storage_claim {
    bool is_some;
    ns_cluster_storage_claim value;
} ns_option_cluster_storage_claim;

// The claim of this name in the pod's namespace; none where it does not exist.
ns_option_cluster_storage_claim ns_cluster_storage_claim_named(ns_text name);

typedef struct ns_option_cluster_storage_volume {
    bool is_some;
    ns_cluster_storage_volume value;
} ns_option_cluster_storage_volume;

// The volume of this name; none where it does not exist.
ns_option_cluster_storage_volume ns_cluster_storage_volume_named(ns_text name);

typedef struct ns_list_cluster_storage_volume {
    const ns_cluster_storage_volume *items;
    size_t length;
} ns_list_cluster_storage_volume;

// Candidate volumes for the claim of this name in the pod's namespace: the volumes of its StorageClass that are
// neither bound to nor reserved for another claim, sorted by name.
ns_list_cluster_storage_volume ns_cluster_storage_volumes_for(ns_text claim);

typedef struct ns_option_cluster_storage_exact_sizes {
    bool is_some;
    ns_cluster_storage_exact_sizes value;
} ns_option_cluster_storage_exact_sizes;

// The exact sizes of the claim of this name in the pod's namespace and of its candidate volumes; none where the claim
// does not exist.
ns_option_cluster_storage_exact_sizes ns_cluster_storage_exact_sizes_for(ns_text claim);

typedef struct ns_option_cluster_storage_class {
    bool is_some;
    ns_cluster_storage_class value;
} ns_option_cluster_storage_class;

// The StorageClass of this name; none where it does not exist.
ns_option_cluster_storage_class ns_cluster_storage_class_named(ns_text name);

// The name of the default StorageClass; none where there is no default.
ns_option_text ns_cluster_storage_default_class(void);

// Whether the CSIDriver of this name sets `spec.storageCapacity`.
bool ns_cluster_storage_driver_reports_capacity(ns_text driver);

typedef struct ns_list_cluster_storage_capacity {
    const ns_cluster_storage_capacity *items;
    size_t length;
} ns_list_cluster_storage_capacity;

// The CSIStorageCapacities of the StorageClass `class-name`.
ns_list_cluster_storage_capacity ns_cluster_storage_capacities(ns_text class_name);

// A flag: the CSINode says that a CSI driver replaces this in-tree plugin on the node. One entry per row of the
// cluster.
ns_list_u8 ns_cluster_storage_migrated(ns_text plugin);

// cluster-images
// Images that are present on nodes, over all rows of the cluster. Since 0.2.

// The size of the image with this name in bytes, as the first row reports it that holds the image: kube-scheduler knows one size
// per name. 0 where no node holds it.
int64_t ns_cluster_images_size(ns_text image);

// time
// Moments that have passed. No clock can be read: a predicate asks about one moment, and its cached verdict expires there.
// Since 0.2.

// Whether the moment `at`, in seconds since 1970-01-01T00:00:00Z, has passed. The answer is that of the moment at which the
// evaluation of the pod began.
bool ns_time_passed(int64_t at);

// config-maps
// Entries of the cluster's ConfigMaps. The host keeps only the ConfigMaps that the policy lists in `spec.facts.configMaps`; an
// entry of any other reads as absent. The same for every node. Since 0.2.

// The value of `key` in `data` of the ConfigMap, named as `namespace/name`; none where there is no such entry, or it has more
// than 65,536 bytes.
ns_option_text ns_config_maps_entry(ns_text config_map, ns_text key);

// row-sets
// Operations on sets of rows of the batch; nothing can be read through it. The host holds the sets: an operation costs one call,
// however many nodes there are. A set is a handle, of use in the running `filter` call only; another handle traps. At most 1,024 sets
// can be made in a call. No fact: sets come from functions of fact interfaces, which are named `rows-*`. Since 0.2.

// The status code of a rejection, equal to `status` of `predicate`.
enum {
    NS_ROW_SETS_STATUS_UNSCHEDULABLE,
    NS_ROW_SETS_STATUS_UNSCHEDULABLE_AND_UNRESOLVABLE,
    NS_ROW_SETS_STATUS_ERROR,
};
typedef uint8_t ns_row_sets_status;

// A status and its reasons, equal to `failure` of `predicate`.
typedef struct ns_row_sets_failure {
    ns_row_sets_status status;
    ns_list_text reasons;
} ns_row_sets_failure;

// Every row of the batch.
uint32_t ns_row_sets_all(void);

// The rows that are in both sets.
uint32_t ns_row_sets_and(uint32_t a, uint32_t b);

// The rows that are in at least one of the sets.
uint32_t ns_row_sets_or(uint32_t a, uint32_t b);

// The rows of the batch that are not in the set.
uint32_t ns_row_sets_not(uint32_t a);

// The number of rows of the batch that are in the set. A pointwise predicate must not decide about a row by it.
uint32_t ns_row_sets_count(uint32_t a);

// Rejects the rows of the set. A row that was rejected before in the same call keeps its failure. A rejection here comes
// before what `filter` returns for the row: where that is `fits-all`, the rejected rows are the whole verdict.
void ns_row_sets_reject(uint32_t a, ns_row_sets_failure failure);

// log
// Lines for operators, in the log of the sidecar; nothing can be read through it. No fact: no verdict depends on it.

// How much a line matters.
enum {
    // For the author of the predicate; not shown by default.
    NS_LOG_LEVEL_DEBUG,
    // An event of normal operation.
    NS_LOG_LEVEL_INFO,
    // A state that somebody should look at.
    NS_LOG_LEVEL_WARN,
    // A failure that keeps the predicate from its work.
    NS_LOG_LEVEL_ERROR,
};
typedef uint8_t ns_log_level;

// Writes a line, which begins with the names of the predicate and the pod. Control characters are escaped. What
// exceeds 1,024 bytes is cut; lines beyond 10 in a second are dropped and counted. Of `configure`, only lines of
// the instances that are made for `filter` calls are written. A verdict that the host has cached writes no line
// again.
void ns_log_write(ns_log_level level, ns_text text);

// predicate
// The functions that every predicate exports. The host calls `describe` once per module, `configure` once per instance
// and then `filter` any number of times.

// Name, version and summary of a predicate, for logs, metrics and the command line.
typedef struct ns_predicate_descriptor {
    // The predicate's name, for example `NodeAffinity`.
    ns_text name;
    // The version of the predicate, in any scheme.
    ns_text version;
    // One line: which nodes the predicate rejects.
    ns_text summary;
} ns_predicate_descriptor;

// The status code of a rejection, as in kube-scheduler's framework.
enum {
    // The node does not fit now; preempting pods may change that.
    NS_PREDICATE_STATUS_UNSCHEDULABLE,
    // The node does not fit, and preempting pods does not change that.
    NS_PREDICATE_STATUS_UNSCHEDULABLE_AND_UNRESOLVABLE,
    // The node cannot be evaluated because an object that is needed is missing or invalid. The reasons name the
    // object.
    NS_PREDICATE_STATUS_ERROR,
};
typedef uint8_t ns_predicate_status;

// A status and its reasons. Many rows can share one failure.
typedef struct ns_predicate_failure {
    ns_predicate_status status;
    // Every reason that applies; at least one, in any order. A reason must not contain the name of a node: the
    // host groups nodes by these texts. Reasons of more than 1,024 bytes are cut, and of a custom predicate those
    // beyond the sixteenth are only counted.
    ns_list_text reasons;
} ns_predicate_failure;

typedef struct ns_list_u16 {
    const uint16_t *items;
    size_t length;
} ns_list_u16;

typedef struct ns_list_predicate_failure {
    const ns_predicate_failure *items;
    size_t length;
} ns_list_predicate_failure;

// A verdict with one code per row.
typedef struct ns_predicate_outcome {
    // One entry per row of the batch. 0: the row fits. k: the row fails with `failures[k - 1]`.
    ns_list_u16 codes;
    // The failures that `codes` refers to.
    ns_list_predicate_failure failures;
} ns_predicate_outcome;

typedef struct ns_tuple_predicate_outcome_list_u32 {
    ns_predicate_outcome part_0;
    ns_list_u32 part_1;
} ns_tuple_predicate_outcome_list_u32;

// The result of one `filter` call.
enum {
    // Every row of the batch fits.
    NS_PREDICATE_VERDICT_FITS_ALL,
    // The pod is rejected on every node, independent of the rows. This is a rejection by PreFilter in
    // kube-scheduler. Use `by-row` where all rows fail because of what the rows hold.
    NS_PREDICATE_VERDICT_FITS_NONE,
    // One code per row.
    NS_PREDICATE_VERDICT_BY_ROW,
    // One code per row as in `by-row`, and the rows of the nodes that PreFilter selects by name. kube-scheduler
    // runs its filters on these nodes only. The list changes nothing but the message for a pod that fits no
    // node.
    NS_PREDICATE_VERDICT_NAMED,
};
typedef struct ns_predicate_verdict {
    // One of NS_PREDICATE_VERDICT_….
    uint8_t tag;
    union {
        ns_predicate_failure fits_none;
        ns_predicate_outcome by_row;
        ns_tuple_predicate_outcome_list_u32 named;
    };
} ns_predicate_verdict;

// scorer
// A second export of components that say how good a node is for a pod, among those on which the pod fits. A policy names such a
// component under `spec.scores`. `describe` and `configure` of its `predicate` hold for both; a component that only scores has a
// `filter` that fits all. Since 0.2.

// How the host makes scores from 0 to 100 of raw scores, over the nodes on which the pod fits. Divisions of whole numbers cut
// toward zero. A score outside of 0 to 100 after this is a fault of the scorer.
enum {
    // Raw scores are scores already.
    NS_SCORER_NORMALIZATION_NONE,
    // `100 * raw / m`, where m is the largest raw score and at least 0. Raw scores are scores where m is 0.
    NS_SCORER_NORMALIZATION_BY_LARGEST,
    // 100 minus the score of `by-largest`; 100 in every row where m is 0.
    NS_SCORER_NORMALIZATION_BY_LARGEST_REVERSED,
    // `int(100.0 * (float(raw - lo) / float(hi - lo)))`, where lo and hi are the smallest and the largest raw score; 0 in every
    // row where these are equal. InterPodAffinity of kube-scheduler.
    NS_SCORER_NORMALIZATION_BY_RANGE,
    // `100 * (hi + lo - raw) / hi`, where lo and hi are the smallest and the largest raw score, hi at least 0; 100 where hi is 0.
    // PodTopologySpread of kube-scheduler.
    NS_SCORER_NORMALIZATION_BY_DISTANCE,
};
typedef uint8_t ns_scorer_normalization;

// The result of one `score` call.
enum {
    // The scorer says nothing about the pod: it adds nothing on any node. This is Skip of PreScore in kube-scheduler.
    NS_SCORER_SCORES_SKIP,
    // One raw score per row of the batch. The minimum s64: no score. Such a row counts for no smallest or largest raw score, and
    // its score is 0.
    NS_SCORER_SCORES_BY_ROW,
    // The pod cannot be scored, and the text says why. In kube-scheduler the pod's scheduling cycle ends with this error.
    NS_SCORER_SCORES_FAILED,
};
typedef struct ns_scorer_scores {
    // One of NS_SCORER_SCORES_….
    uint8_t tag;
    union {
        ns_list_s64 by_row;
        ns_text failed;
    };
} ns_scorer_scores;

#endif
