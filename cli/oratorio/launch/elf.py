# SPDX-License-Identifier: BSD-3-Clause
"""Reads the parts of an ELF file that `oratorio run` needs; a machine without a compiler may lack readelf."""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import NamedTuple

FILE_HEADER_BYTES = 64
HEADER = "HHIQQQIHHHHHH"  # the fields e_type to e_shstrndx
SEGMENT = "IIQQQQQQ"
SECTION = "IIQQQQIIQQ"
SYMBOL = "IBBHQQ"
LOAD, DYNAMIC, INTERP = 1, 2, 3  # values of p_type
SYMTAB, DYNSYM = 2, 11  # values of sh_type
NEEDED, STRTAB = 1, 5  # values of d_tag
FUNCTION = 2  # STT_FUNC, in the low four bits of st_info


class Segment(NamedTuple):
    """An entry of the program header: a part of the file that is loaded, or that says how to load it."""

    kind: int
    flags: int
    offset: int
    address: int
    physical: int
    file_bytes: int
    memory_bytes: int
    align: int


class Elf:
    """A 64-bit ELF file. Raises ValueError for any other file, and for one that is cut short."""

    def __init__(self, file: Path) -> None:
        with file.open("rb") as stream:
            self._data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        if self._data[:5] != b"\x7fELF\x02" or len(self._data) < FILE_HEADER_BYTES:
            raise ValueError(f"{file} is not a 64-bit ELF file")
        self._order = "<" if self._data[5] == 1 else ">"
        head = self._unpack(HEADER, 16)
        self._section_table, self._section_count = head[5], head[11]
        self.segments = [Segment(*self._unpack(SEGMENT, head[4] + i * head[8])) for i in range(head[9])]

    def _unpack(self, form: str, offset: int) -> tuple:
        try:
            return struct.unpack_from(self._order + form, self._data, offset)
        except (struct.error, OverflowError) as error:
            raise ValueError(str(error)) from error

    def _text(self, offset: int) -> str:
        return self._data[offset : self._data.find(b"\0", offset)].decode(errors="replace")

    def _place(self, address: int) -> int:
        """Returns the offset in the file of the byte that is loaded at `address`."""
        for segment in self.segments:
            if segment.kind == LOAD and 0 <= address - segment.address < segment.file_bytes:
                return address - segment.address + segment.offset
        raise ValueError("an address outside all segments")

    def interpreter(self) -> str:
        """Returns the dynamic linker that starts the file; empty if it has none."""
        for segment in self.segments:
            if segment.kind == INTERP:
                return self._text(segment.offset)
        return ""

    def has_text(self, text: bytes) -> bool:
        """Returns whether these bytes are anywhere in the file."""
        return self._data.find(text) >= 0

    def needed(self) -> list[str]:
        """Returns the names in DT_NEEDED."""
        names, strings = [], 0
        for segment in self.segments:
            if segment.kind != DYNAMIC:
                continue
            for place in range(segment.offset, segment.offset + segment.file_bytes, 16):
                tag, value = self._unpack("QQ", place)
                if tag == NEEDED:
                    names.append(value)
                elif tag == STRTAB:
                    strings = self._place(value)
        return [self._text(strings + name) for name in names]

    def defines(self, name: str) -> bool:
        """Returns whether the file itself defines a function of that name. If symbols were stripped, a
        defined function may not be found."""
        sections = [
            self._unpack(SECTION, self._section_table + i * struct.calcsize("=" + SECTION))
            for i in range(self._section_count)
        ]
        return any(
            self._has_function(section, sections[section[6]], name.encode())
            for section in sections
            if section[1] in (SYMTAB, DYNSYM) and section[6] < len(sections)
        )

    def _has_function(self, table: tuple, strings: tuple, name: bytes) -> bool:
        names = self._data[strings[4] : strings[4] + strings[5]]
        places, found = set(), names.find(name + b"\0")
        while found >= 0:
            places.add(found)
            found = names.find(name + b"\0", found + 1)
        if not places:
            return False
        size = struct.calcsize("=" + SYMBOL)
        symbols = self._data[table[4] : table[4] + table[5] // size * size]
        return any(
            symbol[0] in places and symbol[1] & 15 == FUNCTION and symbol[3] != 0
            for symbol in struct.iter_unpack(self._order + SYMBOL, symbols)
        )
