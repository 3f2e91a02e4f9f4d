//! Every limit of the engine, with its unit and its reason.

use std::time::Duration;

use nodesift_sandbox::limits::{FILTER_TIME_MIN, FILTER_TIME_MOST};

/// Rows over which cluster-wide predicates are evaluated for nominated pods in one query. Each node with nominated pods takes
/// one call over all rows per predicate, so this allows 4,000 such nodes out of 5,000, or 200 out of 100,000. Beyond it the
/// query is refused, because an answer that ignores nominated pods would be wrong.
pub const NOMINATED_ROWS: usize = 20_000_000;

/// Bytes of the answers of one query, until they are encoded. 400 pods that each of a dozen predicates rejects on 5,000 nodes take
/// 5 MB; a predicate with another reason for each node takes up to 200 bytes a node.
pub const ANSWER_BYTES: usize = 16 << 20;

/// Nodes with their totals that one query can ask for of each pod. A core that sorts all nodes by rules of its own asks for every one;
/// these take 650 kB of an answer.
pub const TOP_NODES: usize = 16_384;

/// Nodes that one query can ask for of each pod where it wants the score of every scorer too: people read some, and ten scorers take 300
/// bytes a node.
pub const TOP_NODES_EACH: usize = 1_000;

/// Most weight of a scorer. Totals are then whole numbers that JSON's readers of 64-bit floats keep, for any number of scorers that a
/// policy has.
pub const SCORE_WEIGHT: i64 = 1_000_000;

/// The highest score of a node: MaxNodeScore of kube-scheduler.
pub const MAX_SCORE: i64 = 100;

/// Least number of rows in the first range of a query with a limit: the overhead of one call equals some hundred rows.
pub const SAMPLE_ROWS: usize = 256;

/// Time to compare cached verdicts about a pod with what they depend on, on an I/O thread: usually a microsecond, and many where a tenant's
/// pods have hundreds of thousands of terms that match the pod. After that it is answered in an evaluation slot.
pub const CACHED_LOOKUP_TIME: Duration = Duration::from_micros(500);

/// Terms of pods on nodes that are grouped by topology key between two questions whether there is time left: some 300 µs.
pub const GROUPED_STRIDE_TERMS: u32 = 16_384;

/// Bytes of all cached verdicts and conjunctions, unless the operator says otherwise. Shared columns count once per verdict. A
/// pod template takes about 0.5 MB at 100,000 nodes if one predicate rejects rows, and some 30 kB at 5,000 nodes: room for 130
/// templates, or for 2,000.
pub const REUSE_BYTES: usize = 64 << 20;

/// Predicates of a policy whose cached verdicts are looked up without an allocation: the default policy has 13.
pub const INLINE_PREDICATES: usize = 16;

/// Facts that one call may read for its verdict to be cached. The built-in predicates read about a dozen.
pub const REUSE_READS: usize = 256;

/// Bytes of the arguments with which one call may read facts, selectors included, for its verdict to be cached. The built-in
/// predicates use some hundred bytes; a node affinity of a thousand host names of 20 bytes takes 76,000. The guest chooses the
/// arguments, so they need a bound.
pub const REUSE_KEY_BYTES: usize = 128 << 10;

/// Verdicts per leaf of the decision tree: pods with the same values of the facts that were read about them, for which facts
/// about the cluster differ.
pub const REUSE_VARIANTS: usize = 4;

/// Failures that patches may add to a cached verdict before every row is evaluated again.
pub const REUSE_STALE_FAILURES: usize = 64;

/// Different failures of a verdict that is cached: half of those that the sandbox keeps. Beyond that, failures may be cut.
pub const REUSE_FAILURES: usize = 2048;

/// Bytes of the failures of a verdict that is cached: a third of what the SDK keeps uncut.
pub const REUSE_FAILURE_BYTES: usize = 256 << 10;

/// If more than `1 / REUSE_PATCH_SHARE` of the rows have changed, all rows are evaluated: that needs no copies of column
/// entries.
pub const REUSE_PATCH_SHARE: usize = 4;

/// Host ports of a pod up to which they are compared one by one with those in use, which takes less time than a map.
pub const FEW_PORTS: usize = 8;

/// Tolerations of a pod up to which each is compared with each taint.
pub(crate) const FEW_TOLERATIONS: usize = 16;

/// Codes up to which each row of a column is compared with each, in a loop that compilers vectorise.
pub(crate) const FEW_CODES: usize = 4;

