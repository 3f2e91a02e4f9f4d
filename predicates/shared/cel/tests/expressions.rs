//! Expressions and their results, whole.
//!
//! The documents of the reference's test `claims` are cel-go's own answers about 200 expressions; these here are about what the
//! documents do not use, and about what no expression may do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
#![allow(missing_docs, reason = "tests are named as sentences")]

use nodesift_cel::{Attribute, Device, Dialect, Program, limits};

fn device() -> Device {
    let text = |text: &str| Attribute::String(text.to_owned());
    Device {
        driver: "d".to_owned(),
        allow_multiple_allocations: false,
        attributes: vec![
            ("model".to_owned(), text("h100")),
            ("numa".to_owned(), Attribute::Int(1)),
            ("ok".to_owned(), Attribute::Bool(true)),
            ("version".to_owned(), Attribute::Version("1.10.0-rc.1+build".to_owned())),
            ("other/model".to_owned(), text("x")),
        ],
        capacity: vec![("memory".to_owned(), "80Gi".to_owned()), ("cores".to_owned(), "1500m".to_owned())],
    }
}

/// The result, or the error behind `compile: ` or `run: `.
fn result(text: &str) -> String {
    match Program::compile(text) {
        Err(error) => format!("compile: {error}"),
        Ok(program) => {
            program.matches(&device()).map_or_else(|error| format!("run: {error}"), |holds| holds.to_string())
        }
    }
}

