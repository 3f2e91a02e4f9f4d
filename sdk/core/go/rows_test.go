package nodesift

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// model is a table as a plain slice, changed as the sidecar changes it: rows stay dense.
type model []string

func (m model) row(name string) (uint32, bool) {
	row := slices.Index(m, name)
	return uint32(max(row, 0)), row >= 0
}

func (m model) next(random *rand.Rand, names int) model {
	next := slices.Clone(m)
	for range random.IntN(8) {
		if row := random.IntN(len(next) + 1); row < len(next) && random.IntN(2) == 0 {
			next[row] = next[len(next)-1]
			next = next[:len(next)-1]
		} else if name := fmt.Sprint("n", random.IntN(names)); !slices.Contains(next, name) {
			next = append(next, name)
		}
	}
	return next
}

// difference is what the sidecar sends to one who has another table.
func difference(from, to model, generation uint64, random *rand.Rand) *nodesiftv1.RowTable {
	table := &nodesiftv1.RowTable{Epoch: 7, Generation: generation, Count: uint32(len(to)), Whole: from == nil}
	for row, name := range to {
		// Unchanged rows can be included.
		if row >= len(from) || from[row] != name || random.IntN(10) == 0 {
			table.Changes = append(table.Changes, &nodesiftv1.RowName{Row: uint32(row), Node: name})
		}
	}
	return table
}

