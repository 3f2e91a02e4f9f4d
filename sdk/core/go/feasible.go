package nodesift

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// Feasible evaluates a pod on all nodes. Where a predicate has failed, or the answer is stale, it returns both a whole answer
// and an error ([ErrFault], [ErrStale]), so that nobody takes it for an ordinary one; [AllowFaults] and [AllowStale] leave the
// error out. Otherwise no node fits the Set where there is an error.
func (c *Client) Feasible(ctx context.Context, pod Pod, options ...FeasibleOption) (Set, error) {
	asked, err := c.ask(pod, options)
	if err != nil {
		return Set{}, err
	}
	ctx, cancel := c.deadline(ctx, waits(asked.request.GetConsistency()))
	defer cancel()
	response, err := c.stub.Filter(ctx, &asked.request)
	if err != nil {
		return Set{}, failure(err)
	}
	return c.read(asked, response)
}

// ask makes the request about a pod.
func (c *Client) ask(pod Pod, options []FeasibleOption) (*feasible, error) {
	of := &feasible{}
	of.request.Detail = nodesiftv1.Detail_DETAIL_NODES
	for _, option := range options {
		option.feasible(of)
	}
	encoded, err := pod.encode()
	if err := errors.Join(err, of.err); err != nil {
		return nil, err
	}
	of.request.Pods = []*nodesiftv1.Pod{encoded}
	// Rows are those of the cluster as it is, so an answer about other nodes has their names.
	if of.inBitmaps = len(of.request.GetOverlay().GetNodes()) == 0; of.inBitmaps {
		of.known = c.index.Names()
		of.request.Bitmaps = of.known.Known()
	}
	return of, nil
}

// read makes a Set of the answer to a request.
func (c *Client) read(of *feasible, response *nodesiftv1.FilterResponse) (Set, error) {
	result := &answer{
		version:   versionOf(response.GetVersion()),
		unknown:   response.GetUnknownNodes(),
		assumed:   assumedOf(response.GetAssumed()),
		forgotten: forgottenOf(response.GetForgotten()),
		stream:    of.stream,
	}
	// Without an answer about the pod there is still one about the changes.
	changes := Set{&answer{version: result.version, assumed: result.assumed, forgotten: result.forgotten, stream: of.stream}}
	if len(response.GetPods()) != 1 {
		return changes, &Error{Code: codes.Internal, Message: fmt.Sprintf("%d answers about one pod", len(response.GetPods()))}
	}
	about := response.GetPods()[0]
	if about.GetError() != nil {
		return changes, errorOf(about.GetError())
	}
	result.pod = about.GetPod()
	result.message = about.GetMessage()
	result.evaluated = int(about.GetNodes())
	result.feasible = int(about.GetFeasibleCount())
	result.faults = faultsOf(about.GetFaults())
	result.cycle = Cycle(about.GetCycle())
	result.nextStart = about.GetNextStart()
	result.named = about.GetNamedNodes()
	result.release = about.GetClaimsToRelease()
	for _, needed := range about.GetParties() {
		result.parties = append(result.parties, needed.GetParty())
	}
	var err error
	if of.inBitmaps {
		// The answer has the difference from the table that its request has named, not from what the index is by now.
		if result.names, err = of.known.With(response.GetRows()); err == nil {
			c.index.adopt(result.names)
			err = result.readBitmaps(about)
		}
	} else {
		err = result.readNames(about)
	}
	if err == nil {
		err = result.readScores(about.GetScores())
	}
	if err != nil {
		return changes, err
	}
	return Set{result}, of.judge(result)
}

// judge is the error beside an answer.
func (f *feasible) judge(answer *answer) error {
	var fault, stale error
	if len(answer.faults) > 0 && !f.allowFaults {
		fault = &FaultError{answer.faults}
	}
	if answer.version.Stale && !f.allowStale {
		stale = fmt.Errorf("%w: the API server has confirmed nothing for %s", ErrStale, answer.version.Staleness)
	}
	return errors.Join(fault, stale)
}

