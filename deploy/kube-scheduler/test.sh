#!/usr/bin/env bash
# Vets and tests the plugin with each minor version of kube-scheduler that it builds with, or with those named: test.sh 1.37. The first run
# compiles Kubernetes once for each, which takes minutes. With 1.35 it is built only: the framework of its tests has other functions.
set -euo pipefail
cd "$(dirname "$0")"

for version in ${*:-1.35 1.36 1.37}; do
	arguments=()
	if [ "$version" != 1.36 ]; then
		[ -e "go.$version.mod" ] || { echo "test.sh: no go.$version.mod: the plugin builds with 1.35, 1.36 and 1.37" >&2; exit 2; }
		arguments=(-modfile="go.$version.mod" -tags "kubernetes_${version/./_}")
	fi
	echo "kube-scheduler $version"
	if [ "$version" = 1.35 ]; then
		go build -trimpath "${arguments[@]}" ./plugin ./cmd/...
		continue
	fi
	go vet -trimpath "${arguments[@]}" ./plugin ./cmd/...
	go test -trimpath -vet off "${arguments[@]}" ./plugin
done
