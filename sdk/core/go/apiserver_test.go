package nodesift_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// apiServer is an API server with nodes that change and one pending pod; of all other kinds it has no objects. It keeps its
// history, so that an answer can be compared with the cluster at the version that it names.
type apiServer struct {
	*httptest.Server
	mutex   sync.Mutex
	changed chan struct{}
	frozen  bool
	version uint64
	events  []event
	// Whether a node is open for pods, by name; one state per version that was current, in order.
	states []state
}

type event struct {
	version uint64
	text    string
}

type state struct {
	version uint64
	open    map[string]bool
}

const pendingUID = "7e0d3c1a-0000-4000-8000-000000000001"

func startAPIServer(t testing.TB) *apiServer {
	server := &apiServer{changed: make(chan struct{}), version: 100}
	server.states = []state{{100, map[string]bool{}}}
	server.Server = httptest.NewServer(http.HandlerFunc(server.serve))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

// kubeconfig writes a file whose only context is this server.
func (s *apiServer) kubeconfig(t testing.TB) string {
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
		"clusters":[{"name":"c","cluster":{"server":%q}}],"users":[{"name":"c","user":{"token":"t"}}],
		"contexts":[{"name":"c","context":{"cluster":"c","user":"c"}}]}`, s.URL)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func node(name string, open bool, version uint64) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Node","metadata":{"name":%q,"uid":"uid-%s","resourceVersion":"%d"},
		"spec":{"unschedulable":%t},"status":{"allocatable":{"cpu":"8","memory":"32Gi","pods":"110"}}}`, name, name, version, !open)
}

func pendingPod() string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"default","uid":%q,
		"resourceVersion":"50"},"spec":{"schedulerName":"default-scheduler","containers":[{"name":"main"}]}}`, pendingUID)
}

// edit changes nodes, each at a version of its own, and returns the last version and the nodes at it.
func (s *apiServer) edit(change func(open map[string]bool, set func(name string, open bool), remove func(name string))) (string, map[string]bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	open := maps.Clone(s.states[len(s.states)-1].open)
	note := func(kind, name string) {
		s.version++
		text := fmt.Sprintf(`{"type":%q,"object":%s}`, kind, node(name, open[name], s.version))
		s.events = append(s.events, event{s.version, compact(text)})
	}
	set := func(name string, isOpen bool) {
		kind := "ADDED"
		if _, ok := open[name]; ok {
			kind = "MODIFIED"
		}
		open[name] = isOpen
		note(kind, name)
		s.states = append(s.states, state{s.version, maps.Clone(open)})
	}
	remove := func(name string) {
		note("DELETED", name)
		delete(open, name)
		s.states = append(s.states, state{s.version, maps.Clone(open)})
	}
	change(open, set, remove)
	close(s.changed)
	s.changed = make(chan struct{})
	return strconv.FormatUint(s.version, 10), maps.Clone(open)
}

// at is the cluster at a version.
func (s *apiServer) at(version string) map[string]bool {
	number, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return nil
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	next := slices.IndexFunc(s.states, func(state state) bool { return state.version > number })
	if next < 0 {
		next = len(s.states)
	}
	return s.states[next-1].open
}

// freeze makes the server silent on all connections.
func (s *apiServer) freeze() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.frozen = true
}

func (s *apiServer) serve(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	frozen := s.frozen
	s.mutex.Unlock()
	if frozen {
		<-r.Context().Done()
		return
	}
	kind := filepath.Base(r.URL.Path)
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Query().Get("watch") == "" {
		s.list(w, kind)
		return
	}
	s.watch(w, r, kind)
}

func (s *apiServer) list(w http.ResponseWriter, kind string) {
	s.mutex.Lock()
	items := []json.RawMessage{}
	switch kind {
	case "nodes":
		for name, open := range s.states[len(s.states)-1].open {
			items = append(items, json.RawMessage(node(name, open, s.version)))
		}
	case "pods":
		items = append(items, json.RawMessage(pendingPod()))
	}
	version := s.version
	s.mutex.Unlock()
	metadata := map[string]string{"resourceVersion": strconv.FormatUint(version, 10)}
	answer := map[string]any{"metadata": metadata, "items": items}
	// Others are empty, and of groups that this server does not tell apart.
	if name, isKept := kinds[kind]; isKept {
		answer["kind"], answer["apiVersion"] = name+"List", "v1"
	}
	_ = json.NewEncoder(w).Encode(answer)
}

var kinds = map[string]string{"nodes": "Node", "pods": "Pod", "namespaces": "Namespace"}

func (s *apiServer) watch(w http.ResponseWriter, r *http.Request, kind string) {
	after, err := strconv.ParseUint(r.URL.Query().Get("resourceVersion"), 10, 64)
	if err != nil {
		http.Error(w, "a watch begins after a version", http.StatusBadRequest)
		return
	}
	for {
		s.mutex.Lock()
		changed, frozen := s.changed, s.frozen
		var texts []string
		if kind == "nodes" {
			first := len(s.events)
			for first > 0 && s.events[first-1].version > after {
				first--
			}
			for _, event := range s.events[first:] {
				texts = append(texts, event.text)
			}
		}
		after = s.version
		s.mutex.Unlock()
		if frozen {
			<-r.Context().Done()
			return
		}
		if len(texts) == 0 {
			texts = append(texts, fmt.Sprintf(`{"type":"BOOKMARK","object":{"kind":%q,"apiVersion":"v1","metadata":{"resourceVersion":"%d"}}}`, kinds[kind], after))
		}
		for _, text := range texts {
			if _, err := fmt.Fprintln(w, text); err != nil {
				return
			}
		}
		w.(http.Flusher).Flush()
		select {
		case <-changed:
		case <-time.After(time.Second):
		case <-r.Context().Done():
			return
		}
	}
}

func compact(text string) string {
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		panic(err)
	}
	line, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(line)
}
