# SPDX-License-Identifier: BSD-3-Clause
"""The tables of launchers, and of commands that start another command.

A row lists the options whose value is the next word, because that word could be mistaken for the command. An
option that is written with its value in one word (-n4, --ntasks=4) needs no entry.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from oratorio.errors import OratorioError

VERSION_SECONDS = 20  # time limit of a launcher that is asked for its version


class LaunchError(OratorioError):
    """Raised if the command cannot run with Oratorio; the message says why and what to do."""


@dataclass(frozen=True)
class Wrapper:
    """A command that starts another one: the words that follow its own options and operands."""

    valued: frozenset[str] = frozenset()  # options whose value is the next word
    operands: int = 0  # words between the options and the command
    assigns: bool = False  # words NAME=VALUE precede the command, too
    # Words after the wrapper's name that set variables for the command alone; without them `env` is put
    # before the command. {command} is an `env` with its assignments, quoted for a shell.
    sets: tuple[str, ...] = ()
    preloads: bool = False  # the wrapper sets LD_PRELOAD itself


def _options(words: str) -> frozenset[str]:
    return frozenset(words.split())


_GDB = _options(
    "-x -ex -iex -ix -command -init-command -eval-command -init-eval-command -cd -d -directory -c -core -s "
    "-symbols -e -exec -se -p -pid -t -tty -b -l -i -interpreter -D -data-directory"
)
WRAPPERS = {
    "time": Wrapper(_options("-f --format -o --output")),
    "env": Wrapper(_options("-u --unset -C --chdir -S --split-string -a --argv0"), assigns=True),
    "nice": Wrapper(_options("-n --adjustment")),
    "nohup": Wrapper(),
    "setsid": Wrapper(),
    "timeout": Wrapper(_options("-s --signal -k --kill-after"), operands=1),
    "numactl": Wrapper(
        _options(
            "-i --interleave -w --weighted-interleave -p --preferred -P --preferred-many -N --cpunodebind "
            "-m --membind -C --physcpubind -c --cpubind"
        )
    ),
    "taskset": Wrapper(operands=1),
    "chrt": Wrapper(_options("-T --sched-runtime -P --sched-period -D --sched-deadline"), operands=1),
    "ionice": Wrapper(_options("-c --class -n --classdata")),
    "stdbuf": Wrapper(_options("-i --input -o --output -e --error"), preloads=True),
    "gdb": Wrapper(
        _GDB | {f"-{option}" for option in _GDB},  # gdb takes --cd as well as -cd
        # With an exec-wrapper, breakpoints still refer to the program and not to `env`.
        sets=("-iex", "set exec-wrapper {command}"),
    ),
}


@dataclass(frozen=True)
class Launcher:
    """A family of commands that start the ranks of a job."""

    name: str
    commands: tuple[str, ...]  # names; a suffix may follow, as in mpiexec.hydra
    told: str  # owner of the launcher, as messages name it
    valued: frozenset[str]  # options whose value is the next word
    forward: tuple[str, ...] = ()  # words that set {key} to {value} in the ranks; empty: `env` sets it
    says: tuple[str, ...] = ()  # its --version prints one of these; empty: any
    paired: frozenset[str] = frozenset()  # options with two values
    is_repeated: bool = True  # each program of a `:` list needs the words of `forward`
    is_joined: bool = False  # all variables are in the value of one option, separated by commas
    doubled: str = ""  # a character of values that must be doubled, because the launcher expands it
    flavours: tuple[str, ...] = ()  # the flavours of MPI that it can start; empty: any MPI


_HYDRA = _options(
    "-n -np -ppn -perhost -rr -hosts -host -f -hostfile -machinefile -machine -rankmap -wdir -wd -configfile "
    "-path -arch -genvlist -envlist -launcher -launcher-exec -bootstrap -bootstrap-exec -rmk -topolib "
    "-bind-to -map-by -membind -demux -errfile-pattern -outfile-pattern -prepend-pattern -iface -localhost "
    "-nameserver -order-nodes -usize -gpus-per-proc -memory-alloc-kinds -s -tune"
)
_OPENMPI = _options(
    "-n --n -np --np -c -N -npernode --npernode -npersocket --npersocket -H -host --host -hostfile "
    "--hostfile -machinefile --machinefile -default-hostfile --default-hostfile -rf --rankfile -x -wd --wd "
    "-wdir --wdir -path --path -prefix --prefix -map-by --map-by -rank-by --rank-by -bind-to --bind-to "
    "-cpus-per-proc --cpus-per-proc -cpu-set --cpu-set -cpu-list --cpu-list -output-filename "
    "--output-filename -output --output -display --display -stdin --stdin -timeout --timeout --personality "
    "-app --app -am --am -tune --tune --preload-files --max-restarts --report-pid --report-uri --dvm "
    "--dvm-uri --runtime-options --launch-agent --pmixmca-file --xml-file -xterm --xterm"
)
_MCA = _options("-mca --mca --prtemca --pmixmca --gmca -gmca")  # Open MPI's options with two values
_SRUN = _options(
    "-A --account -b --begin -B --extra-node-info -c --cpus-per-task -C --constraint -d --dependency -D "
    "--chdir -e --error -G --gpus -g -i --input -J --job-name -L --licenses -m --distribution -M --clusters "
    "-n --ntasks -N --nodes -o --output -p --partition -q --qos -r --relative -S --core-spec -t --time -T "
    "--threads -w --nodelist -W --wait -x --exclude -F --nodefile --export --export-file --mpi --mem "
    "--mem-per-cpu --mem-per-gpu --mem-bind --cpu-bind --cpu-freq --gres --gpus-per-node --gpus-per-task "
    "--gpus-per-socket --gpu-bind --gpu-freq --ntasks-per-node --ntasks-per-core --ntasks-per-socket "
    "--ntasks-per-gpu --cpus-per-gpu --cores-per-socket --sockets-per-node --threads-per-core --hint "
    "--jobid --het-group --prolog --epilog --task-prolog --task-epilog --profile --reservation "
    "--signal --network --tmp --container --comment --acctg-freq --bcast --open-mode --slurmd-debug"
)
_APRUN = _options(
    "-a --architecture -cc --cpu-binding -cp --cpu-binding-file -d --cpus-per-pe -D --debug -e "
    "--environment-override -F --access-mode -j --cpus-per-cu -L --node-list -l --node-list-file -m "
    "--memory-per-pe -M --mdm-list -n --pes -N --pes-per-node -p --protection-domain -P --pipes -r "
    "--specialized-cpus -R --relaunch -S --pes-per-numa-node -sl --numa-node-list -sn "
    "--numa-nodes-per-node -t --cpu-time-limit --mpmd-env"
)
_JSRUN = _options(
    "-A --appfile -a --tasks_per_rs -b --bind -c --cpu_per_rs -d --launch_distribution -D "
    "--env_no_propagate -E --env -e --stdio_mode -F --env_eval -g --gpu_per_rs -h --chdir -J "
    "--use_resources -K --rs_per_socket -k --stdio_stderr -l --latency_priority -L --use_spindle -M "
    "--smpiargs -m --memory_per_rs -n --nrs -o --stdio_stdout -P --pre_post_exec -p --np -r --rs_per_host "
    "-S --save_resources -t --stdio_input -U --erf_input -X --exit_on_error"
)
_FLUX = _options(
    "-n --ntasks -N --nodes -c --cores-per-task -g --gpus-per-task --cores --tasks-per-node --tasks-per-core "
    "--gpus-per-node -t --time-limit -q --queue -B --bank -u --urgency --job-name -o --setopt -S --setattr "
    "--env --env-remove --env-file --rlimit --input --output --error --requires --begin-time --dependency "
    "--flags --cwd --add-file --taskmap --conf --signal --log --log-stderr"
)
_PALS = _options(
    "-n -np --np --ppn -N --nodes -d --depth --cpu-bind --mem-bind --gpu-bind --hosts --host --hostlist "
    "--hostfile -f --line-buffer-size --env --environment --envlist --genv --genvlist -e --wdir --umask "
    "--procinfo-file --configfile --path --rlimits --label-format --exclude-hosts --pmi --fanout"
)

# Several rows may have the same command. launcher_of() takes the first of them with an empty `says`, or with
# a text of `says` that the output of --version contains.
LAUNCHERS = (
    Launcher(
        "hydra", ("mpiexec", "mpirun"), "MPICH's or a derivative's", _HYDRA,
        forward=("-genv", "{key}", "{value}"), says=("HYDRA", "Intel(R) MPI"),
        paired=_options("-genv -env"), is_repeated=False, flavours=("mpich", "abi"),
    ),
    Launcher(
        "openmpi", ("mpiexec", "mpirun"), "Open MPI's", _OPENMPI,
        forward=("-x", "{key}={value}"), says=("Open MPI", "OpenRTE", "PRRTE", "Spectrum MPI"),
        paired=_MCA, flavours=("ompi",),
    ),
    Launcher(
        "openmpi", ("orterun", "prterun"), "Open MPI's", _OPENMPI, forward=("-x", "{key}={value}"),
        paired=_MCA, flavours=("ompi",),
    ),
    Launcher(
        "mpiexec", ("mpiexec", "mpirun"), "of an unknown MPI", _HYDRA | _OPENMPI | _PALS,
        paired=_options("-genv -env -mca --mca"),
    ),
    Launcher("srun", ("srun",), "Slurm's", _SRUN, forward=("--export",), is_joined=True),
    Launcher("aprun", ("aprun",), "Cray's", _APRUN, forward=("-e", "{key}={value}"), is_repeated=False),
    Launcher("jsrun", ("jsrun",), "LSF's", _JSRUN, forward=("-E", "{key}={value}")),
    Launcher(
        "flux", ("flux run", "flux mini run"), "Flux's", _FLUX, forward=("--env={key}={value}",), doubled="$"
    ),
    Launcher("ibrun", ("ibrun",), "TACC's", _options("-n -np -o")),
    Launcher("palsrun", ("palsrun",), "PALS's", _PALS, forward=("--env", "{key}={value}")),
)  # fmt: skip


def _has_name(word: str, command: str) -> bool:
    return re.fullmatch(re.escape(command) + r"([._-].*)?", Path(word).name) is not None


def _version_text(word: str) -> str:
    """Returns what a launcher prints about its version; empty if it does not answer. Raises LaunchError if it
    can't be started."""
    try:
        told = subprocess.run(
            [word, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=VERSION_SECONDS, check=False,
        )  # fmt: skip
    except OSError as error:
        raise LaunchError(f"{word} can't be started: {error.strerror}") from error
    except subprocess.TimeoutExpired:
        return ""
    return told.stdout + told.stderr


def words_of_launcher(launcher: Launcher, words: Sequence[str]) -> int:
    """Returns how many of `words` name the launcher, 2 for `flux run`; 0 if they begin with another word."""
    for command in launcher.commands:
        first, *rest = command.split()
        if words and _has_name(words[0], first) and list(words[1 : 1 + len(rest)]) == rest:
            return 1 + len(rest)
    return 0


def launcher_of(words: Sequence[str]) -> Launcher | None:
    """Returns the launcher that the words begin with; None if they begin with no known launcher. Raises
    LaunchError if the launcher can't be started."""
    rows = [row for row in LAUNCHERS if words_of_launcher(row, words)]
    version = _version_text(words[0]) if any(row.says for row in rows) else ""
    return next((row for row in rows if not row.says or any(text in version for text in row.says)), None)


def preloads_of(wrapper: str) -> str:
    """Returns the LD_PRELOAD that a wrapper sets for its command; empty if it can't be started."""
    try:
        words, env = [wrapper, "-o0", "printenv", "LD_PRELOAD"], {**os.environ, "LD_PRELOAD": ""}
        told = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return told.stdout.strip()


def is_found(word: str) -> bool:
    """Returns whether a word is the path or name of an executable file."""
    found = shutil.which(word)
    return found is not None and not Path(found).is_dir()
