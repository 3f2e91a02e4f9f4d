package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// apiServer is an API server with objects, watches and the calls of a scheduler: bind, patch a pod or its status, delete.
type apiServer struct {
	*httptest.Server
	mutex    sync.Mutex
	changed  chan struct{}
	version  uint64
	kinds    map[string]*kindStore
	requests requests
	// The number of pods that are on a node and have not ended.
	placed int
	// With it set, pods that are deleted or patched stay as they are: a preemption is asked for and not carried out.
	dry bool
	// The candidates that kube-scheduler sent to its extender for the last preemption.
	candidates json.RawMessage
}

// requests are the calls that a scheduler made.
type requests struct {
	// UIDs of pods that were deleted.
	deleted []string
	// Pods whose second binding was refused.
	boundTwice []string
	bound      int
}

// kindStore has the objects of one kind by namespace/name, and what happened to them.
type kindStore struct {
	kind    string
	objects map[string]stored
	events  []event
}

type stored struct {
	version uint64
	uid     string
	phase   string
	node    string
	text    json.RawMessage
}

// takesRoom says whether it is a pod that a scheduler has to count.
func (s stored) takesRoom() bool {
	return s.node != "" && s.phase != "Succeeded" && s.phase != "Failed"
}

func boolInt(is bool) int {
	if is {
		return 1
	}
	return 0
}

type event struct {
	version uint64
	kind    string
	stored  stored
}

// served are the kinds that a scheduler or a sidecar watches, by the name of the resource.
var served = map[string]string{
	"nodes": "Node", "pods": "Pod", "namespaces": "Namespace", "services": "Service",
	"persistentvolumes": "PersistentVolume", "persistentvolumeclaims": "PersistentVolumeClaim",
	"replicationcontrollers": "ReplicationController", "replicasets": "ReplicaSet", "statefulsets": "StatefulSet",
	"poddisruptionbudgets": "PodDisruptionBudget", "storageclasses": "StorageClass", "csinodes": "CSINode",
	"csidrivers": "CSIDriver", "csistoragecapacities": "CSIStorageCapacity", "volumeattachments": "VolumeAttachment",
	"resourceclaims": "ResourceClaim", "resourceslices": "ResourceSlice", "deviceclasses": "DeviceClass",
}

func startAPIServer(t testing.TB) *apiServer {
	server := &apiServer{changed: make(chan struct{}), version: 100, kinds: map[string]*kindStore{}}
	for resource, kind := range served {
		server.kinds[resource] = &kindStore{kind: kind, objects: map[string]stored{}}
	}
	server.Server = httptest.NewServer(http.HandlerFunc(server.serve))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

// kubeconfig writes a file whose only context is this server.
func (s *apiServer) kubeconfig(t testing.TB) string {
	return writeKubeconfig(t, s.URL, "token", "")
}

func writeKubeconfig(t testing.TB, url, token, authority string) string {
	server := map[string]string{"server": url}
	if authority != "" {
		server["certificate-authority"] = authority
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": []any{map[string]any{"name": "c", "cluster": server}},
		"users":    []any{map[string]any{"name": "c", "user": map[string]string{"token": token}}},
		"contexts": []any{map[string]any{"name": "c", "context": map[string]string{"cluster": "c", "user": "c"}}},
	})
	check(t, err)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	check(t, os.WriteFile(path, text, 0o600))
	return path
}

// put creates or replaces objects, given as JSON text or as API types that name their kind.
func (s *apiServer) put(t testing.TB, objects ...any) {
	t.Helper()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, object := range objects {
		text, isText := object.(json.RawMessage)
		if !isText {
			var err error
			text, err = json.Marshal(object)
			check(t, err)
		}
		var fields map[string]any
		check(t, json.Unmarshal(text, &fields))
		check(t, s.store("", fields))
	}
	s.wake()
}

// remove deletes an object by the name of its resource and namespace/name.
func (s *apiServer) remove(resource, key string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.drop(s.kinds[resource], key)
	s.wake()
}

// now is the version of the last change.
func (s *apiServer) now() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return strconv.FormatUint(s.version, 10)
}

// counts are the numbers of nodes and of pods that take room.
func (s *apiServer) counts() (nodes, placed int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.kinds["nodes"].objects), s.placed
}

// each reads all objects of a resource.
func each[T any](t testing.TB, s *apiServer, resource string) []T {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var all []T
	for _, object := range s.kinds[resource].sorted("") {
		var value T
		check(t, json.Unmarshal(object.text, &value))
		all = append(all, value)
	}
	return all
}

func (s *apiServer) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// store writes an object at the next version. The resource is that of its kind where none is given.
func (s *apiServer) store(resource string, fields map[string]any) error {
	kind, _ := fields["kind"].(string)
	if resource == "" {
		for name, of := range served {
			if of == kind {
				resource = name
			}
		}
	}
	store := s.kinds[resource]
	metadata, _ := fields["metadata"].(map[string]any)
	if store == nil || metadata == nil {
		return fmt.Errorf("no kind %q is served", kind)
	}
	s.version++
	metadata["resourceVersion"] = strconv.FormatUint(s.version, 10)
	name, _ := metadata["name"].(string)
	namespace, _ := metadata["namespace"].(string)
	key := strings.TrimPrefix(namespace+"/"+name, "/")
	uid, _ := metadata["uid"].(string)
	if uid == "" {
		uid = kind + ":" + key
		metadata["uid"] = uid
	}
	status, _ := fields["status"].(map[string]any)
	phase, _ := status["phase"].(string)
	text, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	spec, _ := fields["spec"].(map[string]any)
	node, _ := spec["nodeName"].(string)
	object := stored{s.version, uid, phase, node, text}
	if store.kind == "Pod" {
		s.placed += boolInt(object.takesRoom()) - boolInt(store.objects[key].takesRoom())
	}
	what := "ADDED"
	if _, there := store.objects[key]; there {
		what = "MODIFIED"
	}
	store.objects[key] = object
	store.events = append(store.events, event{s.version, what, object})
	return nil
}

func (s *apiServer) drop(store *kindStore, key string) {
	object, there := store.objects[key]
	if !there {
		return
	}
	s.version++
	if store.kind == "Pod" {
		s.placed -= boolInt(object.takesRoom())
	}
	delete(store.objects, key)
	object.text = slices.Clone(object.text)
	old, current := fmt.Sprintf(`"resourceVersion":"%d"`, object.version), fmt.Sprintf(`"resourceVersion":"%d"`, s.version)
	object.text = json.RawMessage(strings.Replace(string(object.text), old, current, 1))
	object.version = s.version
	store.events = append(store.events, event{s.version, "DELETED", object})
}

// selects says whether a pod of this phase is in a list with this field selector, of which only terms on the phase are known.
func selects(selector, phase string) bool {
	for term := range strings.SplitSeq(selector, ",") {
		if term == "status.phase!="+phase {
			return false
		}
	}
	return true
}

func (k *kindStore) sorted(selector string) []stored {
	keys := make([]string, 0, len(k.objects))
	for key, object := range k.objects {
		if selects(selector, object.phase) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, cmp.Compare[string])
	all := make([]stored, len(keys))
	for i, key := range keys {
		all[i] = k.objects[key]
	}
	return all
}
