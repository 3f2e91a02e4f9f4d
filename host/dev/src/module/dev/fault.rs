//! The line of a fault in what compilers, test runners and this program print. Start at [`first`].

/// The first fault in a text: a file of the project with its line, and what is wrong there. `source` gives the path of a file of the
/// project in the project, and none for other texts. Without such a line, the first one that tells of an error, else the first one.
pub(super) fn first(output: &str, source: impl Fn(&str) -> Option<String>) -> Option<String> {
    let lines: Vec<&str> = output.lines().collect();
    let found = lines.iter().enumerate().find_map(|(at, line)| {
        let Place { path, numbers, before, after } = place(line, &source)?;
        let message = message(&lines, at, before, after)?;
        Some(format!("{path}:{numbers}: {message}"))
    });
    // The frames of a traceback are the outermost first.
    let of_traceback = || {
        let (at, frame) = lines.iter().enumerate().rev().find_map(|(at, line)| Some((at, frame(line, &source)?)))?;
        let rest = lines.get(at + 1..).unwrap_or_default();
        let message = rest.iter().find(|line| !line.is_empty() && !line.starts_with(char::is_whitespace))?;
        Some(format!("{frame}: {message}"))
    };
    let error = || lines.iter().find(|line| tells_of_error(line)).map(|line| line.trim().to_owned());
    let any = || lines.iter().map(|line| line.trim()).find(|line| !line.is_empty()).map(str::to_owned);
    found.or_else(of_traceback).or_else(error).or_else(any)
}

/// A place in a file of the project, as tools name it, and the text around it.
struct Place<'l> {
    path: String,
    /// The line, and the column where there is one: `12:5`.
    numbers: String,
    before: &'l str,
    after: &'l str,
}

/// The first `path:line`, `path:line:column` or `path(line,column)` of a line of text.
fn place<'l>(line: &'l str, source: &impl Fn(&str) -> Option<String>) -> Option<Place<'l>> {
    let is_separator = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '(');
    line.match_indices([':', '(']).find_map(|(at, sign)| {
        let (head, rest) = (line.get(..at)?, line.get(at + sign.len()..)?);
        let separator = head.char_indices().rev().find(|(_, c)| is_separator(*c));
        let (before, path) = head.split_at(separator.map_or(0, |(at, c)| at + c.len_utf8()));
        let path = source(path.trim_start_matches("file://"))?;
        let (numbers, after) = numbers(sign, rest)?;
        let before = before.trim().trim_end_matches('(').trim();
        Some(Place { path, numbers, before, after: after.trim_start_matches([':', ')', ',']).trim() })
    })
}

/// The line and column at the beginning of a text, after the sign that follows a path; and the rest of the text.
fn numbers<'l>(sign: &str, text: &'l str) -> Option<(String, &'l str)> {
    let (line, rest) = text.split_at(digits(text));
    let between = if sign == "(" { ',' } else { ':' };
    let column = rest.strip_prefix(between).map(|rest| rest.split_at(digits(rest)));
    let (numbers, rest) = match column.filter(|(column, _)| !column.is_empty()) {
        Some((column, rest)) => (format!("{line}:{column}"), rest),
        None => (line.to_owned(), rest),
    };
    let rest = if sign == "(" { rest.strip_prefix(')')? } else { rest };
    (!line.is_empty()).then_some((numbers, rest))
}

/// Bytes of the digits at the beginning of a text.
fn digits(text: &str) -> usize {
    text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len()
}

/// A frame of Python's traceback as `path:line`.
fn frame(line: &str, source: &impl Fn(&str) -> Option<String>) -> Option<String> {
    let (path, rest) = line.trim().strip_prefix("File \"")?.split_once('"')?;
    let number = rest.strip_prefix(", line ")?;
    let (number, _) = number.split_at(digits(number));
    let path = source(path)?;
    (!number.is_empty()).then(|| format!("{path}:{number}"))
}

/// Whether a line tells of an error, and not of a warning.
fn tells_of_error(line: &str) -> bool {
    let line = line.trim().to_ascii_lowercase();
    line.contains("error") && !line.starts_with("warning")
}

