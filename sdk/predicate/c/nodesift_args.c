// Reads the arguments of a policy, a JSON object, into a structure. A field of another name is refused, with its path. Start at
// `ns_configure`.
#include "nodesift.h"

// Bytes of a text about what is refused; what is longer is cut.
#define MESSAGE_BYTES 512
// Bytes of a value that such a text shows.
#define SHOWN_BYTES 40
// Objects and lists inside of each other.
#define MAX_DEPTH 32

// Where a value is: the field, and the place that holds it.
typedef struct path {
    const struct path *above;
    ns_text name;
    // In a list: the index; otherwise -1.
    int64_t index;
} path;

typedef struct reader {
    const char *at, *end;
} reader;

static char message[MESSAGE_BYTES];
static size_t message_length;

static void say(ns_text text) {
    for (size_t index = 0; index < text.length && message_length < MESSAGE_BYTES - 1; index++) {
        message[message_length++] = text.data[index];
    }
    // What is cut ends with a whole character.
    if (message_length == MESSAGE_BYTES - 1) {
        while (message_length > 0 && ((unsigned char)message[message_length - 1] & 0xC0) == 0x80) message_length--;
        if (message_length > 0 && (unsigned char)message[message_length - 1] >= 0xC0) message_length--;
    }
    message[message_length] = 0;
}

static ns_text text_of(const char *text) {
    size_t length = 0;
    while (text[length] != 0) length++;
    return (ns_text){text, length};
}

static void say_integer(int64_t value) {
    char digits[20];
    size_t at = sizeof digits;
    uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do {
        digits[--at] = (char)('0' + left % 10);
    } while ((left /= 10) != 0);
    if (value < 0) say(NS("-"));
    say((ns_text){digits + at, sizeof digits - at});
}

static void say_path(const path *of) {
    if (of->above == NULL) return;
    say_path(of->above);
    if (of->index >= 0) {
        say(NS("["));
        say_integer(of->index);
        say(NS("]"));
        return;
    }
    if (of->above->above != NULL) say(NS("."));
    say(of->name);
}

// Begins a message about a place.
static void refuse(const path *of) {
    message_length = 0;
    say_path(of);
    if (of->above != NULL) say(NS(": "));
}

static const char *refused(const path *of, ns_text reason) {
    refuse(of);
    say(reason);
    return message;
}

// ---- Tokens

static void space(reader *in) {
    while (in->at < in->end && (*in->at == ' ' || *in->at == '\t' || *in->at == '\n' || *in->at == '\r')) in->at++;
}

static bool next(reader *in, char wanted) {
    space(in);
    if (in->at == in->end || *in->at != wanted) return false;
    in->at++;
    return true;
}

static bool word(reader *in, ns_text wanted) {
    space(in);
    if ((size_t)(in->end - in->at) < wanted.length || !ns_equal((ns_text){in->at, wanted.length}, wanted)) return false;
    in->at += wanted.length;
    return true;
}

static const char not_json[] = "the arguments are not JSON";

