//go:build wasip1

package facts

import "unsafe"

// Memory that the host writes to. It belongs to Go: a column is a slice of what the host has written, and the collector frees it once the
// predicate has no reference to it. Between the moment at which the host asks for it and that at which a slice refers to it, `pinned`
// does. It is emptied after each call of a function of the host, so an instance that is used again does not grow.

// chunkWords are the words of eight bytes of a chunk, from which small values get their memory: a list of names is thousands of them.
const chunkWords = 512

// area is where functions of the host return what is more than a number. No result is larger: the test `bindings` of nodesift-module
// checks it.
var area [32]uint64

var (
	pinned []unsafe.Pointer
	// current is the chunk that small values come from, and chunk what is left of it.
	current unsafe.Pointer
	chunk   []uint64
)

// pin allocates, and keeps what it has allocated until unpin. The collector does not look for pointers in it.
func pin(bytes uintptr) unsafe.Pointer {
	words := (bytes + 7) / 8
	if words > chunkWords/4 {
		large := unsafe.Pointer(unsafe.SliceData(make([]uint64, words)))
		pinned = append(pinned, large)
		return large
	}
	if words > uintptr(len(chunk)) {
		// Values of this call may be in the one before.
		pinned = append(pinned, current)
		chunk = make([]uint64, chunkWords)
		current = unsafe.Pointer(unsafe.SliceData(chunk))
	}
	small := unsafe.Pointer(unsafe.SliceData(chunk))
	chunk = chunk[words:]
	return small
}

func unpin() {
	clear(pinned)
	pinned = pinned[:0]
}

//go:wasmexport cabi_realloc
func realloc(old unsafe.Pointer, oldSize, align, size uint32) unsafe.Pointer {
	if size == 0 {
		// Any aligned address will do. Not a small number: Go's runtime stops at one where it moves a stack.
		return unsafe.Pointer(&area)
	}
	grown := pin(uintptr(size))
	if oldSize > 0 {
		copy(unsafe.Slice((*byte)(grown), size), unsafe.Slice((*byte)(old), oldSize))
	}
	return grown
}
