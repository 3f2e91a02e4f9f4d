// Reads and writes JSON. Start at `ns_json_read`.
#include <stdlib.h>
#include <string.h>

#include "nodesift_test_json.h"

static bool value(const char **at, ns_json *to);

static void space(const char **at) { *at += strspn(*at, " \t\r\n"); }

static bool next(const char **at, char wanted) {
    space(at);
    if (**at != wanted) return false;
    ++*at;
    return true;
}

// A code unit of four hexadecimal digits; -1 where there are none.
static long unit(const char *at) {
    long code = 0;
    for (int index = 0; index < 4; index++) {
        char c = at[index];
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
        if (digit < 0) return -1;
        code = code * 16 + digit;
    }
    return code;
}

static char *encode(char *to, unsigned long c) {
    if (c < 0x80) {
        *to++ = (char)c;
        return to;
    }
    if (c < 0x800) {
        *to++ = (char)(0xC0 | c >> 6);
    } else {
        if (c < 0x10000) {
            *to++ = (char)(0xE0 | c >> 12);
        } else {
            *to++ = (char)(0xF0 | c >> 18);
            *to++ = (char)(0x80 | (c >> 12 & 0x3F));
        }
        *to++ = (char)(0x80 | (c >> 6 & 0x3F));
    }
    *to++ = (char)(0x80 | (c & 0x3F));
    return to;
}

static bool string(const char **at, const char **text) {
    if (!next(at, '"')) return false;
    const char *end = *at;
    while (*end != 0 && *end != '"') end += *end == '\\' && end[1] != 0 ? 2 : 1;
    // It is never longer than it is written.
    char *made = ns_test_alloc((size_t)(end - *at)), *to = made;
    while (**at != '"') {
        if ((unsigned char)**at < ' ') return false;
        char c = *(*at)++;
        if (c != '\\') {
            *to++ = c;
            continue;
        }
        const char *plain = "\"\"\\\\//b\bf\fn\nr\rt\t", *found = plain;
        c = *(*at)++;
        if (c == 'u') {
            long code = unit(*at);
            if (code < 0) return false;
            *at += 4;
            if (code >= 0xD800 && code < 0xDC00 && (*at)[0] == '\\' && (*at)[1] == 'u') {
                code = 0x10000 + (code - 0xD800) * 0x400 + (unit(*at + 2) - 0xDC00);
                *at += 6;
            }
            to = encode(to, (unsigned long)code);
            continue;
        }
        while (*found != 0 && *found != c) found += 2;
        if (c == 0 || *found == 0) return false;
        *to++ = found[1];
    }
    ++*at;
    *to = 0;
    *text = made;
    return true;
}

// The items of a list or map, up to its end.
static bool items(const char **at, char end, ns_json *to) {
    if (next(at, end)) return true;
    do {
        to->items = realloc(to->items, (to->count + 1) * sizeof *to->items);
        to->keys = realloc(to->keys, (to->count + 1) * sizeof *to->keys);
        if (to->items == NULL || to->keys == NULL) abort();
        to->keys[to->count] = NULL;
        if (end == '}' && (!string(at, &to->keys[to->count]) || !next(at, ':'))) return false;
        if (!value(at, &to->items[to->count++])) return false;
    } while (next(at, ','));
    return next(at, end);
}

static bool one(const char **at, ns_json *to) {
    if (**at == '"') {
        to->kind = NS_JSON_TEXT;
        return string(at, &to->text);
    }
    if (next(at, '[')) {
        to->kind = NS_JSON_LIST;
        return items(at, ']', to);
    }
    if (next(at, '{')) {
        to->kind = NS_JSON_MAP;
        return items(at, '}', to);
    }
    static const struct { const char *word; ns_json_kind kind; } words[] = {
        {"null", NS_JSON_NULL}, {"true", NS_JSON_TRUE}, {"false", NS_JSON_FALSE}};
    for (size_t index = 0; index < sizeof words / sizeof *words; index++) {
        size_t length = strlen(words[index].word);
        if (strncmp(*at, words[index].word, length) != 0) continue;
        to->kind = words[index].kind;
        *at += length;
        return true;
    }
    size_t length = strspn(*at, "+-.0123456789eE");
    if (length == 0) return false;
    char *text = ns_test_alloc(length);
    memcpy(text, *at, length);
    *to = (ns_json){.kind = NS_JSON_NUMBER, .text = text};
    *at += length;
    return true;
}

static bool value(const char **at, ns_json *to) {
    *to = (ns_json){0};
    space(at);
    const char *from = *at;
    if (!one(at, to)) return false;
    to->from = from;
    to->length = (size_t)(*at - from);
    return true;
}

bool ns_json_read(const char *text, ns_json *to) {
    if (!value(&text, to)) return false;
    space(&text);
    return *text == 0;
}

const ns_json *ns_json_at(const ns_json *map, const char *key) {
    for (size_t index = 0; map != NULL && map->kind == NS_JSON_MAP && index < map->count; index++) {
        if (strcmp(map->keys[index], key) == 0) return map->items[index].kind == NS_JSON_NULL ? NULL : &map->items[index];
    }
    return NULL;
}

const char *ns_json_text(const ns_json *map, const char *key) {
    const ns_json *found = ns_json_at(map, key);
    return found == NULL ? NULL : found->text;
}

int64_t ns_json_integer(const ns_json *map, const char *key) {
    const char *text = ns_json_text(map, key);
    return text == NULL ? 0 : strtoll(text, NULL, 10);
}

bool ns_json_flag(const ns_json *map, const char *key) {
    const ns_json *found = ns_json_at(map, key);
    return found != NULL && found->kind == NS_JSON_TRUE;
}

void ns_json_add(ns_test_buffer *to, const char *text, size_t length) {
    ns_test_add(to, "\"");
    for (size_t index = 0; index < length; index++) {
        unsigned char c = (unsigned char)text[index];
        if (c == '"' || c == '\\') ns_test_add(to, "\\%c", c);
        else if (c < ' ') ns_test_add(to, "\\u%04x", c);
        else ns_test_add(to, "%c", c);
    }
    ns_test_add(to, "\"");
}
