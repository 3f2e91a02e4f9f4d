package plugin

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-logr/logr/funcr"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"

	"github.com/nodesift/nodesift/sdk/core/go/nodesiftv1"
)

// lines are what the plugin logs.
type lines struct {
	mutex sync.Mutex
	all   []string
}

// logged has the plugin of a world log here.
func (w *world) logged() *lines {
	l := &lines{}
	w.ctx = klog.NewContext(w.ctx, funcr.New(func(_, line string) {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		l.all = append(l.all, line)
	}, funcr.Options{}))
	w.plugin().logger = klog.FromContext(w.ctx)
	return l
}

const (
	placedLine = "pods were placed while nodesift gave no answers\""
	judgedLine = "pods that were placed while nodesift gave no answers were judged\""
)

// with are the lines with a text.
func (l *lines) with(text string) []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var found []string
	for _, line := range l.all {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// expect fails where there is not one line with a text, or it lacks parts.
func (l *lines) expect(t *testing.T, text string, parts ...string) {
	t.Helper()
	found := l.with(text)
	if len(found) != 1 {
		t.Fatalf("%d lines with %s: %v", len(found), text, found)
	}
	for _, part := range parts {
		if !strings.Contains(found[0], part) {
			t.Errorf("%s does not say %s", found[0], part)
		}
	}
}

// counted is the value of a counter, that with a value of its label where one is given, and 0 where there is none.
func counted(t *testing.T, name, value string) int {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "scheduler_nodesift_"+name {
			continue
		}
		for _, sample := range family.GetMetric() {
			if value == "" || sample.GetLabel()[0].GetValue() == value {
				return int(sample.GetCounter().GetValue())
			}
		}
	}
	return 0
}

// judges tells whether a request is about a pod on its node, without itself.
func judges(request *nodesiftv1.FilterRequest) bool {
	return len(request.GetOverlay().GetRemovedPods()) > 0
}

func TestPodsThatWerePlacedInAnOutageAreNamedOnceAndJudgedAfterIt(t *testing.T) {
	fake := startFake(t, "a", "b")
	w := newWorld(t, full, patient(fake.address(), inTreeDecides), node("a"), node("b"), pod("misfit").Obj())
	log := w.logged()
	counts := func() [3]int {
		return [3]int{counted(t, "unanswered_placements_total", ""), counted(t, "judged_placements_total", "fits"),
			counted(t, "judged_placements_total", "misfit")}
	}
	before := counts()
	fake.server.Stop()
	w.reserve(pod("fits").Obj(), "a")
	w.reserve(pod("misfit").Obj(), "b")
	void := pod("void").Obj()
	w.scheduler.Profiles[ours].RunReservePluginsUnreserve(w.ctx, w.reserve(void, "b"), void, "b")
	if found := log.with("placed"); found != nil {
		t.Errorf("%v", found)
	}
	fake.set(func(f *fakeSidecar) {
		f.rejects["b"] = failure("TeamIsolation", unschedulable, "node(s) belonged to another team")
	})
	fake.start(t)
	until(t, "the sidecar answers", w.answers)
	until(t, "the pods are judged", func() bool { return log.with(judgedLine) != nil })
	w.answers()
	w.answers()
	log.expect(t, placedLine, `"placed"=2 `, `["default/fits on a" "default/misfit on b"]`)
	const why = "TeamIsolation: node(s) belonged to another team"
	log.expect(t, judgedLine, `"pods"=2 "judged"=2 "misfits"=1 "first"=["default/misfit on b (`+why+`)"]`)
	const event = "Warning NodesiftMisfit the pod was placed on b while nodesift gave no answers, and does not fit: " + why
	if len(w.recorder.Events) != 1 {
		t.Fatalf("%d events", len(w.recorder.Events))
	}
	if told := <-w.recorder.Events; told != event {
		t.Error(told)
	}
	var judged []string
	for _, request := range fake.asked() {
		if judges(request) {
			judged = append(judged, fmt.Sprint(request.GetOverlay().GetRemovedPods()[0].GetUid(), request.GetPods()[0].GetUid(), request.GetNodes().GetNames()))
		}
	}
	if wanted := "[uid-fitsuid-fits[a] uid-misfituid-misfit[b]]"; fmt.Sprint(judged) != wanted {
		t.Errorf("%v, not %s", judged, wanted)
	}
	// One of them was not bound in the end.
	if after := counts(); after != [3]int{before[0] + 3, before[1] + 1, before[2] + 1} {
		t.Errorf("%v, then %v", before, after)
	}
}

