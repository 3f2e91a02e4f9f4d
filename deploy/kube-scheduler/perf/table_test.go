package perf

import (
	"fmt"
	"slices"
	"strings"
)

// row is a workload of a size, with what all runs of each scheduler have measured.
type row struct {
	workload string
	nodes    int
	outcomes map[string][]outcome
}

func (o *outcome) podsPerSecond() float64 { return float64(o.Pods) / o.Seconds }

func (o *outcome) String() string {
	text := fmt.Sprintf("%.0f pods/s, algorithm %.2f ms, processor %.1f s", o.podsPerSecond(), o.AlgorithmMilliseconds, o.TestProcessor)
	if o.SidecarProcessor > 0 {
		text += fmt.Sprintf(", of the sidecar %.1f s, its call %.2f ms", o.SidecarProcessor, o.CallMilliseconds)
	}
	if o.Errors {
		text += ", attempts with errors"
	}
	return text
}

// table has the medians of all rows. Ratios are above 1 where the scheduler with the plugin is better.
func table(rows []row) string {
	var text strings.Builder
	text.WriteString("\nMedians, stock → nodesift, and how many times better nodesift is. Over the measured pods: pods a second from the first\n" +
		"creation to the last binding; SchedulingThroughput as scheduler_perf has it, mean of its samples of a second; mean of\n" +
		"scheduler_scheduling_algorithm_duration_seconds, and of the call in it; processor seconds of scheduler with API server and controllers, and of the sidecar.\n\n" +
		"| workload | nodes | pods | pods/s | × | SchedulingThroughput | algorithm, ms | × | call, ms | processor, s | sidecar, s |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		all := r.outcomes
		if len(all[stock]) == 0 || len(all[nodesift]) == 0 {
			fmt.Fprintf(&text, "| %s | %d | not measured |\n", r.workload, r.nodes)
			continue
		}
		rate := r.pair(func(o *outcome) float64 { return o.podsPerSecond() })
		upstream := r.pair(func(o *outcome) float64 { return o.Throughput })
		algorithm := r.pair(func(o *outcome) float64 { return o.AlgorithmMilliseconds })
		processor := r.pair(func(o *outcome) float64 { return o.TestProcessor })
		call := r.pair(func(o *outcome) float64 { return o.CallMilliseconds })
		sidecar := r.pair(func(o *outcome) float64 { return o.SidecarProcessor })
		fmt.Fprintf(&text, "| %s | %d | %d | %.0f → %.0f | %.2f | %s | %.2f → %.2f | %.2f | %.2f | %.1f → %.1f | %.1f |\n",
			r.workload+r.mark(), r.nodes, all[stock][0].Pods, rate[0], rate[1], rate[1]/rate[0], upstream.orDash(),
			algorithm[0], algorithm[1], algorithm[0]/algorithm[1], call[1], processor[0], processor[1], sidecar[1])
	}
	if slices.ContainsFunc(rows, func(r row) bool { return r.mark() != "" }) {
		text.WriteString("\n* Scheduling attempts ended with errors, as they do where the sidecar does not answer.\n")
	}
	return text.String()
}

// mark is a star where an attempt of the scheduler with the plugin ended with an error.
func (r row) mark() string {
	if slices.ContainsFunc(r.outcomes[nodesift], func(o outcome) bool { return o.Errors }) {
		return "*"
	}
	return ""
}

// pair is the median of the stock scheduler and that of the other one.
type pair [2]float64

func (r row) pair(of func(*outcome) float64) pair {
	var both pair
	for i, arm := range []string{stock, nodesift} {
		var values []float64
		for at := range r.outcomes[arm] {
			values = append(values, of(&r.outcomes[arm][at]))
		}
		slices.Sort(values)
		both[i] = values[len(values)/2]
	}
	return both
}

// orDash shows rates, and none where the measurement was too short for samples.
func (p pair) orDash() string {
	if p[0] == 0 || p[1] == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f → %.0f", p[0], p[1])
}
