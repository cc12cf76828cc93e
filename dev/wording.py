# SPDX-License-Identifier: BSD-3-Clause
"""Words and openings that comments and commit subjects of this project avoid, and what to write instead."""

import re
from collections.abc import Iterator

# Pattern in a comment -> what to write.
BANNED = {
    r"\banew\b": "`again`, or name what is new",
    r"\bmeanwhile\b": "`at the same time` or `until then`",
    r"\b(?:thereof|whereof|therein|hitherto|thence)\b": "the noun itself",
    r"\b(?:is|are|was|were) told\b": "who reports: `the store reports`",
    r"\b(?:is|are) to be had\b": "`is available`",
}
# Openings that a comment must not have, because nothing says what the sentence is about.
OPENINGS = {
    r"(?:Of|Or|And) ": "a subject: a comment is a full sentence or a noun phrase that stands alone",
    r"(?:Who|Whoever|Whose) ": "the noun: a rank, a caller, an aggregator",
}
COMMENT = {
    "c": re.compile(r"(?:///?<?|/\*+)[ \t]*(?P<text>[^\n]*)"),
    "hash": re.compile(r"(?:^|[ \t])#[ \t]+(?P<text>[^\n]*)", re.MULTILINE),
}
SUBJECT_MAX = 72
SUBJECT = re.compile(r"^[\w.,/ -]+: (?P<verb>[a-z][\w-]*)")
NOT_IMPERATIVE = re.compile(r"(?:ed|ing|[^s]s)$")
IMPERATIVES = {"bring", "embed", "exceed", "feed", "need", "seed", "speed", "focus", "bias", "alias"}


def of_text(text: str, kind: str) -> Iterator[tuple[int, str]]:
    """Yields (line, advice) for each avoided wording outside code spans; `kind` is a key of COMMENT."""
    continues_at = -1  # line after the last comment: a comment there may continue the sentence
    for found in COMMENT[kind].finditer(text):
        line = text.count("\n", 0, found.start("text")) + 1
        prose = re.sub(r"`[^`]*`", "", found["text"])
        for pattern, advice in BANNED.items():
            if bad := re.search(pattern, prose):
                yield line, f"`{bad.group()}`: write {advice}"
        for pattern, advice in OPENINGS.items() if kind == "c" and line != continues_at else ():
            if bad := re.match(pattern, found["text"]):
                yield line, f"a comment begins with `{bad.group().strip()}`: write {advice}"
        continues_at = line + 1


def of_subject(subject: str) -> Iterator[str]:
    """Yields what is wrong with the subject of a commit."""
    if len(subject) > SUBJECT_MAX:
        yield f"{len(subject)} characters; at most {SUBJECT_MAX}"
    found = SUBJECT.match(subject)
    if not found:
        yield "begins with a room, a colon and a verb: `engine: pipeline read-modify-write`"
    elif found["verb"] not in IMPERATIVES and NOT_IMPERATIVE.search(found["verb"]):
        yield f"`{found['verb']}`: write the verb in the imperative, as in `add`, not `added` or `adds`"
