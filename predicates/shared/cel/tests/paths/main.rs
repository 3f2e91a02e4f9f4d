//! Paths that expressions read of a device, and the keys made of them.
//!
//! Here: which expressions have paths, and which. `random` compares the outcomes of devices with equal keys; `time` measures.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]
#![allow(clippy::indexing_slicing, reason = "tests")]
#![allow(missing_docs, reason = "tests are named as sentences")]

mod devices;
mod documents;
mod expressions;
mod random;
mod time;

use nodesift_cel::{Attribute, Device, Path, Program, key_of, limits};

/// Paths in short: `a:` and `c:` for attributes and capacities, a domain, behind `#` a name; `*` for anything.
fn read(text: &str) -> String {
    let program = Program::compile(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let short = |path: &Path| match path {
        Path::Driver => "driver".to_owned(),
        Path::AllowMultipleAllocations => "shared".to_owned(),
        Path::Attribute { domain, name } => format!("a:{domain}#{name}"),
        Path::AttributeDomain { domain } => format!("a:{domain}"),
        Path::Capacity { domain, name } => format!("c:{domain}#{name}"),
        Path::CapacityDomain { domain } => format!("c:{domain}"),
    };
    program.paths().map_or_else(|| "*".to_owned(), |paths| paths.iter().map(short).collect::<Vec<_>>().join(" "))
}

#[test]
fn the_common_forms_read_what_they_name() {
    for (text, expected) in [
        ("true", ""),
        ("device.driver == 'x'", "driver"),
        ("dyn(device).driver == 'x'", "driver"),
        ("device.allowMultipleAllocations", "shared"),
        ("device.attributes['dom'].name == 1", "a:dom#name"),
        ("device.attributes['dom']['name'] == 1", "a:dom#name"),
        ("device.attributes.dom.name == 1", "a:dom#name"),
        ("'name' in device.attributes['dom']", "a:dom#name"),
        ("device.attributes['dom'].?name.orValue('') == 'x'", "a:dom#name"),
        ("device.attributes[?'dom'].?name.orValue('') == 'x'", "a:dom#name"),
        ("device.attributes['dom'][?'name'].hasValue()", "a:dom#name"),
        ("device.attributes.?dom.name.hasValue()", "a:dom#name"),
        ("has(device.attributes['dom'].name)", "a:dom#name"),
        ("'dom' in device.attributes", "a:dom"),
        ("'dom' in device.capacity", "c:dom"),
        // An unknown domain is an empty map, so these are so of every device.
        ("has(device.attributes.dom)", ""),
        ("device.attributes[?'dom'].hasValue()", ""),
        ("device.capacity['dom'].memory.compareTo(quantity('1Gi')) >= 0", "c:dom#memory"),
        ("'memory' in device.capacity['dom']", "c:dom#memory"),
        ("cel.bind(d, device.attributes['dom'], d.a && d.b)", "a:dom#a a:dom#b"),
        ("cel.bind(d, device.attributes['dom'], cel.bind(e, d, has(e.a)))", "a:dom#a"),
        ("cel.bind(d, device.attributes, d['dom'].a)", "a:dom#a"),
        ("cel.bind(d, 'dom', d in device.attributes && device.attributes[d].a)", "a:dom#a a:dom"),
        ("cel.bind(device, {'driver': 'x'}, device.driver == 'x')", ""),
        ("device.attributes.?dom.optMap(d, d.a).orValue(false)", "a:dom#a"),
        ("device.attributes.?dom.orValue({}).a == 1", "a:dom#a"),
        ("device.driver == 'x' && device.attributes['a'].b == 1", "driver a:a#b"),
        ("device.driver == 'x' || !has(device.attributes['a'].b)", "driver a:a#b"),
        ("device.driver == 'x' ? device.attributes['a'].b : device.attributes['c'].d", "driver a:a#b a:c#d"),
        ("['a', 'b'].exists(x, x == device.attributes['dom'].name)", "a:dom#name"),
        ("device.attributes['dom'].list.split(',').exists(x, x == 'b')", "a:dom#list"),
        (
            "{'h100': 0}[?device.attributes['dom'].model].orValue(2) == device.attributes['dom'].numa",
            "a:dom#model a:dom#numa",
        ),
        ("type(device.attributes['dom']) == map", ""),
    ] {
        assert_eq!(read(text), expected, "{text}");
    }
}

#[test]
fn what_may_read_anything_has_no_paths() {
    for text in [
        "device.attributes.exists(d, d == 'x')",
        "device.attributes['dom'].exists(k, v, k == 'numa' && v == 1)",
        "device.attributes['dom'].all(k, k != 'x')",
        "device.attributes['dom'].transformMap(k, v, 1).size() == 1",
        "size(device.attributes) > 1",
        "device.attributes['dom'].size() > 1",
        "device.attributes['a'] == device.attributes['b']",
        "device.attributes['a'] == {}",
        "device.attributes['a' + 'b'].c == 1",
        "device.attributes['dom'][device.driver] == 1",
        "device.driver in device.attributes",
        "['a', 'b'].all(x, x in device.attributes['dom'])",
        "[device.attributes['dom']].exists(d, has(d.a))",
        "has({'a': device.attributes['dom']}.a.b)",
        "(device.driver == 'x' ? device.attributes['a'] : device.attributes['b']).c == 1",
        "optional.ofNonZeroValue(device.attributes['dom']).hasValue()",
        "optional.none().orValue(device.attributes['dom']).a == 1",
        "device.attributes[optional.of(1).optFlatMap(x, optional.of('dom')).value()].a == 1",
        "dyn(device) == dyn(device)",
        "device.attributes['dom'].includes(1)",
        "cel.bind(d, device.attributes['dom'], d.size() == 1)",
        "cel.bind(d, device.attributes, [1].exists(x, d.exists(y, true)))",
    ] {
        assert_eq!(read(text), "*", "{text}");
    }
}

#[test]
fn of_the_expressions_in_the_documents_five_have_no_paths() {
    let compiled = documents::expressions().iter().filter(|text| Program::compile(text).is_ok());
    let without: Vec<&String> = compiled.filter(|text| read(text) == "*").collect();
    assert_eq!(
        without,
        [
            "device.attributes.exists(d, d == \"d.example.com\")",
            "device.attributes[\"gpu.example.com\"].exists(k, k == \"ecc\")",
            "device.attributes[\"gpu.example.com\"].exists(k, v, k == \"numa\" && v == 1)",
            "device.attributes[\"gpu.example.com\"].exists_one(k, k.startsWith(\"mod\"))",
            "size(device.attributes) > 1",
        ]
    );
}

fn gpu() -> Device {
    let text = |text: &str| Attribute::String(text.to_owned());
    Device {
        driver: "gpu".to_owned(),
        allow_multiple_allocations: false,
        attributes: vec![
            ("model".to_owned(), text("h100")),
            ("uuid".to_owned(), text("GPU-1")),
            ("other/model".to_owned(), text("x")),
            ("a/b/c".to_owned(), text("y")),
            ("firmware".to_owned(), text("1.2.3")),
        ],
        capacity: vec![("memory".to_owned(), "1Gi".to_owned())],
    }
}

/// Whether a change of the device gives it another key.
fn tells(text: &str, change: impl FnOnce(&mut Device)) -> bool {
    let paths = Program::compile(text).unwrap().paths().unwrap();
    let mut changed = gpu();
    change(&mut changed);
    let (device, faults) = (gpu(), [gpu().fault(), changed.fault()]);
    key_of(&paths, &device, faults[0].as_deref()) != key_of(&paths, &changed, faults[1].as_deref())
}

#[test]
fn keys_hold_what_is_read_as_it_is_looked_up_and_nothing_else() {
    let set = |at: usize, value: &'static str| {
        move |device: &mut Device| device.attributes[at].1 = Attribute::String(value.to_owned())
    };
    let model = "device.attributes['gpu'].model == 'h100'";
    assert!(tells(model, set(0, "l4")));
    assert!(!tells(model, set(1, "GPU-2")), "a UUID that is not read");
    assert!(!tells(model, set(2, "l4")), "another domain");
    assert!(tells("device.attributes['other'].model == 'h100'", set(2, "l4")));
    assert!(tells("device.attributes['a']['b/c'] == 'y'", set(3, "z")), "the domain ends at the first /");
    assert!(!tells("device.attributes['a/b']['c'] == 'y'", set(3, "z")));
    assert!(tells("device.attributes['gpu'].uuid == ''", set(1, "GPU-2")));

    assert!(!tells(model, |device| device.attributes[0].0 = "gpu/model".to_owned()), "the driver's domain, written");
    assert!(tells(model, |device| device.driver = "npu".to_owned()), "names without a domain are in another one");
    assert!(!tells("device.attributes['other'].model == ''", |device| device.driver = "npu".to_owned()));
    let version = |device: &mut Device| device.attributes[4].1 = Attribute::Version("1.2.3".to_owned());
    assert!(tells("device.attributes['gpu'].firmware == '1.2.3'", version), "the same text, another type");
    // The first counts.
    let second = |device: &mut Device| device.attributes.push(("gpu/model".to_owned(), Attribute::Int(1)));
    assert!(!tells(model, second));
    assert!(tells(model, |device| device.attributes.insert(0, ("gpu/model".to_owned(), Attribute::Int(1)))));

    assert!(!tells("'other' in device.attributes", set(2, "l4")), "whether there is a domain");
    assert!(tells("'other' in device.attributes", |device| drop(device.attributes.remove(2))));
    assert!(tells("'gpu' in device.capacity", |device| device.capacity.clear()));
    assert!(tells("device.capacity['gpu'].memory == quantity('1')", |device| device.capacity[0].1 = "2Gi".to_owned()));
    assert!(tells("device.driver == 'gpu'", |device| device.driver = "npu".to_owned()));
    assert!(tells("device.allowMultipleAllocations", |device| device.allow_multiple_allocations = true));
}

