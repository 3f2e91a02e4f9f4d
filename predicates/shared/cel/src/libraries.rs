//! Kubernetes' libraries: quantities, versions, addresses, networks, URLs and named formats.

use crate::formats;
use crate::kubernetes::{self, Semver, Url};
use crate::outcome::{Outcome, no_overload};
use crate::quantity::Quantity;
use crate::text;
use crate::value::Value;

/// Calls a function of Kubernetes' libraries, chosen by its name and the type of its first argument.
pub(crate) fn call(name: &str, args: &[Value]) -> Outcome {
    match args {
        [Value::String(text), rest @ ..] => call_on_text(name, text, rest),
        [Value::Quantity(quantity) | Value::Computed(quantity), rest @ ..] => call_on_quantity(name, **quantity, rest),
        [Value::Semver(version), rest @ ..] => call_on_version(name, version, rest),
        [Value::Ip(address)] => call_on_ip(name, *address),
        [Value::Cidr(address, bits), rest @ ..] => call_on_network(name, (*address, *bits), rest),
        [Value::Url(url)] => call_on_url(name, url),
        [Value::Format(format), Value::String(text)] if name == "validate" => Ok(formats::validate(format, text)),
        [] if name.starts_with("format.") => {
            let name = name.trim_start_matches("format.");
            formats::named(name).map_or_else(no_overload, |format| Ok(Value::Format(format)))
        }
        _ => missing(name, args),
    }
}

/// Names the types, as Go's CEL does for most libraries.
fn missing(name: &str, args: &[Value]) -> Outcome {
    let types: Vec<&str> = args.iter().map(Value::type_name).collect();
    Err(format!("no such overload: {name}({})", types.join(", ")))
}

fn call_on_text(name: &str, text: &str, rest: &[Value]) -> Outcome {
    let loosely = matches!(rest, [Value::Bool(true)]);
    let version = || if loosely { Semver::parse_loosely(text) } else { Semver::parse(text) };
    let invalid = |what: &str| format!("{what} parse error during conversion from string: \"{text}\"");
    match name {
        "quantity" => Quantity::parse(text).map(|quantity| Value::Quantity(quantity.into())).ok_or_else(|| {
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'".to_owned()
        }),
        "isQuantity" => Ok(Value::Bool(Quantity::parse(text).is_some())),
        "semver" => version().map(|version| Value::Semver(version.into())).ok_or_else(|| invalid("semantic version")),
        "isSemver" => Ok(Value::Bool(version().is_some())),
        "ip" => kubernetes::ip(text).map(Value::Ip).ok_or_else(|| invalid("IP Address")),
        "isIP" => Ok(Value::Bool(kubernetes::ip(text).is_some())),
        "ip.isCanonical" => match kubernetes::ip(text) {
            Some(address) => Ok(Value::Bool(address.to_string() == text)),
            None => Err(invalid("IP Address")),
        },
        "cidr" => match kubernetes::cidr(text) {
            Some((address, bits)) => Ok(Value::Cidr(address, bits)),
            None => Err(invalid("network address")),
        },
        "isCIDR" => Ok(Value::Bool(kubernetes::cidr(text).is_some())),
        "url" => Url::parse(text).map(|url| Value::Url(url.into())).ok_or_else(|| invalid("URL")),
        "isURL" => Ok(Value::Bool(Url::parse(text).is_some())),
        "format.named" => Ok(Value::Optional(formats::named(text).map(|format| Value::Format(format).into()))),
        _ => no_overload(),
    }
}

fn call_on_quantity(name: &str, quantity: Quantity, rest: &[Value]) -> Outcome {
    match (name, rest) {
        ("sign", []) => Ok(Value::Int(quantity.sign())),
        ("isGreaterThan", [Value::Quantity(other) | Value::Computed(other)]) => {
            Ok(Value::Bool(quantity.compare(**other).is_gt()))
        }
        ("isLessThan", [Value::Quantity(other) | Value::Computed(other)]) => {
            Ok(Value::Bool(quantity.compare(**other).is_lt()))
        }
        ("compareTo", [Value::Quantity(other) | Value::Computed(other)]) => {
            Ok(Value::Int(quantity.compare(**other) as i64))
        }
        ("asApproximateFloat", []) => Ok(Value::Double(quantity.as_float())),
        ("asInteger", []) => {
            quantity.as_integer().map(Value::Int).ok_or_else(|| "cannot convert value to integer".to_owned())
        }
        ("isInteger", []) => Ok(Value::Bool(quantity.as_integer().is_some())),
        ("add", [Value::Quantity(other) | Value::Computed(other)]) => {
            Ok(Value::Computed(quantity.plus(**other).into()))
        }
        ("add", [Value::Int(other)]) => Ok(Value::Computed(quantity.plus(Quantity::from_int(*other)).into())),
        ("sub", [Value::Quantity(other) | Value::Computed(other)]) => {
            Ok(Value::Computed(quantity.minus(**other).into()))
        }
        ("sub", [Value::Int(other)]) => Ok(Value::Computed(quantity.minus(Quantity::from_int(*other)).into())),
        _ => no_overload(),
    }
}

