// The cases of `cases.yaml` as tests: evaluated here, without the sandbox. `nodesift-dev` reads the file, and compares what was found with
// what the case expects. Start at `ns_test_run_cases`.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nodesift_test_json.h"

// Files of cases of one program.
#define MAX_FILES 16

static const char *files[MAX_FILES];
static size_t file_count;

void ns_test_register_cases(const char *file) {
    if (file_count == MAX_FILES) abort();
    files[file_count++] = file;
}

// ---- The program that reads cases

// A word of a command of the shell.
static void quote(ns_test_buffer *to, const char *word) {
    ns_test_add(to, " '");
    for (; *word != 0; word++) ns_test_add(to, *word == '\'' ? "'\\''" : "%c", *word);
    ns_test_add(to, "'");
}

// What `nodesift-dev module cases` prints about a file, with the answers in another file where there are some.
static const ns_json *asked(const char *file, const char *answers) {
    const char *program = getenv("NODESIFT_DEV");
    ns_test_buffer command = {0}, printed = {0};
    quote(&command, program == NULL ? "nodesift-dev" : program);
    ns_test_add(&command, " module cases");
    quote(&command, file);
    if (answers != NULL) {
        ns_test_add(&command, " --answers");
        quote(&command, answers);
    }
    fflush(stdout);
    FILE *out = popen(command.data, "r");
    if (out == NULL) ns_test_fail(file, 0, "the shell does not run");
    char part[4096];
    ns_test_add(&printed, "%s", "");
    for (size_t length; (length = fread(part, 1, sizeof part, out)) > 0;) ns_test_add(&printed, "%.*s", (int)length, part);
    // It has said why.
    if (pclose(out) != 0) ns_test_fail(file, 0, "nodesift-dev, or the program that NODESIFT_DEV names, does not read it");
    ns_json *document = ns_test_alloc(sizeof *document);
    if (!ns_json_read(printed.data, document)) ns_test_fail(file, 0, "what nodesift-dev prints about it is no JSON");
    const ns_json *cases = ns_json_at(document, "cases");
    if (cases == NULL || cases->kind != NS_JSON_LIST) ns_test_fail(file, 0, "nodesift-dev prints no cases of it");
    return cases;
}

// ---- JSON → a cluster. Lists end with an empty entry.

static const ns_pair *pairs(const ns_json *map) {
    if (map == NULL) return NULL;
    ns_pair *made = ns_test_alloc((map->count + 1) * sizeof *made);
    for (size_t index = 0; index < map->count; index++) made[index] = (ns_pair){map->keys[index], map->items[index].text};
    return made;
}

static const ns_amount *amounts(const ns_json *map) {
    if (map == NULL) return NULL;
    ns_amount *made = ns_test_alloc((map->count + 1) * sizeof *made);
    for (size_t index = 0; index < map->count; index++) {
        made[index] = (ns_amount){map->keys[index], strtoll(map->items[index].text, NULL, 10)};
    }
    return made;
}

static const char *const *names(const ns_json *list) {
    if (list == NULL) return NULL;
    const char **made = ns_test_alloc((list->count + 1) * sizeof *made);
    for (size_t index = 0; index < list->count; index++) made[index] = list->items[index].text;
    return made;
}

static const int *ports(const ns_json *list) {
    if (list == NULL) return NULL;
    int *made = ns_test_alloc((list->count + 1) * sizeof *made);
    for (size_t index = 0; index < list->count; index++) made[index] = atoi(list->items[index].text);
    return made;
}

static ns_pod_tolerations_effect effect(const char *text) {
    if (strcmp(text, "NoSchedule") == 0) return NS_POD_TOLERATIONS_EFFECT_NO_SCHEDULE;
    if (strcmp(text, "PreferNoSchedule") == 0) return NS_POD_TOLERATIONS_EFFECT_PREFER_NO_SCHEDULE;
    if (strcmp(text, "NoExecute") == 0) return NS_POD_TOLERATIONS_EFFECT_NO_EXECUTE;
    return NS_POD_TOLERATIONS_EFFECT_OTHER;
}

static const ns_pod_tolerations_toleration *tolerations(const ns_json *list, size_t *count) {
    *count = list == NULL ? 0 : list->count;
    ns_pod_tolerations_toleration *made = ns_test_alloc(*count * sizeof *made);
    for (size_t index = 0; index < *count; index++) {
        const ns_json *from = &list->items[index];
        const char *operator_ = ns_json_text(from, "operator"), *about = ns_json_text(from, "effect");
        made[index].key = ns_test_text(ns_json_text(from, "key"));
        made[index].value = ns_test_text(ns_json_text(from, "value"));
        made[index].operator_ = strcmp(operator_, "Equal") == 0    ? NS_POD_TOLERATIONS_OPERATOR_EQUAL
                                : strcmp(operator_, "Exists") == 0 ? NS_POD_TOLERATIONS_OPERATOR_EXISTS
                                                                   : NS_POD_TOLERATIONS_OPERATOR_OTHER;
        made[index].effect.is_some = about != NULL;
        if (about != NULL) made[index].effect.value = effect(about);
    }
    return made;
}

