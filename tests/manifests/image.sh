#!/usr/bin/env bash
# Runs the program from the image's root file system as a container would: read-only, as user 65532, without privileges, with the
# volumes that the manifests mount, and with the policy of each overlay as a mounted ConfigMap shows it. Needs root, and no container
# runtime; what a runtime adds, seccomp and cgroups, is not there. The argument is the program, by default target/debug/nodesift; with
# a second one, a scrape of the metrics is left in that file.
set -euo pipefail
cd "$(dirname "$0")/../.."

fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

binary=$(realpath "${1:-${CARGO_TARGET_DIR:-target}/debug/nodesift}")
scrape=${2:-}
timeout_seconds=$((60 * ${NODESIFT_TIMEOUT_FACTOR:-1}))
if [ "$(id -u)" -ne 0 ]; then
    echo 'not run: mounts need root'
    exit 0
fi
# Mounts of this namespace vanish with it.
if [ -z "${NODESIFT_IN_NAMESPACE:-}" ]; then
    NODESIFT_IN_NAMESPACE=1 exec unshare --mount --propagation private "$0" "$binary" ${scrape:+"$(realpath -m "$scrape")"}
fi

scratch=$(mktemp -d)
server=
# Invoked by the trap below.
# shellcheck disable=SC2317
stop() {
    [ -z "$server" ] || { kill "$server" 2>/dev/null && wait "$server" || true; }
    umount -R "$root" 2>/dev/null || true
    rm -rf "$scratch"
}
trap stop EXIT
root=$scratch/root

deploy/rootfs.sh "$binary" "$root"
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
for folder in run/nodesift var/lib/nodesift etc/nodesift/policy; do
    # As kubelet makes an emptyDir with fsGroup.
    mount -t tmpfs -o mode=2777,gid=65532 tmpfs "$root/$folder"
done
mount -o remount,ro,bind "$root"

# The program in the root, with the environment that a container runtime gives a user without a home. Each of these replaces itself by
# the next.
nodesift=(env -i HOME=/ PATH=/usr/bin:/bin NODESIFT_SOCKET=/run/nodesift/nodesift.sock
    setpriv --no-new-privs --bounding-set=-all,+sys_chroot,+setuid,+setgid
    "$(command -v chroot)" --userspec=65532:65532 --groups=65532 "$root" /nodesift)

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
for overlay in extender kube-scheduler yunikorn; do
    # As kubelet shows a ConfigMap.
    rm -rf "$root"/etc/nodesift/policy/{*,..?*}
    mkdir "$root/etc/nodesift/policy/..1"
    install -m 0444 "deploy/kustomize/$overlay/policy.yaml" "$root/etc/nodesift/policy/..1/policy.yaml"
    ln -s ..1 "$root/etc/nodesift/policy/..data"
    ln -s ..data/policy.yaml "$root/etc/nodesift/policy/policy.yaml"

    started=$(date +%s%N)
    # The arguments of the manifests, but for the cluster.
    "${nodesift[@]}" serve --sample --no-tcp --policy=/etc/nodesift/policy --state-folder=/var/lib/nodesift/state \
        --probe-listen="127.0.0.1:$port" --log-format=json >"$scratch/out" 2>"$scratch/err" &
    server=$!
    until "${nodesift[@]}" health >"$scratch/health" 2>&1; do
        kill -0 "$server" 2>/dev/null || { cat "$scratch/err" >&2; fail "$overlay: it has ended"; }
        if [ $((($(date +%s%N) - started) / 1000000000)) -ge "$timeout_seconds" ]; then
            cat "$scratch/health" "$scratch/err" >&2
            fail "$overlay: it is not ready"
        fi
        sleep 0.1
    done
    ready=$((($(date +%s%N) - started) / 1000000))
    "${nodesift[@]}" health --live >/dev/null || fail "$overlay: it is not live"
    user=$(awk '/^Uid:/ { print $2 }' "/proc/$server/status")
    [ "$user" = 65532 ] || fail "$overlay: it runs as user $user"
    [ "$(awk '/^CapEff:/ { print $2 }' "/proc/$server/status")" = 0000000000000000 ] || fail "$overlay: it has capabilities"
    state=$root/var/lib/nodesift/state
    found=$(stat -c '%a %u %g' "$root/run/nodesift/nodesift.sock" "$state")
    [ "$found" = $'660 65532 65532\n2700 65532 65532' ] || fail "$overlay: socket and state folder are $found"
    [ -s "$state/policy.json" ] || fail "$overlay: the policy is not remembered: $(ls "$state")"
    name=$(sed -n 's/^metadata: {name: \(.*\)}$/\1/p' "deploy/kustomize/$overlay/policy.yaml")
    "${nodesift[@]}" policy status --server unix:/run/nodesift/nodesift.sock -o json | grep -q "\"$name\"" || fail "$overlay: the active policy is another one"
    if [ -n "$scrape" ]; then
        python3 -c 'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())' \
            "http://127.0.0.1:$port/metrics" >"$scrape"
    fi
    kill -TERM "$server"
    wait "$server" || fail "$overlay: exit code $? after SIGTERM: $(cat "$scratch/err")"
    server=
    rm -rf "$state"
    printf '%s: ready after %d ms, as user %s, root read-only\n' "$overlay" "$ready" "$user"
done
grep -o '"message":"[^"]*cached[^"]*"' "$scratch/err" | sort | uniq -c || true
