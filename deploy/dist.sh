#!/usr/bin/env bash
# Makes what a release consists of, in the folder given: `make dist` calls it. Archives and SBOMs depend on commit and programs alone, so a
# second run makes the same bytes.
#
#   nodesift-VERSION-ARCH-linux-gnu.tar.gz   the programs nodesift and nodesift-dev, with licence and changelog; for the GNU C library of this
#                                            machine, or newer
#   nodesift-VERSION-ARCH-linux-gnu.debug.gz symbols of nodesift: `nodesift.debug` beside it gives names to backtraces and profiles
#   nodesift-VERSION-ARCH-linux-gnu.cdx.json its SBOM in CycloneDX: every crate that is linked into it
#   nodesift-dev-VERSION-ARCH-linux-gnu.*    the same two files of nodesift-dev
#   nodesift-predicate-VERSION.{wit,wasm}    the contract as a WIT package, in text and binary; the version is that of the contract
#   nodesift.yaml                            the manifest of the plugin of kubectl for krew, for this processor
#   nodesift-VERSION.tgz                     the Helm chart
#   nodesift-VERSION-deploy.tar.gz           deploy/: image, manifests, CRD, schema, dashboards and alerts
#   SHA256SUMS                               their checksums
set -euo pipefail

fail() { printf 'error: %s\n' "$*" >&2; exit 1; }
say() { printf '%s\n' "$*"; }

[ $# -eq 1 ] || fail 'usage: dist.sh FOLDER'
mkdir -p "$1"
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
cyclonedx=0.5.9 # of cargo-cyclonedx

version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
[ -n "$version" ] || fail 'Cargo.toml names no version'
revision=$(deploy/revision.sh)
[[ $revision != *-dirty ]] || say "not for others: there are changes that are not committed, so the revision is $revision"
[ "$revision" != unknown ] || fail 'a release names its revision, and this is no git repository'
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
name=nodesift-$version
platform=$name-$(uname -m)-linux-gnu
programs=(nodesift nodesift-dev)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Archives that depend on their content alone.
pack() { tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=go-w -c "$@" | gzip -n9; }

say 'building'
NODESIFT_REVISION=$revision deploy/build.sh "${programs[@]}"
mkdir "$scratch/$platform"
install -m 0644 LICENSE CHANGELOG.md "$scratch/$platform/"
for program in "${programs[@]}"; do
    install -m 0755 "$target/shipped/$program" "$scratch/$platform/"
    said=$("$scratch/$platform/$program" --version)
    grep -qx "revision: $revision" <<<"$said" || fail "the program $program that was built names another revision: $said"
    [ "$program" != nodesift ] || "$scratch/$platform/nodesift" version -o json | grep -q '"explorer": *true' || fail 'the program nodesift has no page of the explorer'
    # Paths of this machine are of no use to others, and tell what nobody asked.
    for path in "$PWD" "${CARGO_HOME:-$HOME/.cargo}"; do
        ! grep -qaF "$path/" "$scratch/$platform/$program" || fail "the program $program contains the path $path"
        ! grep -qaF "$path/" "$target/shipped/$program.debug" || fail "the symbols of $program contain the path $path"
    done
done

say 'describing their crates'
if [ "$("$target/tools/bin/cargo-cyclonedx" cyclonedx --version 2>/dev/null)" != "cargo-cyclonedx-cyclonedx $cyclonedx" ]; then
    cargo install --quiet --locked --root "$target/tools" cargo-cyclonedx@$cyclonedx
fi
# It writes beside each Cargo.toml, so it gets a tree of its own.
mkdir "$scratch/tree"
git archive HEAD | tar -x -C "$scratch/tree"
(
    cyclonedx=$(realpath "$target/tools/bin/cargo-cyclonedx")
    cd "$scratch/tree"
    for crate in host/nodesift host/dev; do
        SOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH "$cyclonedx" cyclonedx --quiet --format json --spec-version 1.5 --no-build-deps \
            --features jemalloc --target "$(rustc -vV | sed -n 's/^host: //p')" --manifest-path "$crate/Cargo.toml"
    done
)

rm -f "$folder"/nodesift-* "$folder/nodesift.yaml" "$folder/SHA256SUMS"
pack -C "$scratch" "$platform" >"$folder/$platform.tar.gz"
"$target/shipped/nodesift-dev" module wit "$folder"
deploy/krew/manifest.sh "$version" "$(uname -m)" "$folder/$platform.tar.gz" >"$folder/nodesift.yaml"
for program in "${programs[@]}"; do
    # It writes the SBOM of each program beside the Cargo.toml of its crate, and names it by the package.
    sbom=$(find "$scratch/tree/host" -name "$program.cdx.json")
    [ -s "$sbom" ] || fail "cargo-cyclonedx has written nothing about $program"
    sed -i "s#file://$scratch/tree#file:///nodesift#g" "$sbom"
    ! grep -qF "$scratch" "$sbom" || fail "the SBOM of $program contains the path $scratch"
    files=$folder/$program${platform#nodesift}
    install -m 0644 "$sbom" "$files.cdx.json"
    gzip -n9 <"$target/shipped/$program.debug" >"$files.debug.gz"
done
# Helm's format is an archive of the chart's folder; its links lead to files beside it.
pack -h -C deploy/helm nodesift >"$folder/$name.tgz"
git archive --prefix="$name/" HEAD deploy | tar -x -C "$scratch"
pack -C "$scratch" "$name" >"$folder/$name-deploy.tar.gz"
cd "$folder"
sha256sum nodesift-* nodesift.yaml >SHA256SUMS
ls -l nodesift-* nodesift.yaml SHA256SUMS
