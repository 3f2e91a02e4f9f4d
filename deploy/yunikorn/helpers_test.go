package yunikorn_test

import (
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

// scaled is a timeout on this machine.
func scaled(timeout time.Duration) time.Duration {
	factor, err := strconv.Atoi(os.Getenv("NODESIFT_TIMEOUT_FACTOR"))
	if err != nil || factor < 1 {
		factor = 1
	}
	return timeout * time.Duration(factor)
}

// sideBySide runs subtests of which most is waiting, so many at once. t.Parallel would run as many as there are cores.
func sideBySide(t *testing.T, names []string, atOnce int, run func(t *testing.T, name string)) {
	t.Helper()
	next := make(chan string, len(names))
	for _, name := range names {
		next <- name
	}
	close(next)
	var group sync.WaitGroup
	for range atOnce {
		group.Go(func() {
			for name := range next {
				t.Run(name, func(t *testing.T) { run(t, name) })
			}
		})
	}
	group.Wait()
}

// until waits for a condition.
func until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(scaled(20 * time.Second)); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}