#[test]
fn these_hold() {
    let texts = [
        "1 + 2 * 3 == 7 && (1 + 2) * 3 == 9",
        "10 - 2 - 3 == 5 && 7 % 4 == 3 && -7 / 2 == -3",
        "-9223372036854775808 < 0 && 0x1F == 31 && 2u + 3u == 5u && 1e3 == 1000.0",
        "!!true && !!!false && --1 == 1",
        "'a' + \"b\" == 'ab' && r'\\d' == '\\\\d' && '\\u00e9'.size() == 1 && b'\\xff'.size() == 1",
        "'''a'b''' == \"a'b\" // a comment",
        "true ? 1 == 1 : 1 / 0 == 1",
        "[1, 2] + [3] == [1, 2, 3] && 2 in [1, 2] && !(4 in [1, 2])",
        "{'a': 1, 'b': 2}['b'] == 2 && 'a' in {'a': 1} && {'a': 1} == {'a': 1}",
        "type(1) == int && type('') == string && type(type(1)) == type(string)",
        "[1, 2, 3].map(x, x > 1, x * 2) == [4, 6] && [1, 2].filter(x, x > 1) == [2]",
        "[1, 2, 3].exists_one(x, x > 2) && ![1, 2, 3].existsOne(i, x, x > 1)",
        "[0, 1].exists(x, 1 / x == 1) && ![0, 1].all(x, 1 / x == 2)",
        "[5, 6].all(i, v, v == i + 5) && {'a': 1}.exists(k, v, k == 'a' && v == 1)",
        "[1, 2].transformList(i, v, i > 0, v * 10) == [20]",
        "{'a': 1}.transformMap(k, v, v + 1) == {'a': 2}",
        "{'a': 'b'}.transformMapEntry(k, v, {v: k}) == {'b': 'a'}",
        "cel.bind(x, 2, cel.bind(y, x + 1, x * y)) == 6",
        "optional.of(1).optMap(x, x + 1).value() == 2 && !optional.none().hasValue()",
        "optional.of(1).optFlatMap(x, optional.none()).or(optional.of(3)).orValue(4) == 3",
        "[?optional.none(), ?optional.of(1)] == [1] && {?'a': optional.none()}.size() == 0",
        "optional.ofNonZeroValue(0).hasValue() == false",
        "{'a': {'b': 1}}.?a.b == optional.of(1) && !{'a': {'b': 1}}.?x.b.hasValue()",
        "[1, 2][?5].orValue(9) == 9",
        "int('12') == 12 && double('1.5') == 1.5 && string(1.0) == '1' && string(true) == 'true' && int(2.9) == 2",
        "string(999999.0) == '999999' && string(1000000.0) == '1e+06' && string(123456789.0) == '1.23456789e+08'",
        "string(0.0001) == '0.0001' && string(0.00001) == '1e-05' && string(-0.0) == '-0' && string(-1e7) == '-1e+07'",
        "'abcabc'.lastIndexOf('bc', 4) == 4 && 'abcabc'.lastIndexOf('bc', 3) == 1 && 'abc'.lastIndexOf('c', 1) == -1",
        "'äbä'.indexOf('ä', 1) == 2 && 'äbä'.lastIndexOf('ä') == 2 && 'äbä'.lastIndexOf('ä', 1) == 0",
        "'aaa'.replace('a', 'b', 2) == 'bba' && 'ab'.replace('', '-') == '-a-b-' && 'aaa'.replace('a', '', -1) == ''",
        "bool('true') && uint(3) == 3u && bytes('a') == b'a' && string(b'a') == 'a'",
        "duration('1h30m') > duration('89m59.9s') && duration('90s').getMinutes() == 1 && string(duration('1500ms')) == '1.5s'",
        "'abc'.replace('b', 'x') == 'axc' && 'a,b,c'.split(',', 2) == ['a', 'b,c'] && ' a '.trim() == 'a'",
        "'tacocat'.lastIndexOf('ac') == 1 && 'tacocat'.indexOf('a', 2) == 5 && 'abc'.substring(1, 2) == 'b'",
        "['a', 'b'].join('-') == 'a-b' && strings.quote('a\"') == '\"a\\\\\"\"'",
        "'%s|%d|%.2f|%x|%b|%e'.format(['a', 5, 1.234, 255, 5, 1200.0]) == 'a|5|1.23|ff|101|1.200000×10⁰³'",
        "'%s'.format([[1, 'a', 2.5, null, {'k': true}]]) == '[1, \"a\", 2.500000, null, {\"k\":true}]'",
        "'ab12'.matches('[a-z]+\\\\d+') && !'٣'.matches('\\\\d') && 'a1b22'.findAll('[0-9]+') == ['1', '22']",
        "[3, 1, 2].sort() == [1, 2, 3] && ['b', 'a'].min() == 'a' && [1, 2, 2].distinct() == [1, 2]",
        "[[1], [2, 3]].flatten() == [1, 2, 3] && [1, 2, 3].slice(1, 3) == [2, 3] && [1, 2].reverse() == [2, 1]",
        "['bb', 'a'].sortBy(s, s.size()) == ['a', 'bb'] && lists.range(3) == [0, 1, 2]",
        "[1, 2].isSorted() && [1.0, 2.0].sum() == 3.0 && [1, 2, 1].lastIndexOf(1) == 2",
        "sets.contains([1, 2], [2]) && sets.equivalent([1, 1], [1]) && sets.intersects([1], [1, 2])",
        "quantity('1Ki').compareTo(quantity('1024')) == 0 && quantity('100m').isLessThan(quantity('1'))",
        "quantity('2').add(1).asInteger() == 3 && !quantity('1500m').isInteger() && isQuantity('1.5e3') && !isQuantity('x')",
        "quantity('1Gi').sub(quantity('1Mi')).isGreaterThan(quantity('1022Mi')) && sign(quantity('-1')) == -1",
        "semver('1.2.3').major() == 1 && semver('v1.2', true) == semver('1.2.0') && !isSemver('v1.2')",
        "semver('1.0.0-alpha.2').isLessThan(semver('1.0.0-alpha.10')) && semver('1.0.0-rc').isLessThan(semver('1.0.0'))",
        "ip('::1').isLoopback() && ip('10.0.0.1').family() == 4 && !isIP('::ffff:1.2.3.4') && ip.isCanonical('10.0.0.1')",
        "cidr('10.0.0.0/8').containsIP('10.1.2.3') && cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')",
        "cidr('10.0.0.0/8').containsCIDR(cidr('10.1.0.0/16')) && cidr('10.0.0.0/8').ip() == ip('10.0.0.0')",
        "url('https://u@h:8080/p%20q?a=1&a=2#f').getPort() == '8080' && url('http://[::1]:80/').getHostname() == '::1'",
        "url('https://h/x?a=1&b').getQuery() == {'a': ['1'], 'b': ['']} && !isURL('h/x') && isURL('/x')",
        "!format.dns1123Label().validate('a-b').hasValue() && format.dns1123Label().validate('A').hasValue()",
        "format.named('date').value().validate('2023-02-29').hasValue() && !format.named('x').hasValue()",
        "!format.datetime().validate('2024-02-29T10:00:00.5Z').hasValue() && format.uuid().validate('x').hasValue()",
        "device.attributes['d'].model == 'h100' && device.attributes['other'].model == 'x'",
        "!has(device.attributes['none'].x) && !('none' in device.attributes) && device.attributes.?none.hasValue()",
        "device.attributes['d'].ok",
        "device.attributes['d'].version.isLessThan(semver('1.10.0'))",
        "device.attributes['d'].numa in [1.0] && device.attributes['d'].numa < 1.5",
        "device.capacity['d'].memory == quantity('81920Mi') && device.capacity['d'].cores.asApproximateFloat() == 1.5",
    ];
    let others: Vec<String> = texts.into_iter().map(|text| format!("{text}: {}", result(text))).collect();
    let others: Vec<&String> = others.iter().filter(|line| !line.ends_with(": true")).collect();
    assert!(others.is_empty(), "{others:#?}");
}