func (a *answer) readBitmaps(about *nodesiftv1.PodAnswer) error {
	a.fits = about.GetFeasibleRows()
	if err := a.check(a.fits, a.feasible); err != nil {
		return err
	}
	for at, group := range about.GetFailures() {
		a.failures = append(a.failures, failureOf(group))
		if err := a.check(group.GetNodeRows(), int(group.GetCount())); err != nil {
			return err
		}
		if a.why == nil {
			a.why = make([]uint32, a.names.Len())
		}
		for first, byte := range group.GetNodeRows() {
			for ; byte != 0; byte &= byte - 1 {
				row := first*8 + bits.TrailingZeros8(byte)
				if a.why[row] != 0 || bit(a.fits, uint32(row)) {
					return fmt.Errorf("%w: row %d has two verdicts", ErrTable, row)
				}
				a.why[row] = uint32(at + 1)
			}
		}
	}
	return nil
}

// check refuses a bitmap with another number of rows than the message says, or with rows that the table does not have.
func (a *answer) check(bitmap []byte, count int) error {
	set, last := 0, -1
	for at, byte := range bitmap {
		if byte != 0 {
			set += bits.OnesCount8(byte)
			last = at*8 + bits.Len8(byte) - 1
		}
	}
	if set != count || last >= a.names.Len() {
		return fmt.Errorf("%w: a bitmap has %d rows up to %d, not %d of %d", ErrTable, set, last, count, a.names.Len())
	}
	return nil
}

// readNames makes a table of its own for an answer that has names.
func (a *answer) readNames(about *nodesiftv1.PodAnswer) error {
	table := &nodesiftv1.RowTable{Epoch: 1, Whole: true}
	add := func(nodes []string) {
		for _, node := range nodes {
			table.Changes = append(table.Changes, &nodesiftv1.RowName{Row: table.Count, Node: node})
			table.Count++
		}
	}
	add(about.GetFeasible())
	for _, group := range about.GetFailures() {
		a.failures = append(a.failures, failureOf(group))
		add(group.GetNodes())
	}
	names, err := (*RowNames)(nil).With(table)
	if err != nil {
		return err
	}
	a.names, a.ownTable = names, true
	a.fits = make([]byte, (names.Len()+7)/8)
	a.why = make([]uint32, names.Len())
	row := 0
	for range about.GetFeasible() {
		a.fits[row/8] |= 1 << (row % 8)
		row++
	}
	for at, group := range about.GetFailures() {
		for range group.GetNodes() {
			a.why[row] = uint32(at + 1)
			row++
		}
	}
	return nil
}

func failureOf(group *nodesiftv1.Failure) Failure {
	return Failure{
		Predicate: group.GetPredicate(),
		Code:      codeOf(group),
		Reasons:   group.GetReasons(),
		Count:     int(group.GetCount()),
	}
}

func faultsOf(messages []*nodesiftv1.Fault) []Fault {
	var faults []Fault
	for _, fault := range messages {
		faults = append(faults, Fault{
			Predicate: fault.GetPredicate(),
			Kind:      fault.GetFault(),
			Detail:    fault.GetDetail(),
			Ignored:   fault.GetEffect() == "Ignored",
		})
	}
	return faults
}

func versionOf(message *nodesiftv1.Version) Version {
	return Version{
		Generation:           message.GetGeneration(),
		PolicyGeneration:     message.GetPolicyGeneration(),
		NodesResourceVersion: message.GetNodesResourceVersion(),
		PodsResourceVersion:  message.GetPodsResourceVersion(),
		Staleness:            time.Duration(message.GetStalenessMs()) * time.Millisecond,
		Stale:                message.GetStale(),
	}
}

// codeNamed is the code of gRPC that goes by a name such as NOT_FOUND.
func codeNamed(name string) codes.Code {
	var code codes.Code
	if code.UnmarshalJSON([]byte(`"`+name+`"`)) != nil {
		return codes.Unknown
	}
	return code
}
