package nodesift

import "strings"

// Status is the code of a rejection.
type Status uint8

// The statuses, as the contract numbers them.
const (
	StatusUnschedulable Status = iota
	StatusUnschedulableAndUnresolvable
	StatusError
)

// Failure is why a node cannot run the pod. Make those of a predicate once, in variables of its package.
type Failure struct {
	// Status is the code.
	Status Status
	// Reasons are all that apply. Nodes are grouped by them, so none may contain the name of a node.
	Reasons []string
}

// Unresolvable is a rejection that preempting pods does not resolve.
func Unresolvable(reason string, more ...string) *Failure {
	return failure(StatusUnschedulableAndUnresolvable, reason, more)
}

// Unschedulable is a rejection that preempting pods may resolve.
func Unschedulable(reason string, more ...string) *Failure {
	return failure(StatusUnschedulable, reason, more)
}

// Error means that the node cannot be evaluated because an object that is needed is missing or invalid. The reason names the object.
func Error(reason string, more ...string) *Failure { return failure(StatusError, reason, more) }

func failure(status Status, reason string, more []string) *Failure {
	return &Failure{Status: status, Reasons: append([]string{reason}, more...)}
}

// String gives the reasons.
func (f *Failure) String() string { return strings.Join(f.Reasons, "; ") }

// key is the same for equal failures.
func (f *Failure) key() string {
	return string(rune('0'+f.Status)) + strings.Join(f.Reasons, "\x00")
}

// leftOut takes the place of failures beyond the limits of a verdict.
const leftOut = "reasons left out: the verdict has too many different ones"

// codes makes a verdict by row: equal failures have one code. Rows fit unless they are rejected.
type codes struct {
	rows     []uint16
	failures []*Failure
	// The failure that was rejected with before, and its code. At first one that no predicate has.
	last     *Failure
	lastCode uint16
	// The number of rows. There are no codes before the first rejection.
	count int
	known map[*Failure]uint16
	byKey map[string]uint16
	bytes int
}

// newCodes begins a verdict for this number of rows.
func newCodes(count int) codes { return codes{count: count, last: new(Failure)} }

func (c *codes) reject(row int, failure *Failure) {
	if c.rows == nil {
		c.rows = make([]uint16, c.count)
	}
	if c.rows[row] != 0 {
		return
	}
	if failure != c.last {
		c.last, c.lastCode = failure, c.code(failure)
	}
	c.rows[row] = c.lastCode
}

func (c *codes) code(failure *Failure) uint16 {
	if failure == nil {
		panic("a row is rejected with nodesift.Unresolvable, Unschedulable or Error, not with nil")
	}
	if code, isKnown := c.known[failure]; isKnown {
		return code
	}
	code := c.intern(failure)
	if c.known == nil {
		c.known = map[*Failure]uint16{}
	}
	c.known[failure] = code
	return code
}

func (c *codes) intern(failure *Failure) uint16 {
	key := failure.key()
	if code, isKnown := c.byKey[key]; isKnown {
		return code
	}
	cost := 0
	for _, reason := range failure.Reasons {
		cost += min(len(reason), maxReasonLength) + reasonEntryBytes
	}
	isFull := len(c.failures) >= maxFailures || c.bytes+cost > maxReasonBytes
	if isFull && (len(failure.Reasons) != 1 || failure.Reasons[0] != leftOut) {
		return c.intern(&Failure{Status: failure.Status, Reasons: []string{leftOut}})
	}
	c.bytes += cost
	c.failures = append(c.failures, failure)
	if c.byKey == nil {
		c.byKey = map[string]uint16{}
	}
	code := uint16(len(c.failures))
	c.byKey[key] = code
	return code
}
