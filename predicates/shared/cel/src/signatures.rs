//! The functions and operators with their types. A name that is not here does not exist: expressions that use it are refused.
//!
//! Not here, though Kubernetes has them: timestamps and their parts, the authorizer, `list.flatten(depth)`.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::types::{FORMAT, PLAIN, Type};

/// One way to call a function.
#[derive(Debug)]
pub(crate) struct Overload {
    /// Whether it is called as `target.name(args)`.
    pub(crate) member: bool,
    /// The target first; variables are numbered from 0.
    pub(crate) args: Vec<Type>,
    pub(crate) result: Type,
    /// The variables in it.
    pub(crate) variables: usize,
}

/// One overload per line: `name(types): result`, members with a dot in front.
const TABLE: &str = "
!_(bool): bool
-_(int): int
-_(double): double
_==_(A, A): bool
_!=_(A, A): bool
_<_(C, C): bool
_<=_(C, C): bool
_>_(C, C): bool
_>=_(C, C): bool
_<_(N, M): bool
_<=_(N, M): bool
_>_(N, M): bool
_>=_(N, M): bool
_+_(int, int): int
_+_(uint, uint): uint
_+_(double, double): double
_+_(string, string): string
_+_(bytes, bytes): bytes
_+_(list(A), list(A)): list(A)
_+_(duration, duration): duration
_-_(int, int): int
_-_(uint, uint): uint
_-_(double, double): double
_-_(duration, duration): duration
_*_(int, int): int
_*_(uint, uint): uint
_*_(double, double): double
_/_(int, int): int
_/_(uint, uint): uint
_/_(double, double): double
_%_(int, int): int
_%_(uint, uint): uint
@in(A, list(A)): bool
@in(A, map(A, B)): bool
size(string): int
size(bytes): int
size(list(A)): int
size(map(A, B)): int
.size(string): int
.size(bytes): int
.size(list(A)): int
.size(map(A, B)): int
type(A): type
dyn(A): dyn
bool(bool): bool
bool(string): bool
int(int): int
int(uint): int
int(double): int
int(string): int
int(duration): int
uint(uint): uint
uint(int): uint
uint(double): uint
uint(string): uint
double(double): double
double(int): double
double(uint): double
double(string): double
string(string): string
string(bool): string
string(int): string
string(uint): string
string(double): string
string(bytes): string
string(duration): string
string(ip): string
string(cidr): string
bytes(bytes): bytes
bytes(string): bytes
duration(duration): duration
duration(string): duration
.getHours(duration): int
.getMinutes(duration): int
.getSeconds(duration): int
.getMilliseconds(duration): int
.startsWith(string, string): bool
.endsWith(string, string): bool
.contains(string, string): bool
.matches(string, string): bool
matches(string, string): bool
.charAt(string, int): string
.indexOf(string, string): int
.indexOf(string, string, int): int
.lastIndexOf(string, string): int
.lastIndexOf(string, string, int): int
.lowerAscii(string): string
.upperAscii(string): string
.replace(string, string, string): string
.replace(string, string, string, int): string
.split(string, string): list(string)
.split(string, string, int): list(string)
.substring(string, int): string
.substring(string, int, int): string
.trim(string): string
.format(string, list(dyn)): string
strings.quote(string): string
.join(list(string)): string
.join(list(string), string): string
.find(string, string): string
.findAll(string, string): list(string)
.findAll(string, string, int): list(string)
.slice(list(A), int, int): list(A)
.flatten(list(list(A))): list(A)
.sort(list(C)): list(C)
lists.range(int): list(int)
.reverse(list(A)): list(A)
.distinct(list(A)): list(A)
.isSorted(list(C)): bool
.sum(list(S)): S
.max(list(C)): C
.min(list(C)): C
.indexOf(list(A), A): int
.lastIndexOf(list(A), A): int
sets.contains(list(A), list(A)): bool
sets.equivalent(list(A), list(A)): bool
sets.intersects(list(A), list(A)): bool
optional.none(): optional(A)
optional.of(A): optional(A)
optional.ofNonZeroValue(A): optional(A)
.hasValue(optional(A)): bool
.value(optional(A)): A
.or(optional(A), optional(A)): optional(A)
.orValue(optional(A), A): A
quantity(string): quantity
isQuantity(string): bool
sign(quantity): int
.isGreaterThan(quantity, quantity): bool
.isLessThan(quantity, quantity): bool
.compareTo(quantity, quantity): int
.asApproximateFloat(quantity): double
.asInteger(quantity): int
.isInteger(quantity): bool
.add(quantity, quantity): quantity
.add(quantity, int): quantity
.sub(quantity, quantity): quantity
.sub(quantity, int): quantity
semver(string): semver
semver(string, bool): semver
isSemver(string): bool
isSemver(string, bool): bool
.isGreaterThan(semver, semver): bool
.isLessThan(semver, semver): bool
.compareTo(semver, semver): int
.major(semver): int
.minor(semver): int
.patch(semver): int
ip(string): ip
isIP(string): bool
ip.isCanonical(string): bool
.family(ip): int
.isUnspecified(ip): bool
.isLoopback(ip): bool
.isLinkLocalMulticast(ip): bool
.isLinkLocalUnicast(ip): bool
.isGlobalUnicast(ip): bool
cidr(string): cidr
isCIDR(string): bool
.containsIP(cidr, string): bool
.containsIP(cidr, ip): bool
.containsCIDR(cidr, string): bool
.containsCIDR(cidr, cidr): bool
.ip(cidr): ip
.prefixLength(cidr): int
.masked(cidr): cidr
url(string): url
isURL(string): bool
.getScheme(url): string
.getHost(url): string
.getHostname(url): string
.getPort(url): string
.getEscapedPath(url): string
.getQuery(url): map(string, list(string))
format.dns1123Label(): format
format.dns1123Subdomain(): format
format.dns1035Label(): format
format.qualifiedName(): format
format.dns1123LabelPrefix(): format
format.dns1123SubdomainPrefix(): format
format.dns1035LabelPrefix(): format
format.labelValue(): format
format.uri(): format
format.uuid(): format
format.byte(): format
format.date(): format
format.datetime(): format
format.named(string): optional(format)
.validate(format, string): optional(list(string))
.includes(dyn, dyn): bool
";

