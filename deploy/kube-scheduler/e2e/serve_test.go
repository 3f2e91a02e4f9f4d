package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// bookmarkPeriod is the time after which a watch without events sends a bookmark. A real server waits for a minute; tests that wait
// for a version do not want to.
const bookmarkPeriod = 200 * time.Millisecond

// target is what a path names.
type target struct{ resource, namespace, name, part string }

func targetOf(path string) target {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) > 1 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 2 && parts[0] == "apis":
		parts = parts[3:]
	default:
		return target{}
	}
	var to target
	if len(parts) > 2 && parts[0] == "namespaces" && parts[2] != "status" && parts[2] != "finalize" {
		to.namespace, parts = parts[1], parts[2:]
	}
	parts = append(parts, "", "", "")
	to.resource, to.name, to.part = parts[0], parts[1], parts[2]
	return to
}

func (t target) key() string { return strings.TrimPrefix(t.namespace+"/"+t.name, "/") }

func (s *apiServer) serve(w http.ResponseWriter, r *http.Request) {
	to := targetOf(r.URL.Path)
	w.Header().Set("Content-Type", "application/json")
	store := s.kinds[to.resource]
	body, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		return
	case r.URL.Path == "/extender/preempt":
		s.extend(w, body)
	case to.resource == "events":
		_, _ = w.Write(body)
	case store == nil:
		refuse(w, http.StatusNotFound, "NotFound", r.Method+" "+r.URL.Path)
	case r.Method != http.MethodGet:
		s.change(w, r, store, to, body)
	case to.name != "":
		s.mutex.Lock()
		object, there := store.objects[to.key()]
		s.mutex.Unlock()
		if !there {
			refuse(w, http.StatusNotFound, "NotFound", to.key())
			return
		}
		_, _ = w.Write(object.text)
	case r.URL.Query().Get("watch") != "":
		s.watch(w, r, store)
	default:
		s.list(w, r, store)
	}
}

func refuse(w http.ResponseWriter, code int, reason, message string) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message,
	})
}

func (s *apiServer) list(w http.ResponseWriter, r *http.Request, store *kindStore) {
	s.mutex.Lock()
	objects, version := store.sorted(r.URL.Query().Get("fieldSelector")), s.version
	s.mutex.Unlock()
	_, _ = fmt.Fprintf(w, `{"kind":"%sList","metadata":{"resourceVersion":"%d"},"items":[`, store.kind, version)
	for i, object := range objects {
		if i > 0 {
			_, _ = w.Write([]byte(","))
		}
		_, _ = w.Write(object.text)
	}
	_, _ = w.Write([]byte("]}"))
}

func (s *apiServer) watch(w http.ResponseWriter, r *http.Request, store *kindStore) {
	selector := r.URL.Query().Get("fieldSelector")
	after, _ := strconv.ParseUint(r.URL.Query().Get("resourceVersion"), 10, 64)
	write := func(what string, text []byte) bool {
		_, err := fmt.Fprintf(w, `{"type":%q,"object":%s}`+"\n", what, text)
		return err == nil
	}
	bookmark := func(annotations string) bool {
		return write("BOOKMARK", fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"%d"%s}}`,
			store.kind, versionOf(r.URL.Path), after, annotations))
	}
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		s.mutex.Lock()
		objects := store.sorted(selector)
		after = s.version
		s.mutex.Unlock()
		for _, object := range objects {
			if !write("ADDED", object.text) {
				return
			}
		}
		if !bookmark(`,"annotations":{"k8s.io/initial-events-end":"true"}`) {
			return
		}
	}
	for {
		s.mutex.Lock()
		first, _ := slices.BinarySearchFunc(store.events, after+1, func(e event, version uint64) int {
			return cmp.Compare(e.version, version)
		})
		events, changed := store.events[first:], s.changed
		after = s.version
		s.mutex.Unlock()
		for _, event := range events {
			if selects(selector, event.stored.phase) && !write(event.kind, event.stored.text) {
				return
			}
		}
		if !bookmark("") {
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-changed:
		case <-time.After(bookmarkPeriod):
		case <-r.Context().Done():
			return
		}
	}
}

// versionOf is the apiVersion of a path's objects.
func versionOf(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if parts[0] == "api" {
		return parts[1]
	}
	return parts[1] + "/" + parts[2]
}

// change answers a request that writes.
func (s *apiServer) change(w http.ResponseWriter, r *http.Request, store *kindStore, to target, body []byte) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var fields map[string]any
	object, there := store.objects[to.key()]
	if !there && r.Method != http.MethodPost {
		refuse(w, http.StatusNotFound, "NotFound", to.key())
		return
	}
	if there {
		if err := json.Unmarshal(object.text, &fields); err != nil {
			refuse(w, http.StatusInternalServerError, "InternalError", err.Error())
			return
		}
	}
	switch {
	case r.Method == http.MethodDelete:
		s.requests.deleted = append(s.requests.deleted, object.uid)
		if !s.dry {
			s.drop(store, to.key())
		}
	case s.dry:
	case to.part == "binding" && there:
		spec := fields["spec"].(map[string]any)
		if spec["nodeName"] != nil {
			s.requests.boundTwice = append(s.requests.boundTwice, to.key())
			refuse(w, http.StatusConflict, "Conflict", "the pod is bound")
			return
		}
		var binding corev1.Binding
		if err := json.Unmarshal(body, &binding); err != nil {
			refuse(w, http.StatusBadRequest, "BadRequest", err.Error())
			return
		}
		spec["nodeName"] = binding.Target.Name
		s.requests.bound++
		_ = s.store(to.resource, fields)
	case r.Method == http.MethodPatch && to.resource == "pods":
		patched, err := strategicpatch.StrategicMergePatch(object.text, body, corev1.Pod{})
		if err == nil {
			fields = nil
			err = json.Unmarshal(patched, &fields)
		}
		if err != nil {
			refuse(w, http.StatusBadRequest, "BadRequest", err.Error())
			return
		}
		_ = s.store(to.resource, fields)
	default:
		refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed", r.Method+" "+r.URL.Path)
		return
	}
	s.wake()
	answer := []byte(`{"kind":"Status","apiVersion":"v1","status":"Success"}`)
	if there && r.Method == http.MethodPatch {
		answer = store.objects[to.key()].text
	}
	if r.Method == http.MethodPost {
		w.WriteHeader(http.StatusCreated)
	}
	_, _ = w.Write(answer)
}

// extend is an extender's preemption: it notes all candidates and changes none.
func (s *apiServer) extend(w http.ResponseWriter, body []byte) {
	var request struct {
		NodeNameToMetaVictims json.RawMessage
	}
	if err := json.Unmarshal(body, &request); err != nil {
		refuse(w, http.StatusBadRequest, "BadRequest", err.Error())
		return
	}
	s.mutex.Lock()
	s.candidates = request.NodeNameToMetaVictims
	s.mutex.Unlock()
	_ = json.NewEncoder(w).Encode(map[string]any{"NodeNameToMetaVictims": request.NodeNameToMetaVictims})
}
