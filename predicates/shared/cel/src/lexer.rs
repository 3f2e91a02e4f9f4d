//! Splits the text of an expression into tokens.

/// A token, with the offset of its first byte.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Token {
    pub(crate) at: usize,
    pub(crate) kind: TokenKind,
}

/// The kinds of tokens.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TokenKind {
    Ident(String),
    /// The name of a field in backquotes, which may have characters that other names do not have.
    Field(String),
    Int(i128),
    Uint(u64),
    Double(f64),
    String(String),
    Bytes(Vec<u8>),
    /// An operator or bracket.
    Symbol(&'static str),
    End,
}

/// Longest first, so that `==` is not read as `=`.
const SYMBOLS: [&str; 26] = [
    "&&", "||", "==", "!=", "<=", ">=", "(", ")", "[", "]", "{", "}", ".", ",", ":", "?", "+", "-", "*", "/", "%", "!",
    "<", ">", "=", "@",
];

/// All tokens of a text, `End` last; or what is wrong with it.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        let token = lexer.next()?;
        let end = token.kind == TokenKind::End;
        tokens.push(token);
        if end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn error(&self, what: &str) -> String {
        format!("at byte {}: {what}", self.at)
    }

    fn skip_blank(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']);
            let skipped = rest.len() - trimmed.len();
            let comment = if trimmed.starts_with("//") { trimmed.find('\n').unwrap_or(trimmed.len()) } else { 0 };
            self.at += skipped + comment;
            if comment == 0 {
                return;
            }
        }
    }

    fn next(&mut self) -> Result<Token, String> {
        self.skip_blank();
        let at = self.at;
        let kind = match self.peek() {
            None => TokenKind::End,
            Some(first) if first.is_ascii_alphabetic() || first == '_' => self.word()?,
            Some(first) if first.is_ascii_digit() => self.number()?,
            Some('.') if self.rest().as_bytes().get(1).is_some_and(u8::is_ascii_digit) => self.number()?,
            Some('"' | '\'') => TokenKind::String(self.string(false)?),
            Some('`') => self.field()?,
            Some(_) => {
                let Some(symbol) = SYMBOLS.into_iter().find(|symbol| self.rest().starts_with(symbol)) else {
                    return Err(self.error("a character that begins no token"));
                };
                self.at += symbol.len();
                TokenKind::Symbol(symbol)
            }
        };
        Ok(Token { at, kind })
    }

    /// A name, or a string or bytes literal with a prefix.
    fn word(&mut self) -> Result<TokenKind, String> {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or("").to_owned();
        let quote = rest.get(end..).is_some_and(|rest| rest.starts_with(['"', '\'']));
        self.at += end;
        let lower = word.to_ascii_lowercase();
        if !quote || !matches!(lower.as_str(), "r" | "b" | "br") {
            return Ok(TokenKind::Ident(word));
        }
        let raw = lower.contains('r');
        if lower.contains('b') {
            self.bytes(raw).map(TokenKind::Bytes)
        } else {
            self.string(raw).map(TokenKind::String)
        }
    }

    fn field(&mut self) -> Result<TokenKind, String> {
        let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | ' ');
        let name = self.rest().strip_prefix('`').and_then(|rest| rest.split_once('`')).map(|(name, _)| name);
        let name = name.filter(|name| !name.is_empty() && name.chars().all(inside)).map(str::to_owned);
        let name = name.ok_or_else(|| self.error("a broken name in backquotes"))?;
        self.at += name.len() + 2;
        Ok(TokenKind::Field(name))
    }

    fn number(&mut self) -> Result<TokenKind, String> {
        let rest = self.rest();
        if let Some(hex) = rest.strip_prefix("0x").filter(|hex| hex.starts_with(|c: char| c.is_ascii_hexdigit())) {
            let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
            let digits = hex.get(..end).unwrap_or("").to_owned();
            self.at += 2 + end;
            return self.integer(&digits, 16);
        }
        let mut end = 0;
        let bytes = rest.as_bytes();
        let mut double = false;
        let digits = |mut at: usize| {
            while bytes.get(at).is_some_and(u8::is_ascii_digit) {
                at += 1;
            }
            at
        };
        end = digits(end);
        if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
            double = true;
            end = digits(end + 1);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            if bytes.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
                double = true;
                end = digits(end + 1 + sign);
            }
        }
        let number = rest.get(..end).unwrap_or("").to_owned();
        self.at += end;
        if !double {
            return self.integer(&number, 10);
        }
        let value = number.parse().ok().filter(|value: &f64| value.is_finite());
        value.map(TokenKind::Double).ok_or_else(|| self.error("not a number"))
    }

    /// The sign is an operator, so that the smallest integer is read as a larger number first.
    fn integer(&mut self, digits: &str, radix: u32) -> Result<TokenKind, String> {
        if self.rest().starts_with(['u', 'U']) {
            self.at += 1;
            return u64::from_str_radix(digits, radix)
                .map(TokenKind::Uint)
                .map_err(|_| self.error("uint out of range"));
        }
        let value = i128::from_str_radix(digits, radix).map_err(|_| self.error("int out of range"))?;
        if value > -i128::from(i64::MIN) {
            return Err(self.error("int out of range"));
        }
        Ok(TokenKind::Int(value))
    }

    fn string(&mut self, raw: bool) -> Result<String, String> {
        let mut text = String::new();
        for part in self.quoted(raw)? {
            match part {
                Part::Char(c) | Part::CodePoint(c) => text.push(c),
                Part::Octet(octet) => text.push(char::from(octet)),
            }
        }
        Ok(text)
    }

    fn bytes(&mut self, raw: bool) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        for part in self.quoted(raw)? {
            match part {
                Part::Char(c) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                Part::Octet(octet) => bytes.push(octet),
                Part::CodePoint(_) => return Err(self.error("a code point inside bytes")),
            }
        }
        Ok(bytes)
    }

    fn quoted(&mut self, raw: bool) -> Result<Vec<Part>, String> {
        let rest = self.rest();
        let quote = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| rest.starts_with(quote)).unwrap_or("\"");
        self.at += quote.len();
        let mut parts = Vec::new();
        loop {
            if self.rest().starts_with(quote) {
                self.at += quote.len();
                return Ok(parts);
            }
            match self.peek() {
                None => return Err(self.error("a string without its closing quote")),
                Some('\n' | '\r') if quote.len() == 1 => return Err(self.error("a line break inside a string")),
                Some('\\') if !raw => {
                    self.at += 1;
                    parts.push(self.escape()?);
                }
                Some('\r') => {
                    // Every line break is one of Unix.
                    self.at += if self.rest().starts_with("\r\n") { 2 } else { 1 };
                    parts.push(Part::Char('\n'));
                }
                Some(c) => {
                    self.at += c.len_utf8();
                    parts.push(Part::Char(c));
                }
            }
        }
    }

    fn escape(&mut self) -> Result<Part, String> {
        let Some(kind) = self.peek() else { return Err(self.error("a string without its closing quote")) };
        self.at += kind.len_utf8();
        Ok(match kind {
            'a' => Part::Char('\u{7}'),
            'b' => Part::Char('\u{8}'),
            'f' => Part::Char('\u{c}'),
            'n' => Part::Char('\n'),
            'r' => Part::Char('\r'),
            't' => Part::Char('\t'),
            'v' => Part::Char('\u{b}'),
            '\\' | '?' | '"' | '\'' | '`' => Part::Char(kind),
            'x' | 'X' => Part::Octet(u8::try_from(self.digits(2, 16)?).map_err(|_| self.error("a broken escape"))?),
            '0'..='3' => {
                self.at -= 1;
                Part::Octet(u8::try_from(self.digits(3, 8)?).map_err(|_| self.error("a broken escape"))?)
            }
            'u' => Part::CodePoint(self.code_point(4)?),
            'U' => Part::CodePoint(self.code_point(8)?),
            _ => return Err(self.error("an unknown escape")),
        })
    }

    fn code_point(&mut self, count: usize) -> Result<char, String> {
        let number = self.digits(count, 16)?;
        char::from_u32(number).ok_or_else(|| self.error("an escape that is no character"))
    }

    fn digits(&mut self, count: usize, radix: u32) -> Result<u32, String> {
        let digits = self.rest().get(..count).unwrap_or("");
        let number = if digits.starts_with(['+', '-']) { None } else { u32::from_str_radix(digits, radix).ok() };
        let number = number.ok_or_else(|| self.error("a broken escape"))?;
        self.at += count;
        Ok(number)
    }
}

enum Part {
    Char(char),
    /// A character by its number, of which bytes have none.
    CodePoint(char),
    /// In a string a code point, in bytes a byte.
    Octet(u8),
}
