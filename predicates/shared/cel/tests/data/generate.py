#!/usr/bin/env python3
"""Writes random expressions, one JSON a line, for the real compilers to answer: generate.py SEED COUNT.

A template of a type has slots: {int} is an expression of that type, {~int} one that is only dyn when compiled. A dollar names a closed
set of words. Templates favour what versions of Kubernetes differ in.
"""

import json
import random
import re
import sys

# Most templates inside each other.
DEPTH = 3

# Share of the slots that are filled by an expression whose type is dyn, or by one of any type.
DYN = 0.12
OTHER = 0.03

WORDS = {
    "name": ["x", "y", "device", "google", "int"],
    "field": ["a", "`a`", "`b-c`", "`d.e/f g`", "b", "`b`"],
    "order": ["<", "<=", ">", ">=", "==", "!="],
    "zone": ["'UTC'", "'Europe/Berlin'", "'America/New_York'", "'+02:30'", "'-00:45'", "'03:61'", "'x'", "''"],
    "part": ["getHours", "getMinutes", "getDayOfYear", "getDate", "getDayOfWeek", "getMilliseconds", "getFullYear"],
    "all": ["all", "exists", "exists_one", "existsOne"],
    # cel-go 0.26 makes lists of any length, until there is no memory.
    "count": ["0", "3", "48", "49", "60", "-1", "dyn(3)"],
    "pattern": ["'[a-z]+'", "'^$'", "r'\\d'", "'('", "'n'"],
}