static const ns_test_taint *taints(const ns_json *list) {
    if (list == NULL) return NULL;
    ns_test_taint *made = ns_test_alloc((list->count + 1) * sizeof *made);
    for (size_t index = 0; index < list->count; index++) {
        const ns_json *from = &list->items[index];
        made[index] = (ns_test_taint){ns_json_text(from, "key"), ns_json_text(from, "value"), effect(ns_json_text(from, "effect"))};
    }
    return made;
}

static ns_test_pod pod(const ns_json *from) {
    ns_test_pod made = {
        .namespace_name = ns_json_text(from, "namespace"),
        .labels = pairs(ns_json_at(from, "labels")),
        .annotations = pairs(ns_json_at(from, "annotations")),
        .node_selector = pairs(ns_json_at(from, "nodeSelector")),
        .node_name = ns_json_text(from, "nodeName"),
        .requests = amounts(ns_json_at(from, "requests")),
        .priority = (int32_t)ns_json_integer(from, "priority"),
        .priority_class = ns_json_text(from, "priorityClass"),
        .service_account = ns_json_text(from, "serviceAccount"),
        .runtime_class = ns_json_text(from, "runtimeClass"),
        .scheduler_name = ns_json_text(from, "schedulerName"),
        .host_network = ns_json_flag(from, "hostNetwork"),
        .images = names(ns_json_at(from, "images")),
        .container_images = names(ns_json_at(from, "containerImages")),
        .non_zero_requests = amounts(ns_json_at(from, "nonZeroRequests")),
        .host_ports = ports(ns_json_at(from, "hostPorts")),
        .name = ns_json_text(from, "name"),
        .terminating = ns_json_flag(from, "terminating"),
    };
    made.tolerations = tolerations(ns_json_at(from, "tolerations"), &made.toleration_count);
    const ns_json *controller = ns_json_at(from, "controller");
    if (controller != NULL) {
        ns_pod_owner_owner *owner = ns_test_alloc(sizeof *owner);
        owner->api_version = ns_test_text(ns_json_text(controller, "apiVersion"));
        owner->kind = ns_test_text(ns_json_text(controller, "kind"));
        owner->name = ns_test_text(ns_json_text(controller, "name"));
        made.controller = owner;
        made.controller_uid = ns_json_text(controller, "uid");
    }
    return made;
}

// Names of the fields of `info`, in the order of the contract.
static const char *const info[] = {"kubelet-version",  "kernel-version", "container-runtime-version", "os-image",
                                   "operating-system", "architecture",   "provider-id"};
_Static_assert(sizeof info / sizeof *info == NS_NODE_INFO_FIELD_PROVIDER_ID + 1, "a name for each field");

static ns_test_node node(const ns_json *from) {
    ns_test_node made = {
        .name = ns_json_text(from, "name"),
        .labels = pairs(ns_json_at(from, "labels")),
        .annotations = pairs(ns_json_at(from, "annotations")),
        .unschedulable = ns_json_flag(from, "unschedulable"),
        .taints = taints(ns_json_at(from, "taints")),
        .allocatable = amounts(ns_json_at(from, "allocatable")),
        .sums = amounts(ns_json_at(from, "sums")),
        .pod_limit = ns_json_integer(from, "podLimit"),
        .conditions = pairs(ns_json_at(from, "conditions")),
        .images = names(ns_json_at(from, "images")),
        .image_sizes = amounts(ns_json_at(from, "imageSizes")),
        .created = ns_json_integer(from, "created"),
    };
    for (size_t field = 0; field < sizeof info / sizeof *info; field++) {
        made.info[field] = ns_json_text(ns_json_at(from, "info"), info[field]);
    }
    return made;
}

static const ns_test_namespace *namespaces(const ns_json *map) {
    if (map == NULL) return NULL;
    ns_test_namespace *made = ns_test_alloc((map->count + 1) * sizeof *made);
    for (size_t index = 0; index < map->count; index++) made[index] = (ns_test_namespace){map->keys[index], pairs(&map->items[index])};
    return made;
}

static const ns_test_entry *entries(const ns_json *maps) {
    size_t count = 0, at = 0;
    for (size_t map = 0; maps != NULL && map < maps->count; map++) count += maps->items[map].count;
    ns_test_entry *made = ns_test_alloc((count + 1) * sizeof *made);
    for (size_t map = 0; maps != NULL && map < maps->count; map++) {
        const ns_json *data = &maps->items[map];
        for (size_t key = 0; key < data->count; key++) made[at++] = (ns_test_entry){maps->keys[map], data->keys[key], data->items[key].text};
    }
    return made;
}

