//! The limits of an expression, each with its unit and reason.

/// Bytes of an expression's text. The API server refuses longer ones.
pub const TEXT_BYTES: usize = 10 * 1024;

/// Levels of an expression's tree. Parser, checker and evaluator descend one call per level, so this bounds the stack.
pub const TREE_LEVELS: usize = 250;

/// Attributes and capacities of a device, together, where a list counts as its elements. Looking one up takes the same steps however many there are, so this bounds
/// the work of a step; it is four times what the API server accepts.
pub const DEVICE_VALUES: usize = 128;

/// Steps of one evaluation: one per visited node of the tree, and one per element or ten bytes of text that a function reads or
/// makes. Kubernetes limits the cost to the same number, which counts otherwise: what is near a limit can be over the other alone.
pub const STEPS: u64 = 1_000_000;

/// Bytes of a text or of bytes that an evaluation makes. A function can make far more than it reads (`replace`, `join`, `format`),
/// so this is asked before anything is made; it is a hundred times the longest text that an expression can write.
pub const VALUE_BYTES: usize = 1 << 20;

/// Elements of one `lists.range`, which makes many of a short text: 4.8 MB of 24 bytes each, so that 16 MiB, the memory of a guest, have
/// room for them and for a list that a function makes of them.
pub const RANGE_ELEMENTS: u64 = 200_000;

/// Bytes of a compiled regular expression, so that a pattern cannot take the memory of its host.
pub const PATTERN_BYTES: usize = 1 << 20;

/// Patterns that a thread keeps compiled; with their bytes this bounds the memory. An expression has seldom more than one.
pub const KEPT_PATTERNS: usize = 8;

/// Nodes of the type of an expression. A map whose keys and values have one type has more than twice the nodes of that, so that a few
/// nested `cel.bind` could take all memory; a list per level of a tree has half as many.
pub const TYPE_NODES: usize = 2 * TREE_LEVELS;

/// Brackets inside brackets. The parser descends some ten calls per bracket.
pub const NESTED_BRACKETS: usize = 60;

/// Bytes of the text of an error. It may tell a value, which may be long, and there may be one for each of many devices; nobody reads
/// more of a reason.
pub const ERROR_BYTES: usize = 1024;

/// Names and drivers of devices that a program keeps, so that they are not made for each device: those of a model, and few enough to
/// look at all.
pub(crate) const KNOWN_TEXTS: usize = 16;