func TestOfManyPodsThatWerePlacedInAnOutageABoundedNumberIsNamedAndJudged(t *testing.T) {
	fake := startFake(t, "a")
	w := newWorld(t, full, patient(fake.address(), inTreeDecides), node("a"))
	log := w.logged()
	of := &w.plugin().sidecar.outage
	for at := range maxJudged + 100 {
		of.note(placement{w.plugin(), pod(fmt.Sprint("web-", at)).Obj(), "a"})
	}
	if len(of.pods) != maxJudged {
		t.Errorf("%d pods are kept", len(of.pods))
	}
	until(t, "the sidecar answers", w.answers)
	until(t, "the pods are judged", func() bool { return log.with(judgedLine) != nil })
	log.expect(t, placedLine, fmt.Sprintf(`"placed"=%d `, maxJudged+100), `"default/web-19 on a"]`)
	log.expect(t, judgedLine, fmt.Sprintf(`"pods"=%d "judged"=%d "misfits"=0`, maxJudged, maxJudged))
}

func TestPodsThatAnotherOutageKeepsFromBeingJudgedAreJudgedAfterIt(t *testing.T) {
	for what, edit := range map[string]func(*nodesiftv1.FilterResponse) error{
		"silent": func(*nodesiftv1.FilterResponse) error { return status.Error(codes.Unavailable, "away") },
		"stale":  func(response *nodesiftv1.FilterResponse) error { response.Version.Stale = true; return nil },
	} {
		fake := startFake(t, "a")
		w := newWorld(t, full, patient(fake.address(), inTreeDecides), node("a"))
		log := w.logged()
		for _, name := range []string{"at fault", "second", "third"} {
			w.plugin().sidecar.outage.note(placement{w.plugin(), pod(name).Obj(), "a"})
		}
		fake.set(func(f *fakeSidecar) {
			f.edit = func(request *nodesiftv1.FilterRequest, response *nodesiftv1.FilterResponse) error {
				if judges(request) && request.GetPods()[0].GetUid() == "uid-at fault" {
					return edit(response)
				}
				return nil
			}
		})
		until(t, "the others are judged: "+what, func() bool { w.answers(); return len(log.with(judgedLine)) > 1 })
		log.expect(t, placedLine, `"placed"=3 `)
		log.expect(t, judgedLine+` "pods"=1 "judged"=0 `)
		log.expect(t, judgedLine+` "pods"=2 "judged"=2 `)
	}
}

func TestAPodWithAFaultIsNotJudgedLater(t *testing.T) {
	fake := startFake(t, "a")
	fake.edit = worthless["fault"]
	w := newWorld(t, full, patient(fake.address(), inTreeDecides), node("a"))
	w.reserve(pod("web").Obj(), "a")
	if of := &w.plugin().sidecar.outage; of.placed != 0 || of.pods != nil {
		t.Errorf("%d placed, %v", of.placed, of.pods)
	}
}

func TestTheReasonsOfAnEventAreBounded(t *testing.T) {
	fake := startFake(t, "a")
	w := newWorld(t, full, patient(fake.address(), inTreeDecides), node("a"), pod("web").Node("a").Obj())
	w.plugin().sidecar.outage.note(placement{w.plugin(), pod("web").Obj(), "a"})
	fake.set(func(f *fakeSidecar) {
		f.rejects["a"] = failure("TeamIsolation", unschedulable, strings.Repeat("ü", 1000))
	})
	w.cycle(ours, pod("next").Obj())
	until(t, "it is judged", func() bool { return len(w.recorder.Events) > 0 })
	if told := <-w.recorder.Events; len(told) > 1024 || !utf8.ValidString(told) || !strings.HasSuffix(told, "üüü") {
		t.Errorf("%d bytes: %s", len(told), told)
	}
}

