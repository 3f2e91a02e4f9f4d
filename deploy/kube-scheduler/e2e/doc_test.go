// Package e2e shows that kube-scheduler with the plugin decides as the stock kube-scheduler does, and what it costs.
//
// Start at cluster (world_test.go): a small API server, a sidecar that watches it, and one Scheduler in this process that has two
// profiles over the same cache and the same snapshot, the stock one and the one that is shipped with the plugin.
// conformance_test.go, preemption_test.go, batching_test.go and faults_test.go compare the two; speed_test.go measures them.
// run_test.go runs the programs instead: etcd, kube-apiserver, kube-scheduler and the sidecar.
package e2e
