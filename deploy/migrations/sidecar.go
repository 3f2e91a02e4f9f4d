package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
)

// sidecar is where nodesift answers.
type sidecar struct {
	address string
	client  *http.Client
}

// mark is a watermark of the policy: a share that a sum has of another sum, or of a resource, in percent.
type mark struct {
	Sum, Of      string
	Above, Below int64
}

// machine is a pod with the amount that it adds to a sum.
type machine struct {
	UID, Namespace, Name string
	Amount               int64
}

// line is one of /v1/events; only those of type ABOVE and BELOW have what follows Generation.
type line struct {
	Type, Generation, Node string
	Watermark              mark
	Amount, Whole          int64
	Pods                   []machine
}

// crossed is a watermark on a node.
type crossed struct {
	node string
	mark mark
}

// state is what /v1/state has, as far as it is read.
type state struct {
	Version struct{ Generation string }
	Nodes   []struct {
		Name              string
		Allocatable, Sums map[string]int64
		OwnPods           []struct {
			UID, Namespace, Name string
			Sums                 map[string]int64
		}
	}
}

func (s sidecar) open(ctx context.Context, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.address+path, nil)
	if err != nil {
		return nil, err
	}
	answer, err := s.client.Do(request)
	if err == nil && answer.StatusCode != http.StatusOK {
		answer.Body.Close()
		err = fmt.Errorf("%s: %s", path, answer.Status)
	}
	return answer, err
}

func (s sidecar) read(ctx context.Context, path string, into any) error {
	answer, err := s.open(ctx, path)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return json.NewDecoder(answer.Body).Decode(into)
}

// above reads which nodes are above watermarks, with all pods of the policy's schedulers on them, the heaviest first; and since when events
// tell what has changed.
func (s sidecar) above(ctx context.Context) (map[crossed]*excess, string, error) {
	var policy struct{ Accounting struct{ Watermarks []mark } }
	var now state
	if err := s.read(ctx, "/v1/policy", &policy); err != nil {
		return nil, "", err
	}
	if err := s.read(ctx, "/v1/state", &now); err != nil {
		return nil, "", err
	}
	above := map[crossed]*excess{}
	for _, node := range now.Nodes {
		for _, mark := range policy.Accounting.Watermarks {
			whole, isSum := node.Sums[mark.Of]
			if !isSum {
				whole = node.Allocatable[mark.Of]
			}
			if whole == 0 || node.Sums[mark.Sum]*100 <= mark.Above*whole {
				continue
			}
			var machines []machine
			for _, pod := range node.OwnPods {
				if amount := pod.Sums[mark.Sum]; amount > 0 {
					machines = append(machines, machine{pod.UID, pod.Namespace, pod.Name, amount})
				}
			}
			slices.SortFunc(machines, func(a, b machine) int { return cmp.Compare(b.Amount, a.Amount) })
			above[crossed{node.Name, mark}] = &excess{machines: machines, all: true}
		}
	}
	return above, now.Version.Generation, nil
}

// events sends the lines of /v1/events after a generation, until the stream ends, which closes the channel.
func (s sidecar) events(ctx context.Context, since string) (<-chan line, error) {
	answer, err := s.open(ctx, "/v1/events?since="+since)
	if err != nil {
		return nil, err
	}
	lines := make(chan line)
	go func() {
		defer close(lines)
		defer answer.Body.Close()
		for scanner := bufio.NewScanner(answer.Body); scanner.Scan(); {
			var next line
			if json.Unmarshal(scanner.Bytes(), &next) != nil {
				return
			}
			select {
			case lines <- next:
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines, nil
}
