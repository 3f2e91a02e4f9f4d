// kube-scheduler with the plugin Nodesift beside the plugins that it has.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"

	"github.com/nodesift/nodesift/deploy/kube-scheduler/plugin"
)

func main() {
	os.Exit(cli.Run(app.NewSchedulerCommand(
		app.WithPlugin(plugin.Name, plugin.New),
		app.WithPlugin(plugin.HundredsName, plugin.NewHundreds),
	)))
}
