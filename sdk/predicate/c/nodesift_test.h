// Tests of a predicate or a scorer with plain pods and nodes, without wasm and without a sidecar:
//
//     NS_TEST(a_pod_without_a_team_fits_everywhere) {
//         ns_test_cluster cluster = {.nodes = nodes, .count = 3};
//         NS_CHECK_REJECTED(cluster, NULL);
//     }
//
// `make test` runs them. The same code of the SDK runs as in a component; only the functions of the host are those of
// `nodesift_test.c`, `nodesift_test_pods.c` and `nodesift_test_terms.c`. Every function of the contract answers; of what pods and nodes do not say, as their volumes,
// there is nothing, unless a test defines the function itself.
#ifndef NODESIFT_TEST_H
#define NODESIFT_TEST_H

#include "nodesift.h"

// Labels or annotations: NS_PAIRS({"team", "red"}, {"zone", "a"}).
typedef struct ns_pair {
    const char *key, *value;
} ns_pair;
#define NS_PAIRS(...) ((const ns_pair[]){__VA_ARGS__, {0}})

// Amounts: `cpu` in thousandths of a core, `memory` in bytes, others as a count: NS_AMOUNTS({"cpu", 4000}).
typedef struct ns_amount {
    const char *resource;
    int64_t amount;
} ns_amount;
#define NS_AMOUNTS(...) ((const ns_amount[]){__VA_ARGS__, {0}})

// Names: NS_NAMES("a", "b").
#define NS_NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

// Taints of a node: NS_TAINTS({"gpu", "only", NS_POD_TOLERATIONS_EFFECT_NO_SCHEDULE}).
typedef struct ns_test_taint {
    const char *key, *value;
    ns_pod_tolerations_effect effect;
} ns_test_taint;
#define NS_TAINTS(...) ((const ns_test_taint[]){__VA_ARGS__, {0}})

// Ports of a host: NS_PORTS(80, 443).
#define NS_PORTS(...) ((const int[]){__VA_ARGS__, 0})

// The pod that is filtered, or one on a node. What is left out is empty; the namespace is `default`, and the scheduler
// `default-scheduler`. Without labels of its namespace there is no such Namespace, unless the cluster has it.
typedef struct ns_test_pod {
    const char *namespace_name;
    const ns_pair *labels, *annotations, *namespace_labels, *node_selector;
    const char *node_name;
    const ns_pod_tolerations_toleration *tolerations;
    size_t toleration_count;
    const ns_amount *requests;
    int32_t priority;
    const char *priority_class, *service_account, *runtime_class, *scheduler_name;
    bool host_network;
    // Images of its containers, one each; the first container has the requests. Without images there is one container,
    // with the image `image`, as in cases.yaml.
    const char *const *images;
    // Take the place of what images and requests say of containers: images in the order of containers, and requests in which every
    // container counts that names no `cpu` or no `memory`.
    const char *const *container_images;
    const ns_amount *non_zero_requests;
    const ns_pod_owner_owner *controller;
    // Without it, one for each namespace, kind and name of a controller.
    const char *controller_uid;
    const int *host_ports;
    const char *name;
    // It has a deletion timestamp.
    bool terminating;
    // Required terms, and preferred terms with their weights, those of the anti-affinity positive too.
    ns_list_pod_affinity_term affinity, anti_affinity;
    ns_list_tuple_s32_pod_affinity_term preferred_affinity, preferred_anti_affinity;
    // The terms of its preferred node affinity.
    ns_option_list_pod_placement_preferred_term preferred_nodes;
} ns_test_pod;

// A node. What is left out is empty; the limit of pods is 110. `pods` are those on it besides those of the cluster that name it; where it
// is 0 and something is requested, there is one. `sums` are what accounting components say of the node and of the pods on it.
typedef struct ns_test_node {
    const char *name;
    const ns_pair *labels, *annotations;
    bool unschedulable;
    const ns_test_taint *taints;
    const ns_amount *allocatable, *requested, *sums;
    int64_t pods, pod_limit;
    // The status by the type: `True`, `False` or `Unknown`.
    const ns_pair *conditions;
    // Texts by `NS_NODE_INFO_FIELD_…`.
    const char *info[NS_NODE_INFO_FIELD_PROVIDER_ID + 1];
    const char *const *images;
    // Sizes of images in bytes; one that is only in `images` has the size 0.
    const ns_amount *image_sizes;
    // The pod does not fit on it by other predicates of the policy, which a scorer sees in `cluster-candidates`.
    bool infeasible;
    // contract: fields, made by `make contract`
    // `created` of node-age, in seconds since 1970; 0 is absent.
    int64_t created;
    // contract: end
} ns_test_node;

