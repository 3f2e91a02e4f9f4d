//! Every limit of policy documents and of their reload, with its unit and its reason.

use std::time::Duration;

/// Bytes of linear memory that a policy can grant one instance. Language runtimes need some tens of megabytes, and several
/// evaluations run at once, each with an instance of its own.
pub const GUEST_MEMORY_BYTES_MAX: usize = 256 << 20;

/// Bytes of output that a policy must at least grant one call: a failure with its reason.
pub const GUEST_OUTPUT_BYTES_MIN: usize = 1 << 10;

/// Bytes of one policy document. Hundreds of predicates with their arguments take less than 100 KB.
pub const POLICY_FILE_BYTES: u64 = 1 << 20;

/// Files of one policy. Each is looked at whenever one changes; half of the predicates that a policy can have may be in one of their own.
pub const POLICY_FILES: usize = 64;

/// ConfigMaps that one policy can list. Each is watched on its own, and takes at most the 1 MiB that the API server allows.
pub const CONFIG_MAPS_MAX: usize = 32;

/// Annotation keys that one policy can list. Each key can add a value to every object, so their number bounds the memory
/// that annotations take; the predicates of one cluster read far fewer than 256.
pub const ANNOTATION_KEYS_MAX: usize = 256;

/// Processor time that a policy can grant one `filter` call. A scheduler core does not wait longer for an answer.
pub const GUEST_TIME_PER_CALL_MAX: Duration = Duration::from_secs(10);

/// Predicates of one policy. Every pod is evaluated by each; the built-in ones are 15, and each custom one has compiled code of
/// megabytes.
pub const PREDICATES_MAX: usize = 128;

/// Bytes of the name of a predicate, a scorer, a scheduler or a policy: as many as names of objects have. Each is a label of some tens of
/// metrics.
pub const NAME_BYTES_MAX: usize = 253;

/// Scorers of one policy. Every pod whose core asks for scores is scored by each; kube-scheduler has nine by default.
pub const SCORERS_MAX: usize = 64;

/// Keys that may sign modules of registries. Teams have one or two each, and each signature is compared with each key.
pub const KEYS_MAX: usize = 16;

/// Bytes of all modules that are kept of registries, with their manifests: some tens of large ones. Those that were used least recently
/// go first.
pub const PULLED_BYTES: u64 = 512 << 20;

/// Bytes of what is kept beside a module: its manifest, and the most signatures with the largest payloads, as JSON.
pub const PULLED_RECORD_BYTES: u64 = 16 << 20;

/// Lines in a second that a policy can grant a module. An operator who looks for something can read ten times the usual.
pub const GUEST_LOG_LINES_MAX: u32 = 100;

/// Bytes of the index of an OCI image layout, and of a manifest. An index of thousands of modules takes less than 1 MB.
pub const OCI_DOCUMENT_BYTES: u64 = 4 << 20;

/// Bytes of the file that marks a folder as an OCI image layout: a version.
pub const OCI_MARK_BYTES: u64 = 4 << 10;

/// Manifests of an OCI image layout that are looked at for what they attach to a module: those of all modules of a layout are in one list.
/// With [`REFERRER_BYTES`](nodesift_registry::limits::REFERRER_BYTES) each they take a second.
pub const OCI_REFERRERS: usize = 4096;

/// References of an OCI image layout that a message names where the wanted one is not among them.
pub const OCI_NAMED_REFERENCES: usize = 8;

/// Links that are followed on the way to a file below the folder of the policy's files: as many as the system follows.
pub const PATH_LINKS: usize = 40;

/// Time without a change after which files are read: those who write several files, or one in several parts, are done by then.
pub const RELOAD_QUIET: Duration = Duration::from_millis(200);

/// Time after which files are read although they go on changing, if nobody has one open for writing. Otherwise, one that
/// changes all the time would never be read.
pub const RELOAD_QUIET_MOST: Duration = Duration::from_secs(1);

/// Time without a change that is waited for even then: two changes within one tick of the clock of a file system look alike.
pub const RELOAD_QUIET_LEAST: Duration = Duration::from_millis(20);

