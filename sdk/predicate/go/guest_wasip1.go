package nodesift

import (
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/nodesift/nodesift/sdk/predicate/go/facts"
	"github.com/nodesift/nodesift/sdk/predicate/go/internal/scorer"
)

// The component: what the host calls. Results are laid out as in the contract: an address and a length have four bytes each.

// heapBytes is where the collector works harder: an instance may have 16 MiB unless a policy grants it more, and Go's runtime and the
// program take some of them.
const heapBytes = 10 << 20

func init() {
	debug.SetMemoryLimit(heapBytes)
	// What the runtime says of its end goes into the log: the reason, without every goroutine.
	debug.SetTraceback("none")
	scorer.NormalizeBy = func() uint32 { return uint32(configured.normalization) }
	scorer.Score = score
}

// trap ends the call. The adapter for WASI has nothing else to do there, while the runtime would first write what the log has already.
//
//go:wasmimport wasi_snapshot_preview1 proc_raise
func trap(signal uint32) uint32

// lacking are packages with functions for which the sandbox has nothing.
var lacking = []string{"crypto/rand.", "math/rand", "net.", "os.", "time."}

// pkg is where the frames of this SDK are, which say nothing to an author.
const pkg = "github.com/nodesift/nodesift/sdk/predicate/go"

var (
	configured Configured
	// area is what the running export returns, and what it refers to is kept until the next one.
	area   [7]uint32
	result struct {
		texts    []string
		verdict  Verdict
		scores   *Scores
		failures []uint32
		reasons  [][]uint32
	}
)

func address[T any](items []T) uint32 {
	return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(items))))
}

func text(value string) (at, length uint32) {
	return uint32(uintptr(unsafe.Pointer(unsafe.StringData(value)))), uint32(len(value))
}

func describe() unsafe.Pointer {
	if exported == nil {
		panic("the module exports nothing: call nodesift.Export, or scoring.Export, in init")
	}
	name, version, summary := exported.describe()
	if version == "" {
		version = "0.0.0"
	}
	result.texts = []string{name, version, summary}
	for index, value := range result.texts {
		area[2*index], area[2*index+1] = text(value)
	}
	return unsafe.Pointer(&area)
}

func configure(args unsafe.Pointer, length uint32) (returned unsafe.Pointer) {
	defer func() {
		if thrown := recover(); thrown != nil {
			returned = refusal(described(thrown))
		}
	}()
	made, err := Configure(exported, facts.LoadString(args, length))
	if err != nil {
		return refusal(err.Error())
	}
	configured = made
	area[0] = 0
	return unsafe.Pointer(&area)
}

func refusal(reason string) unsafe.Pointer {
	result.texts = []string{cut(reason, len(reason))}
	area[0] = 1
	area[1], area[2] = text(result.texts[0])
	return unsafe.Pointer(&area)
}

func filter(rows uint32) unsafe.Pointer {
	defer trapWithReason()
	result.verdict = configured.Run(int(rows))
	verdict := &result.verdict
	result.reasons, result.texts = result.reasons[:0], result.texts[:0]
	switch {
	case verdict.FitsNone != nil:
		area[0] = 1
		copy(area[1:], lowered(verdict.FitsNone))
	case len(verdict.Failures) == 0:
		area[0] = 0
	default:
		result.failures = result.failures[:0]
		for _, failure := range verdict.Failures {
			result.failures = append(result.failures, lowered(failure)...)
		}
		area[0] = 2
		area[1], area[2] = address(verdict.Codes), uint32(len(verdict.Codes))
		area[3], area[4] = address(result.failures), uint32(len(verdict.Failures))
	}
	return unsafe.Pointer(&area)
}

func score(rows uint32) unsafe.Pointer {
	defer trapWithReason()
	result.scores = configured.Score(int(rows))
	area[0] = uint32(result.scores.kind)
	switch result.scores.kind {
	case byRow:
		area[1], area[2] = address(result.scores.raw), rows
	case failed:
		result.texts = []string{cut(result.scores.reason, maxReasonLength)}
		area[1], area[2] = text(result.texts[0])
	}
	return unsafe.Pointer(&area)
}

// trapWithReason is deferred: it ends a call that panics, with the text and the places of the panic in the log.
func trapWithReason() {
	if thrown := recover(); thrown != nil {
		facts.LogWrite(facts.LogLevelError, described(thrown))
		trap(0)
	}
}

// lowered lays a failure out: status, and the list of reasons.
func lowered(failure *Failure) []uint32 {
	reasons := make([]uint32, 0, 2*len(failure.Reasons))
	for _, reason := range failure.Reasons {
		reason = cut(reason, maxReasonLength)
		result.texts = append(result.texts, reason)
		at, length := text(reason)
		reasons = append(reasons, at, length)
	}
	result.reasons = append(result.reasons, reasons)
	return []uint32{uint32(failure.Status), address(reasons), uint32(len(failure.Reasons))}
}

// described is one line about a panic: its text, then the places in the author's files, the innermost first.
func described(thrown any) string {
	var line strings.Builder
	switch thrown := thrown.(type) {
	case error:
		line.WriteString(thrown.Error())
	case string:
		line.WriteString(thrown)
	case interface{ String() string }:
		line.WriteString(thrown.String())
	default:
		line.WriteString("panic with a value of the type " + reflect.TypeOf(thrown).String())
	}
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for places := 0; places < maxPlaces; {
		frame, more := frames.Next()
		function := strings.TrimPrefix(frame.Function, "main.")
		isOurs := strings.HasPrefix(function, pkg+".") || strings.HasPrefix(function, pkg+"/facts.")
		isMade := function == "" || strings.HasPrefix(function, "runtime.") || frame.File == "<autogenerated>"
		// What the sandbox lacks panics there, which its text says.
		isMade = isMade || places == 0 && slices.ContainsFunc(lacking, func(of string) bool { return strings.HasPrefix(function, of) })
		if !isOurs && !isMade {
			file := frame.File[strings.LastIndexByte(frame.File, '/')+1:]
			line.WriteString(", at " + file + ":" + strconv.Itoa(frame.Line) + " in " + function)
			places++
		}
		if !more {
			break
		}
	}
	return cut(line.String(), maxErrorLength)
}

// cut gives at most this many bytes of a text, without what is not UTF-8: the contract has no such texts.
func cut(text string, bytes int) string {
	if len(text) > bytes {
		text = text[:bytes]
	}
	return strings.ToValidUTF8(text, "")
}
