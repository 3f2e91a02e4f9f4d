// The memory of a component, its panic, and what compilers call. Empty elsewhere: tests have their own.
#ifdef __wasm__

#include "nodesift_memory.h"

#define PAGE 65536

// ---- Memory: taken from one end. What a call takes is free again when the next one begins

extern char __heap_base;

// The first free byte, and the first byte after what the arguments take. 0: nothing is taken yet.
static uintptr_t top, kept;

static void *take(size_t align, size_t bytes) {
    if (top == 0) top = (uintptr_t)&__heap_base;
    uintptr_t at = (top + align - 1) & ~(uintptr_t)(align - 1);
    uintptr_t end = at + bytes;
    size_t limit = (size_t)__builtin_wasm_memory_size(0) * PAGE;
    if (end < at || (end > limit && __builtin_wasm_memory_grow(0, (end - limit + PAGE - 1) / PAGE) == (size_t)-1)) {
        static const char text[] = "there is no more memory: raise limits.memory in the policy";
        ns_panic((ns_text){text, sizeof text - 1});
    }
    top = end;
    return (void *)at;
}

void *ns_alloc(size_t bytes) { return take(8, bytes); }

void ns_memory_keep(void) { kept = top; }
void ns_memory_reuse(void) { top = kept; }

__attribute__((export_name("cabi_realloc"))) void *cabi_realloc(void *old, size_t old_bytes, size_t align, size_t bytes) {
    void *grown = take(align, bytes);
    if (old_bytes > 0) __builtin_memcpy(grown, old, old_bytes < bytes ? old_bytes : bytes);
    return grown;
}

_Noreturn void ns_panic(ns_text text) {
    ns_log_write(NS_LOG_LEVEL_ERROR, text);
    __builtin_trap();
}

// ---- What compilers call without being asked

void *memcpy(void *to, const void *from, size_t bytes) { return __builtin_memcpy(to, from, bytes); }
void *memmove(void *to, const void *from, size_t bytes) { return __builtin_memmove(to, from, bytes); }
void *memset(void *at, int byte, size_t bytes) { return __builtin_memset(at, byte, bytes); }

int memcmp(const void *a, const void *b, size_t bytes) {
    const unsigned char *left = a, *right = b;
    for (size_t index = 0; index < bytes; index++) {
        if (left[index] != right[index]) return left[index] < right[index] ? -1 : 1;
    }
    return 0;
}

int bcmp(const void *a, const void *b, size_t bytes) { return memcmp(a, b, bytes); }

size_t strlen(const char *text) {
    const char *end = text;
    while (*end != 0) end++;
    return (size_t)(end - text);
}

#endif