#[test]
fn these_are_refused() {
    for (text, part) in [
        ("", "unexpected End"),
        ("1 +", "unexpected End"),
        ("(1", "expected )"),
        ("'a", "closing quote"),
        ("a b", "unexpected"),
        ("1", "not int"),
        ("'true'", "not string"),
        ("[true][0] && 1", "expected type 'bool'"),
        ("x", "undeclared reference to 'x'"),
        ("nope(1)", "undeclared reference to 'nope'"),
        ("device.nope == 1", "undefined field 'nope'"),
        ("1 == '1'", "no matching overload for '_==_'"),
        ("1 in ['a']", "no matching overload for '@in'"),
        ("[1, 'a'].size() == 2", "expected type 'int' but found 'string'"),
        ("true.foo", "does not support field selection"),
        ("timestamp('2024-01-01') == timestamp(0)", "invalid timestamp"),
        ("type(timestamp) == type", "undeclared reference to 'timestamp'"),
        ("google.protobuf.Nope{} == 1", "'google.protobuf.Nope' is not a message type"),
        ("int('x') == 1", "program instantiation failed: type conversion error"),
        ("'a'.matches('(')", "invalid matches argument"),
        ("'%d %d'.format([1]) == ''", "out of range"),
        ("'%y'.format([1]) == ''", "unrecognized formatting clause"),
        ("[1].all(1, true)", "a variable must be a name"),
        ("has(device)", "must select a field"),
        ("9223372036854775808 > 0", "int out of range"),
        ("1.all(x, true)", "cannot be range"),
    ] {
        let found = result(text);
        assert!(found.starts_with("compile: ") && found.contains(part), "{text}: {found}");
    }
}