/// Devices that one claim can have: `AllocationResultsMaxSize` of `resource.k8s.io/v1`.
pub const CLAIM_DEVICES: usize = 32;

/// Bytes of an AllocationResult, and of all that the claims of one pod get: more than the API server takes in one object (1.5 MiB in
/// etcd, 3 MiB in a request), and less than the 4 MiB of a message that clients of gRPC accept.
pub const ALLOCATION_BYTES: usize = 3 << 20;

/// Storage objects that are copied for a guest between two questions whether it may go on: some 50 µs, unless their node
/// affinities are large.
pub const STORAGE_STRIDE: usize = 64;

/// Names of claims or resources that a fault about them lists; a pod may have hundreds.
pub const UNSUPPORTED_NAMES: usize = 8;

/// Facts of one predicate that the policy does not name and that are listed: who misses more has one mistake, not many. The guest chooses
/// them, so they need a bound.
pub const UNNAMED_FACTS: usize = 16;

/// DeviceClasses that are named since nobody allocates their claims: who has more has forgotten one party, and not many.
pub const UNTAKEN_CLASSES: usize = 16;

/// Bytes of the name of such a fact: the longest key of an annotation (a prefix of 253 bytes, a slash, 63 bytes), which is as long as the
/// longest `namespace/name` of a ConfigMap.
pub const UNNAMED_NAME_BYTES: usize = 253 + 1 + 63;

/// Nodes on which a policy is tried before it becomes active: more than the shapes of nodes that most clusters have, and so few
/// that a call takes microseconds.
pub const TRIAL_NODES: usize = 100;

/// Pending pods for which a policy is tried, one of each template. They are what it will be asked about next; a queue can have
/// thousands.
pub const TRIAL_PENDING_PODS: usize = 200;

/// Bound pods for which a policy is tried, one of each template.
pub const TRIAL_BOUND_PODS: usize = 50;

/// Time for a trial. Cluster-wide predicates look at every node: 250 pods take 5 s at 100,000 nodes. What has not been tried by
/// then is not.
pub const TRIAL_TIME: Duration = Duration::from_secs(10);

/// Tries of a call of the trial that exceeds its time: a thread that is interrupted by others once is not interrupted thrice.
pub const TRIAL_TRIES: u32 = 3;

/// Time for the first evaluation of a process, before it says that it is ready: a start waits no longer for predicates that are slow or
/// never end. Some dozen pods take a tenth of it on 5,000 nodes.
pub const WARM_UP_TIME: Duration = Duration::from_secs(1);

/// Pods of that evaluation, one of each template: a few dozen read what most pods of a cluster make predicates read.
pub const WARM_UP_PODS: usize = 32;

/// Bytes that the claims of a pod count as for the time of a call: a search for devices takes up to 25 ms, and on a slow machine 100.
pub const CLAIMS_WEIGHT: usize = 128 << 10;

/// Bytes that a volume of the cluster counts as for the time of a call about a pod with claims of volumes: 1,500 volumes make it ten times as
/// long. The predicate takes some microseconds for each.
pub const VOLUME_WEIGHT: usize = 64;

/// Faults that a trial names of predicates that answer for most pods: enough to see whose pods they are.
pub const TRIAL_REMARKS: usize = 8;

/// Pod templates that a predicate fails for in a row within [`QUARANTINE_WINDOW`] before its breaker opens: one that fails on a pod now
/// and then goes on for the others, one that fails always costs five calls.
pub const QUARANTINE_FAULTS: usize = 5;

/// Namespaces that these pods are of, at least. Who may create pods in one namespace must not decide about those of others.
pub const QUARANTINE_NAMESPACES: usize = 2;

/// Faults that a breaker remembers: some more than open it, so that many templates of one namespace leave room for those of another.
pub const QUARANTINE_FAULTS_KEPT: usize = 2 * QUARANTINE_FAULTS;

/// Faults of a custom predicate about pods of one template before it is not called about them for a while: as many as open its breaker.
pub const SET_ASIDE_FAULTS: u32 = 5;

/// Time for which pods of a template are set aside first. Each fault after it doubles the time.
pub const SET_ASIDE_FIRST: Duration = Duration::from_secs(1);

/// Longest time for which pods of a template are set aside. A call that ends by its deadline takes a core for as long as its budget.
pub const SET_ASIDE_MOST: Duration = Duration::from_secs(60);

