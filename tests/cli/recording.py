# SPDX-License-Identifier: MIT
"""Reads a recording, by docs/recording.md alone: the second opinion beside src/record/."""

import ctypes
import sqlite3
import struct
import zlib

MASK = 2 ** 64 - 1


def signed(number):
    return number - 2 ** 64 if number >> 63 else number


def unzigzag(number):
    return number >> 1 ^ (MASK if number & 1 else 0)


class Varints:
    def __init__(self, data):
        self.data, self.at = data, 0

    def next(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def take(self, length):
        self.at += length
        assert self.at <= len(self.data)
        return self.data[self.at - length:self.at]

    def is_over(self):
        return self.at == len(self.data)


def told_numbers(source, how, count):
    """What is told of each value, still divided and with the sign in the lowest bit."""
    if how >= 4:
        width = source.take(1)[0]
        planes = [source.take(count) for _ in range(width)]
        return [sum(plane[i] << 8 * k for k, plane in enumerate(planes)) for i in range(count)]
    numbers = []
    while len(numbers) < count:
        number = source.next()
        numbers += [0] * (source.next() + 1) if number == 0 else [number]
    return numbers


def decode_block(data):
    """The values of a block."""
    source = Varints(data)
    how, count = source.take(1)[0], source.next()
    if count == 0:
        assert source.is_over()
        return []
    step = source.next()
    values = [unzigzag(source.next())] if how % 4 else []
    numbers = told_numbers(source, how, count - len(values))
    assert source.is_over() and len(numbers) == count - len(values)
    difference = 0
    for number in numbers:
        told = unzigzag(number) * step & MASK
        if how % 4 == 2:
            told = difference = difference + told & MASK
        values.append(told + (values[-1] if how % 4 else 0) & MASK)
    return [signed(value) for value in values]


def unpack_zstd(data, size):
    """Python has no zstd of its own before 3.14; the library is there where wattle was built with recordings."""
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_decompress.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)
    block = ctypes.create_string_buffer(size)
    assert library.ZSTD_decompress(block, size, data, len(data)) == size
    return block.raw


def checksum(row):
    total = 0
    for value in row:
        if value is None:
            total = zlib.crc32(b"\0", total)
        elif isinstance(value, int):
            total = zlib.crc32(struct.pack("<q", value), total)
        else:
            data = value.encode() if isinstance(value, str) else value
            total = zlib.crc32(struct.pack("<q", len(data)) + data, total)
    return total


class Recording:
    def __init__(self, path):
        self.db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.db.row_factory = sqlite3.Row
        assert self.db.execute("PRAGMA application_id").fetchone()[0] == 0x5754544C
        assert self.db.execute("PRAGMA user_version").fetchone()[0] == 1
        self.series = {row["name"]: row["id"] for row in self.rows("series")}

    def tables(self):
        return [row[0] for row in self.db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]

    def columns(self, table):
        """The names; of computed columns as well."""
        return [row["name"] for row in self.db.execute(f"PRAGMA table_xinfo({table})")]

    def stored_columns(self, table):
        return [row["name"] for row in self.db.execute(f"PRAGMA table_info({table})")]

    def rows(self, table):
        """All of a table, with their checksums checked."""
        for row in self.db.execute(f"SELECT {', '.join(self.stored_columns(table))} FROM {table} ORDER BY 1"):
            assert checksum(tuple(row)[:-1]) == row["crc"], f"{table}: {tuple(row)}"
            yield row

    def values(self, name):
        """A series from the first period to the last."""
        number, values = self.series[name], []
        for period in self.rows("period"):
            if period["parts"]:
                values += self.values_of_parts(period, number)
                continue
            counts = decode_block(period["counts"]) if period["counts"] else []
            if number < len(counts) and counts[number]:
                chunk = self.db.execute("SELECT * FROM chunk WHERE id = ?", (period["id"] << 16 | number,)).fetchone()
                block = unpack_zstd(chunk["data"], chunk["size"]) if chunk["packed"] else chunk["data"]
                assert len(block) == chunk["size"] and counts[number] == chunk["n"]
                values += decode_block(block)
        return values

    def values_of_parts(self, period, number):
        first, values = period["id"] << 16, []
        for i in range(period["parts"]):
            source, at = Varints(self.db.execute("SELECT data FROM part WHERE id = ?", (first + i,)).fetchone()[0]), 0
            while not source.is_over():
                at += source.next()
                block = source.take(source.next())
                if at == number:
                    values += decode_block(block)
        return values
