#!/usr/bin/env bash
# Builds a wheel into dist/, or into the folder that is named, with a manylinux tag where it holds, and checks its metadata.
# A wheel with compiled modules is for one minor version of Python; GOQUEUE_COMPILE=no makes one of plain Python.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=.venv/bin
out=${1:-dist}
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

# Modules that are compiled already are taken from build/, but a source that has gone since must not come along.
rm -rf build/bdist.*
find build/lib* -type f ! -name '*.so' -delete 2>/dev/null || true
$bin/python -m pip --disable-pip-version-check wheel --quiet --no-deps --no-build-isolation --wheel-dir "$made" .
built=$(echo "$made"/*.whl)
mkdir -p "$out"
case $built in
    *-none-any.whl) cp "$built" "$out" ;;
    *) PATH="$bin:$PATH" $bin/auditwheel --verbose repair --wheel-dir "$out" "$built" 2>"$made/auditwheel.log" || {
        tail -n 5 "$made/auditwheel.log" >&2
        echo "wheel: no manylinux tag holds for what was compiled here; the wheel is for machines like this one" >&2
        cp "$built" "$out"
    } ;;
esac
$bin/twine check --strict "$out"/*.whl