/// How often the time of a call doubles with the faults about pods of its template, where a built-in had too little time or memory for
/// them: kube-scheduler has no such limit, and answers them in the end.
pub const SET_ASIDE_DOUBLINGS: u32 = 4;

/// Longest time that such a call has, of a processor: eight times as long as the largest pod's first call. Only one runs at a time.
pub const SET_ASIDE_TIME_MOST: Duration = Duration::from_secs(4);

/// The part of the time that its request has left, as its inverse, which such a call has at most: the other predicates need some.
pub const SET_ASIDE_PART: u32 = 2;

/// Time after which a template that was set aside is forgotten, if no call about it has failed since it was due.
pub const SET_ASIDE_FORGET: Duration = Duration::from_secs(600);

/// Time to find out whose terms a call has looked through that took too long: for a line of the log, of which there are few.
pub const TERM_OWNER_TIME: Duration = Duration::from_millis(2);

/// Shortest call about a pod that is a debt of its namespace: as long as one about an ordinary pod may take.
pub const THROTTLE_FROM: Duration = FILTER_TIME_MIN;

/// Debt of a namespace from which on it is throttled: four calls about the largest pods, so that some such pods have a second try.
pub const THROTTLE_FREE: Duration = Duration::from_secs(2);

/// Debts of all namespaces from which on those with more than their share of it are throttled.
pub const THROTTLE_FREE_TOTAL: Duration = Duration::from_secs(8);

/// Largest debt of a namespace: paid off to [`THROTTLE_FREE`] within 40 s where no other has debts.
pub const THROTTLE_MOST: Duration = Duration::from_secs(10);

/// The part of a core's time, as its inverse, that large pods of all throttled namespaces together get.
pub const THROTTLE_PART: u32 = 5;

/// Namespaces whose debts are known, of at most 300 bytes each. Beyond it, who owes least is forgotten, and the next begins with its debt.
pub const THROTTLE_NAMESPACES: usize = 1_024;

/// Bytes of the name of a namespace that is throttled: more than an API server takes.
pub const NAMESPACE_BYTES: usize = 253;

/// Bytes of the name of a pod that is set aside: as many as those of a namespace and a pod have at most in an API server.
pub const SET_ASIDE_NAME_BYTES: usize = 253 + 1 + 253;

/// Pod templates of one predicate that are set aside or have failed lately: more than a cluster has faulty ones, at most 2 kB each. Beyond
/// it, those that are due first are forgotten.
pub const SET_ASIDE_TEMPLATES: usize = 1_024;

/// Time within which these faults happen.
pub const QUARANTINE_WINDOW: Duration = Duration::from_secs(10);

/// Time for which a policy is kept whose successor names other schedulers: a request may have taken its snapshot before, and wait
/// for its turn.
pub const RETIRED_LEAST: Duration = Duration::from_secs(30);

/// Time from the first retry of an open breaker, which the next pod makes that has not failed, to the second, and from one good retry to the
/// next.
pub const QUARANTINE_RETRY_FIRST: Duration = Duration::from_secs(1);

/// Longest time between two retries. Each failed one doubles it: a call that ends by its deadline takes a core for as long.
pub const QUARANTINE_RETRY_MOST: Duration = Duration::from_secs(30);

/// By how many such waits later a retry is due that is about a pod of a template that has failed: so that others come first, which say
/// more, and a predicate that is asked about no other pods is retried as well.
pub const QUARANTINE_FAILED_WAITS: u32 = 2;

/// Good retries in a row that close a breaker. One is enough where no retry has failed.
pub const QUARANTINE_GOOD_CALLS: u32 = 3;

/// Unknown nodes that an answer names. Those of a query were removed since its core looked: a few at most. More are a mistake.
pub const UNKNOWN_NODES: usize = 1_000;

/// Answers that wait for the shadow's thread: about as many as one request of a core has pods. More are dropped: each keeps the
/// snapshot that it was computed from.
pub const SHADOW_WAITING: usize = 128;

/// Totals of nodes in answers that wait for the shadow's thread, 8 bytes each: those of 20 answers about 100,000 nodes. Further answers with
/// totals are dropped.
pub const SHADOW_TOTALS: usize = 2 << 20;

/// Bytes of the cached verdicts of one shadow policy: a quarter of those of the active one.
pub const SHADOW_REUSE_BYTES: usize = 16 << 20;

