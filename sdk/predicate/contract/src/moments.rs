//! Columns of moments in the SDKs for JavaScript, Python, Go and C: in the classes of nodes, and as fields of nodes in tests.

use std::fmt::Write as _;

use crate::model::{Contract, Function, Interface};
use crate::output::Output;
use crate::text::{camel, lower_camel, snake};

/// The unit of a moment, as the generated documentation of every language words it.
const SECONDS: &str = "in seconds since 1970";

fn moments(contract: &Contract) -> impl Iterator<Item = (&Interface, &Function)> {
    contract.facts().filter(|(_, function)| function.is_moment())
}

/// A text per moment, one after the other.
fn each(contract: &Contract, text: impl Fn(&str, &str) -> String) -> String {
    moments(contract).map(|(interface, function)| text(&interface.name, &function.name)).collect()
}

/// All files and regions.
#[must_use]
pub fn outputs(contract: &Contract) -> Vec<Output> {
    let path = |path: &str| format!("sdk/predicate/{path}");
    let mut outputs = vec![
        Output::file(&path("js/src/moments.js"), js(contract)),
        Output::file(&path("python/src/nodesift/_moments.py"), python(contract)),
        Output::file(&path("python/src/nodesift/testing/moments.py"), python_testing(contract)),
        Output::file(&path("go/moments.go"), go(contract)),
    ];
    let declared = |begin: &str, kind: &str| {
        each(contract, |of, name| {
            format!("  /** `{name}` of nodes, {SECONDS}. Reads `{of}`. */\n  {begin}{}{kind};\n", lower_camel(name))
        })
    };
    let field = |text: &dyn Fn(&str, &str) -> String| each(contract, text);
    outputs.extend([
        Output::region(&path("js/types/index.d.ts"), "moments of a node", declared("readonly ", ": number")),
        Output::region(&path("js/types/index.d.ts"), "moments of nodes", declared("readonly ", ": readonly number[]")),
        Output::region(&path("js/types/testing.d.ts"), "moments", declared("", "?: number")),
        Output::region(
            &path("go/nodesifttest/objects.go"),
            "fields",
            field(&|of, name| {
                let camel = camel(name);
                format!("\t// {camel} is `{name}` of {of}, {SECONDS}; 0 is absent.\n\t{camel} int64\n")
            }),
        ),
        Output::region(
            &path("go/nodesifttest/objects.go"),
            "functions",
            field(&|of, name| {
                format!(
                    "\thost.{}{1} = func() []int64 {{ return each(nodes, func(n Node) int64 {{ return moment(n.{1}) }}) }}\n",
                    camel(of),
                    camel(name)
                )
            }),
        ),
        Output::region(
            &path("c/nodesift_test.h"),
            "fields",
            field(&|of, name| {
                format!("    // `{name}` of {of}, {SECONDS}; 0 is absent.\n    int64_t {};\n", snake(name))
            }),
        ),
        Output::region(
            &path("c/nodesift_test.c"),
            "functions",
            field(&|of, name| {
                let (of, name) = (snake(of), snake(name));
                format!(
                    "static int64_t {name}_at(const ns_test_node *node, ns_text resource) {{\n    \
                     return (void)resource, node->{name} == 0 ? INT64_MIN : node->{name};\n}}\n\n\
                     ns_list_s64 ns_{of}_{name}(void) {{ return numbers({name}_at, NS(\"\")); }}\n"
                )
            }),
        ),
    ]);
    outputs
}

fn js(contract: &Contract) -> String {
    let entries = each(contract, |of, name| format!("  {}: '{of}',\n", lower_camel(name)));
    format!(
        "// Made from the contract by `make contract`; not to be edited.\n\
         /** Columns of moments: the interface of each, by its name in `Nodes`, in `Node` and in the contract. */\n\
         export const MOMENTS = {{\n{entries}}};\n"
    )
}

fn python(contract: &Contract) -> String {
    let mut text = String::from(
        "\"\"\"Moments of nodes. Made from the contract by `make contract`; not to be edited.\"\"\"\n\n\
         from typing import Any\n\nfrom ._host import facts\n\n\n\
         class NodesMoments:\n    \"\"\"Columns of moments, of `Nodes`.\"\"\"\n\n    __slots__ = ()\n    _column: Any\n",
    );
    text.push_str(&each(contract, |of, name| {
        let snake = snake(name);
        format!(
            "\n    @property\n    def {snake}(self) -> list[int]:\n        \
             \"\"\"`{name}` of nodes, {SECONDS}; -(2 ** 63) without one. Reads `{of}`.\"\"\"\n        \
             return self._column(\"{snake}\", lambda: facts(\"{of}\", \"nodes.{snake}\").{snake}())\n"
        )
    }));
    text.push_str(
        "\n\nclass NodeMoments:\n    \"\"\"Moments of one node, of `Node`.\"\"\"\n\n    __slots__ = ()\n    _nodes: Any\n    _row: int\n",
    );
    text.push_str(&each(contract, |of, name| {
        format!(
            "\n    @property\n    def {0}(self) -> int:\n        \
             \"\"\"`{name}` of the node, {SECONDS}; -(2 ** 63) without one. Reads `{of}`.\"\"\"\n        \
             return self._nodes.{0}[self._row]\n",
            snake(name)
        )
    }));
    text
}

fn python_testing(contract: &Contract) -> String {
    let fields = each(contract, |of, name| {
        format!("    {}: int = NO_TIME\n    \"\"\"`{name}` of `{of}`, {SECONDS}.\"\"\"\n", snake(name))
    });
    let functions = each(contract, |of, name| format!("    (\"{of}\", \"{}\"),\n", snake(name)));
    format!(
        "\"\"\"Moments of nodes in tests. Made from the contract by `make contract`; not to be edited.\"\"\"\n\n\
         from dataclasses import dataclass\n\nNO_TIME = -(2**63)\n\"\"\"Stands for a moment that is not there.\"\"\"\n\n\
         MOMENTS = (\n{functions})\n\"\"\"Interface and function of each.\"\"\"\n\n\n\
         @dataclass(kw_only=True)\nclass Moments:\n    \"\"\"The moments of a node.\"\"\"\n\n{fields}"
    )
}

fn go(contract: &Contract) -> String {
    let mut text = String::from(
        "// Code generated from the contract by `make contract`. DO NOT EDIT.\n\npackage nodesift\n\n\
         import \"github.com/nodesift/nodesift/sdk/predicate/go/facts\"\n",
    );
    for (interface, function) in moments(contract) {
        let (of, name) = (&interface.name, &function.name);
        let (camel_of, camel) = (camel(of), camel(name));
        let _ = writeln!(
            text,
            "\n// {camel} gives `{name}` of nodes, {SECONDS}; NoInteger without one. Reads {of}.\n\
             func (n *Nodes) {camel}() []int64 {{\n\t\
             return n.amount(moment, \"{of}.{name}\", func(string) []int64 {{ return facts.{camel_of}{camel}() }})\n}}\n\n\
             // {camel} gives `{name}` of the node, {SECONDS}; NoInteger without one. Reads {of}.\n\
             func (n *Node) {camel}() int64 {{ return n.nodes.{camel}()[n.row] }}"
        );
    }
    text
}
