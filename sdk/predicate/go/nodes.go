package nodesift

import (
	"math"

	"github.com/nodesift/nodesift/sdk/predicate/go/facts"
)

// Nodes are all nodes of a call: columns, with an entry per row, and row sets. A column is read from the host once a call.
type Nodes struct {
	count               int
	codes               codes
	usesSets            bool
	labels, annotations []*Texts
	info                [facts.NodeInfoFieldProviderId + 1]*Texts
	amounts             []amounts
	bytes               []bytesColumn
	names               []string
	taints              [][]facts.NodeTaintsTaint
}

// NoCode is the code of a text that no node has.
const NoCode = math.MaxUint32

// NoInteger stands for a text that is no integer, and for a time that is absent.
const NoInteger = math.MinInt64

// Texts is a column of labels or the like: a code per row, and the texts behind the codes. Code 0 is an absent one.
type Texts struct {
	// Codes has an entry per row.
	Codes        []uint32
	key          string
	dictionary   []string
	integers     []int64
	code         func(text string) (uint32, bool)
	readTexts    func() []string
	readIntegers func() []int64
}

// Code gives the code of a text, or NoCode, which no row has.
func (t *Texts) Code(text string) uint32 {
	if code, isThere := t.code(text); isThere {
		return code
	}
	return NoCode
}

// Dictionary gives the text behind each code. It can hold texts that no row has.
func (t *Texts) Dictionary() []string {
	if t.dictionary == nil {
		t.dictionary = t.readTexts()
	}
	return t.dictionary
}

// Integers gives the texts of the dictionary as integers, NoInteger where a text is none. The info of nodes has none.
func (t *Texts) Integers() []int64 {
	if t.integers == nil && t.readIntegers != nil {
		t.integers = t.readIntegers()
	}
	return t.integers
}

// Text gives the text in a row.
func (t *Texts) Text(row int) (string, bool) {
	code := t.Codes[row]
	if code == 0 {
		return "", false
	}
	return t.Dictionary()[code], true
}

// Count gives the number of rows: they are numbered from 0.
func (n *Nodes) Count() int { return n.count }

// RejectRow rejects a row. A row that was rejected before keeps its failure.
func (n *Nodes) RejectRow(row int, failure *Failure) {
	// Most rejections have the failure of the one before.
	if failure == n.codes.last && n.codes.rows[row] == 0 {
		n.codes.rows[row] = n.codes.lastCode
		return
	}
	n.codes.reject(row, failure)
}

// Names gives the names. Reads node-identity.
func (n *Nodes) Names() []string {
	if n.names == nil {
		n.names = facts.NodeIdentityNames()
	}
	return n.names
}

// Row gives the row of a node. Reads node-identity.
func (n *Nodes) Row(name string) (int, bool) {
	row, isThere := facts.NodeIdentityRow(name)
	return int(row), isThere
}

func column(columns []*Texts, key string) *Texts {
	for _, column := range columns {
		if column.key == key {
			return column
		}
	}
	return nil
}

// Labels gives the column of a label. Reads node-labels.
func (n *Nodes) Labels(key string) *Texts {
	if known := column(n.labels, key); known != nil {
		return known
	}
	made := &Texts{
		Codes: facts.NodeLabelsColumn(key), key: key,
		code:         func(text string) (uint32, bool) { return facts.NodeLabelsCode(key, text) },
		readTexts:    func() []string { return facts.NodeLabelsDictionary(key) },
		readIntegers: func() []int64 { return facts.NodeLabelsIntegers(key) },
	}
	n.labels = append(n.labels, made)
	return made
}

// Annotations gives the column of an annotation that the policy lists. Reads node-annotations.
func (n *Nodes) Annotations(key string) *Texts {
	if known := column(n.annotations, key); known != nil {
		return known
	}
	made := &Texts{
		Codes: facts.NodeAnnotationsColumn(key), key: key,
		code:         func(text string) (uint32, bool) { return facts.NodeAnnotationsCode(key, text) },
		readTexts:    func() []string { return facts.NodeAnnotationsDictionary(key) },
		readIntegers: func() []int64 { return facts.NodeAnnotationsIntegers(key) },
	}
	n.annotations = append(n.annotations, made)
	return made
}

