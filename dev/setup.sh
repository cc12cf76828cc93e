#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Sets the checkout up so that it can run. Returns quickly if everything is set up already.
#
# usage: dev/setup.sh [--if-stale] STAGE...
#   --if-stale if the library is as new as its sources, or this user can't write here, does nothing and takes no lock;
#              if another process is building, uses an existing library as it is
#   base       Debian packages, .oratorio/venv (tools), .oratorio/mpich, .oratorio/openmpi
#   extras     what only few tests need: linters of packages and, as root, SimGrid, Slurm, Lmod and others
#   applications  as root, the applications of `neighbours` that the tests run
#   tests      the Python programs of the tests: mpi4py, parallel h5py (built once, kept as a wheel)
#   docs       Sphinx, which makes the site of the pages, in .oratorio/docs
#   build      the library, in build/
#   build-short  the library and the tests of the short test command, in build/
#   build-jobs the library, the tests under mpiexec and those of the part `plain`, in build/
#   build-all  the library and all tests, in build/
#   build-sanitize  the rooms that need no MPI and their tests with ASan and UBSan, in build-sanitize/
#   build-thread    the tests of the part `thread`, with ThreadSanitizer, in build-thread/
#   build-thread-all  all tests and the library over MPICH, with ThreadSanitizer, in build-thread/
#   FOLDER:PROGRAM,...  these programs in a build folder, such as build:unit_plan_test
#
# Messages of this script go to stderr; the output of the tools that it calls goes to logs in .oratorio.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
private=$root/.oratorio
log=$private/setup.log
h5py=h5py==3.12.1
hdf5_include=/usr/include/hdf5/mpich
hdf5_lib=/usr/lib/$(uname -m)-linux-gnu/hdf5/mpich

say() { printf 'oratorio: %s\n' "$*" >&2; }

# step TEXT COMMAND...: runs the command with its output in the log, and prints how long it took. Exits if it fails.
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

# key_of FILE...: prints the key of a stage, a hash of the files that it was made from and of the checkout's path,
# because virtual environments can't be moved.
key_of() { { echo "$root"; cat "$@"; } | sha256sum | cut -d' ' -f1; }
is_done() { [[ -f $private/stamp-$1 && $(<"$private/stamp-$1") == "$2" ]]; }
mark_done() { echo "$2" >"$private/stamp-$1"; }

# missing_packages LIST: prints the packages in the file LIST that are not installed.
missing_packages() {
    local package
    sed 's/#.*//' "$1" | while read -r package; do
        [[ -z $package ]] && continue
        [[ $(dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null) == ii* ]] || echo "$package"
    done
}

# apt_install PACKAGE...: installs packages, without starting the services in them.
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
        say "this is not a Debian system: install the equivalents of the packages in dev/packages-debian.txt"
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

# new_environment FOLDER REQUIREMENTS: makes a virtual environment, if it is missing, and installs the requirements.
new_environment() {
    [[ -x $private/$1/bin/pip ]] || "$(system_python)" -m venv "$private/$1"
    "$private/$1/bin/pip" install --disable-pip-version-check --progress-bar off -r "$2"
}

# Debian's HDF5 loads MPICH by the name libmpich.so.12, and mpi4py loads Debian's MPICH by the name libmpi.so.12; both
# have the same ABI. The first link must be next to the library, because the library's RUNPATH is relative to the folder
# in which it is found.
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

# Installs Debian packages only as root. Tests that need a missing package are skipped.
stage_extras() {
    local packages=$root/dev/packages-debian-extras.txt list=$root/dev/requirements/extras.txt key missing=()
    key=$(key_of "${BASH_SOURCE[0]}" "$packages" "$list")
    is_done extras "$key" && return
    # A failure here only makes a few tests be skipped. The subshells keep the exit of step() from ending this script.
    (step "linters of packages" new_environment venv "$list") || return 0
    ! command -v dpkg-query >/dev/null || mapfile -t missing < <(missing_packages "$packages")
    if ((${#missing[@]} > 0 && EUID != 0)); then
        say "tests that need these Debian packages are skipped, which only root can install: ${missing[*]}"
        return
    fi
    (install_packages "${missing[@]}") || return 0
    mark_done extras "$key"
}

# Installs each package separately, so that a package that this system lacks only makes its own tests be skipped.
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

# Builds a wheel of h5py. Becomes pip, so that stage_tests(), which starts this function in the background, can end pip.
build_h5py() {
    local bin=$private/mpich/bin
    PATH=$bin:$PATH CC=mpicc.mpich CFLAGS=-O1 HDF5_MPI=ON HDF5_LIBDIR=$hdf5_lib HDF5_INCLUDEDIR=$hdf5_include \
        exec "$bin/pip" wheel --no-deps --no-build-isolation --no-binary=h5py -w "$private/wheels" "$h5py"
}

tests_key="" # the key of the stage `tests` between its beginning and finish_tests()
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

# Ends the stage `tests`, after all other stages, because building h5py takes one core for minutes.
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

# configure FOLDER: configures a build folder.
configure() {
    local launcher=() level=-O1 options=(-DCMAKE_BUILD_TYPE=Debug)
    case $1 in
        build) options=() ;;
        # With -O1, compiling takes twice as long, and the tests are hardly faster.
        build-sanitize) level=-Og options+=(-DORATORIO_SANITIZE=ON -DORATORIO_MPI=OFF) ;;
        # One build has neither precompiled headers nor joined sources, which hide that a source lacks an #include.
        build-thread) options+=(-DORATORIO_SANITIZE=thread -DORATORIO_PCH=OFF -DORATORIO_UNITY=OFF) ;;
    esac
    # Without this setting, ccache does not cache what is compiled with precompiled headers.
    local words="env;CCACHE_SLOPPINESS=pch_defines,time_macros;ccache"
    command -v ccache >/dev/null && launcher=("-DCMAKE_CXX_COMPILER_LAUNCHER=$words" -DCMAKE_C_COMPILER_LAUNCHER=ccache)
    cmake -S "$root" -B "$root/$1" -G Ninja "${launcher[@]}" "-DCMAKE_CXX_FLAGS_DEBUG=$level -g1" "${options[@]}"
}

# Shows the lines that it reads: in a terminal all in one place, otherwise a line of ninja's progress every 20 s.
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

only_programs=false # true for a build that may leave the library older than its sources
# build FOLDER TARGET...: builds the targets; first configures the folder if that was not done.
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

# build_programs FOLDER PROGRAM,...: builds those of the programs that are targets of the folder. Programs of a missing
# MPI are no targets, nor are some tests in folders with sanitizers.
build_programs() {
    local only_programs=true programs
    build "$1" build.ninja
    mapfile -t programs < <(ninja -C "$root/$1" -t targets all | sed -n 's/: phony$//p' | grep -Fx "${2//,/$'\n'}")
    ((${#programs[@]} == 0)) || build "$1" "${programs[@]}"
}

# made_for FOLDER: prints the path of the checkout for which a build folder was configured.
made_for() { sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$1/CMakeCache.txt" 2>/dev/null; }

# Removes the virtual environments and build folders of a checkout that was moved or copied, because they would install
# into the original checkout and build it.
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
        # A user who can't write here can't build either.
        if is_fresh || [[ ! -w $private ]]; then exit 0; fi
    fi
fi

mkdir -p "$private"
exec 9>"$private/lock"
if ! flock -n 9; then
    if $if_stale; then
        say "the library is older than its sources, but another process is building it: using it as it is"
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