#[test]
fn these_fail_for_the_device() {
    for (text, part) in [
        ("device.attributes['d'].nope == 1", "no such key: nope"),
        ("device.attributes['d'].model > 5", "no such overload"),
        ("device.attributes['d'].version == 1", "no such overload"),
        ("device.attributes['d'].model", "could not be converted to bool"),
        ("1 / (device.attributes['d'].numa - 1) == 1", "division by zero"),
        ("9223372036854775807 + int(device.attributes['d'].numa) > 0", "integer overflow"),
        ("[1][1] == 1", "index out of bounds: 1"),
        ("{'a': 1}['b'] == 1", "no such key: b"),
        ("quantity('2') == quantity('1').add(1)", "no such overload"),
        ("'a'.substring(2) == ''", "index out of range: 2"),
        ("quantity('x') == quantity('1')", "quantities must match"),
        ("optional.none().value() == 1", "dereference"),
        ("lists.range(200001).size() == 1", "more than 200000 elements"),
        // The fifth has no steps left, and no error of it is passed over.
        (
            "lists.range(4).map(x, lists.range(199999)) == [] || lists.range(200000) == [] || true",
            "cost limit exceeded",
        ),
        ("lists.range(1000).all(x, lists.range(1000).all(y, x + y >= 0))", "cost limit exceeded"),
    ] {
        let found = result(text);
        assert!(found.starts_with("run: ") && found.contains(part), "{text}: {found}");
    }
}

/// Short expressions that take far more work or memory than the limits allow.
#[test]
fn work_and_values_beyond_the_limits_fail() {
    let long = "a".repeat(4_000);
    let lists = |leaf: &str| {
        let binds: String = (1..30).map(|at| format!("cel.bind(l{at}, [l{0}, l{0}], ", at - 1)).collect();
        format!("cel.bind(l0, {leaf}, {binds}l29{}", ")".repeat(30))
    };
    for (text, part) in [
        (format!("cel.bind(b, '{long}', b.replace('', b)) == ''"), "more than 1048576 bytes"),
        (format!("cel.bind(b, '{long}', b.replace('a', b, 300)) == ''"), "more than 1048576 bytes"),
        (format!("lists.range(300).map(x, '{long}').join() == ''"), "more than 1048576 bytes"),
        (format!("lists.range(300).map(x, '').join('{long}') == ''"), "more than 1048576 bytes"),
        (format!("cel.bind(b, lists.range(300).map(x, '{long}'), '%s'.format([b])) == ''"), "more than 1048576 bytes"),
        (
            format!("cel.bind(b, lists.range(99).map(x, '{long}').join(), '%s%s%s'.format([b, b, b])) == ''"),
            "1048576 bytes",
        ),
        (format!("cel.bind(b, lists.range(200).map(x, '{long}').join(), b + b) == ''"), "more than 1048576 bytes"),
        (format!("{} == {}", lists("[1]"), lists("[1]")), "cost limit exceeded"),
        (format!("{} in [{}]", lists("[1]"), lists("[1]")), "cost limit exceeded"),
        (format!("'%s'.format([{}]) == ''", lists("[1]")), "cost limit exceeded"),
        ("cel.bind(r, lists.range(2000), r.map(x, r).flatten().size() == 1)".to_owned(), "cost limit exceeded"),
        ("lists.range(3000).distinct().size() == 3000".to_owned(), "cost limit exceeded"),
        ("cel.bind(r, lists.range(3000), sets.contains(r, r))".to_owned(), "cost limit exceeded"),
    ] {
        let found = result(&text);
        let start = text.get(..60).unwrap_or(&text);
        assert!(found.starts_with("run: ") && found.contains(part), "{start}: {}", found.get(..200).unwrap_or(&found));
    }
    // Below the limits.
    assert_eq!(result(&format!("cel.bind(b, '{long}', b.replace('a', 'aa').size() == 8000)")), "true");
    assert_eq!(result("cel.bind(r, lists.range(50000), r == lists.range(50000) && 7 in r)"), "true");
    assert_eq!(result("cel.bind(r, lists.range(50000), lists.range(9999).all(x, r.exists(y, y == 0)))"), "true");
}

