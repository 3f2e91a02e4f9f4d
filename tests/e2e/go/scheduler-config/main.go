// Command scheduler-config decodes configurations as kube-scheduler does, with unknown fields as errors, and validates them.
package main

import (
	"fmt"
	"os"

	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
)

func main() {
	failed := false
	for _, path := range os.Args[1:] {
		if err := check(path); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
			failed = true
			continue
		}
		fmt.Printf("%s is a configuration of kube-scheduler\n", path)
	}
	if failed || len(os.Args) == 1 {
		os.Exit(1)
	}
}

func check(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	decoded, _, err := scheme.Codecs.UniversalDecoder().Decode(text, nil, nil)
	if err != nil {
		return err
	}
	configuration, ok := decoded.(*config.KubeSchedulerConfiguration)
	if !ok {
		return fmt.Errorf("it is a %T", decoded)
	}
	return validation.ValidateKubeSchedulerConfiguration(configuration)
}
