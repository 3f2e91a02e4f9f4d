// DiskWriters: no two pods with the label `example.com/disk-io: heavy` write to one disk. A node label names the disk, which several nodes
// can share: virtual machines of one host, or nodes on one volume of an array. A pod without the label runs on every node.
#include "nodesift.h"

// A writer that is preempted leaves its disk to the pod.
static const ns_failure in_use = NS_UNSCHEDULABLE("node(s) shared a disk with a pod that writes heavily");

// What a policy can set. Arguments of another name are refused.
struct args {
    // The label of pods that write heavily: its key and its value.
    ns_text label, value;
    // The key of the node label that names the disk.
    ns_text disk;
    // How many such pods one disk takes.
    int64_t limit;
};

static const ns_field fields[] = {
    NS_ARG_TEXT(struct args, label, .not_empty = true),
    NS_ARG_TEXT(struct args, value, .not_empty = true),
    NS_ARG_TEXT(struct args, disk, .not_empty = true),
    NS_ARG_INTEGER(struct args, limit, .min = 1, .max = 1000),
    NS_END,
};

static const struct args defaults = {
    .label = NS_STATIC("example.com/disk-io"), .value = NS_STATIC("heavy"), .disk = NS_STATIC("example.com/disk"), .limit = 1};

// Pods on each node that write heavily, of every namespace, with those that are terminating: they write until they are gone.
static ns_list_u32 writers(const struct args *args) {
    ns_selectors_requirement heavy = {
        .key = args->label, .operator_ = NS_SELECTORS_OPERATOR_IN, .values = NS_TEXTS(args->value), .operator_text = NS("In")};
    ns_cluster_pods_pod_selector selector = {
        // No requirements of namespaces: every namespace.
        .namespace_requirements = {.is_some = true},
        .requirements = {&heavy, 1},
    };
    return ns_cluster_pods_matching((ns_list_cluster_pods_pod_selector){&selector, 1}, true);
}

static const ns_failure *filter(ns_nodes *nodes, const void *given) {
    const struct args *args = given;
    ns_text value;
    if (!ns_pod_label(args->label, &value) || !ns_equal(value, args->value)) return NULL;
    ns_list_u32 on_node = writers(args);
    const uint32_t *disks = ns_labels(nodes, args->disk)->codes;
    uint32_t last = 0;
    for (uint32_t row = 0; row < nodes->count; row++) last = disks[row] > last ? disks[row] : last;
    uint64_t *on_disk = ns_alloc(((size_t)last + 1) * sizeof(*on_disk));
    for (uint32_t disk = 0; disk <= last; disk++) on_disk[disk] = 0;
    for (uint32_t row = 0; row < nodes->count; row++) on_disk[disks[row]] += on_node.items[row];
    for (uint32_t row = 0; row < nodes->count; row++) {
        // Code 0: the node does not name its disk, and has one of its own.
        uint64_t count = disks[row] == 0 ? on_node.items[row] : on_disk[disks[row]];
        if (count >= (uint64_t)args->limit) ns_reject_row(nodes, row, &in_use);
    }
    return NULL;
}

NODESIFT_PREDICATE(
    .name = "DiskWriters",
    .version = "0.1.0",
    .summary = "rejects nodes that share a disk with enough pods that write heavily",
    .args = fields, .args_size = sizeof(struct args), .defaults = &defaults,
    .filter = filter);
