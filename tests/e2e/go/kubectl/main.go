// kubectl, as its own main does it: its search for plugins, its completion.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

func main() {
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		// It prints what went wrong in words for users, and ends with the code that scripts know.
		util.CheckErr(err)
		os.Exit(1)
	}
}