// An entry of a ConfigMap, `namespace/name`.
typedef struct ns_test_entry {
    const char *config_map, *key, *value;
} ns_test_entry;
#define NS_ENTRIES(...) ((const ns_test_entry[]){__VA_ARGS__, {0}})

// The labels of a Namespace.
typedef struct ns_test_namespace {
    const char *name;
    const ns_pair *labels;
} ns_test_namespace;
#define NS_NAMESPACES(...) ((const ns_test_namespace[]){__VA_ARGS__, {0}})

// A pod, nodes, pods on them, and the arguments as JSON; none are `{}`. The fields are those of `cases.yaml`.
typedef struct ns_test_cluster {
    ns_test_pod pod;
    const ns_test_node *nodes;
    size_t count;
    const char *args;
    // Pods on nodes: each has the `node_name` of its node.
    const ns_test_pod *pods;
    size_t pod_count;
    // Namespaces, besides those whose labels pods give.
    const ns_test_namespace *namespaces;
    // The schedulers whose pods are not foreign; `default-scheduler` where there are none. And extended resources that DeviceClasses provide.
    const char *const *scheduler_names, *const *device_class_resources;
    // The moment of the evaluation, in seconds since 1970, and the entries of ConfigMaps that a policy lists.
    int64_t now;
    const ns_test_entry *entries;
    // The predicate reads `cluster-…`: its verdict for a node may depend on the others.
    bool is_cluster_wide;
} ns_test_cluster;

// The rejected nodes in their order, each as a line `name: reason; reason`. The test fails where the arguments are refused, or the
// verdict for a node depends on the other nodes.
const char *ns_test_rejected(ns_test_cluster cluster);
// The raw scores of the nodes in their order, each as a line `name: score`, and `name: none` without one; or `skipped`, or `failed:
// reason`, alone. The test fails where the arguments are refused, or the score of a node depends on the other nodes.
const char *ns_test_scores(ns_test_cluster cluster);
// The scores from 0 to 100 that the host makes of raw scores, over the nodes that are not infeasible; otherwise as `ns_test_scores`. The
// test fails too where a score is not from 0 to 100.
const char *ns_test_normalized(ns_test_cluster cluster);
// Why these arguments are refused; NULL where they are not.
const char *ns_test_refused(const char *args);
// What the predicate has written in the log in the last evaluation, a line each, as `error: text`.
const char *ns_test_lines(void);

// Defines a test.
#define NS_TEST(name)                                                                                              \
    static void name(void);                                                                                        \
    __attribute__((constructor)) static void register_##name(void) { ns_test_register(#name, name); }              \
    static void name(void)
// Runs the cases of a file, each as a test: NS_CASES("cases.yaml"). `nodesift-dev` reads the file, and compares what was found with what
// the case expects, so that a case means the same as in `nodesift-dev module test`. A case that needs the sandbox, or facts that a cluster
// of tests does not have, is skipped with the reason.
#define NS_CASES(file) __attribute__((constructor)) static void register_cases(void) { ns_test_register_cases(file); }
// Fails the test where the rejected nodes are not these: lines as above, in order, or NULL for none.
#define NS_CHECK_REJECTED(cluster, ...)                                                                            \
    ns_test_compare(__FILE__, __LINE__, ns_test_rejected(cluster), (const char *const[]){__VA_ARGS__, NULL})
// Fails the test where the scores are not these: lines as above, in order.
#define NS_CHECK_SCORES(cluster, ...)                                                                              \
    ns_test_compare(__FILE__, __LINE__, ns_test_scores(cluster), (const char *const[]){__VA_ARGS__, NULL})
// Fails the test where the scores from 0 to 100 are not these: lines as above, in order.
#define NS_CHECK_NORMALIZED(cluster, ...)                                                                          \
    ns_test_compare(__FILE__, __LINE__, ns_test_normalized(cluster), (const char *const[]){__VA_ARGS__, NULL})
// Fails the test where the condition does not hold.
#define NS_CHECK(condition) ((condition) ? (void)0 : ns_test_fail(__FILE__, __LINE__, #condition))

void ns_test_register(const char *name, void (*run)(void));
void ns_test_register_cases(const char *file);
void ns_test_compare(const char *file, int line, const char *found, const char *const *expected);
_Noreturn void ns_test_fail(const char *file, int line, const char *what);

#endif