#[test]
fn texts_of_errors_are_cut() {
    let long = "ä".repeat(4_000);
    for (text, start) in [
        (format!("{{'a': 1}}['{long}'] == 1"), "run: no such key: ää"),
        (format!("'{long}' == 1"), "compile: compilation failed: "),
        (format!("device.attributes['{long}'].x"), "run: no such key: x"),
        (format!("x{}", "a".repeat(4_000)), "compile: compilation failed: undeclared reference to 'xaa"),
    ] {
        let found = result(&text);
        assert!(found.starts_with(start), "{found}");
        assert!(found.len() <= "compile: ".len() + limits::ERROR_BYTES, "{}", found.len());
    }
    let device = Device { attributes: vec![(long, Attribute::Unsupported)], ..Device::default() };
    let fault = device.fault().unwrap();
    assert!(
        fault.len() <= limits::ERROR_BYTES && fault.len() > limits::ERROR_BYTES - 'ä'.len_utf8(),
        "{}",
        fault.len()
    );
    assert_eq!(Program::compile("true").unwrap().matches(&device), Err(fault));
}

#[test]
fn a_value_that_selectors_cannot_see_fails_every_expression() {
    let program = Program::compile("true").unwrap();
    let with = |attribute| Device { attributes: vec![("a".to_owned(), attribute)], ..Device::default() };
    assert!(program.matches(&with(Attribute::Unsupported)).unwrap_err().contains("unsupported attribute value"));
    assert!(program.matches(&with(Attribute::Version("v1".to_owned()))).unwrap_err().contains("semantic version"));
    assert_eq!(program.matches(&with(Attribute::Int(1))), Ok(true));
}

/// The outcome of an expression in a dialect with lists, for a device that has some.
fn with_lists(text: &str) -> Result<bool, String> {
    let texts = |of: fn(String) -> Attribute, all: &[&str]| {
        Attribute::List(all.iter().map(|text| of((*text).to_owned())).collect())
    };
    let device = Device {
        driver: "d".to_owned(),
        attributes: vec![
            ("ints".to_owned(), Attribute::List(vec![Attribute::Int(1), Attribute::Int(-7)])),
            ("bools".to_owned(), Attribute::List(vec![Attribute::Bool(true)])),
            ("strings".to_owned(), texts(Attribute::String, &["a", "ü"])),
            ("versions".to_owned(), texts(Attribute::Version, &["1.2.3", "2.0.0-rc.1"])),
            ("none".to_owned(), Attribute::List(Vec::new())),
            ("one".to_owned(), Attribute::String("a".to_owned())),
        ],
        ..Device::default()
    };
    Program::compile_in(Dialect { lists: true, includes: true, cel_go29: true }, text)?.matches(&device)
}

#[test]
fn attributes_that_are_lists_are_seen_in_a_dialect_with_lists() {
    for text in [
        "1 in device.attributes['d'].ints && !(2 in device.attributes['d'].ints)",
        "device.attributes['d'].strings == ['a', 'ü'] && device.attributes['d'].bools[0]",
        "device.attributes['d'].strings.includes('ü') && device.attributes['d'].one.includes('a')",
        "!device.attributes['d'].one.includes('ü') && !device.attributes['d'].none.includes('a')",
        "device.attributes['d'].versions.exists(v, v.isGreaterThan(semver('1.9.0')))",
        "device.attributes['d'].versions.includes(semver('1.2.3'))",
        "device.attributes['d'].ints.all(i, i < 2) && device.attributes['d'].none.size() == 0",
        "device.attributes['d'].bools[0]",
        "'%s'.format([device.attributes['d'].one]) == 'a'",
    ] {
        assert_eq!(with_lists(text), Ok(true), "{text}");
    }
    assert!(with_lists("device.attributes['d'].strings > 1").unwrap_err().contains("no such overload"));
    assert!(with_lists("device.attributes['d'].strings").unwrap_err().contains("could not be converted to bool"));
}

#[test]
fn a_list_counts_as_its_elements_and_each_of_them_must_be_seen() {
    let program = Program::compile_in(Dialect { lists: true, includes: true, cel_go29: true }, "true").unwrap();
    let fault = |elements| {
        let device = Device { attributes: vec![("a".to_owned(), Attribute::List(elements))], ..Device::default() };
        let fault = device.fault();
        assert_eq!(program.matches(&device).err(), fault);
        fault
    };
    assert_eq!(fault(vec![Attribute::Int(1); limits::DEVICE_VALUES]), None);
    assert!(fault(vec![Attribute::Int(1); limits::DEVICE_VALUES + 1]).unwrap().starts_with("more than 128"));
    assert_eq!(fault(vec![Attribute::Version("1".to_owned())]).unwrap(), "attribute a: parse semantic version");
    assert_eq!(fault(vec![Attribute::Unsupported]).unwrap(), "attribute a: unsupported attribute value");
}