/// Time without a change after which a document is read that ends in the middle of a line: it may be the first part of a longer
/// one, but many editors end a file so.
pub const RELOAD_QUIET_UNENDED: Duration = Duration::from_secs(2);

/// Time after its last change for which a file that is open for writing is waited for. A writer that stops in the middle for
/// longer is taken for one whose closing was not noticed.
pub const RELOAD_WRITER_MOST: Duration = Duration::from_secs(30);

/// Interval at which the files are looked at without a notification: file systems of other machines send none.
pub const RELOAD_LOOK: Duration = Duration::from_secs(10);

/// Interval at which it is looked whether a policy that was replaced is still used by a request. It is freed then.
pub const RELOAD_DRAIN_LOOK: Duration = Duration::from_millis(100);

/// Time after which files that could not be read are read again, though nothing has changed: a file system of another machine
/// may be away for a while.
pub const RELOAD_RETRY: Duration = Duration::from_secs(10);

/// How often the time until modules are pulled again doubles from [`RELOAD_RETRY`], while they cannot be: up to 160 s. Registries count
/// requests.
pub const PULL_RETRY_DOUBLINGS: u32 = 4;

/// Interval at which it is looked whether a predicate is in quarantine, where that brings the policy before back.
pub const ROLLBACK_LOOK: Duration = Duration::from_millis(100);

/// Interval at which it is looked whether a predicate is in quarantine, for the status of the policy's object: operators are told
/// within a second.
pub const QUARANTINE_LOOK: Duration = Duration::from_millis(500);

/// Time after the end of a quarantine for which the status of the policy's object still shows it: a predicate that fails again and
/// again is no reason to write that often.
pub const QUARANTINE_SHOWN: Duration = Duration::from_secs(5);

/// Time for which a policy has to be active to be gone back to: as long as a predicate needs at least to be put in quarantine by one
/// fault every two seconds.
pub const ROLLBACK_PROOF: Duration = Duration::from_secs(10);

/// Bytes of the file that remembers a policy: its document, in which JSON may double some characters, and the digests of its
/// modules.
pub const REMEMBERED_BYTES: u64 = 3 * POLICY_FILE_BYTES;

/// Failures of a refused policy that its status lists; the others are counted. An operator corrects the first few at a time.
pub const REFUSAL_FAILURES: usize = 32;

/// Bytes of the reason of one failure in a status. Errors of modules list the interfaces that there are, in about 1 KB.
pub const REFUSAL_REASON_BYTES: usize = 4 << 10;

/// The part of a core that is spent on shadow predicates and policies: one in so many.
pub const SHADOW_SHARE: u32 = 10;

/// By how much the priority of the shadow's thread is below that of requests.
pub const SHADOW_NICE: i32 = 10;

/// Interval at which the files of a shadow policy are looked at. A change that is the same at two looks is whole. Where there is
/// no shadow, the thread looks as often whether a new active policy has one.
pub const SHADOW_FILES_LOOK: Duration = Duration::from_secs(1);

/// Interval at which the shadow's thread looks for a new active policy while nothing is asked: until then, answers are not
/// compared.
pub const SHADOW_LOOK: Duration = Duration::from_millis(100);

/// Watermarks of sums: two or three for each of the few sums that a component makes. Each is looked at for every node that changes.
pub const WATERMARKS_MAX: usize = 32;

/// Most percent of a watermark: a hundred times the whole.
pub const WATERMARK_PERCENT_MAX: u32 = 10_000;

/// Namespaces whose pods an accounting component ignores: those of a cluster's own services are some.
pub const IGNORED_NAMESPACES_MAX: usize = 256;

/// Bytes of the release that an API server names. The longest of vendors have some 30.
pub const SERVER_VERSION_BYTES: usize = 64;

/// Feature gates or quirks that one policy can set: several times as many as are known of all versions.
pub const SWITCHES_SET_MAX: usize = 256;

/// Bytes of a name for which the most similar feature gate or quirk is looked for: the longest known name has some 50.
pub const SWITCH_NAME_BYTES: usize = 128;