func TestTablesEqualAModelForwardsAndBackwards(t *testing.T) {
	seed, err := strconv.ParseUint(os.Getenv("NODESIFT_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	fmt.Printf("%s: NODESIFT_SEED=%d\n", t.Name(), seed)
	random := rand.New(rand.NewPCG(seed, 0))
	// Enough changes for the shared map to be made anew again and again.
	const steps, names = 3000, 200
	type kept struct {
		model model
		table *RowNames
	}
	var tables []kept
	var from kept
	for step := range steps {
		to := from.model.next(random, names)
		if step == 0 {
			to = model{"n0", "n1"}
		}
		table, err := from.table.With(difference(from.model, to, uint64(step+1), random))
		if err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		from = kept{to, table}
		tables = append(tables, from)
		for _, each := range []kept{from, tables[random.IntN(len(tables))]} {
			if !slices.Equal(each.table.names, each.model) || each.table.Len() != len(each.model) {
				t.Fatalf("step %d: %v is not %v", step, each.table.names, each.model)
			}
			for number := range names {
				name := fmt.Sprint("n", number)
				row, ok := each.table.Row(name)
				if wanted, there := each.model.row(name); ok != there || ok && row != wanted {
					t.Fatalf("step %d: %s is in row %d (%t), not %d (%t)", step, name, row, ok, wanted, there)
				}
			}
		}
		if random.IntN(20) == 0 {
			// An answer that arrives late restores an earlier table; the next goes on from there.
			earlier := tables[random.IntN(len(tables))]
			table, err := from.table.With(difference(from.model, earlier.model, earlier.table.generation, random))
			if err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
			from = kept{earlier.model, table}
		}
	}
}

func TestTablesThatDoNotFollowAreRefused(t *testing.T) {
	rows := func(names ...string) []*nodesiftv1.RowName {
		var rows []*nodesiftv1.RowName
		for row, name := range names {
			rows = append(rows, &nodesiftv1.RowName{Row: uint32(row), Node: name})
		}
		return rows
	}
	known, err := (*RowNames)(nil).With(&nodesiftv1.RowTable{Epoch: 7, Generation: 1, Count: 3, Whole: true, Changes: rows("a", "b", "c")})
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]*nodesiftv1.RowTable{
		"none":                  nil,
		"no epoch":              {Count: 3},
		"another epoch":         {Epoch: 8, Generation: 2, Count: 3},
		"a row without a name":  {Epoch: 7, Generation: 2, Count: 4},
		"far too many rows":     {Epoch: 7, Generation: 2, Count: 1 << 31},
		"an empty name":         {Epoch: 7, Generation: 2, Count: 3, Changes: rows("")},
		"a row past the last":   {Epoch: 7, Generation: 2, Count: 1, Changes: rows("a", "x")},
		"a name twice":          {Epoch: 7, Generation: 2, Count: 3, Changes: rows("b")},
		"a name twice in it":    {Epoch: 7, Generation: 2, Count: 3, Changes: rows("x", "x")},
		"a whole one, too few":  {Epoch: 8, Generation: 2, Count: 3, Whole: true, Changes: rows("a", "b")},
		"a whole one, repeated": {Epoch: 8, Generation: 2, Count: 2, Whole: true, Changes: rows("a", "a")},
	} {
		if table, err := known.With(change); !errors.Is(err, ErrTable) || table != nil {
			t.Errorf("%s: %v, %v", name, table, err)
		}
	}
	if _, err := (*RowNames)(nil).With(&nodesiftv1.RowTable{Epoch: 7, Generation: 2, Count: 3}); !errors.Is(err, ErrTable) {
		t.Errorf("a difference from nothing: %v", err)
	}
	if known.Name(1) != "b" || known.Name(3) != "" || known.Len() != 3 {
		t.Errorf("a refused table has changed the one before: %v", known.names)
	}
	part := &nodesiftv1.RowTable{Epoch: 7, Generation: 2, Count: 3, Changes: rows("a")}
	for _, next := range []*nodesiftv1.RowTable{
		{Epoch: 8, Generation: 2, Count: 3}, {Epoch: 7, Generation: 3, Count: 3}, {Epoch: 7, Generation: 2, Count: 4},
		{Epoch: 7, Generation: 2, Count: 3, Whole: true},
	} {
		if _, err := join(part, next); !errors.Is(err, ErrTable) {
			t.Errorf("a part of another table: %v", err)
		}
	}
}

func TestBitmapsThatDoNotBelongToTheTableAreRefused(t *testing.T) {
	names, err := (*RowNames)(nil).With(&nodesiftv1.RowTable{Epoch: 7, Generation: 1, Count: 3, Whole: true, Changes: []*nodesiftv1.RowName{
		{Row: 0, Node: "a"}, {Row: 1, Node: "b"}, {Row: 2, Node: "c"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	group := func(rows byte, count uint32) []*nodesiftv1.Failure {
		return []*nodesiftv1.Failure{{Predicate: "P", Count: count, NodeRows: []byte{rows}}}
	}
	for name, about := range map[string]*nodesiftv1.PodAnswer{
		"a row past the last": {FeasibleRows: []byte{0b1000}, FeasibleCount: 1},
		"another count":       {FeasibleRows: []byte{0b11}, FeasibleCount: 1},
		"a failure too far":   {Failures: group(0b1000, 1)},
		"another count of it": {Failures: group(0b1, 2)},
		"two verdicts":        {FeasibleRows: []byte{0b1}, FeasibleCount: 1, Failures: group(0b1, 1)},
	} {
		answer := &answer{names: names, feasible: int(about.GetFeasibleCount())}
		if err := answer.readBitmaps(about); !errors.Is(err, ErrTable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	answer := &answer{names: names, feasible: 1}
	if err := answer.readBitmaps(&nodesiftv1.PodAnswer{FeasibleRows: []byte{0b1, 0}, FeasibleCount: 1, Failures: group(0b110, 2)}); err != nil {
		t.Error(err)
	}
}

func TestOnlyLaterTablesOfTheSameEpochAreAdoptedFromAnswers(t *testing.T) {
	table := func(epoch, generation uint64) *RowNames { return &RowNames{epoch: epoch, generation: generation} }
	index := newIndex()
	is := func(what string, epoch, generation uint64) {
		t.Helper()
		if known := index.Names().Known(); known.GetEpoch() != epoch || known.GetGeneration() != generation {
			t.Errorf("%s: the index is %v", what, known)
		}
	}
	index.adopt(table(1, 5))
	is("an answer before the stream", 0, 0)
	changed := index.Changed()
	index.adoptStreamed(table(1, 5))
	is("the stream", 1, 5)
	<-changed
	index.adopt(table(1, 7))
	is("a later answer", 1, 7)
	index.adoptStreamed(table(1, 6))
	is("a stream that is behind", 1, 7)
	index.adopt(table(1, 6))
	is("an earlier answer", 1, 7)
	index.adopt(table(2, 9))
	is("an answer of another epoch", 1, 7)
	index.adoptStreamed(table(2, 3))
	is("the stream of another process", 2, 3)
	index.broken(&Error{})
	is("a broken stream", 2, 3)
	index.broken(fmt.Errorf("%w", ErrTable))
	is("a table that does not follow", 0, 0)
}
