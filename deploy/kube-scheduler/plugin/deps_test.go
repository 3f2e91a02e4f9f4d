package plugin

import (
	_ "google.golang.org/grpc"
	_ "google.golang.org/protobuf/proto"
	_ "k8s.io/api/policy/v1"
	_ "k8s.io/apimachinery/pkg/util/sets"
	_ "k8s.io/client-go/kubernetes/fake"
	_ "k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-helpers/scheduling/corev1"
	_ "k8s.io/kubernetes/pkg/scheduler/testing"
)