/// Text about a place: beside it, else before or after its line. `None` for a warning.
fn message<'l>(lines: &[&'l str], at: usize, before: &'l str, after: &'l str) -> Option<&'l str> {
    let is_remark = |text: &str| ["warning", "note", "help"].iter().any(|word| text.starts_with(word));
    if !after.is_empty() {
        return (!is_remark(after)).then_some(after);
    }
    if before.ends_with("panicked at") {
        return lines.get(at + 1).map(|line| line.trim());
    }
    if !matches!(before, "" | "-->" | ":::" | "at") && !before.starts_with("at ") {
        return Some(before);
    }
    let mut heads = lines.get(..at).unwrap_or_default().iter().rev().map(|line| line.trim());
    let head = heads.find(|line| is_remark(line) || tells_of_error(line))?;
    (!is_remark(head)).then_some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(output: &str) -> Option<String> {
        let sources = [
            "src/lib.rs",
            "predicate.go",
            "predicate.c",
            "src/predicate.ts",
            "predicate.py",
            "test_predicate.py",
            "cases.yaml",
        ];
        first(output, |path| {
            let path = path.trim_start_matches("./");
            sources.contains(&path).then(|| path.to_owned())
        })
    }

    #[test]
    fn the_line_of_a_fault_is_found_in_what_each_tool_prints() {
        for (tool, output, expected) in [
            (
                "rustc",
                "warning: unused variable: `a`\n --> src/lib.rs:3:9\n  |\n\nerror[E0425]: cannot find value `x` in this scope\n  --> src/lib.rs:12:5\n   |\n",
                "src/lib.rs:12:5: error[E0425]: cannot find value `x` in this scope",
            ),
            (
                "a test in Rust",
                "running 2 tests\nthread 'tests::a' (12) panicked at src/lib.rs:80:9:\nassertion failed: fits\n",
                "src/lib.rs:80:9: assertion failed: fits",
            ),
            ("go", "# example.com/p\n./predicate.go:12:5: undefined: x\n", "predicate.go:12:5: undefined: x"),
            (
                "clang",
                "predicate.c:3:9: warning: unused variable 'a' [-Wunused-variable]\npredicate.c:7:5: error: use of undeclared identifier 'x'\n",
                "predicate.c:7:5: error: use of undeclared identifier 'x'",
            ),
            (
                "tsc",
                "src/predicate.ts(12,5): error TS2304: Cannot find name 'x'.\n",
                "src/predicate.ts:12:5: error TS2304: Cannot find name 'x'.",
            ),
            (
                "node",
                "TypeError: x is not a function\n    at node:internal/a:1:2\n    at filter (file://src/predicate.ts:5:9)\n",
                "src/predicate.ts:5:9: TypeError: x is not a function",
            ),
            (
                "pytest",
                "    def f():\n>       raise KeyError('x')\nE       KeyError: 'x'\n\npredicate.py:12: KeyError\n",
                "predicate.py:12: KeyError",
            ),
            (
                "python",
                "Traceback (most recent call last):\n  File \"test_predicate.py\", line 3, in f\n    g()\n  File \"predicate.py\", line 12, in g\n    x\nNameError: name 'x' is not defined\n",
                "predicate.py:12: NameError: name 'x' is not defined",
            ),
            (
                "cases",
                "ok      one\nFAILED  another node  cases.yaml:6\n  node red\n  - rejected\n  + fits\n",
                "cases.yaml:6: FAILED  another node",
            ),
            (
                "cases that are not read",
                "nodesift-dev: cases.yaml:3:5: cases[0].pod: unknown field\n",
                "cases.yaml:3:5: cases[0].pod: unknown field",
            ),
            ("a linker", "collecting\nld: error: undefined symbol: x\n", "ld: error: undefined symbol: x"),
            ("anything", "\n  no idea\nmore\n", "no idea"),
            ("a file of others", "lib/other.rs:1:2: gone\n", "lib/other.rs:1:2: gone"),
        ] {
            assert_eq!(found(output).as_deref(), Some(expected), "{tool}");
        }
        assert_eq!(found("\n"), None);
    }

    #[test]
    fn no_text_is_too_odd() {
        let seed = nodesift_seed::seed();
        let mut random = fastrand::Rng::with_seed(seed);
        let parts = [
            "src/lib.rs",
            ":",
            "(",
            ")",
            "12",
            ",",
            " ",
            "\n",
            "\"",
            "File \"",
            ", line ",
            "é",
            "error",
            "-->",
            "at ",
            "'",
            "./",
        ];
        for _ in 0..5_000 {
            let text: String = (0..random.usize(0..24)).map(|_| parts[random.usize(0..parts.len())]).collect();
            let _any = found(&text);
        }
    }
}