TEMPLATES = {
    "bool": [
        "true", "false", "device.attributes['d.example.com'].ok", "device.allowMultipleAllocations",
        "({int} $order {int})", "({~int} $order {~double})", "({uint} $order {double})", "({string} $order {string})",
        "({list} == {list})", "({map} == {map})", "({optional} == {optional})", "({type} == {type})", "({~int} == {~string})",
        "({int} in {list})", "({~string} in {list})", "({~map} in {~list})", "({string} in {map})", "({~int} in {map})",
        "cel.bind(k, {~list}, k in {k: 1})", "cel.bind(k, {~quantity}, k in {k: 1, 'a': 2})", "({~list} in {{list}: 1})",
        "!{bool}", "({bool} && {bool})", "({bool} || {bool})", "({~int} > 0 || {bool})", "{~optional}.hasValue()",
        "{list}.$all(x, x > {int})", "{list}.$all(i, v, i == v)", "{map}.$all($name, $name == 'a')", "{list}.$all($name, .$name == 1)",
        "has({map}.$field)", "has({~map}.$field)", "has(.device.driver)", "has({'a': {map}}.a.$field)", "{list}.isSorted()",
        "{string}.matches($pattern)", "{~type}.matches($pattern)", "matches({~string}, $pattern)", "{string}.matches({string})",
        "{list}.includes({int})", "{~string}.includes({~int})", "lists.range($count).includes({int})", "[{quantity}].includes({quantity})",
        "({quantity} == {quantity})", "{quantity}.isLessThan({quantity})", "({quantity} in [{quantity}])", "sets.intersects({list}, {list})",
        "cel.bind($name, {bool}, .device.driver == 'd.example.com' && $name)", "cel.bind($name, {map}, .$name == $name)",
        "cel.bind($name, {'protobuf': {'Duration': {bool}}}, google.protobuf.Duration == type({duration}))",
        "google.protobuf.BoolValue{value: {bool}}", "google.protobuf.BoolValue{`value`: {bool}}", "dyn({bool})", "{~bool}",
        "[{bool}, {bool}].max()", "optional.of({bool}).orValue({bool})", "{~bool}.orValue({bool})",
    ],
    "int": [
        "0", "1", "-1", "7", "0x2a", "9223372036854775807", "-9223372036854775808", "device.attributes['d.example.com'].count",
        "({int} + {int})", "({int} - {int})", "({int} * {int})", "({int} / {int})", "({int} % {int})", "-{int}",
        "int({double})", "int({~string})", "int({~uint})", "size({list})", "{string}.size()", "{~map}.size()", "{list}.indexOf({int})",
        "{string}.indexOf({text})", "{string}.indexOf({text}, {small})", "{string}.lastIndexOf({text}, {small})",
        "{string}.lastIndexOf({text})", "{timestamp}.$part()", "{timestamp}.$part($zone)", "{duration}.getSeconds()", "{list}.sum()",
        "{list}.max()", "{list}[{small}]", "{map}[{text}]", "{map}.$field", "{~map}.$field", "{optional}.value()", "{optional}.orValue({int})",
        "{~int}.orValue({int})", "cel.bind(x, {int}, x + {int})", "cel.bind(x, {int}, .x + 1)", "({bool} ? {int} : {int})",
        "{quantity}.compareTo({quantity})", "google.protobuf.Int32Value{value: {int}}", "google.protobuf.Value{number_value: {double}}",
    ],
    "small": ["0", "1", "2", "3", "5", "47", "48", "60", "-1", "{int}"],
    "uint": ["0u", "1u", "18446744073709551615u", "uint({int})", "({uint} + {uint})", "({uint} - {uint})", "uint({~double})"],
    "double": ["0.0", "-0.0", "1.5", "1e308", "9007199254740993.0", "({double} * {double})", "({double} / {double})", "double({~string})"],
    "text": ["''", "'a'", "'ab'", "'ü'", "'abc'", "' '"],
    "string": [
        "''", "'abc'", "'aüa'", "'1'", "'NaN'", "device.driver", "device.attributes['d.example.com'].model", "({string} + {text})",
        "{string}.charAt({small})", "{string}.substring({small})", "{string}.replace({text}, {text})", "string({~int})", "string({double})",
        "string({duration})", "string({timestamp})", "'%s'.format([{~list}])", "'%d'.format([{~int}])", "'%.2f'.format([{double}])",
        "{~type}.find($pattern)", "{string}.find($pattern)", "{string}.lowerAscii()", "strings.quote({string})", "{~list}.join({text})",
    ],
    "list": [
        "[]", "[{int}]", "[{int}, {int}]", "[{int}, {~int}]", "[?{optional}, {int}]", "lists.range($count)", "({list} + {list})",
        "{list}.filter($name, $name > 0)", "{list}.map(x, x)", "{list}.map(x, x > 0, x)", "{list}.reverse()", "{list}.sort()",
        "{list}.distinct()", "{list}.sortBy(x, -x)", "{~list}.sortBy(x, x)", "[{~list}.sortBy(x, x), {list}][0]", "{list}.slice({small}, {small})",
        "[{list}, {list}].flatten()", "{list}.transformList(i, v, i + v)", "optional.unwrap([{optional}, {optional}])",
    ],
    "map": [
        "{}", "{'a': {int}}", "{'a': {int}, 'b-c': {int}}", "{'d.e/f g': {int}, 'b': {int}}", "{?'a': {optional}}", "{'a': {int}, 'a': {int}}",
        "{map}.transformMap(k, v, v)", "{list}.transformMapEntry(i, v, {string(i): v})", "({bool} ? {map} : {map})",
    ],
    "optional": [
        "optional.none()", "optional.of({int})", "optional.of({~int})", "optional.ofNonZeroValue({int})", "{map}.?$field", "{list}[?{small}]",
        "{optional}.or({optional})", "{optional}.optMap(x, x)", "{optional}.optMap(x, {int})", "{optional}.optFlatMap(x, optional.of(x))",
        "cel.bind(x, {optional}, x)", "({bool} ? {optional} : {optional})", "{list}.first()", "{~optional}.or({optional})",
    ],
    "quantity": [
        "quantity('1')", "quantity('1500m')", "device.capacity['d.example.com'].memory", "{quantity}.add({quantity})", "{quantity}.sub({int})",
        "cel.bind(x, optional.of({quantity}), x.value())", "optional.of({quantity}).orValue({quantity})", "[{quantity}][{small}]",
    ],
    "duration": ["duration('1h')", "duration('-1.5s')", "duration({int})", "({duration} + {duration})", "({timestamp} - {timestamp})"],
    "timestamp": ["timestamp(0)", "timestamp('2026-02-28T23:59:59.5Z')", "({timestamp} + {duration})", "timestamp({~int})"],
    "type": ["int", ".int", "type({~int})", "type({optional})", "optional_type", "google.protobuf.Duration", "google.protobuf.`Duration`"],
}


def expression(rng, of, depth):
    """A random expression of a type; with no depth left, one without slots if the type has any."""
    templates = TEMPLATES[of]
    if depth <= 0:
        templates = [template for template in templates if not re.search(r"\{~?[a-z]+\}", template)] or templates[:1]
    text = rng.choice(templates)
    words = {}

    def fill(slot):
        kind = slot.group(2)
        if rng.random() < OTHER:
            kind = rng.choice(sorted(TEMPLATES))
        inner = expression(rng, kind, depth - 1)
        return f"dyn({inner})" if slot.group(1) or rng.random() < DYN else inner

    def word(slot):
        # One name per template, so that the variable is what is read.
        return words.setdefault(slot.group(1), rng.choice(WORDS[slot.group(1)]))

    text = re.sub(r"\$([a-z]+)", word, text)
    return re.sub(r"\{(~?)(" + "|".join(TEMPLATES) + r")\}", fill, text)


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    rng = random.Random(seed)
    known = set()
    while len(known) < count:
        text = expression(rng, "bool", rng.randint(1, DEPTH))
        if text not in known and len(text) < 300:
            known.add(text)
            print(json.dumps({"expr": text}, ensure_ascii=False))


main()
