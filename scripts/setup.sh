#!/usr/bin/env bash
# Prepares .venv. `setup.sh run` installs what the broker needs; `setup.sh dev` adds tests, tools, Spark, Java, Chromium, Prometheus and shells.
# Each step leaves a stamp with a hash of what it was made from, so that doing it again costs next to nothing, and `dev` after
# `run` only adds what is missing. Modules are compiled while packages are downloaded.
set -euo pipefail
cd "$(dirname "$0")/.."

level=${1:-dev}
case $level in
    run) extras="" ;;
    dev) extras="dev" ;;
    *) echo "usage: scripts/setup.sh run|dev" >&2; exit 2 ;;
esac

python=${PYTHON:-python3}
log=.venv/setup.log
compile_log=.venv/compile.log

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
flags_key() { sha256 <setup.py; }
stamp_is() { [ -x .venv/bin/python ] && [ "$(cat ".venv/.stamp-$1" 2>/dev/null)" = "$2" ]; }
stamp() { echo "$2" >".venv/.stamp-$1"; }

# ---------------------------------------------------------------- Debian packages

apt_updated=no
apt_install() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
    mkdir -p .venv
    if [ $apt_updated = no ]; then
        say "apt-get update"
        apt-get update -qq >>"$log" 2>&1 || say "apt-get update failed; going on with the package lists of this machine"
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

# Where Python is told not to keep bytecode (PYTHONDONTWRITEBYTECODE), every start would compile all modules again, which
# takes longer than the rest of it. Packages come with files for other versions of Python, which do not compile and are not used.
keep_bytecode() { .venv/bin/python -m compileall -q -j 0 "$@" >>"$log" 2>&1 || true; }

pip_install() {
    .venv/bin/python -m pip --disable-pip-version-check install --no-compile -c constraints.txt "$@" >>"$log" 2>&1 || {
        tail -n 30 "$log" >&2
        fail "pip install failed; the whole output is in $log"
    }
}

install_requirements() {
    # shellcheck disable=SC2086,SC2046
    pip_install $(.venv/bin/python scripts/requirements.py $extras)
    keep_bytecode .venv/lib
}

# Its modules are compiled beside it, once.
install_project() { GOQUEUE_COMPILE=no pip_install --no-deps --no-build-isolation -e .; }

# ---------------------------------------------------------------- compiled modules

# What is left of a module that is no longer compiled would be taken in place of its source, and go into wheels.
remove_stale() {
    mkdir -p build
    find src build -path '*/goqueue/*' -name '*.so' 2>/dev/null | while read -r built; do
        stem=src/goqueue/${built#*/goqueue/}
        stem=${stem%%.cpython*}
        [ -e "$stem.pyx" ] || [ -e "$stem.pxd" ] || rm "$built"
    done
}

# Only what changed is compiled again, all of it when the flags did.
compile() {
    local force=""
    stamp_is flags "$(flags_key)" || force=--force
    remove_stale
    # shellcheck disable=SC2086
    .venv/bin/python setup.py build_ext --inplace $force >"$compile_log" 2>&1
}

finish_compiling() {
    wait "$compiling" || fail "the build failed; its output is in $compile_log"
    stamp flags "$(flags_key)"
    stamp compiled "$compiled"
}

report_compiled() {
    if .venv/bin/python -c 'import goqueue.codec.record, goqueue.engine.partition as one; assert one.__file__.endswith(".so")' 2>>"$log"; then
        say "codec and the way of a record: compiled"
    else
        say "plain Python, slower (to compile: install a C compiler and Python's headers, then rm .venv/.stamp-compiled)"
    fi
}

# ---------------------------------------------------------------- progress

modules_total() { find src/goqueue \( -name '*.pyx' -o -name '*.pxd' \) | wc -l; }
translated() { find build/cython -name '*.c' -newer .venv/.began 2>/dev/null | wc -l; }
built() { find build/lib* -name '*.so' -newer .venv/.began 2>/dev/null | wc -l; }
current_package() { sed -nE 's/^(Collecting [^ ]+).*/\1/p; s/^Installing collected packages.*/Installing packages/p' "$log" | tail -n 1; }

# One line that is written over at a terminal; elsewhere a line every ten seconds.
show_progress() {
    local every=10 start=$SECONDS total line
    total=$(modules_total)
    [ ! -t 1 ] || every=1
    while sleep $every; do
        line="$((SECONDS - start)) s: of $total modules $(translated) translated to C, $(built) compiled; $(current_package)"
        if [ -t 1 ]; then printf '\r\033[Ksetup: %.100s' "$line"; else say "$line"; fi
    done
}

stop_progress() {
    [ -z "${showing:-}" ] || kill "$showing" 2>/dev/null || true
    showing=""
    if [ -t 1 ]; then printf '\r\033[K'; fi
}

# ---------------------------------------------------------------- the steps

# One set-up at a time: the lock is on this file, so there is nothing to clean up.
exec 9<"scripts/setup.sh"
if command -v flock >/dev/null; then flock 9; fi

packages=$(packages_key)
compiled=$(compiled_key)
compiling="" showing=""
has_packages() { stamp_is "$level" "$packages" || stamp_is dev "$packages"; }

if ! has_packages || ! stamp_is compiled "$compiled"; then
    make_venv
    trap 'stop_progress; [ -z "$compiling" ] || kill "$compiling" 2>/dev/null || true' EXIT
    touch .venv/.began
    if ! has_packages; then
        say "installing build tools"
        pip_install setuptools Cython
    fi
    if ! stamp_is compiled "$compiled"; then
        say "compiling what changed of $(modules_total) modules"
        compile &
        compiling=$!
    fi
    show_progress &
    showing=$!
    if ! has_packages; then
        say "installing pinned packages ($level)"
        install_requirements
    fi
    [ -z "$compiling" ] || finish_compiling
    compiling=""
    if ! has_packages; then
        install_project
        if [ "$level" = dev ]; then install_debian_packages; fi
        stamp "$level" "$packages"
    fi
    stop_progress
    report_compiled
fi
keep_bytecode src
if [ "$level" = dev ]; then report_missing; fi