static int hexadecimal(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// Four hexadecimal digits; -1 where there are none.
static int32_t unit(reader *in) {
    if (in->end - in->at < 4) return -1;
    int32_t value = 0;
    for (int index = 0; index < 4; index++) {
        int digit = hexadecimal(*in->at++);
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

static char *encode(char *to, uint32_t c) {
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xC0 | c >> 6);
        *to++ = (char)(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        *to++ = (char)(0xE0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 0x3F));
        *to++ = (char)(0x80 | (c & 0x3F));
    } else {
        *to++ = (char)(0xF0 | c >> 18);
        *to++ = (char)(0x80 | (c >> 12 & 0x3F));
        *to++ = (char)(0x80 | (c >> 6 & 0x3F));
        *to++ = (char)(0x80 | (c & 0x3F));
    }
    return to;
}

// A text; false where there is none. It is never longer than it is written.
static bool string(reader *in, ns_text *text) {
    if (!next(in, '"')) return false;
    const char *from = in->at;
    while (in->at < in->end && *in->at != '"') in->at += *in->at == '\\' && in->end - in->at > 1 ? 2 : 1;
    if (in->at == in->end) return false;
    reader inside = {from, in->at++};
    char *made = ns_alloc((size_t)(inside.end - inside.at)), *to = made;
    while (inside.at < inside.end) {
        char c = *inside.at++;
        if ((unsigned char)c < ' ') return false;
        if (c != '\\') {
            *to++ = c;
            continue;
        }
        switch (c = *inside.at++) {
        case '"': case '\\': case '/': *to++ = c; break;
        case 'b': *to++ = '\b'; break;
        case 'f': *to++ = '\f'; break;
        case 'n': *to++ = '\n'; break;
        case 'r': *to++ = '\r'; break;
        case 't': *to++ = '\t'; break;
        case 'u': {
            int32_t high = unit(&inside);
            if (high < 0) return false;
            if (high >= 0xD800 && high < 0xE000) {
                // The other half follows at once.
                bool is_pair = high < 0xDC00 && inside.end - inside.at >= 2 && inside.at[0] == '\\' && inside.at[1] == 'u';
                if (!is_pair) return false;
                inside.at += 2;
                int32_t low = unit(&inside);
                if (low < 0xDC00 || low > 0xDFFF) return false;
                high = 0x10000 + (high - 0xD800) * 0x400 + (low - 0xDC00);
            }
            to = encode(to, (uint32_t)high);
            break;
        }
        default: return false;
        }
    }
    *text = (ns_text){made, (size_t)(to - made)};
    return true;
}

// Goes over a value of any kind; false where there is none.
static bool skip(reader *in, int depth) {
    ns_text ignored;
    if (depth > MAX_DEPTH) return false;
    if (word(in, NS("null")) || word(in, NS("true")) || word(in, NS("false")) || string(in, &ignored)) return true;
    if (next(in, '[')) {
        if (next(in, ']')) return true;
        do {
            if (!skip(in, depth + 1)) return false;
        } while (next(in, ','));
        return next(in, ']');
    }
    if (next(in, '{')) {
        if (next(in, '}')) return true;
        do {
            if (!string(in, &ignored) || !next(in, ':') || !skip(in, depth + 1)) return false;
        } while (next(in, ','));
        return next(in, '}');
    }
    const char *from = in->at;
    while (in->at < in->end && ((*in->at >= '0' && *in->at <= '9') || *in->at == '-' || *in->at == '+' || *in->at == '.' ||
                                *in->at == 'e' || *in->at == 'E')) {
        in->at++;
    }
    return in->at > from;
}

// ---- Values

static const char *wrong(reader *in, const path *of, ns_text expected) {
    space(in);
    const char *from = in->at;
    if (!skip(in, 0)) return not_json;
    refuse(of);
    say(NS("expected "));
    say(expected);
    say(NS(", not "));
    size_t length = (size_t)(in->at - from);
    bool is_long = length > SHOWN_BYTES;
    if (is_long) {
        length = SHOWN_BYTES;
        while (length > 0 && ((unsigned char)from[length] & 0xC0) == 0x80) length--;
    }
    say((ns_text){from, length});
    if (is_long) say(NS("…"));
    return message;
}

// An integer without fraction and exponent that fits 64 bits.
static bool integer(reader *in, int64_t *value) {
    reader from = *in;
    space(&from);
    bool is_negative = next(&from, '-');
    const char *first = from.at;
    uint64_t sum = 0, limit = (uint64_t)INT64_MAX + (is_negative ? 1 : 0);
    while (from.at < from.end && *from.at >= '0' && *from.at <= '9') {
        uint64_t digit = (uint64_t)(*from.at++ - '0');
        if (sum > (limit - digit) / 10) return false;
        sum = sum * 10 + digit;
    }
    bool goes_on = from.at < from.end && (*from.at == '.' || *from.at == 'e' || *from.at == 'E');
    if (from.at == first || goes_on) return false;
    *value = (int64_t)(is_negative ? -sum : sum);
    *in = from;
    return true;
}

static const char *read_object(reader *in, const path *of, const ns_field *fields, char *into, int depth);

static const char *read_texts(reader *in, const path *of, const ns_field *field, ns_list_text *into) {
    reader ahead = *in;
    if (!next(&ahead, '[')) return wrong(in, of, NS("a list"));
    // A list has at most half as many items as it has bytes.
    size_t room = (size_t)(in->end - in->at) / 2 + 1, count = 0;
    ns_text *items = ns_alloc(room * sizeof *items);
    *in = ahead;
    if (!next(in, ']')) {
        do {
            path inside = {of, {0}, (int64_t)count};
            space(in);
            if (in->at == in->end || count == room) return not_json;
            if (*in->at != '"') return wrong(in, &inside, NS("a string"));
            if (!string(in, &items[count++])) return not_json;
        } while (next(in, ','));
        if (!next(in, ']')) return not_json;
    }
    if (field->not_empty && count == 0) return refused(of, NS("must not be empty"));
    *into = (ns_list_text){items, count};
    return NULL;
}

static const char *read_integer(reader *in, const path *of, const ns_field *field, int64_t *into) {
    if (!integer(in, into)) return wrong(in, of, NS("an integer"));
    bool is_bounded = field->min != 0 || field->max != 0;
    if (!is_bounded || (*into >= field->min && *into <= field->max)) return NULL;
    refuse(of);
    bool is_low = *into < field->min;
    say(is_low ? NS("must be at least ") : NS("must be at most "));
    say_integer(is_low ? field->min : field->max);
    say(NS(", not "));
    say_integer(*into);
    return message;
}

static const char *read_field(reader *in, const path *of, const ns_field *field, char *into, int depth) {
    space(in);
    switch (field->kind) {
    case NS_KIND_TEXT: {
        ns_text text;
        if (in->at == in->end || *in->at != '"') return wrong(in, of, NS("a string"));
        if (!string(in, &text)) return not_json;
        if (field->not_empty && text.length == 0) return refused(of, NS("must not be empty"));
        *(ns_text *)into = text;
        return NULL;
    }
    case NS_KIND_INTEGER: return read_integer(in, of, field, (int64_t *)into);
    case NS_KIND_BOOL: {
        bool is_true = word(in, NS("true"));
        if (!is_true && !word(in, NS("false"))) return wrong(in, of, NS("true or false"));
        *(bool *)into = is_true;
        return NULL;
    }
    case NS_KIND_TEXTS: return read_texts(in, of, field, (ns_list_text *)into);
    case NS_KIND_OBJECT: return read_object(in, of, field->fields, into, depth + 1);
    }
    return refused(of, NS("the predicate has a field of no kind"));
}

static const char *unknown(const path *of, ns_text key, const ns_field *fields) {
    refuse(of);
    say(NS("unknown field `"));
    say(key);
    say(NS("`, "));
    if (fields == NULL || fields->name == NULL) {
        say(NS("there are no fields"));
        return message;
    }
    say(NS("expected "));
    for (const ns_field *field = fields; field->name != NULL; field++) {
        if (field != fields) say(NS(", "));
        say(NS("`"));
        say(text_of(field->name));
        say(NS("`"));
    }
    return message;
}

// Whether the object that `in` is inside of has this field, apart from null.
static bool has(reader in, ns_text name) {
    ns_text key;
    bool is_there = false;
    if (next(&in, '}')) return false;
    do {
        if (!string(&in, &key) || !next(&in, ':')) return false;
        bool is_null = word(&in, NS("null"));
        if (!is_null && !skip(&in, 0)) return false;
        is_there |= ns_equal(key, name) && !is_null;
    } while (next(&in, ','));
    return is_there;
}

static const char *read_object(reader *in, const path *of, const ns_field *fields, char *into, int depth) {
    reader ahead = *in;
    if (depth > MAX_DEPTH || !next(&ahead, '{')) return wrong(in, of, NS("an object"));
    *in = ahead;
    if (!next(in, '}')) {
        do {
            path inside = {of, {0}, -1};
            if (!string(in, &inside.name) || !next(in, ':')) return not_json;
            const ns_field *field = fields;
            while (field != NULL && field->name != NULL && !ns_equal(text_of(field->name), inside.name)) field++;
            if (field == NULL || field->name == NULL) return unknown(&inside, inside.name, fields);
            if (word(in, NS("null"))) continue;
            const char *error = read_field(in, &inside, field, into + field->offset, depth);
            if (error != NULL) return error;
        } while (next(in, ','));
        if (!next(in, '}')) return not_json;
    }
    for (const ns_field *field = fields; field != NULL && field->name != NULL; field++) {
        path inside = {of, text_of(field->name), -1};
        if (field->required && !has(ahead, inside.name)) return refused(&inside, NS("missing"));
    }
    return NULL;
}

const char *ns_configure(const ns_predicate *predicate, ns_text json, const void **args) {
    bool scores = predicate->score != NULL || predicate->score_node != NULL;
    if (scores && !predicate->is_scorer) return "a scorer is defined with NODESIFT_SCORER, which exports it";
    if (!scores && predicate->is_scorer) return "the scorer has neither score nor score_node";
    reader in = {json.data, json.data + json.length};
    path root = {NULL, {0}, -1};
    char *into = ns_alloc(predicate->args_size);
    if (predicate->defaults != NULL) {
        __builtin_memcpy(into, predicate->defaults, predicate->args_size);
    } else {
        __builtin_memset(into, 0, predicate->args_size);
    }
    const char *error = read_object(&in, &root, predicate->args, into, 0);
    space(&in);
    if (error == NULL && in.at != in.end) error = not_json;
    if (error == NULL && predicate->check != NULL) error = predicate->check(into);
    *args = into;
    return error;
}
