package perf

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/component-base/metrics/testutil"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"github.com/nodesift/nodesift/deploy/kube-scheduler/plugin"
)

// meterInterval is between two readings of a meter: short beside the second or more that a measurement takes, and long beside the some
// microseconds of a reading.
const meterInterval = 20 * time.Millisecond

// reading is what had been used at a time: processor seconds of this process (scheduler, API server and the controllers of scheduler_perf)
// and of the sidecar, scheduling attempts, and seconds of their algorithm.
type reading struct {
	at time.Time
	// What the benchmark's timer showed, which scheduler_perf stops with its measurement. Nothing keeps it from being set while it is
	// read here: such a reading may show any time, and those after it are right.
	elapsed                                  time.Duration
	test, sidecar, attempts, algorithm, call float64
}

// meter reads at intervals until it is stopped. scheduler_perf tells by the benchmark's timer alone when its measurement begins and ends.
type meter struct {
	mutex    sync.Mutex
	readings []reading
	sidecar  int
	elapsed  func() time.Duration
	stop     chan struct{}
	stopped  chan struct{}
}

// startMeter begins to read. The number of the sidecar's process is 0 where there is none.
func startMeter(sidecar int, elapsed func() time.Duration) *meter {
	m := &meter{sidecar: sidecar, elapsed: elapsed, stop: make(chan struct{}), stopped: make(chan struct{})}
	m.read()
	go func() {
		defer close(m.stopped)
		ticker := time.NewTicker(meterInterval)
		defer ticker.Stop()
		for {
			select {
			case <-m.stop:
				m.read()
				return
			case <-ticker.C:
				m.read()
			}
		}
	}()
	return m
}

// end takes a last reading.
func (m *meter) end() {
	close(m.stop)
	<-m.stopped
}

func (m *meter) read() {
	now := reading{at: time.Now(), elapsed: m.elapsed()}
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) == nil {
		now.test = seconds(usage.Utime) + seconds(usage.Stime)
	}
	if m.sidecar != 0 {
		now.sidecar = processorSeconds(m.sidecar)
	}
	now.algorithm, _ = testutil.GetHistogramMetricValue(metrics.SchedulingAlgorithmLatency.ObserverMetric)
	attempts, _ := testutil.GetHistogramMetricCount(metrics.SchedulingAlgorithmLatency.ObserverMetric)
	now.attempts = float64(attempts)
	now.call, _ = testutil.GetHistogramMetricValue(plugin.CallDuration.ObserverMetric)
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.readings = append(m.readings, now)
}

// measured is what was used while the timer ran for what it shows in the end.
func (m *meter) measured(window time.Duration) (reading, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	// What ends the run is not part of the measurement, and takes seconds on a busy machine.
	stopped := slices.IndexFunc(m.readings, func(one reading) bool { return one.elapsed == window })
	if stopped < 0 {
		return reading{}, fmt.Errorf("the meter ended before the measurement of %s", window)
	}
	end := m.readings[stopped]
	from := end.at.Add(-window)
	if from.Before(m.readings[0].at) {
		return reading{}, fmt.Errorf("the measurement of %s began before the meter", window)
	}
	after, _ := slices.BinarySearchFunc(m.readings, from, func(one reading, at time.Time) int { return one.at.Compare(at) })
	start := m.readings[after]
	return reading{
		at: from, test: end.test - start.test, sidecar: end.sidecar - start.sidecar,
		attempts: end.attempts - start.attempts, algorithm: end.algorithm - start.algorithm, call: end.call - start.call,
	}, nil
}

func seconds(of syscall.Timeval) float64 { return float64(of.Sec) + float64(of.Usec)/1e6 }

// clockTicks is how many units of /proc/PID/stat are a second: Linux shows 100 on all that Go runs on.
const clockTicks = 100

// processorSeconds are those of another process, 0 where it has ended.
func processorSeconds(process int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	if err != nil {
		return 0
	}
	// Its name is in parentheses and may have spaces; user and system time are the 12th and 13th field after it.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / clockTicks
}
