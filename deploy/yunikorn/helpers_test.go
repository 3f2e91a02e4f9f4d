package yunikorn_test

import (
	"os"
	"strconv"
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

// until waits for a condition.
func until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(scaled(20 * time.Second)); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}
