// Package tests has the tests of the SDK, as an author's project uses it.
package tests

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	nodesift "github.com/nodesift/nodesift/sdk/predicate/go"
)

// args has a field of each kind.
type args struct {
	Label  string            `json:"label" nodesift:"notempty"`
	Flag   bool              `json:"flag"`
	Count  int8              `json:"count"`
	Size   uint              `json:"size"`
	Ratio  float64           `json:"ratio"`
	List   []string          `json:"list"`
	Map    map[string]int    `json:"map"`
	Inside inside            `json:"inside"`
	Maybe  *inside           `json:"maybe"`
	Nested []map[string]bool `json:"nested"`
	Secret string            `json:"-"`
	Named  string
}

type inside struct {
	Key string `json:"key" nodesift:"required"`
}

// configure gives the arguments that a predicate gets, or why they are refused.
func configure(text string) (args, error) {
	var got args
	configured, err := nodesift.Configure(nodesift.Predicate[args]{
		Name: "Test", Summary: "tests", Defaults: args{Label: "team", Inside: inside{"default"}},
		Check: func(given *args) error {
			if given.Count > 100 {
				return errors.New("count: too many")
			}
			return nil
		},
		Filter: func(_ *nodesift.Pod, _ *nodesift.Nodes, given *args) *nodesift.Failure {
			got = *given
			return nil
		},
	}, text)
	if err == nil {
		configured.Run(0)
	}
	return got, err
}

func TestArgumentsThatAreLeftOutAndNullAreTheDefaults(t *testing.T) {
	for _, text := range []string{`{}`, ` { "label" : null } `} {
		got, err := configure(text)
		if err != nil || got.Label != "team" || got.Inside.Key != "default" || got.Maybe != nil {
			t.Fatal(text, got, err)
		}
	}
	got, err := configure(`{"named": "n", "maybe": {"key": "k"}, "map": {"a": 1}}`)
	if err != nil || got.Named != "n" || got.Maybe.Key != "k" || got.Map["a"] != 1 {
		t.Fatal(got, err)
	}
}

func TestArgumentsAreRefusedWithTheirPath(t *testing.T) {
	for text, reason := range map[string]string{
		`{"lable": "a"}`:                   "lable: unknown field `lable`, expected `label`, `flag`",
		`{"secret": "a"}`:                  "secret: unknown field",
		`{"-": "a"}`:                       "-: unknown field",
		`{"": "a"}`:                        "unknown field ``",
		`{"label": 3}`:                     "label: expected a string, not 3",
		`{"label": ""}`:                    "label: must not be empty",
		`{"flag": 0}`:                      "flag: expected true or false, not 0",
		`{"count": 1.5}`:                   "count: expected an integer, not 1.5",
		`{"count": 128}`:                   "count: expected an integer, not 128",
		`{"count": 101}`:                   "count: too many",
		`{"size": -1}`:                     "size: expected an integer that is not negative, not -1",
		`{"ratio": "x"}`:                   `ratio: expected a number, not "x"`,
		`{"list": "a"}`:                    `list: expected a list, not "a"`,
		`{"list": ["a", {"b": [null]}]}`:   `list[1]: expected a string, not {"b":[null]}`,
		`{"map": {"a": true}}`:             "map.a: expected an integer, not true",
		`{"inside": {}}`:                   "inside.key: missing",
		`{"maybe": {"key": null}}`:         "maybe.key: missing",
		`{"nested": [{}, {"x": 1}]}`:       "nested[1].x: expected true or false, not 1",
		`{"inside": {"key": "a", "b": 1}}`: "inside.b: unknown field `b`, expected `key`",
		`[]`:                               "expected an object, not []",
		`{`:                                "the arguments are not JSON: ",
		`{"label": "a"} x`:                 "the arguments are not JSON: ",
		`{"label": "` + strings.Repeat("é", 50) + `", "flag": "` + strings.Repeat("é", 50) + `"}`: `flag: expected true or false, not "` +
			strings.Repeat("é", 19) + "…",
	} {
		_, err := configure(text)
		if err == nil || !strings.HasPrefix(err.Error(), reason) {
			t.Errorf("%s: %v, expected %s", text, err, reason)
		}
	}
}

func random(t *testing.T) *rand.Rand {
	seed, err := strconv.ParseUint(os.Getenv("NODESIFT_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	t.Logf("NODESIFT_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func TestArgumentsAreThoseOfEncodingJSON(t *testing.T) {
	r := random(t)
	text := func() string {
		const characters = "ab\"\\/\n\t\x01é€😀 <"
		runes := []rune(characters)
		made := make([]rune, 1+r.IntN(5))
		for index := range made {
			made[index] = runes[r.IntN(len(runes))]
		}
		return string(made)
	}
	for range 2_000 {
		wanted := args{
			Label: text(), Flag: r.IntN(2) == 0, Count: int8(r.IntN(200) - 128), Size: uint(r.Uint64()), Ratio: r.NormFloat64() * 1e9,
			List: []string{text(), text()}, Map: map[string]int{text(): int(r.Int64()), text(): -1}, Inside: inside{text()},
			Maybe: &inside{text()}, Nested: []map[string]bool{{}, {text(): true}}, Named: text(),
		}
		if wanted.Count > 100 {
			continue
		}
		written, err := json.Marshal(wanted)
		if err != nil {
			t.Fatal(err)
		}
		// The reader has small first letters, as policies do.
		written = []byte(strings.Replace(string(written), `"Named"`, `"named"`, 1))
		got, err := configure(string(written))
		if err != nil || !reflect.DeepEqual(got, wanted) {
			t.Fatalf("%s: %v\n%+v\n%+v", written, err, got, wanted)
		}
		// With a change somewhere, it is JSON for both or for neither.
		changed := []byte(string(written))
		changed[r.IntN(len(changed))] = `"\{}[],:x0-1. eu`[r.IntN(16)]
		if r.IntN(3) == 0 {
			changed = changed[:r.IntN(len(changed))]
		}
		_, err = configure(string(changed))
		isJSON := err == nil || !strings.HasPrefix(err.Error(), "the arguments are not JSON")
		if isJSON != json.Valid(changed) {
			t.Fatalf("%s: %v, and encoding/json says %v", changed, err, json.Valid(changed))
		}
	}
	if _, err := configure(strings.Repeat("[", 1_000_000)); err == nil {
		t.Fatal("deep lists are accepted")
	}
}
