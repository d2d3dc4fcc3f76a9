#!/bin/sh
# Puts Microsoft's HLSL compiler (DXC 1.8) at .tools/dxc/libdxcompiler.so.
#
# The library comes out of a pinned PyPI wheel, which is downloaded and unpacked
# but never installed. The hash of the library is pinned too, so a second run
# with the right file in place does nothing and needs no network.
set -eu

PACKAGE=compushady-lrtu
VERSION=0.18.0
MEMBER=compushady/backends/libdxcompiler_x86_64.so
SHA256=ade5a6edc143bee6a6c1e83adbcfb6e1eb9c48c50ef2eead9e763e5bcb689fac

root=$(cd "$(dirname "$0")/.." && pwd)
target=$root/.tools/dxc/libdxcompiler.so

fail() {
    echo "fetch-dxc: $*" >&2
    echo "fetch-dxc: HLSL needs libdxcompiler.so; any DXC 1.7 or later with SPIR-V will do:" >&2
    echo "fetch-dxc: give its path by --dxc or WAVEFENCE_DXC. Everything but HLSL works without it." >&2
    exit 1
}

hash_of() {
    python3 -c 'import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest())' "$1"
}

command -v python3 >/dev/null 2>&1 || fail "python3 is not on PATH (Debian: apt-get install python3 python3-pip)"

if [ -f "$target" ] && [ "$(hash_of "$target")" = "$SHA256" ]; then
    exit 0
fi

case "$(uname -s)-$(uname -m)" in
Linux-x86_64) ;;
*) fail "the pinned wheel carries the library for Linux on x86-64 only; this is $(uname -s) on $(uname -m)" ;;
esac

python3 -m pip --version >/dev/null 2>&1 || fail "python3 has no pip (Debian: apt-get install python3-pip)"

mkdir -p "$root/.tools/dxc"
work=$(mktemp -d "$root/.tools/dxc/fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT INT TERM

echo "fetch-dxc: downloading $PACKAGE $VERSION (15 MB)" >&2
python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
    --python-version 3.11 --platform manylinux_2_28_x86_64 --dest "$work" "$PACKAGE==$VERSION" >&2 ||
    fail "pip could not download $PACKAGE $VERSION (is PyPI reachable?)"

python3 - "$work" "$MEMBER" <<'PY' || fail "the wheel has no readable $MEMBER"
import pathlib, sys, zipfile
work = pathlib.Path(sys.argv[1])
wheel = next(work.glob("*.whl"))
with zipfile.ZipFile(wheel) as z:
    (work / "libdxcompiler.so").write_bytes(z.read(sys.argv[2]))
PY

found=$(hash_of "$work/libdxcompiler.so")
[ "$found" = "$SHA256" ] || fail "wrong hash: expected $SHA256, found $found; nothing was installed"
mv "$work/libdxcompiler.so" "$target"
echo "fetch-dxc: $target" >&2
