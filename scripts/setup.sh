#!/usr/bin/env bash
# Prepares .venv. `setup.sh run` installs what the broker needs; `setup.sh dev` adds tests, tools, Spark, Java, Chromium, Prometheus and shells.
# Each level leaves a stamp with a hash of what it was made from, so that doing it again costs next to nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

level=${1:-dev}
case $level in
    run) target="." ;;
    dev) target=".[dev]" ;;
    *) echo "usage: scripts/setup.sh run|dev" >&2; exit 2 ;;
esac

python=${PYTHON:-python3}
log=.venv/setup.log

say() { echo "setup: $*"; }
fail() { echo "setup: $*" >&2; exit 1; }

# ---------------------------------------------------------------- stamps

sha256() { if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -d' ' -f1; }
# Of pyproject.toml only what decides the installation counts: a lint rule must not cost an installation.
packages_key() {
    { awk '/^\[/ { keep = /^\[+(build-system|project|tool\.setuptools)/ } keep' pyproject.toml
        cat constraints.txt scripts/setup.sh; } | sha256
}
# Modules with their types beside them (.pxd) are compiled too.
compiled_sources() {
    find src/goqueue \( -name '*.pyx' -o -name '*.pxd' -o -name '*.h' \) | sort | while read -r path; do
        echo "$path"
        case $path in *.pxd) echo "${path%.pxd}.py" ;; esac
    done
}
compiled_key() { { cat setup.py; compiled_sources | xargs cat; } | sha256; }
stamp_is() { [ -x .venv/bin/python ] && [ "$(cat ".venv/.stamp-$1" 2>/dev/null)" = "$2" ]; }

# ---------------------------------------------------------------- Debian packages

apt_updated=no
apt_install() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
    mkdir -p .venv
    if [ $apt_updated = no ]; then
        say "apt-get update"
        apt-get update -qq >>"$log" 2>&1 || say "apt-get update failed; going on with the package lists at hand"
        apt_updated=yes
    fi
    say "apt-get install $1"
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1" >>"$log" 2>&1
}

has_java() {
    local java=java version
    [ -z "${JAVA_HOME:-}" ] || java=$JAVA_HOME/bin/java
    command -v "$java" >/dev/null || return 1
    version=$("$java" -version 2>&1 | sed -nE 's/.*version "([0-9]+).*/\1/p' | head -1)
    [ "${version:-0}" -ge 17 ]
}
has_chromium() { command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; }
has_prometheus() { command -v prometheus >/dev/null && command -v promtool >/dev/null; }
has_shells() { command -v zsh >/dev/null && command -v fish >/dev/null; }

# The tests start one of their own; as a service it would only take the port.
install_prometheus() {
    apt_install prometheus || return 1
    if [ -d /run/systemd/system ]; then systemctl disable --now prometheus >>"$log" 2>&1 || true; fi
}

list_missing() {
    has_java || echo "Java 17 or later, for Spark (Debian: apt-get install openjdk-17-jre-headless)"
    has_chromium || echo "Chromium, for the console tests (Debian: apt-get install chromium)"
    has_prometheus || echo "Prometheus, for the tests of metrics and alert rules (Debian: apt-get install prometheus)"
    has_shells || echo "zsh and fish, for the tests of completions (Debian: apt-get install zsh fish)"
}

install_debian_packages() {
    has_java || apt_install openjdk-17-jre-headless || true
    has_chromium || apt_install chromium || true
    has_prometheus || install_prometheus || true
    has_shells || { apt_install zsh && apt_install fish; } || true
    list_missing >.venv/.missing
}

# Later runs look again at what was missing, but only a new installation tries to install it.
report_missing() {
    [ -s .venv/.missing ] || return 0
    list_missing >.venv/.missing
    while read -r line; do say "missing: $line"; done <.venv/.missing
}

# ---------------------------------------------------------------- Python packages

make_venv() {
    .venv/bin/python -m pip --version >/dev/null 2>&1 && return
    command -v "$python" >/dev/null || fail "$python not found: GoQueue needs Python 3.11 or later (or set PYTHON=...)"
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        fail "$("$python" --version) is too old: GoQueue needs 3.11 or later (or set PYTHON=...)"
    "$python" -c 'import venv, ensurepip' 2>/dev/null || apt_install python3-venv ||
        fail "$python cannot make virtual environments (Debian: apt-get install python3-venv)"
    say "creating .venv with $("$python" --version)"
    "$python" -m venv --clear .venv || fail "$python cannot make virtual environments (Debian: apt-get install python3-venv)"
}

pip_install() {
    .venv/bin/python -m pip --disable-pip-version-check install --no-compile -c constraints.txt "$@" >>"$log" 2>&1 || {
        tail -n 30 "$log" >&2
        fail "pip install failed; the whole output is in $log"
    }
}

install_packages() {
    say "installing build tools"
    pip_install setuptools Cython
    say "installing pinned packages ($level) and compiling"
    remove_compiled
    pip_install --no-build-isolation -e "$target"
    compile_modules .venv/lib
}

# What is left of an older version would be taken in place of the source beside it.
remove_compiled() { find src/goqueue -name '*.so' -delete; }

rebuild() {
    say "rebuilding what is compiled"
    remove_compiled
    .venv/bin/python setup.py -q build_ext --inplace -j 2 >>"$log" 2>&1 || fail "the build failed; its output is in $log"
}

# Where Python is told not to keep bytecode (PYTHONDONTWRITEBYTECODE), every start would compile all modules again, which
# takes longer than the rest of it. Packages come with files for other versions of Python, which do not compile and are not used.
compile_modules() { .venv/bin/python -m compileall -q -j 0 "$@" >>"$log" 2>&1 || true; }

report_compiled() {
    if .venv/bin/python -c 'import goqueue.codec.record, goqueue.engine.partition as one; assert one.__file__.endswith(".so")' 2>>"$log"; then
        say "codec and the way of a record: compiled"
    else
        say "plain Python, slower (to compile: install a C compiler and Python's headers, then rm .venv/.stamp-compiled)"
    fi
}

# ---------------------------------------------------------------- the steps

# One set-up at a time: the lock is on this file, so there is nothing to clean up.
exec 9<"scripts/setup.sh"
if command -v flock >/dev/null; then flock 9; fi

packages=$(packages_key)
compiled=$(compiled_key)

if stamp_is "$level" "$packages" || stamp_is dev "$packages"; then
    if ! stamp_is compiled "$compiled"; then
        rebuild
        echo "$compiled" >.venv/.stamp-compiled
        report_compiled
    fi
else
    make_venv
    install_packages
    if [ "$level" = dev ]; then install_debian_packages; fi
    echo "$compiled" >.venv/.stamp-compiled
    echo "$packages" >".venv/.stamp-$level"
    report_compiled
fi
compile_modules src
if [ "$level" = dev ]; then report_missing; fi
