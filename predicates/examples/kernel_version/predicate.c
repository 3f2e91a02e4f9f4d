// KernelVersion: a pod with the annotation `example.com/kernel: 6.6` runs only on nodes with this kernel or a later one. A pod without the
// annotation runs on every node.
#include "nodesift.h"

// Preempting pods does not change the kernel of a node.
static const ns_failure too_old = NS_UNRESOLVABLE("node(s) had an older kernel than the pod needs");
static const ns_failure unreadable = NS_UNRESOLVABLE("node(s) had a kernel version that cannot be read");
static const ns_failure not_a_version = NS_UNRESOLVABLE("the pod's kernel version is not like 6, 6.6 or 6.6.12");

// What a policy can set. Arguments of another name are refused.
struct args {
    // The key of the annotation of pods. It must also be among `spec.facts.annotations` of the policy.
    ns_text annotation;
};

static const ns_field fields[] = {NS_ARG_TEXT(struct args, annotation, .not_empty = true), NS_END};

static const struct args defaults = {.annotation = NS_STATIC("example.com/kernel")};

// Numbers of a version that are compared: those of `6.6.12` in `6.6.12-1-amd64`. What is left out is 0.
#define NUMBERS 3
// The greatest number: far above any version, and ten times it fits 32 bits.
#define GREATEST 100000000u

typedef struct version {
    uint32_t numbers[NUMBERS];
} version;

static bool is_digit(ns_text text, size_t at) {
    return at < text.length && text.data[at] >= '0' && text.data[at] <= '9';
}

// Reads the numbers at the beginning of a text. Whether there is at least one; `rest` is where they end.
static bool read_version(ns_text text, version *into, size_t *rest) {
    *into = (version){{0}};
    size_t at = 0;
    for (size_t number = 0; number < NUMBERS; number++) {
        size_t begin = at;
        for (; is_digit(text, at); at++) {
            if (into->numbers[number] >= GREATEST) return false;
            into->numbers[number] = into->numbers[number] * 10 + (uint32_t)(text.data[at] - '0');
        }
        if (at == begin) return false;
        // A point belongs to the version where a number follows it.
        if (number + 1 == NUMBERS || at == text.length || text.data[at] != '.' || !is_digit(text, at + 1)) break;
        at++;
    }
    *rest = at;
    return true;
}

static bool is_older(const version *a, const version *b) {
    for (size_t number = 0; number < NUMBERS; number++) {
        if (a->numbers[number] != b->numbers[number]) return a->numbers[number] < b->numbers[number];
    }
    return false;
}

static const ns_failure *filter(ns_nodes *nodes, const void *given) {
    const struct args *args = given;
    ns_text text;
    version wanted;
    size_t rest;
    if (!ns_pod_annotation(args->annotation, &text)) return NULL;
    if (!read_version(text, &wanted, &rest) || rest != text.length) return &not_a_version;
    // Once per different kernel, not once per node. Code 0 is a node that does not say its kernel: the text is empty, so it cannot be read.
    ns_list_text kernels = ns_node_info_dictionary(NS_NODE_INFO_FIELD_KERNEL_VERSION);
    const ns_failure **failures = ns_alloc(kernels.length * sizeof(*failures));
    for (size_t code = 0; code < kernels.length; code++) {
        version kernel;
        if (!read_version(kernels.items[code], &kernel, &rest)) failures[code] = &unreadable;
        else failures[code] = is_older(&kernel, &wanted) ? &too_old : NULL;
    }
    ns_list_u32 codes = ns_node_info_column(NS_NODE_INFO_FIELD_KERNEL_VERSION);
    for (uint32_t row = 0; row < nodes->count; row++) {
        const ns_failure *failure = failures[codes.items[row]];
        if (failure != NULL) ns_reject_row(nodes, row, failure);
    }
    return NULL;
}

NODESIFT_PREDICATE(
    .name = "KernelVersion",
    .version = "0.1.0",
    .summary = "rejects nodes with an older kernel than the pod needs",
    .args = fields, .args_size = sizeof(struct args), .defaults = &defaults,
    .filter = filter);
