//go:build wasip1

package facts

import "unsafe"

// Values as the contract lays them out in memory: an address and a length have four bytes each, in Go eight.

func load[T any](p unsafe.Pointer, at uintptr) T {
	return *(*T)(unsafe.Add(p, at))
}

func store[T any](p unsafe.Pointer, at uintptr, value T) {
	*(*T)(unsafe.Add(p, at)) = value
}

func loadPointer(p unsafe.Pointer, at uintptr) unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(nil), uintptr(load[uint32](p, at)))
}

func storePointer(p unsafe.Pointer, at uintptr, value unsafe.Pointer) {
	store(p, at, uint32(uintptr(value)))
}

// LoadString makes a text of what the host has written.
func LoadString(p unsafe.Pointer, length uint32) string {
	if length == 0 {
		return ""
	}
	return unsafe.String((*byte)(p), length)
}

func loadString(p unsafe.Pointer, at uintptr) string {
	return LoadString(loadPointer(p, at), load[uint32](p, at+4))
}

// loadColumn gives the entries where the host has written them.
func loadColumn[T uint8 | uint32 | int64](p unsafe.Pointer, at uintptr) []T {
	length := load[uint32](p, at+4)
	if length == 0 {
		return nil
	}
	return unsafe.Slice((*T)(loadPointer(p, at)), length)
}

func loadStrings(p unsafe.Pointer, at uintptr) []string {
	return loadList(p, at, 8, loadString)
}

func loadList[T any](p unsafe.Pointer, at uintptr, size uintptr, item func(unsafe.Pointer, uintptr) T) []T {
	from, length := loadPointer(p, at), uintptr(load[uint32](p, at+4))
	items := make([]T, length)
	for index := range items {
		items[index] = item(from, uintptr(index)*size)
	}
	return items
}

func loadOption[T any](p unsafe.Pointer, at, payload uintptr, value func(unsafe.Pointer, uintptr) T) *T {
	if load[uint8](p, at) == 0 {
		return nil
	}
	some := value(p, at+payload)
	return &some
}

func loadResult[T, E any](
	p unsafe.Pointer, at, payload uintptr, value func(unsafe.Pointer, uintptr) T, refused func(unsafe.Pointer, uintptr) E,
) Result[T, E] {
	if load[uint8](p, at) == 0 {
		return Result[T, E]{Value: value(p, at+payload)}
	}
	return Result[T, E]{IsError: true, Error: refused(p, at+payload)}
}

func storeString(p unsafe.Pointer, at uintptr, value string) {
	storePointer(p, at, unsafe.Pointer(unsafe.StringData(value)))
	store(p, at+4, uint32(len(value)))
}

func storeList(p unsafe.Pointer, at uintptr, items unsafe.Pointer, length int) {
	storePointer(p, at, items)
	store(p, at+4, uint32(length))
}

func lowerStrings(values []string) unsafe.Pointer {
	return lowerList(values, 8, func(p unsafe.Pointer, value string) { storeString(p, 0, value) })
}

// storeStrings writes a list of texts as a part of another list.
func storeStrings(p unsafe.Pointer, values []string) {
	storeList(p, 0, lowerStrings(values), len(values))
}

// lowerList lays a list out for the host. It is pinned; the texts in it are the caller's.
func lowerList[T any](values []T, size uintptr, item func(unsafe.Pointer, T)) unsafe.Pointer {
	items := pin(uintptr(len(values)) * size)
	for index, value := range values {
		item(unsafe.Add(items, uintptr(index)*size), value)
	}
	return items
}
