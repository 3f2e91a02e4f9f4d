//! Parses tokens into a tree, by precedence.
//!
//! Each function returns the tree with its number of levels, so that [`TREE_LEVELS`](crate::limits::TREE_LEVELS) holds for
//! brackets and for long chains alike.

use crate::ast::Expr;
use crate::dialect::Dialect;
use crate::lexer::{Token, TokenKind, tokens};
use crate::limits::{NESTED_BRACKETS, TREE_LEVELS};
use crate::macros;
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

/// Parses the text of an expression of a dialect into its tree.
pub(crate) fn parse(dialect: Dialect, text: &str) -> Result<Expr, String> {
    let mut parser = Parser { dialect, tokens: tokens(text)?, at: 0, nested: 0 };
    let (expr, _) = parser.expression()?;
    match parser.token().kind {
        TokenKind::End => Ok(expr),
        _ => Err(parser.unexpected()),
    }
}

struct Parser {
    dialect: Dialect,
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
            TokenKind::Ident(name) if !matches!(name.as_str(), "true" | "false" | "null" | "in") => {
                let name = name.clone();
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.unexpected()),
        }
    }

    /// The name of a field, which may be in backquotes.
    fn field(&mut self) -> Result<String, String> {
        match &self.token().kind {
            TokenKind::Field(name) if self.dialect.cel_go29 => {
                let name = name.clone();
                self.at += 1;
                Ok(name)
            }
            _ => self.ident(),
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
        if symbol == "-"
            && count == 1
            && let Some(number) = self.negative()?
        {
            return self.member_of(number);
        }
        // Behind `!` a number may have a sign.
        let signed = symbol == "!" && self.symbol("-");
        let operand = match signed.then(|| self.negative()).transpose()? {
            Some(Some(number)) => self.member_of(number)?,
            Some(None) => return Err(self.unexpected()),
            None => self.member()?,
        };
        if count.is_multiple_of(2) { Ok(operand) } else { call(if symbol == "!" { "!_" } else { "-_" }, vec![operand]) }
    }

    /// The negative of a number that is here, so that the smallest integer can be written.
    fn negative(&mut self) -> Result<Option<Tree>, String> {
        let value = match self.token().kind {
            TokenKind::Int(value) => Value::Int(i64::try_from(-value).map_err(|_| "int out of range".to_owned())?),
            TokenKind::Double(value) => Value::Double(-value),
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some((Expr::Literal(value), 1)))
    }

    fn member(&mut self) -> Result<Tree, String> {
        let primary = self.primary()?;
        self.member_of(primary)
    }

    fn member_of(&mut self, mut tree: Tree) -> Result<Tree, String> {
        loop {
            if self.symbol(".") {
                let optional = self.symbol("?");
                let is_quoted = matches!(self.token().kind, TokenKind::Field(_));
                let field = self.field()?;
                if !optional && !is_quoted && self.symbol("(") {
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
        let expr = if let Some((kind, variables)) = macros::named(&target.0, &name, args.len()) {
            macros::expand(kind, variables, target.0, args).map_err(|what| format!("{name}: {what}"))?
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
            TokenKind::Ident(word) if !RESERVED.contains(&word.as_str()) => self.name(word, false),
            TokenKind::Symbol(".") => {
                // A name from the root of all names, which is where all of ours but variables of macros are.
                let word = self.ident()?;
                self.name(word, true)
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

    /// Parses an expression that begins with a name; a dot before it looks the name up among all names. No macro has a dot.
    fn name(&mut self, word: String, dot: bool) -> Result<Tree, String> {
        if let Some(name) = self.name_of_message(&word) {
            return self.message(name);
        }
        if !self.symbol("(") {
            return Ok((Expr::Ident(if dot { format!(".{word}") } else { word }), 1));
        }
        let mut args = self.arguments(")")?;
        if word == "has" && !dot && args.len() == 1 {
            let Some((Expr::Select { operand, field, optional: false, .. }, levels)) = args.pop() else {
                return Err("has: its argument must select a field".to_owned());
            };
            return Ok((Expr::Select { operand, field, optional: false, test: true }, levels));
        }
        call(&word, args)
    }

    /// The name of a message that begins with this word, if names with dots and a brace follow; the brace is then read.
    fn name_of_message(&mut self, word: &str) -> Option<String> {
        let mut name = word.to_owned();
        let mut at = self.at;
        let kind = |at: usize| self.tokens.get(at).map(|token| &token.kind);
        while let (Some(TokenKind::Symbol(".")), Some(TokenKind::Ident(part))) = (kind(at), kind(at + 1)) {
            name = format!("{name}.{part}");
            at += 2;
        }
        if kind(at) != Some(&TokenKind::Symbol("{")) {
            return None;
        }
        self.at = at + 1;
        Some(name)
    }

    fn message(&mut self, name: String) -> Result<Tree, String> {
        let (mut fields, mut levels) = (Vec::new(), 0);
        while !self.closes("}", fields.is_empty())? {
            let optional = self.symbol("?");
            let field = self.field()?;
            self.expect(":")?;
            let (value, value_levels) = self.expression()?;
            levels = levels.max(value_levels);
            fields.push((field, value, optional));
        }
        node(Expr::Message(name, fields), levels)
    }

    /// Whether a literal ends here. Behind an item comes a comma or the end; a comma may be the last.
    fn closes(&mut self, closing: &str, is_first: bool) -> Result<bool, String> {
        if self.symbol(closing) {
            return Ok(true);
        }
        if is_first {
            // A comma may even be all that there is.
            let only_comma = matches!(&self.token().kind, TokenKind::Symbol(","));
            if only_comma {
                self.at += 1;
                self.expect(closing)?;
            }
            return Ok(only_comma);
        }
        self.expect(",")?;
        Ok(self.symbol(closing))
    }

    fn list(&mut self) -> Result<Tree, String> {
        let (mut elements, mut levels) = (Vec::new(), 0);
        while !self.closes("]", elements.is_empty())? {
            let optional = self.symbol("?");
            let (element, element_levels) = self.expression()?;
            levels = levels.max(element_levels);
            elements.push((element, optional));
        }
        node(Expr::List(elements), levels)
    }

    fn map(&mut self) -> Result<Tree, String> {
        let (mut entries, mut levels) = (Vec::new(), 0);
        while !self.closes("}", entries.is_empty())? {
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