fn call_on_version(name: &str, version: &Semver, rest: &[Value]) -> Outcome {
    let number = |at: usize| Ok(Value::Int(i64::try_from(version.numbers[at]).unwrap_or(i64::MAX)));
    match (name, rest) {
        ("isGreaterThan", [Value::Semver(other)]) => Ok(Value::Bool(version.compare(other).is_gt())),
        ("isLessThan", [Value::Semver(other)]) => Ok(Value::Bool(version.compare(other).is_lt())),
        ("compareTo", [Value::Semver(other)]) => Ok(Value::Int(version.compare(other) as i64)),
        ("major", []) => number(0),
        ("minor", []) => number(1),
        ("patch", []) => number(2),
        _ => no_overload(),
    }
}

fn call_on_ip(name: &str, address: std::net::IpAddr) -> Outcome {
    let holds = |holds: bool| Ok(Value::Bool(holds));
    match name {
        "family" => Ok(Value::Int(if address.is_ipv4() { 4 } else { 6 })),
        "isUnspecified" => holds(address.is_unspecified()),
        "isLoopback" => holds(address.is_loopback()),
        "isLinkLocalMulticast" => holds(kubernetes::is_link_local_multicast(address)),
        "isLinkLocalUnicast" => holds(kubernetes::is_link_local_unicast(address)),
        "isGlobalUnicast" => holds(kubernetes::is_global_unicast(address)),
        _ => no_overload(),
    }
}

fn call_on_network(name: &str, network: (std::net::IpAddr, u8), rest: &[Value]) -> Outcome {
    let invalid = |text: &str| format!("parse error during conversion from string: \"{text}\"");
    match (name, rest) {
        ("containsIP", [Value::Ip(address)]) => Ok(Value::Bool(kubernetes::contains_ip(network, *address))),
        ("containsIP", [Value::String(text)]) => {
            let address = kubernetes::ip(text).ok_or_else(|| invalid(text))?;
            Ok(Value::Bool(kubernetes::contains_ip(network, address)))
        }
        ("containsCIDR", [Value::Cidr(address, bits)]) => {
            Ok(Value::Bool(kubernetes::contains_cidr(network, (*address, *bits))))
        }
        ("containsCIDR", [Value::String(text)]) => {
            let other = kubernetes::cidr(text).ok_or_else(|| invalid(text))?;
            Ok(Value::Bool(kubernetes::contains_cidr(network, other)))
        }
        ("ip", []) => Ok(Value::Ip(network.0)),
        ("prefixLength", []) => Ok(Value::Int(i64::from(network.1))),
        ("masked", []) => Ok(Value::Cidr(kubernetes::masked(network.0, network.1), network.1)),
        ("string", []) => {
            text::shown(&Value::Cidr(network.0, network.1)).map_or_else(no_overload, |text| Ok(Value::text(&text)))
        }
        _ => no_overload(),
    }
}

fn call_on_url(name: &str, url: &Url) -> Outcome {
    match name {
        "getScheme" => Ok(Value::text(&url.scheme)),
        "getHost" => Ok(Value::text(&url.host)),
        "getHostname" => Ok(Value::text(url.hostname())),
        "getPort" => Ok(Value::text(url.port())),
        "getEscapedPath" => Ok(Value::text(&url.path)),
        "getQuery" => {
            let texts = |values: Vec<String>| Value::list(values.iter().map(|value| Value::text(value)).collect());
            Ok(Value::map(url.query().into_iter().map(|(name, values)| (Value::text(&name), texts(values))).collect()))
        }
        _ => no_overload(),
    }
}
