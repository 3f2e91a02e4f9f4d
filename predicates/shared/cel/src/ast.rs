//! The tree of an expression. The parser makes it with macros already recognised; the checker joins the parts of qualified
//! function names.

use crate::value::Value;

/// The name of the device where a variable of a macro has its name.
pub(crate) const GLOBAL_DEVICE: &str = ".device";

/// Node of the tree of an expression.
#[derive(Debug, Clone)]
pub(crate) enum Expr {
    /// A constant, such as `1` or `'a'`.
    Literal(Value),
    /// A variable, or the name of a type. A dot before it is kept until it has been checked.
    Ident(String),
    /// `operand.field`, `operand.?field`, or with `test` `has(operand.field)`.
    Select { operand: Box<Expr>, field: String, optional: bool, test: bool },
    /// An element or entry: `operand[index]` or `operand[?index]`.
    Index { operand: Box<Expr>, index: Box<Expr>, optional: bool },
    /// A function or operator; operators have their CEL names, such as `_+_`.
    Call { name: String, target: Option<Box<Expr>>, args: Vec<Expr> },
    /// Conjunction of operands: `a && b`.
    And(Vec<Expr>),
    /// Disjunction of operands: `a || b`.
    Or(Vec<Expr>),
    /// `condition ? then : otherwise`.
    Conditional(Box<[Expr; 3]>),
    /// Elements; those with `true` are optional and omitted where they are none.
    List(Vec<(Expr, bool)>),
    /// Entries; those with `true` are optional and omitted where they are none.
    Map(Vec<(Expr, Expr, bool)>),
    /// A message by its type's name: fields with their values; those with `true` are optional and omitted where they are none.
    Message(String, Vec<(String, Expr, bool)>),
    /// A comprehension or another macro that binds variables.
    Macro(Box<Macro>),
}

/// A macro that binds variables.
#[derive(Debug, Clone)]
pub(crate) struct Macro {
    pub(crate) kind: MacroKind,
    /// The list, map, optional or value that is bound.
    pub(crate) range: Expr,
    /// One or two variables.
    pub(crate) variables: Vec<String>,
    /// A filter, if the macro has one, comes before the result.
    pub(crate) args: Vec<Expr>,
}

/// Operation that a macro performs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MacroKind {
    All,
    Exists,
    ExistsOne,
    Map,
    Filter,
    SortBy,
    TransformList,
    TransformMap,
    TransformMapEntry,
    OptMap,
    OptFlatMap,
    Bind,
}
