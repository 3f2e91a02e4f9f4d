#!/usr/bin/env bash
# Makes the root file system of the image: rootfs.sh BINARY FOLDER. The folder must not exist.
#
# There is no static target for the GNU C library, so the binary is accompanied by its loader and the libraries that `ldd` names. Since
# version 2.34 that library needs no others at run time to resolve names.
set -euo pipefail

fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

[ $# -eq 2 ] || fail 'usage: rootfs.sh BINARY FOLDER'
binary=$1 root=$2
[ -f "$binary" ] && [ -x "$binary" ] || fail "$binary is no program: build it with make image"
[ ! -e "$root" ] || fail "$root exists already"

mkdir -p "$root"/{etc/nodesift/policy,etc/nodesift/modules,proc,run/nodesift,sys,dev,var/lib/nodesift}
install -m 0555 "$binary" "$root/nodesift"
# For registries of modules. The API server has an authority of its own.
authorities=/etc/ssl/certs/ca-certificates.crt
if [ -f "$authorities" ]; then
    install -D -m 0444 "$authorities" "$root$authorities"
else
    printf 'note: %s is not here: the image pulls modules only with SSL_CERT_FILE\n' "$authorities" >&2
fi
# Tools that list processes show the name; nothing logs in.
printf 'nodesift:x:65532:65532:nodesift:/:/nodesift\n' >"$root/etc/passwd"
printf 'nodesift:x:65532:\n' >"$root/etc/group"

# Lines of ldd: `NAME => PATH (ADDRESS)`, `PATH (ADDRESS)` for the loader, and `linux-vdso`, which is no file.
if libraries=$(ldd "$binary" 2>&1); then
    ! grep -q 'not found' <<<"$libraries" || fail "$binary needs a library that is not here: $libraries"
    while read -r path; do
        install -D -m 0555 "$(realpath "$path")" "$root$path"
    done < <(sed -nE 's#^[[:space:]]*([^ ]+ => )?(/[^ ]+) \(0x[0-9a-f]+\)$#\2#p' <<<"$libraries")
elif ! grep -qE 'not a dynamic executable|statically linked' <<<"$libraries"; then
    fail "ldd $binary: $libraries"
fi
