// JSON as `nodesift-dev` prints it, for the cases of tests. Not for predicates: their arguments are read by `nodesift_args.c`.
#ifndef NODESIFT_TEST_JSON_H
#define NODESIFT_TEST_JSON_H

#include "nodesift_test_state.h"

typedef enum ns_json_kind { NS_JSON_NULL, NS_JSON_FALSE, NS_JSON_TRUE, NS_JSON_NUMBER, NS_JSON_TEXT, NS_JSON_LIST, NS_JSON_MAP } ns_json_kind;

// A value. `text` is that of a text, or of a number as it is written. A list has items, and a map as many keys as items.
typedef struct ns_json {
    ns_json_kind kind;
    const char *text;
    struct ns_json *items;
    const char **keys;
    size_t count;
    // The text that it was read from.
    const char *from;
    size_t length;
} ns_json;

// Reads a value; false where the text is none. A text with a zero in it ends there.
bool ns_json_read(const char *text, ns_json *value);
// The value of a key of a map; NULL where it is not there, or null.
const ns_json *ns_json_at(const ns_json *map, const char *key);
// The text of a key; NULL where it is not there.
const char *ns_json_text(const ns_json *map, const char *key);
// The integer of a key; 0 where it is not there.
int64_t ns_json_integer(const ns_json *map, const char *key);
bool ns_json_flag(const ns_json *map, const char *key);
// Writes a text with its quotes.
void ns_json_add(ns_test_buffer *to, const char *text, size_t length);

#endif