/// A line with one of these letters stands for one line per type: comparable types, types with a sum, pairs of different
/// numbers.
const COMPARABLE: [&str; 7] = ["int", "uint", "double", "bool", "string", "bytes", "duration"];
const SUMMABLE: [&str; 4] = ["int", "uint", "double", "duration"];
const NUMBERS: [&str; 3] = ["int", "uint", "double"];

/// The overloads of a function.
pub(crate) fn overloads(name: &str) -> Option<&'static [Overload]> {
    static ALL: OnceLock<BTreeMap<&'static str, Vec<Overload>>> = OnceLock::new();
    ALL.get_or_init(all).get(name).map(Vec::as_slice)
}

fn all() -> BTreeMap<&'static str, Vec<Overload>> {
    let mut all: BTreeMap<&'static str, Vec<Overload>> = BTreeMap::new();
    for line in TABLE.lines() {
        let Some((head, result)) = line.rsplit_once("): ") else { continue };
        let Some((name, args)) = head.split_once('(') else { continue };
        let member = name.starts_with('.');
        let overloads = all.entry(name.trim_start_matches('.')).or_default();
        for (n, m) in meanings(args) {
            let mut variables = 0;
            let mut read = |text: &str| {
                let mut rest = text;
                read_type(&mut rest, n, m, &mut variables)
            };
            let args = split_args(args).into_iter().map(&mut read).collect();
            let result = read(result);
            overloads.push(Overload { member, args, result, variables });
        }
    }
    all
}

/// Returns the types that the letters of a line stand for, one pair per overload.
fn meanings(args: &str) -> Vec<(&'static str, &'static str)> {
    let letter = |letter: char| {
        args.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word.len() == 1 && word.starts_with(letter))
    };
    if letter('C') {
        COMPARABLE.into_iter().map(|name| (name, name)).collect()
    } else if letter('S') {
        SUMMABLE.into_iter().map(|name| (name, name)).collect()
    } else if letter('N') {
        let pairs = NUMBERS.into_iter().flat_map(|n| NUMBERS.into_iter().map(move |m| (n, m)));
        pairs.filter(|(n, m)| n != m).collect()
    } else {
        vec![("", "")]
    }
}

/// Splits at commas outside of brackets.
fn split_args(args: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, c) in args.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(args.get(start..at).unwrap_or("").trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    let last = args.get(start..).unwrap_or("").trim();
    if !last.is_empty() {
        parts.push(last);
    }
    parts
}

fn read_type(text: &mut &str, n: &'static str, m: &'static str, variables: &mut usize) -> Type {
    let trimmed = text.trim_start_matches([' ', ',']);
    let end = trimmed.find(['(', ')', ',', ' ']).unwrap_or(trimmed.len());
    let (word, rest) = trimmed.split_at(end);
    *text = rest.strip_prefix('(').unwrap_or(rest);
    let mut next = || read_type(text, n, m, variables);
    let plain = |word: &str| {
        let known = PLAIN.into_iter().find(|(name, _)| *name == word);
        known.map_or(Type::Dyn, |(_, shown)| Type::Plain(shown))
    };
    let read = match word {
        "list" => Type::list(next()),
        "optional" => Type::optional(next()),
        "map" => {
            let key = next();
            Type::map(key, next())
        }
        "type" => Type::Meta,
        "format" => Type::Plain(FORMAT),
        "A" | "B" => {
            let number = usize::from(word == "B");
            *variables = (*variables).max(number + 1);
            Type::Variable(number)
        }
        "C" | "S" | "N" => plain(n),
        "M" => plain(m),
        word => plain(word),
    };
    *text = text.strip_prefix(')').unwrap_or(text);
    read
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_are_written() {
        let shown = |name: &str| -> Vec<String> {
            let show = |overload: &Overload| {
                let args: Vec<String> = overload.args.iter().map(ToString::to_string).collect();
                format!("{}({}): {}", if overload.member { "." } else { "" }, args.join(", "), overload.result)
            };
            overloads(name).unwrap().iter().map(show).collect()
        };
        assert_eq!(shown("@in"), ["(dyn, list(dyn)): bool", "(dyn, map(dyn, dyn)): bool"]);
        assert_eq!(shown("getQuery"), [".(kubernetes.URL): map(string, list(string))"]);
        assert_eq!(shown("flatten"), [".(list(list(dyn))): list(dyn)"]);
        assert_eq!(shown("validate"), [".(kubernetes.NamedFormat, string): optional_type(list(string))"]);
        assert_eq!(shown("format.date"), ["(): kubernetes.NamedFormat"]);
        assert_eq!(shown("_<_").len(), 7 + 6);
        assert_eq!(shown("sum").len(), 4);
    }
}