func TestPodsOfOneOutageAreJudgedBeforeThoseOfTheNext(t *testing.T) {
	var of outage
	place := func(name string) { of.note(placement{pod: pod(name).Obj(), node: "a"}) }
	place("first")
	place("second")
	_, _, firsts := of.take()
	if len(firsts) != 2 {
		t.Fatalf("%v", firsts)
	}
	place("third")
	if placed, first, next := of.take(); placed != 0 || first != nil || next != nil {
		t.Errorf("taken while others are judged: %d, %v, %v", placed, first, next)
	}
	of.judged(firsts)
	// It is not placed after all, though its outage has been named.
	of.drop("uid-first")
	placed, first, next := of.take()
	if got := fmt.Sprint(placed, first, next); got != "1 [default/third on a] [default/second on a default/third on a]" {
		t.Error(got)
	}
}

func TestNoEventIsAboutAPodThatHasGoneWhileItWasJudged(t *testing.T) {
	pods := func(w *world) typed.PodInterface { return w.client.CoreV1().Pods("default") }
	shown := func(w *world) (*v1.Pod, error) {
		return w.factory.Core().V1().Pods().Lister().Pods("default").Get("web")
	}
	update := func(w *world, to *v1.Pod) error {
		_, err := pods(w).Update(w.ctx, to, metav1.UpdateOptions{})
		return err
	}
	for what, test := range map[string]struct {
		// What happens to the pod, and whether that has been shown.
		change func(*world) error
		done   func(*world) bool
		event  bool
	}{
		"deleted": {
			func(w *world) error { return pods(w).Delete(w.ctx, "web", metav1.DeleteOptions{}) },
			func(w *world) bool { _, err := shown(w); return err != nil }, false,
		},
		"another of its name on the node": {
			func(w *world) error { return update(w, pod("web").UID("uid-next").Node("a").Obj()) },
			func(w *world) bool { of, err := shown(w); return err == nil && of.UID == "uid-next" }, false,
		},
		"on another node": {
			func(w *world) error { return update(w, pod("web").Node("b").Obj()) },
			func(w *world) bool { of, err := shown(w); return err == nil && of.Spec.NodeName == "b" }, false,
		},
		"not placed in the end": {
			func(w *world) error { w.plugin().Unreserve(w.ctx, nil, pod("web").Obj(), "a"); return nil },
			func(*world) bool { return true }, false,
		},
		"on its node": {
			func(w *world) error { return update(w, pod("web").Node("a").Obj()) },
			func(w *world) bool { of, err := shown(w); return err == nil && of.Spec.NodeName == "a" }, true,
		},
		"on the way there": {func(*world) error { return nil }, func(*world) bool { return true }, true},
	} {
		t.Run(what, func(t *testing.T) {
			fake := startFake(t, "a", "b", "c")
			w := newWorld(t, full, patient(fake.address(), inTreeDecides), node("a"), node("b"), node("c"),
				pod("web").Obj(), pod("other").Node("c").Obj())
			log, shared := w.logged(), w.plugin().sidecar
			shared.judgeTimeout = scaled(20 * time.Second)
			shared.ledger.reserve(pod("web").Obj(), "a", false)
			shared.outage.note(placement{w.plugin(), pod("web").Obj(), "a"})
			shared.outage.note(placement{w.plugin(), pod("other").Obj(), "c"})
			judging, changed := make(chan struct{}), make(chan struct{})
			t.Cleanup(sync.OnceFunc(func() { close(changed) }))
			fake.set(func(f *fakeSidecar) {
				for _, node := range f.nodes {
					f.rejects[node] = failure("TeamIsolation", unschedulable, "another team")
				}
				f.edit = func(request *nodesiftv1.FilterRequest, _ *nodesiftv1.FilterResponse) error {
					if judges(request) && request.GetPods()[0].GetUid() == "uid-web" {
						close(judging)
						<-changed
					}
					return nil
				}
			})
			w.cycle(ours, pod("next").Obj())
			<-judging
			if err := test.change(w); err != nil {
				t.Fatal(err)
			}
			until(t, "it is shown", func() bool { return test.done(w) })
			changed <- struct{}{}
			until(t, "both are judged", func() bool { return log.with(judgedLine) != nil })
			events := 1
			if test.event {
				events = 2
			}
			log.expect(t, judgedLine, fmt.Sprintf(`"pods"=2 "judged"=%d "misfits"=%d`, events, events), "default/other on c")
			if len(w.recorder.Events) != events {
				t.Errorf("%d events", len(w.recorder.Events))
			}
		})
	}
}
