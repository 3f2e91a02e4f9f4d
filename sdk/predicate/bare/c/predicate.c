// TeamIsolation with wit-bindgen: a pod with the label runs only on nodes that have the same label with the same value.
#include <stdlib.h>
#include <string.h>

#include "team_isolation.h"

typedef team_isolation_string_t text;

// The key of the label. It lasts as long as the instance.
static text key = {(uint8_t *)"example.com/team", 16};

// Memory of what is exported is freed by the generated code, so it is copied.
static text copied(const char *from) {
    text to;
    team_isolation_string_dup(&to, from);
    return to;
}

void exports_nodesift_predicate_predicate_describe(exports_nodesift_predicate_predicate_descriptor_t *ret) {
    ret->name = copied("TeamIsolation");
    ret->version = copied("0.1.0");
    ret->summary = copied("rejects nodes that belong to another team than the pod");
}

// Takes `{}` and `{"label":"key"}`; a real predicate has a parser of JSON.
bool exports_nodesift_predicate_predicate_configure(text *args, text *err) {
    static const char begin[] = "{\"label\":\"", end[] = "\"}";
    size_t around = sizeof(begin) - 1 + sizeof(end) - 1;
    if (args->len == 2 && memcmp(args->ptr, "{}", 2) == 0) return true;
    if (args->len > around && memcmp(args->ptr, begin, sizeof(begin) - 1) == 0
        && memcmp(args->ptr + args->len - 2, end, 2) == 0) {
        uint8_t *label = args->ptr + sizeof(begin) - 1;
        size_t length = args->len - around;
        // A quote ends the text before its end, and a backslash begins an escape.
        if (memchr(label, '"', length) != NULL || memchr(label, '\\', length) != NULL) {
            *err = copied("label: has an escape, or an unknown field comes after it");
            return false;
        }
        key.ptr = label;
        key.len = length;
        return true;
    }
    // The name of the first argument, as far as it can be read.
    const uint8_t *name = args->len > 2 ? args->ptr + 2 : NULL;
    const uint8_t *after = name == NULL ? NULL : memchr(name, '"', args->len - 2);
    size_t length = after == NULL ? 0 : (size_t)(after - name);
    static const char unknown[] = ": unknown field";
    err->len = length + sizeof(unknown) - 1;
    err->ptr = malloc(err->len);
    if (err->ptr == NULL) abort();
    if (length > 0) memcpy(err->ptr, name, length);
    memcpy(err->ptr + length, unknown, sizeof(unknown) - 1);
    return false;
}

void exports_nodesift_predicate_predicate_filter(uint32_t rows, exports_nodesift_predicate_predicate_verdict_t *ret) {
    text team;
    if (!nodesift_predicate_pod_labels_label(&key, &team)) {
        ret->tag = EXPORTS_NODESIFT_PREDICATE_PREDICATE_VERDICT_FITS_ALL;
        return;
    }
    // A column has a code per row, and equal texts have equal codes. No code: no node has it.
    uint32_t wanted = UINT32_MAX;
    if (!nodesift_predicate_node_labels_code(&key, &team, &wanted)) wanted = UINT32_MAX;
    team_isolation_list_u32_t column;
    nodesift_predicate_node_labels_column(&key, &column);
    exports_nodesift_predicate_predicate_outcome_t *outcome = &ret->val.by_row;
    ret->tag = EXPORTS_NODESIFT_PREDICATE_PREDICATE_VERDICT_BY_ROW;
    outcome->codes.ptr = malloc(rows * sizeof(uint16_t) + 1);
    outcome->codes.len = rows;
    exports_nodesift_predicate_predicate_failure_t *failure = malloc(sizeof(*failure));
    text *reason = malloc(sizeof(*reason));
    if (outcome->codes.ptr == NULL || failure == NULL || reason == NULL) abort();
    for (uint32_t row = 0; row < rows; row++) outcome->codes.ptr[row] = column.ptr[row] == wanted ? 0 : 1;
    *reason = copied("node(s) didn't belong to the pod's team");
    failure->status = EXPORTS_NODESIFT_PREDICATE_PREDICATE_STATUS_UNSCHEDULABLE_AND_UNRESOLVABLE;
    failure->reasons.ptr = reason;
    failure->reasons.len = 1;
    outcome->failures.ptr = failure;
    outcome->failures.len = 1;
    team_isolation_string_free(&team);
    team_isolation_list_u32_free(&column);
}