/// Wall-clock time for one answer of a shadow policy. Its thread has a low priority, and a tenth of a core.
pub const SHADOW_TIME: Duration = Duration::from_secs(5);

/// Differences of a shadow policy that are kept, the last ones. Each takes some hundred bytes.
pub const SHADOW_DIFFERENCES: usize = 1_000;

/// Bytes of these differences. Predicates choose their reasons, and a status repeats all differences: with those of two policies, and
/// escaped, it still fits beside other responses into what clients may leave unread.
pub const SHADOW_DIFFERENCE_BYTES: usize = 2 << 20;

/// Predicates and reasons of one difference that are kept, of nodes lost and of nodes gained.
pub const SHADOW_CHANGES: usize = 8;

/// Names of nodes that are kept of each.
pub const SHADOW_NODES: usize = 10;

/// Bytes of the reasons that are kept of each.
pub const SHADOW_REASON_BYTES: usize = 512;

/// Time for the expressions of all claims of a pod in one question: as much as the largest pod's call has, and a small part of a request's,
/// so that a call ends by it, and not by its request, also on half a core. Where they take longer the call ends as one does that is out of
/// time, and the pod is set aside. What was found until then is kept.
pub const SELECTORS_TIME: Duration = FILTER_TIME_MOST;

/// Expressions of device selectors that are kept with their outcomes. A cluster has one or two for each device class, and claims
/// repeat a few.
pub const SELECTOR_EXPRESSIONS: usize = 1_024;

/// Bytes of what is kept of all of them. An expression takes 80 KB for 40,000 devices, and some 5 MB where it reads what no two of
/// them have in common. Those that were not asked for the longest go.
pub const SELECTOR_BYTES: usize = 64 << 20;

/// Bytes of what is kept of devices for which every expression fails; beyond it, that is evaluated anew. Drivers write few
/// different versions and capacities.
pub const SELECTOR_FAULT_BYTES: usize = 16 << 20;

/// Devices in one call of the component, for which the sandbox has a time limit.
pub const SELECTOR_BATCH_DEVICES: usize = 1_000;

/// A call that took too long is made again about this part of its devices, until it is about one: 1,000, 31, 1. After as many calls that did
/// not, twice as many devices are tried: what is tried in vain takes a thirtieth of the time.
pub const SELECTOR_BATCH_SPLIT: usize = 32;

/// Bytes of these devices: a quarter of the component's memory. The API server accepts devices of some 10 KB.
pub const SELECTOR_BATCH_BYTES: usize = 4 << 20;

/// Time for which an expression is not evaluated again after a fault, such as its time limit: each try can take a core for as long.
/// Until then its devices have the same error. Each fault after the first doubles it.
pub const SELECTOR_RETRY: Duration = Duration::from_secs(1);

/// Longest such time: a claim with eight expressions that take half a second costs less than a hundredth of a core.
pub const SELECTOR_RETRY_MOST: Duration = Duration::from_secs(300);

/// Claims that an explanation names as holding the devices of one request: enough to know whom to ask.
pub(crate) const EXPLAINED_HOLDERS: usize = 3;

/// Faults of an accounting component, one after the other without a good call between them, from which on they count for its breaker:
/// it fails for everything, and not for a few objects.
pub const ACCOUNTING_FAULTS_IN_A_ROW: u32 = 16;

/// Facts of pods of which an accounting component's accounts are known before those are dropped that nobody holds; later at a quarter
/// more than were left.
pub const KNOWN_ACCOUNTS_SWEEP_MIN: usize = 1 << 12;

/// States of nodes of which an accounting component's sums are known before all are forgotten: more than a cluster has nodes.
pub const KNOWN_NODE_SUMS: usize = 1 << 16;

/// Series of the gauge of sums of nodes, which a policy asks for: two sums of 5,000 nodes. What is beyond it is left out.
pub const NODE_SUM_SERIES: usize = 10_000;

/// The part of the time that a request has left that one of its pods may take, where it asks about several: one in so many. A pod that
/// takes longer is answered with an error, and leaves time for those after it: after ten of them a twentieth is left.
pub const POD_SHARE: u32 = 4;

/// The part of a pod's time in which no scorer runs any more: one in so many, the last. What is known by then, on which nodes the pod fits, is
/// told within the time of the request, however long scorers would take.
pub const UNSCORED_SHARE: u32 = 4;

/// Bytes of the expression of a device selector that is read for its driver: the most that the API takes.
pub const SELECTOR_TEXT_BYTES: usize = 10 << 10;