#[test]
fn a_dialect_without_includes_refuses_it() {
    let text = "device.attributes['d'].model.includes('h100')";
    assert_eq!(result(text), "true");
    let error = Program::compile_in(Dialect { lists: false, includes: false, cel_go29: false }, text).unwrap_err();
    assert!(error.contains("undeclared reference to 'includes'"), "{error}");
}

#[test]
fn long_and_deep_expressions_are_refused_without_a_stack_overflow() {
    let nested = |open: &str, close: &str, count: usize| format!("{}true{}", open.repeat(count), close.repeat(count));
    assert_eq!(result(&nested("(", ")", limits::NESTED_BRACKETS - 1)), "true");
    for text in [
        nested("(", ")", limits::NESTED_BRACKETS + 1),
        nested("(", ")", 5_000),
        nested("[", "]", 5_000),
        nested("{1:", "}", 2_000),
        nested("[1].all(x, ", ")", 700),
        format!("1{} > 0", " + 1".repeat(2_000)),
        format!("device{}", ".a".repeat(4_000)),
        format!("1 {}", "? 1 : 1 ".repeat(1_000)),
        format!("{} > 0", "-(".repeat(3_000)),
        "x".repeat(limits::TEXT_BYTES + 1),
    ] {
        assert!(result(&text).starts_with("compile: "), "{}", &text[..40]);
    }
    // Chains of one logical operator are one level, as in cel-go.
    assert_eq!(result(&vec!["true"; 1_000].join(" && ")), "true");
}

#[test]
fn no_expression_makes_the_compiler_or_an_evaluation_panic() {
    /// `#` stands for another expression.
    const SHAPES: [&str; 48] = [
        "#",
        "# == #",
        "# < #",
        "# + #",
        "# - #",
        "# * #",
        "# / #",
        "# % #",
        "!#",
        "-#",
        "# && #",
        "# || #",
        "# ? # : #",
        "# in #",
        "[#, #]",
        "[#]",
        "{#: #}",
        "#[#]",
        "#[?#]",
        "#.map(x, #)",
        "#.filter(x, #)",
        "#.exists(x, #)",
        "#.all(x, y, #)",
        "#.sortBy(x, #)",
        "cel.bind(x, #, #)",
        "optional.of(#)",
        "#.orValue(#)",
        "#.optMap(x, #)",
        "#.size()",
        "#.sort()",
        "#.flatten()",
        "#.slice(#, #)",
        "#.sum()",
        "#.max()",
        "#.indexOf(#)",
        "#.lastIndexOf(#, #)",
        "#.substring(#)",
        "#.substring(#, #)",
        "#.charAt(#)",
        "#.split(#)",
        "#.replace(#, #, #)",
        "#.format([#])",
        "string(#)",
        "int(#)",
        "double(#)",
        "uint(#)",
        "duration(#)",
        "quantity(#)",
    ];
    const LEAVES: [&str; 22] = [
        "1",
        "-1",
        "0",
        "9223372036854775807",
        "2u",
        "1.5",
        "1e308",
        "'a'",
        "'%s%d%e'",
        "'ä€'",
        "''",
        "b'\\xff'",
        "true",
        "null",
        "x",
        "y",
        "device.attributes['d'].model",
        "device.attributes['d'].numa",
        "device.attributes['d'].version",
        "'1h'",
        "device.capacity['d']",
        "device.attributes",
    ];
    // A linear congruence: the same expressions in every run.
    let mut state = 0x2545_f491_u64;
    let mut next = |count: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % count
    };
    let (mut compiled, mut evaluated) = (0_usize, 0_usize);
    for _ in 0..60_000 {
        let mut text = SHAPES[next(SHAPES.len())].to_owned();
        for level in 0.. {
            let Some(at) = text.find('#') else { break };
            let leaf = level > 3 || next(2) == 0;
            let part =
                if leaf { LEAVES[next(LEAVES.len())].to_owned() } else { format!("({})", SHAPES[next(SHAPES.len())]) };
            text.replace_range(at..=at, &part);
        }
        // Most have no type; whatever the result, there is one. As the element of a list any type of result will do.
        if let Ok(program) = Program::compile(&format!("[{text}].size() == 1")) {
            compiled += 1;
            evaluated += usize::from(program.matches(&device()).is_ok());
        }
        let _outcome = Program::compile(text.get(1..).unwrap_or(""));
    }
    assert!(compiled > 5_000 && evaluated > 2_000, "{compiled} of the texts are expressions, {evaluated} have a value");
}

