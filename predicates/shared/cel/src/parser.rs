//! Parses tokens into a tree, by precedence. Macros are recognised by name and number of arguments.
//!
//! Each function returns the tree with its number of levels, so that [`TREE_LEVELS`](crate::limits::TREE_LEVELS) holds for
//! brackets and for long chains alike.

use crate::ast::{Expr, Macro, MacroKind};
use crate::lexer::{Token, TokenKind, tokens};
use crate::limits::{NESTED_BRACKETS, TREE_LEVELS};
use crate::value::Value;

/// A tree and its levels.
type Tree = (Expr, usize);

/// Words that are no names.
const RESERVED: [&str; 18] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
    "in",
];

/// Parses the text of an expression into its tree.
pub(crate) fn parse(text: &str) -> Result<Expr, String> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, nested: 0 };
    let (expr, _) = parser.expression()?;
    match parser.token().kind {
        TokenKind::End => Ok(expr),
        _ => Err(parser.unexpected()),
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    nested: usize,
}

fn node(expr: Expr, below: usize) -> Result<Tree, String> {
    if below >= TREE_LEVELS {
        return Err(format!("an expression of more than {TREE_LEVELS} levels"));
    }
    Ok((expr, below + 1))
}

fn call(name: &str, args: Vec<Tree>) -> Result<Tree, String> {
    let below = args.iter().map(|(_, levels)| *levels).max().unwrap_or(0);
    let args = args.into_iter().map(|(expr, _)| expr).collect();
    node(Expr::Call { name: name.to_owned(), target: None, args }, below)
}