#[test]
fn what_no_expression_can_see_is_a_key_of_its_own() {
    assert!(tells("true", |device| device.attributes[1].1 = Attribute::Unsupported));
    assert!(tells("true", |device| device.attributes[1].1 = Attribute::Version("v1".to_owned())));
    assert!(tells("true", |device| device.capacity[0].1 = "much".to_owned()));
    let grown = |count: usize| {
        move |device: &mut Device| {
            let more = count - device.attributes.len() - device.capacity.len();
            device.attributes.extend((0..more).map(|at| (format!("x{at}"), Attribute::Int(1))));
        }
    };
    assert!(!tells("true", grown(limits::DEVICE_VALUES)));
    assert!(tells("true", grown(limits::DEVICE_VALUES + 1)));
    // And that is what the evaluation says.
    let program = Program::compile("true").unwrap();
    for change in [
        |device: &mut Device| device.attributes[1].1 = Attribute::Unsupported,
        |device: &mut Device| device.capacity[0].1 = "much".to_owned(),
    ] {
        let mut device = gpu();
        change(&mut device);
        assert_eq!(program.matches(&device).err(), device.fault());
        assert!(device.fault().is_some());
    }
}

/// Steps count for the outcome near their limit only, so this goes there.
#[test]
fn values_that_are_not_read_take_no_steps() {
    let mut large = gpu();
    large.attributes.extend((0..100).map(|at| (format!("x{at}"), Attribute::Int(1))));
    // As long as those that are read: a comparison reads texts of one length.
    large.attributes.insert(0, (format!("{}x", "n".repeat(40)), Attribute::Int(1)));
    let long = "n".repeat(41);
    for looked_up in [
        "'model' in device.attributes['gpu']".to_owned(),
        "has(device.attributes['gpu'].model)".to_owned(),
        "device.attributes['gpu'].model == 'h100'".to_owned(),
        format!("!('{long}' in device.attributes['gpu'])"),
        "!('none' in device.attributes)".to_owned(),
        "type(device.attributes['gpu']) == map".to_owned(),
    ] {
        let repeated = |count: usize| {
            let text = format!("lists.range({count}).all(x, lists.range(60).all(y, {looked_up}))");
            let program = Program::compile(&text).unwrap();
            assert!(program.paths().is_some(), "{text}");
            program
        };
        let counts: Vec<usize> = (1..4_000).collect();
        let beyond = counts.partition_point(|count| repeated(*count).matches(&gpu()) == Ok(true));
        assert!(beyond > 0 && beyond < counts.len(), "{looked_up}: {beyond}");
        assert_eq!(repeated(counts[beyond - 1]).matches(&large), Ok(true), "{looked_up}");
        assert!(repeated(counts[beyond]).matches(&large).unwrap_err().contains("cost limit"), "{looked_up}");
    }
}
