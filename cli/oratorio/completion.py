# SPDX-License-Identifier: BSD-3-Clause
"""Runs `oratorio completion`, which prints a shell's completion script. The script calls the command again
with an incomplete command line, to get an answer about the last word.

The first line of an answer is its kind:
    words       each further line is a possible completion
    command N   word N, counted from 0, begins another command, which the shell completes by its own rules
    files       the shell completes names of files
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from oratorio import command_line
from oratorio.command_line import Command, Parser
from oratorio.library import hint_names, method_table

BASH = r"""# Completes the command line of oratorio in bash.
_oratorio() {
    local words=() places=() told word before='' index current=${COMP_WORDS[COMP_CWORD]}
    # Bash splits words at "=".
    for ((index = 1; index <= COMP_CWORD; index++)); do
        word=${COMP_WORDS[index]}
        if [[ $index -gt 1 && ($word == "=" || $before == "=") ]]; then
            words[-1]+=$word
        else
            words+=("$word")
            places+=("$index")
        fi
        before=$word
    done
    [[ $current != "=" ]] || current=''
    mapfile -t told < <("${COMP_WORDS[0]/#\~/$HOME}" completion bash "${words[@]}" 2>/dev/null)
    COMPREPLY=()
    case ${told[0]:-} in
        words)
            before=${words[-1]%"$current"}
            for word in "${told[@]:1}"; do
                COMPREPLY+=("${word#"$before"}")
                [[ $word != *= ]] || compopt -o nospace 2>/dev/null
            done
            ;;
        "command "*)
            index=${places[${told[0]#command }]}
            if declare -F _command_offset >/dev/null; then
                _command_offset "$index"
            elif ((index == COMP_CWORD)); then
                mapfile -t COMPREPLY < <(compgen -c -- "$current")
            fi
            ;;
    esac
}
complete -o bashdefault -o default -F _oratorio oratorio ./oratorio
"""

ZSH = r"""#compdef oratorio
# Completes the command line of oratorio in zsh.
_oratorio() {
    local -a told
    local kind
    told=("${(@f)$(${~words[1]} completion zsh "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    kind=$told[1]
    shift told
    case $kind in
        words)
            compadd -S '' -- ${(M)told:#*=}
            compadd -- ${told:#*=}
            ;;
        command\ *)
            shift $((${kind#command } + 1)) words
            ((CURRENT -= ${kind#command } + 1))
            _normal
            ;;
        *)
            compset -P '-*='
            _files
            ;;
    esac
}
if [[ $funcstack[1] == _oratorio ]]; then
    _oratorio "$@"
else
    compdef _oratorio oratorio
fi
"""

FISH = r"""# Completes the command line of oratorio in fish.
function __oratorio_complete
    set -l current (commandline -ct)
    set -l words (commandline -opc)
    set -l told ($words[1] completion fish $words[2..] "$current" 2>/dev/null)
    set -l kind $told[1]
    set -e told[1]
    switch "$kind"
        case words
            string join \n -- $told
        case 'command *'
            __fish_complete_subcommand --fcs-skip=(math (string replace 'command ' '' -- $kind) + 1)
        case '*'
            __fish_complete_path "$current"
    end
end
complete -c oratorio -f -a '(__oratorio_complete)'
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
FILES = ["files"]


def add_options(parser: Parser) -> None:
    """Adds the arguments of `completion`."""
    parser.add_argument(
        "shell", choices=tuple(SCRIPTS), metavar="SHELL", help="The shell: bash, zsh or fish."
    )
    parser.add_argument(
        "words", nargs=argparse.REMAINDER, metavar="WORD...",
        help="Print the completions of this unfinished command line; the completion script passes it. "
        "Without it, print the script itself.",
    )  # fmt: skip
    parser.set_defaults(does=run)


def _words(begin: str, offers: Sequence[str]) -> list[str]:
    """Returns an answer of the kind `words` with the offers that begin with `begin`."""
    return ["words", *(offer for offer in dict.fromkeys(offers) if offer.startswith(begin))]


def _takes_value(action: argparse.Action | None) -> bool:
    return action is not None and action.nargs != 0


def _values(action: argparse.Action, begin: str, before: str = "") -> list[str]:
    """Returns the answer for the value of an option or argument, each offer with `before` in front of it."""
    offers: Sequence[str] = tuple(action.choices or ())
    if action.dest == "method":
        whole, comma, begin = begin.rpartition(",")
        before += whole + comma
        offers = method_table.methods()
    elif action.dest == "hint" and "=" not in begin:
        offers = [f"{key}=" for key in hint_names.hints()]
    if not offers:
        return FILES
    return _words(before + begin, [before + offer for offer in offers])


def _option(options: Mapping[str, argparse.Action], current: str) -> list[str]:
    """Returns the answer for a word that begins with a dash."""
    name, equals, begin = current.partition("=")
    if not equals:
        return _words(current, [name for name in options if options[name].help != argparse.SUPPRESS])
    return _values(options[name], begin, name + "=") if _takes_value(options.get(name)) else FILES


def _in_parser(parser: argparse.ArgumentParser, words: Sequence[str], first: int) -> list[str]:
    """Returns the answer for the last of `words`. The words before `first` selected `parser`."""
    options = {name: action for action in parser._actions for name in action.option_strings}
    arguments = [action for action in parser._actions if not action.option_strings]
    pending: argparse.Action | None = None  # the option whose value comes next
    for index, word in enumerate(words[first:-1], first):
        argument = arguments[0] if arguments else None
        if pending:
            pending = None
        elif word.startswith("-"):
            pending = options.get(word) if _takes_value(options.get(word)) else None
        elif isinstance(argument, argparse._SubParsersAction) and word in argument.choices:
            return _in_parser(argument.choices[word], words, index + 1)
        elif argument and argument.nargs == argparse.REMAINDER:
            return [f"command {index}"]
        else:
            arguments = arguments[1:]
    if not pending and words[-1].startswith("-"):
        return _option(options, words[-1])
    wanted = pending or (arguments[0] if arguments else None)
    if wanted and wanted.nargs == argparse.REMAINDER:
        return [f"command {len(words) - 1}"]
    return _values(wanted, words[-1]) if wanted else FILES


def answer(words: Sequence[str]) -> list[str]:
    """Returns the lines of the answer for the last of `words`, which are those after `oratorio`."""
    commands: dict[str, Command] = {}
    for table in command_line.tables().values():
        commands |= table
    if len(words) == 1:
        return _words(words[0], [*(name.split()[0] for name in commands), "--help", "--version"])
    second = [name.split()[1] for name in commands if name.startswith(words[0] + " ")]
    if len(words) == 2 and (below := [name for name in second if words[1] and name.startswith(words[1])]):
        return _words(words[1], below)
    name = next((name for name in (" ".join(words[:2]), words[0]) if name in commands), None)
    if name is None:
        return FILES
    parser = command_line.parser_of(name, commands[name])
    return _in_parser(parser, words, len(name.split()))


def run(options: argparse.Namespace) -> int:
    """Prints the answer for an incomplete command line, or the script if there is none. Returns 0."""
    if options.words:
        print("\n".join(answer(options.words)))
    else:
        print(SCRIPTS[options.shell], end="")
    return 0