/// Nested parts of an expression of a device selector that are read for its driver; what is deeper counts as unknown.
pub const SELECTOR_DEPTH: usize = 32;

/// Subjects of a cause: more than a pod has gates, or a policy predicates that reject it, and few enough for a line.
pub const CAUSE_SUBJECTS: usize = 16;

/// Bytes of one subject of a cause: names have 253 at most, reasons of guests may be longer and are cut.
pub const CAUSE_SUBJECT_BYTES: usize = 256;

/// For how long no core has asked about a pod that fits before that is its cause. kube-scheduler tries a pod again at the latest after
/// 5 minutes, and at once where something has changed that may help it, which a pod that fits has seen.
pub const NOT_ASKED_AFTER: Duration = Duration::from_secs(60);

/// Sets of entries about pods that cores have asked about; with [`ASKED_WAYS`] each, 64 Ki pods. 10,000 pending pods leave about one of
/// them without a place.
pub const ASKED_SETS: usize = 8 << 10;

/// Entries in a set: as many as fit into one line of a processor's cache.
pub const ASKED_WAYS: usize = 8;

/// Names of those who ask that are kept: cores have one or two each. Beyond that they are one, "others".
pub const ASKERS: u8 = 63;

/// Bytes of the sentence of a cause: some names, and no list of all that [`CAUSE_SUBJECTS`] long ones have.
pub const HEADLINE_BYTES: usize = 512;

/// Pods in the list of pending pods, 1 kB each with their history, since pods of one template share cause and message; 8 kB at most where
/// each has another message and 16 long subjects. Beyond that they are counted.
pub const LISTED_PODS: usize = 32 << 10;

/// Bytes of kube-scheduler's message that are kept of a pending pod. A message with ten reasons has 500; reasons of guests may be longer.
pub const LISTED_MESSAGE_BYTES: usize = 2 << 10;

/// Causes that a pod had, one after the other, and that are kept of it.
pub const CAUSES_KEPT: usize = 20;

/// Pods that have left the list of pending pods whose history is kept: those of some minutes in most clusters.
pub const LISTED_GONE: usize = 1 << 10;

/// Time for the evaluation of one pod for the list of pending pods: that of a request.
pub const LISTED_POD_TIME: Duration = Duration::from_secs(2);

/// Interval at which pods of the list are evaluated again although nothing has changed: predicates may read the time.
pub const LISTED_AGAIN: Duration = Duration::from_secs(30);

/// Processor time after which whoever makes the list of pending pods rests: a core has no thread of its own, and what waits for it waits
/// for so long.
pub const LISTED_WORK: Duration = Duration::from_millis(1);

/// The part of a core that the list of pending pods takes: one in so many.
pub const LISTED_SHARE: u32 = 10;

/// Nodes with one obstacle that an explanation names: as many as fit a screen.
pub const WHY_NEAREST: usize = 20;

/// Groups of nodes by a label that an explanation has; further ones are summed. More than a cluster has zones or pools.
pub const WHY_GROUPS: usize = 200;

/// Facts of one kind and interface in an explanation. A pod may have thousands of terms, and nodes as many taints.
pub const WHY_FACTS: usize = 64;

/// Reasons of one predicate that an explanation counts, the most frequent ones.
pub const WHY_REASONS: usize = 16;

/// Pods that an explanation names as holding a host port: enough to know whom to ask.
pub(crate) const WHY_PORT_HOLDERS: usize = 3;

/// Bytes of one text that guests or tenants have written, in an explanation: the longest key of a label with its value.
pub const WHY_TEXT_BYTES: usize = 512;

/// Taints of one of the nearest nodes that an explanation names.
pub const WHY_NODE_TAINTS: usize = 8;

/// Edits of a pod that are evaluated to see which would help: each takes about as long as the evaluation itself.
pub const WHY_EDITS: usize = 32;

/// Cell of a node that fits, in the cells of an explanation. A policy has at most 128 predicates.
pub const CELL_FITS: u8 = 255;

/// Cell of a node that was not evaluated, in the cells of an explanation.
pub const CELL_NOT_EVALUATED: u8 = 254;

/// Reloads of the policy that are remembered: those of a day of work on one.
pub const RELOADS_KEPT: usize = 50;

/// Failures that are remembered of a reload, of some kilobytes each: the last refusal has more.
pub const RELOAD_FAILURES_KEPT: usize = 4;