// Info gives the column of a field that nodes say of themselves. Reads node-info.
func (n *Nodes) Info(field facts.NodeInfoField) *Texts {
	if n.info[field] == nil {
		n.info[field] = &Texts{
			Codes:     facts.NodeInfoColumn(field),
			code:      func(text string) (uint32, bool) { return facts.NodeInfoCode(field, text) },
			readTexts: func() []string { return facts.NodeInfoDictionary(field) },
		}
	}
	return n.info[field]
}

// Taints gives `spec.taints` of each row. Nodes with the same taints share a list. Reads node-taints.
func (n *Nodes) Taints() [][]facts.NodeTaintsTaint {
	if n.taints == nil {
		sets := facts.NodeTaintsSets()
		n.taints = make([][]facts.NodeTaintsTaint, n.count)
		for row, set := range facts.NodeTaintsColumn() {
			n.taints[row] = sets[set]
		}
	}
	return n.taints
}

// amounts is a column of one kind for one resource.
type amounts struct {
	kind     amountKind
	resource string
	values   []int64
}

type amountKind uint8

const (
	allocatable amountKind = iota
	requested
	free
	pods
	podLimit
	// moment is of moments.go: the resource is the name of one.
	moment
)

func (n *Nodes) amount(kind amountKind, resource string, read func(string) []int64) []int64 {
	for index := range n.amounts {
		if known := &n.amounts[index]; known.kind == kind && known.resource == resource {
			return known.values
		}
	}
	values := read(resource)
	n.amounts = append(n.amounts, amounts{kind, resource, values})
	return values
}

// Allocatable gives `status.allocatable` of a resource; 0 where a node does not list it. Reads node-resources.
func (n *Nodes) Allocatable(resource string) []int64 {
	return n.amount(allocatable, resource, facts.NodeResourcesAllocatable)
}

// Requested gives what all pods on each node request together. Reads node-resources.
func (n *Nodes) Requested(resource string) []int64 {
	return n.amount(requested, resource, facts.NodeResourcesRequested)
}

// Free gives `Allocatable` minus `Requested`. Reads node-resources.
func (n *Nodes) Free(resource string) []int64 {
	return n.amount(free, resource, facts.NodeResourcesFree)
}

// Pods gives numbers of pods. Reads node-resources.
func (n *Nodes) Pods() []int64 {
	return n.amount(pods, "", func(string) []int64 { return facts.NodeResourcesPods() })
}

// PodLimit gives `status.allocatable.pods`. Reads node-resources.
func (n *Nodes) PodLimit() []int64 {
	return n.amount(podLimit, "", func(string) []int64 { return facts.NodeResourcesPodLimit() })
}

// bytesColumn is a column of small values of one kind for one key.
type bytesColumn struct {
	kind   byteKind
	key    string
	values []uint8
}

type byteKind uint8

const (
	conditions byteKind = iota
	images
	unschedulable
)

func (n *Nodes) byteColumn(kind byteKind, key string, read func(string) []uint8) []uint8 {
	for index := range n.bytes {
		if known := &n.bytes[index]; known.kind == kind && known.key == key {
			return known.values
		}
	}
	values := read(key)
	n.bytes = append(n.bytes, bytesColumn{kind, key, values})
	return values
}

// Conditions gives the status of a condition: 0 none, 1 True, 2 False, 3 Unknown. Reads node-conditions.
func (n *Nodes) Conditions(kind string) []uint8 {
	return n.byteColumn(conditions, kind, facts.NodeConditionsColumn)
}

// ImageFlags gives 1 where `status.images` names the image; it lists only the largest. Reads node-images.
func (n *Nodes) ImageFlags(image string) []uint8 {
	return n.byteColumn(images, image, facts.NodeImagesPresent)
}

// UnschedulableFlags gives 1 with `spec.unschedulable`. Reads node-taints.
func (n *Nodes) UnschedulableFlags() []uint8 {
	return n.byteColumn(unschedulable, "", func(string) []uint8 { return facts.NodeTaintsUnschedulable() })
}