#[test]
fn a_message_takes_steps_for_its_value() {
    let made = "{'a': google.protobuf.StringValue{value: x}}.size() == 1";
    let text = format!("cel.bind(x, lists.range(10000).map(i, 'aaaaaaaaaa').join(), lists.range(150).all(i, {made}))");
    assert!(result(&text).contains("cost limit exceeded"), "{}", result(&text));
}

#[test]
fn sorted_numbers_have_those_that_are_none_at_the_end() {
    let list = "[double('NaN'), 2.0, double('NaN'), 1.0]";
    let expected = "['1', '2', 'NaN', 'NaN']";
    assert_eq!(result(&format!("{list}.sort().map(x, string(x)) == {expected}")), "true");
    assert_eq!(result(&format!("{list}.sortBy(x, x).map(x, string(x)) == {expected}")), "true");
    // Enough for a sort that finds an order that is none.
    let many = "lists.range(200).map(i, i % 3 == 0 ? double('NaN') : double(i * 7919 % 199))";
    assert_eq!(result(&format!("{many}.sort().size() == 200")), "true");
}

/// Each name is bound to an element made of the one before.
fn bound(depth: usize, element: impl Fn(usize) -> String) -> String {
    let mut text = "true".to_owned();
    for at in (1..depth).rev() {
        text = format!("cel.bind(a{at}, {}, {text})", element(at - 1));
    }
    format!("cel.bind(a0, 1, {text})")
}

#[test]
fn types_have_a_largest_size() {
    let twice = |before: usize| format!("{{a{before}: a{before}}}");
    for depth in [12, 58] {
        let outcome = result(&bound(depth, twice));
        assert!(outcome.contains(&format!("more than {} nodes", limits::TYPE_NODES)), "{outcome}");
    }
    assert_eq!(result(&bound(58, |before| format!("[a{before}]"))), "true");
}

#[test]
fn exponents_of_quantities_have_32_bits_of_64() {
    assert_eq!(
        result("quantity('1e4294967296') == quantity('1') && quantity('1E4294967299') == quantity('1k')"),
        "true"
    );
    assert_eq!(result("!isQuantity('1e9223372036854775808') && isQuantity('1e9223372036854775807')"), "true");
}

/// The outcome in the dialect of Kubernetes 1.37, or the error behind `compile: ` or `run: `.
fn result_in_1_37(text: &str) -> String {
    let dialect = Dialect { lists: true, includes: true, cel_go29: true };
    match Program::compile_in(dialect, text) {
        Err(error) => format!("compile: {error}"),
        Ok(program) => {
            program.matches(&device()).map_or_else(|error| format!("run: {error}"), |holds| holds.to_string())
        }
    }
}