impl Parser {
    fn token(&self) -> &Token {
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn unexpected(&self) -> String {
        let token = self.token();
        format!("at byte {}: unexpected {:?}", token.at, token.kind)
    }

    fn symbol(&mut self, symbol: &str) -> bool {
        let found = matches!(&self.token().kind, TokenKind::Symbol(found) if *found == symbol);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<(), String> {
        if self.symbol(symbol) { Ok(()) } else { Err(format!("{}, expected {symbol}", self.unexpected())) }
    }

    fn any_symbol(&mut self, symbols: &[&'static str]) -> Option<&'static str> {
        symbols.iter().copied().find(|symbol| self.symbol(symbol))
    }

    fn ident(&mut self) -> Result<String, String> {
        match &self.token().kind {
            TokenKind::Ident(name) => {
                let name = name.clone();
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.unexpected()),
        }
    }

    /// A whole expression; brackets nest here.
    fn expression(&mut self) -> Result<Tree, String> {
        self.nested += 1;
        if self.nested > NESTED_BRACKETS {
            return Err(format!("brackets nested more than {NESTED_BRACKETS} times"));
        }
        let (condition, levels) = self.or()?;
        let tree = if self.symbol("?") {
            let (then, then_levels) = self.or()?;
            self.expect(":")?;
            let (otherwise, otherwise_levels) = self.expression()?;
            let levels = levels.max(then_levels).max(otherwise_levels);
            node(Expr::Conditional(Box::new([condition, then, otherwise])), levels)?
        } else {
            (condition, levels)
        };
        self.nested -= 1;
        Ok(tree)
    }

    fn or(&mut self) -> Result<Tree, String> {
        self.logical("||", Self::and, Expr::Or)
    }

    fn and(&mut self) -> Result<Tree, String> {
        self.logical("&&", Self::relation, Expr::And)
    }

    fn logical(
        &mut self,
        symbol: &str,
        operand: fn(&mut Self) -> Result<Tree, String>,
        join: fn(Vec<Expr>) -> Expr,
    ) -> Result<Tree, String> {
        let first = operand(self)?;
        let mut operands = vec![first];
        while self.symbol(symbol) {
            operands.push(operand(self)?);
        }
        match <[Tree; 1]>::try_from(operands) {
            Ok([only]) => Ok(only),
            Err(operands) => {
                let levels = operands.iter().map(|(_, levels)| *levels).max().unwrap_or(0);
                node(join(operands.into_iter().map(|(expr, _)| expr).collect()), levels)
            }
        }
    }

    fn relation(&mut self) -> Result<Tree, String> {
        let mut left = self.addition()?;
        loop {
            let name = match self.any_symbol(&["==", "!=", "<=", ">=", "<", ">"]) {
                Some(symbol) => format!("_{symbol}_"),
                None if matches!(&self.token().kind, TokenKind::Ident(word) if word == "in") => {
                    self.at += 1;
                    "@in".to_owned()
                }
                None => return Ok(left),
            };
            let right = self.addition()?;
            left = call(&name, vec![left, right])?;
        }
    }

    fn addition(&mut self) -> Result<Tree, String> {
        let mut left = self.multiplication()?;
        while let Some(symbol) = self.any_symbol(&["+", "-"]) {
            let right = self.multiplication()?;
            left = call(&format!("_{symbol}_"), vec![left, right])?;
        }
        Ok(left)
    }

    fn multiplication(&mut self) -> Result<Tree, String> {
        let mut left = self.unary()?;
        while let Some(symbol) = self.any_symbol(&["*", "/", "%"]) {
            let right = self.unary()?;
            left = call(&format!("_{symbol}_"), vec![left, right])?;
        }
        Ok(left)
    }

    /// An even number of `!` or `-` has no effect.
    fn unary(&mut self) -> Result<Tree, String> {
        let mut count = 0_usize;
        let Some(symbol) = self.any_symbol(&["!", "-"]) else { return self.member() };
        count += 1;
        while self.symbol(symbol) {
            count += 1;
        }
        if symbol == "-" && count == 1 {
            // A negative number, so that the smallest integer can be written.
            match self.token().kind {
                TokenKind::Int(value) => {
                    self.at += 1;
                    let value = i64::try_from(-value).map_err(|_| "int out of range".to_owned())?;
                    return self.member_of((Expr::Literal(Value::Int(value)), 1));
                }
                TokenKind::Double(value) => {
                    self.at += 1;
                    return self.member_of((Expr::Literal(Value::Double(-value)), 1));
                }
                _ => {}
            }
        }
        let operand = self.member()?;
        if count.is_multiple_of(2) { Ok(operand) } else { call(if symbol == "!" { "!_" } else { "-_" }, vec![operand]) }
    }

    fn member(&mut self) -> Result<Tree, String> {
        let primary = self.primary()?;
        self.member_of(primary)
    }

    fn member_of(&mut self, mut tree: Tree) -> Result<Tree, String> {
        loop {
            if self.symbol(".") {
                let optional = self.symbol("?");
                let field = self.ident()?;
                if !optional && self.symbol("(") {
                    let args = self.arguments(")")?;
                    tree = self.method(tree, field, args)?;
                } else {
                    let (operand, levels) = tree;
                    tree = node(Expr::Select { operand: Box::new(operand), field, optional, test: false }, levels)?;
                }
            } else if self.symbol("[") {
                let optional = self.symbol("?");
                let (index, index_levels) = self.expression()?;
                self.expect("]")?;
                let (operand, levels) = tree;
                let indexed = Expr::Index { operand: Box::new(operand), index: Box::new(index), optional };
                tree = node(indexed, levels.max(index_levels))?;
            } else {
                return Ok(tree);
            }
        }
    }

    fn arguments(&mut self, closing: &str) -> Result<Vec<Tree>, String> {
        let mut args = Vec::new();
        while !self.symbol(closing) {
            if !args.is_empty() {
                self.expect(",")?;
            }
            args.push(self.expression()?);
        }
        Ok(args)
    }

    fn method(&mut self, target: Tree, name: String, args: Vec<Tree>) -> Result<Tree, String> {
        let levels = args.iter().map(|(_, levels)| *levels).max().unwrap_or(0).max(target.1);
        let args: Vec<Expr> = args.into_iter().map(|(expr, _)| expr).collect();
        let expr = if let Some((kind, variables)) = macro_of(&target.0, &name, args.len()) {
            expand(kind, variables, target.0, args).map_err(|what| format!("{name}: {what}"))?
        } else {
            Expr::Call { name, target: Some(Box::new(target.0)), args }
        };
        node(expr, levels)
    }

    fn primary(&mut self) -> Result<Tree, String> {
        let literal = |value| Ok((Expr::Literal(value), 1));
        let token = self.token().kind.clone();
        self.at += 1;
        match token {
            TokenKind::Int(value) => {
                literal(Value::Int(i64::try_from(value).map_err(|_| "int out of range".to_owned())?))
            }
            TokenKind::Uint(value) => literal(Value::Uint(value)),
            TokenKind::Double(value) => literal(Value::Double(value)),
            TokenKind::String(value) => literal(Value::text(&value)),
            TokenKind::Bytes(value) => literal(Value::Bytes(value.into())),
            TokenKind::Ident(word) if word == "true" || word == "false" => literal(Value::Bool(word == "true")),
            TokenKind::Ident(word) if word == "null" => literal(Value::Null),
            TokenKind::Ident(word) if !RESERVED.contains(&word.as_str()) => self.name(word),
            TokenKind::Symbol(".") => {
                // A name from the root of all names, which is where all of ours are.
                let word = self.ident()?;
                self.name(word)
            }
            TokenKind::Symbol("(") => {
                let tree = self.expression()?;
                self.expect(")")?;
                Ok(tree)
            }
            TokenKind::Symbol("[") => self.list(),
            TokenKind::Symbol("{") => self.map(),
            _ => {
                self.at -= 1;
                Err(self.unexpected())
            }
        }
    }

    fn name(&mut self, word: String) -> Result<Tree, String> {
        if !self.symbol("(") {
            return Ok((Expr::Ident(word), 1));
        }
        let mut args = self.arguments(")")?;
        if word == "has" && args.len() == 1 {
            let Some((Expr::Select { operand, field, optional: false, .. }, levels)) = args.pop() else {
                return Err("has: its argument must select a field".to_owned());
            };
            return Ok((Expr::Select { operand, field, optional: false, test: true }, levels));
        }
        call(&word, args)
    }

    fn list(&mut self) -> Result<Tree, String> {
        let (mut elements, mut levels) = (Vec::new(), 0);
        while !self.symbol("]") {
            if !elements.is_empty() {
                self.expect(",")?;
                if self.symbol("]") {
                    break;
                }
            }
            let optional = self.symbol("?");
            let (element, element_levels) = self.expression()?;
            levels = levels.max(element_levels);
            elements.push((element, optional));
        }
        node(Expr::List(elements), levels)
    }

    fn map(&mut self) -> Result<Tree, String> {
        let (mut entries, mut levels) = (Vec::new(), 0);
        while !self.symbol("}") {
            if !entries.is_empty() {
                self.expect(",")?;
                if self.symbol("}") {
                    break;
                }
            }
            let optional = self.symbol("?");
            let (key, key_levels) = self.expression()?;
            self.expect(":")?;
            let (value, value_levels) = self.expression()?;
            levels = levels.max(key_levels).max(value_levels);
            entries.push((key, value, optional));
        }
        node(Expr::Map(entries), levels)
    }
}

/// The macro of this name and number of arguments, with its number of variables.
fn macro_of(target: &Expr, name: &str, args: usize) -> Option<(MacroKind, usize)> {
    Some(match (name, args) {
        ("all", 2 | 3) => (MacroKind::All, args - 1),
        ("exists", 2 | 3) => (MacroKind::Exists, args - 1),
        ("exists_one", 2 | 3) | ("existsOne", 2 | 3) => (MacroKind::ExistsOne, args - 1),
        ("map", 2 | 3) => (MacroKind::Map, 1),
        ("filter", 2) => (MacroKind::Filter, 1),
        ("sortBy", 2) => (MacroKind::SortBy, 1),
        ("transformList", 3 | 4) => (MacroKind::TransformList, 2),
        ("transformMap", 3 | 4) => (MacroKind::TransformMap, 2),
        ("transformMapEntry", 3 | 4) => (MacroKind::TransformMapEntry, 2),
        ("optMap", 2) => (MacroKind::OptMap, 1),
        ("optFlatMap", 2) => (MacroKind::OptFlatMap, 1),
        ("bind", 3) if matches!(target, Expr::Ident(name) if name == "cel") => (MacroKind::Bind, 1),
        _ => return None,
    })
}

fn expand(kind: MacroKind, variables: usize, target: Expr, mut args: Vec<Expr>) -> Result<Expr, String> {
    let rest = args.split_off(variables);
    let mut names = Vec::new();
    for arg in args {
        match arg {
            Expr::Ident(name) if !names.contains(&name) => names.push(name),
            Expr::Ident(_) => return Err("its variables must have different names".to_owned()),
            _ => return Err("a variable must be a name".to_owned()),
        }
    }
    let (range, args) = match kind {
        MacroKind::Bind => {
            let mut rest = rest.into_iter();
            let Some(value) = rest.next() else { return Err("its value is missing".to_owned()) };
            (value, rest.collect())
        }
        _ => (target, rest),
    };
    Ok(Expr::Macro(Box::new(Macro { kind, range, variables: names, args })))
}