static ns_test_cluster cluster(const ns_json *from) {
    const ns_json *nodes = ns_json_at(from, "nodes"), *pods = ns_json_at(from, "pods");
    ns_test_cluster made = {
        .pod = pod(ns_json_at(from, "pod")),
        .count = nodes == NULL ? 0 : nodes->count,
        .pod_count = pods == NULL ? 0 : pods->count,
        .namespaces = namespaces(ns_json_at(from, "namespaces")),
        .scheduler_names = names(ns_json_at(from, "schedulerNames")),
        .device_class_resources = names(ns_json_at(from, "deviceClassResources")),
        .now = ns_json_integer(from, "now"),
        .entries = entries(ns_json_at(from, "configMaps")),
    };
    ns_test_node *all = ns_test_alloc(made.count * sizeof *all);
    for (size_t row = 0; row < made.count; row++) all[row] = node(&nodes->items[row]);
    made.nodes = all;
    ns_test_pod *on = ns_test_alloc(made.pod_count * sizeof *on);
    for (size_t index = 0; index < made.pod_count; index++) on[index] = pod(&pods->items[index]);
    made.pods = on;
    return made;
}

// ---- Answers

// Names of the status codes, as cases have them.
static const char *code(const ns_failure *failure) {
    if (failure->status == NS_PREDICATE_STATUS_UNSCHEDULABLE) return "Unschedulable";
    return failure->status == NS_PREDICATE_STATUS_ERROR ? "Error" : "UnschedulableAndUnresolvable";
}

static void add_text(ns_test_buffer *to, const char *text) { ns_json_add(to, text, strlen(text)); }

// The rejected nodes and the lines of an evaluation.
static void add_verdict(ns_test_buffer *to, const ns_test_cluster *cluster, const ns_failure **failures) {
    const char *separator = "";
    ns_test_add(to, ",\"rejected\":{");
    for (size_t row = 0; row < cluster->count; row++) {
        if (failures[row] == NULL) continue;
        ns_test_add(to, "%s", separator);
        add_text(to, cluster->nodes[row].name);
        ns_test_add(to, ":{\"code\":\"%s\",\"reasons\":[", code(failures[row]));
        for (size_t index = 0; index < failures[row]->reasons.length; index++) {
            if (index > 0) ns_test_add(to, ",");
            ns_json_add(to, failures[row]->reasons.items[index].data, failures[row]->reasons.items[index].length);
        }
        ns_test_add(to, "]}");
        separator = ",";
    }
    ns_test_add(to, "},\"log\":[");
    size_t count;
    const ns_test_line *lines = ns_test_written(&count);
    for (size_t index = 0; index < count; index++) {
        ns_test_add(to, "%s{\"level\":\"%s\",\"text\":", index == 0 ? "" : ",", ns_test_levels[lines[index].level]);
        add_text(to, lines[index].text);
        ns_test_add(to, "}");
    }
    ns_test_add(to, "]");
}

static ns_test_buffer answer(const ns_json *one) {
    ns_test_buffer text = {0};
    ns_test_add(&text, "[{\"name\":");
    add_text(&text, ns_json_text(one, "name"));
    const ns_json *given = ns_json_at(one, "args");
    const void *args;
    const char *refused = ns_configure(&nodesift_predicate, given == NULL ? NS("{}") : (ns_text){given->from, given->length}, &args);
    if (refused != NULL) {
        ns_test_add(&text, ",\"refused\":");
        add_text(&text, refused);
    } else {
        ns_test_cluster of = cluster(ns_json_at(one, "cluster"));
        const char *panic;
        const ns_failure **failures = ns_test_try(&of, args, &panic);
        if (panic == NULL) {
            add_verdict(&text, &of, failures);
        } else {
            ns_test_add(&text, ",\"fault\":");
            add_text(&text, panic);
        }
    }
    ns_test_add(&text, "}]");
    return text;
}

// Runs a case. Ends the program where it fails.
static void run(const char *file, const ns_json *one) {
    char answers[] = "/tmp/nodesift-answers-XXXXXX";
    int to = mkstemp(answers);
    ns_test_buffer text = answer(one);
    if (to < 0 || write(to, text.data, text.length) != (ssize_t)text.length) ns_test_fail(file, 0, "no file can be written into /tmp");
    close(to);
    const ns_json *cases = asked(file, answers);
    unlink(answers);
    const char *failure = cases->count == 1 ? ns_json_text(&cases->items[0], "failure") : "nodesift-dev answers about another case";
    if (failure == NULL) return;
    fflush(stdout);
    fprintf(stderr, "FAILED\n%s", failure);
    exit(1);
}

size_t ns_test_run_cases(void) {
    size_t passed = 0;
    for (size_t index = 0; index < file_count; index++) {
        const ns_json *cases = asked(files[index], NULL);
        for (size_t number = 0; number < cases->count; number++) {
            const ns_json *one = &cases->items[number];
            const char *skip = ns_json_text(one, "skip");
            printf("case %s ... ", ns_json_text(one, "name"));
            fflush(stdout);
            if (skip == NULL) run(files[index], one);
            passed += skip == NULL;
            printf("%s%s\n", skip == NULL ? "ok" : "not run: ", skip == NULL ? "" : skip);
        }
    }
    return passed;
}