#[test]
fn what_differs_between_0_26_and_0_29_of_cel_go_follows_the_dialect() {
    for (text, before, now) in [
        ("{'a-b': 1}.`a-b` == 1", "compile", "true"),
        ("has({'a/b c': 1}.`a/b c`) && {'x.y': 2}.?`x.y`.hasValue()", "compile", "true"),
        ("{'a': 1}.`a`()", "compile", "compile"),
        ("{'a$': 1}.`a$` == 1", "compile", "compile"),
        ("`a` == 1", "compile", "compile"),
        ("google.protobuf.Int64Value{`value`: 3} == 3", "compile", "true"),
        ("cel.bind(device, {'driver': 'x'}, .device.driver == 'd')", "false", "true"),
        ("cel.bind(x, 1, .x == 1)", "true", "compile"),
        ("cel.bind(int, 1, .int == type(1))", "compile", "compile"),
        ("cel.bind(google, {'protobuf': {'Empty': 1}}, google.protobuf.Empty == 1)", "compile", "true"),
        ("lists.range(-2) == []", "true", "run"),
        ("dyn(1).orValue(2) == 1", "true", "run"),
        ("'abc'.indexOf('', 7) == 7", "true", "false"),
        ("'abc'.lastIndexOf('', 7) == 3", "false", "true"),
        ("'abc'.indexOf('', -3) == -3", "true", "run"),
        ("lists.range(50).includes(47) && !lists.range(48).includes(48)", "true", "true"),
        ("lists.range(50).includes(48)", "run", "true"),
        ("cel.bind(x, optional.of(quantity('2')), x.value() == quantity('2'))", "run", "true"),
        ("cel.bind(x, optional.of(optional.of(1)), x.value() == optional.of(1))", "false", "true"),
        ("google.protobuf.BoolValue{value: true}", "compile", "true"),
    ] {
        let kind = |result: String| result.split(':').next().unwrap_or_default().to_owned();
        assert_eq!(kind(result(text)), before, "{text}: {}", result(text));
        assert_eq!(kind(result_in_1_37(text)), now, "{text}: {}", result_in_1_37(text));
    }
}

#[test]
fn some_keys_are_the_same_only_where_they_are_one_value() {
    for text in [
        "cel.bind(k, [1], k in {k: 1}) && !([1] in {[1]: 1})",
        "cel.bind(k, quantity('1'), k in {k: 1}) && !(quantity('1') in {quantity('1'): 1})",
        "!(quantity('2') in {quantity('1').add(1): 1}) && !(quantity('1').add(1) in {quantity('2'): 1})",
        "{quantity('1').add(1): 1, quantity('2'): 2}.size() == 2 && {quantity('2'): 1, quantity('1').add(1): 2}.size() == 2",
        "cel.bind(k, quantity('1').add(1), k in {k: 1} && {k: 1, k: 2}.size() == 1)",
        "cel.bind(k, {'a': 1}, {k: 1, k: 2}.size() == 1)",
        "cel.bind(k, url('http://a'), k in {k: 1}) && !(url('http://a') in {url('http://a'): 1})",
        "device.capacity['d'].memory in {device.capacity['d'].memory: 1}",
        "!(device.capacity['d'] in {device.capacity['d']: 1}) && !(device in {device: 1})",
        "dyn(int).matches('^int$') && dyn(list).find('i.') == 'is' && dyn(map).findAll('[am]') == ['m', 'a']",
        "dyn([2.0, 1.0]).sortBy(x, 1).size() == 2 && [dyn([1]).sortBy(x, 1), ['a']].size() == 2",
        "[quantity('1').add(1)].includes(quantity('2')) && ![quantity('2')].includes(quantity('1').add(1))",
        "[dyn([2, 1]).sortBy(x, x), dyn([1])][0] == [1, 2]",
    ] {
        assert_eq!(result(text), "true", "{text}");
    }
    for text in [
        ".has({'a': 1}.a)",
        ".cel.bind(x, 1, x == 1)",
        "[dyn([1]).sortBy(x, x), [1]] == []",
        "dyn([1]).sortBy(x, 1) == 'a'",
        "dyn([1.0]).sortBy(x, 'a').sum() == 1.0",
        "device.attributes['d'].ok.all(x, true)",
    ] {
        assert!(result(text).starts_with("compile: "), "{text}");
    }
    assert!(result("dyn(int).matches(device.driver)").starts_with("run: "));
}
