// The component: what the host calls. Empty elsewhere.
#ifdef __wasm__

#include "nodesift.h"

#define EXPORT(name) __attribute__((export_name("nodesift:predicate/predicate@" NS_CONTRACT_VERSION "#" name)))

static const void *arguments;

static ns_text text_of(const char *text) { return (ns_text){text, text == NULL ? 0 : __builtin_strlen(text)}; }

EXPORT("describe") const ns_predicate_descriptor *export_describe(void) {
    static ns_predicate_descriptor descriptor;
    descriptor.name = text_of(nodesift_predicate.name);
    descriptor.version = text_of(nodesift_predicate.version);
    descriptor.summary = text_of(nodesift_predicate.summary);
    return &descriptor;
}

EXPORT("configure") const void *export_configure(const char *json, size_t length) {
    static struct {
        bool is_error;
        ns_text error;
    } result;
    const char *refused = ns_configure(&nodesift_predicate, (ns_text){json, length}, &arguments);
    result.is_error = refused != NULL;
    result.error = text_of(refused);
    ns_memory_keep();
    return &result;
}

EXPORT("filter") const ns_predicate_verdict *export_filter(uint32_t rows) {
    static ns_predicate_verdict verdict;
    ns_memory_reuse();
    verdict = ns_run(&nodesift_predicate, arguments, rows);
    return &verdict;
}

const ns_scores *ns_guest_score(uint32_t rows) {
    ns_memory_reuse();
    return ns_score(&nodesift_predicate, arguments, rows);
}

#endif
