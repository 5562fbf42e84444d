#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turn the CSV files of data/ into C tables, sorted by key for bsearch().

usage: mkdata.py tdp OUT.c cpu_tdp.csv
       mkdata.py carbon OUT.c carbon.csv OUT.d

carbon.csv lists the tables of places that stand beside it; OUT.d tells the build which they are.

Energy figures leave here as exact integers: milliwatts, milligrams per kWh. A row whose figure is not a
positive number, or whose key stands for two different figures, is left out and counted in the output's head:
no answer is better than a wrong one.
"""

import csv
import os
import re
import sys
from decimal import Decimal, InvalidOperation

# The normalisation of processor names. src/sensors/cpu_tdp.c does the same in C; data/README.md ("Processor names")
# is the specification of both; tests/cli/test_tools.py holds the two against each other.
VENDORS = {"intel", "amd"}
DROPPED = {"cpu", "processor", "apu", "soc", "gen", "edition", "0"}
STOPS = {"with", "w/", "radeon"}
MAX_NAME = 128

# Bytes in struct wtl_carbon_row.
MAX_CODE, MAX_PLACE = 35, 39


def is_ordinal(word):
    return re.fullmatch(r"[0-9]+(st|nd|rd|th)", word) is not None


def is_r_series(word):
    return re.fullmatch(r"r[0-9]", word) is not None


def is_noise(token):
    """A token (between blanks) that does not say which processor it is."""
    return token.endswith("-core") or token == "x-series"


def cut_and_flatten(name):
    """Steps 1 to 3: drop what stands in parentheses, cut the clock and the graphics, lower-case, blank out the rest."""
    name = re.sub(r"\([^)]*(\)|$)", " ", name)
    name = re.split("[@,]", name, maxsplit=1)[0]
    return "".join(c.lower() if c.isascii() and (c.isalnum() or c in "-+./") else " " for c in name)


def cpu_key(name):
    """The key of a processor name, "" when nothing is left of it."""
    if len(name.encode()) >= MAX_NAME:
        return ""
    words = []
    for token in cut_and_flatten(name).split():
        if token in STOPS:
            break
        if not is_noise(token):
            words += [word for word in re.split("[-/]", token) if word]
    kept, vendor = [], None
    for word in words:
        if word in VENDORS:
            vendor = vendor or word
        elif not (word in DROPPED or is_ordinal(word) or is_r_series(word)):
            kept.append(word)
    if len(kept) == 1 and vendor:
        kept.insert(0, vendor)
    return " ".join(kept)


def scaled(text, factor):
    """`text` times `factor` as an exact positive integer, or None."""
    try:
        value = Decimal(text) * factor
    except InvalidOperation:
        return None
    if not value.is_finite() or value <= 0 or value != int(value):
        return None
    return int(value)


def c_string(text):
    """`text` as the inside of a C string literal, everything unusual as an octal escape."""
    out = ""
    for byte in text.encode():
        plain = 32 <= byte < 127 and chr(byte) not in '"\\?'
        out += chr(byte) if plain else f"\\{byte:03o}"
    return out


def read_csv(path, columns, may_lack=None):
    """The rows below the header. The column that a table may lack is empty then."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    if may_lack:
        if rows[:1] == [columns]:
            rows = [[*columns, may_lack], *([*row, ""] for row in rows[1:])]
        columns = [*columns, may_lack]
    if not rows or rows[0] != columns:
        sys.exit(f"{path}:1: the header is not {','.join(columns)}")
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(columns):
            sys.exit(f"{path}:{number}: {len(row)} columns, not {len(columns)}")
    return rows[1:]


def tdp_rows(path):
    """{key: milliwatts}, and how many CSV rows were left out because of a bad figure, no family, or a conflict."""
    found, conflicts, bad, bare = {}, set(), 0, 0
    for name, watts in read_csv(path, ["Name", "TDP"]):
        key, tdp_mw = cpu_key(name), scaled(watts, 1000)
        if tdp_mw is None:
            bad += 1
        elif " " not in key or not any(c.isdigit() for c in key):
            bare += 1
        elif found.setdefault(key, tdp_mw) != tdp_mw:
            conflicts.add(key)
    for key in conflicts:
        del found[key]
    return found, bad, bare, conflicts


def make_tdp(path):
    found, bad, bare, conflicts = tdp_rows(path)
    offset, rows, names = 0, [], []
    for key in sorted(found):
        rows.append(f"\t{{{offset}, {found[key]}}},")
        names.append(f'\t"{c_string(key)}\\0"')
        offset += len(key.encode()) + 1
    return [
        f"/* {len(rows)} processors. Left out: {bad} without a plain positive figure, {bare} bare model numbers,",
        f" * {len(conflicts)} names that stand for two different figures. */",
        '#include "sensors/cpu_tdp_table.h"',
        "",
        "const char wtl_tdp_names[] =",
        *names,
        "\t;",
        "",
        "const struct wtl_tdp_row wtl_tdp_rows[] = {",
        *rows,
        "};",
        "",
        f"const size_t wtl_tdp_row_count = {len(rows)};",
    ]


def carbon_rows(path, provider, number):
    """[(code, C row)] of one table of places, and how many rows were left out because they have no figure."""
    found, bad = [], 0
    for code, place, grams, year, alias in read_csv(path, ["code", "place", "g_co2e_per_kwh", "year"], "alias"):
        code, mg = f"{provider}:{code}" if provider else code, scaled(grams, 1000)
        if len(code) > MAX_CODE or len(place.encode()) > MAX_PLACE or not re.fullmatch("([A-Z]{2})?", alias):
            sys.exit(f"{path}: {code} {place} is too long, or has a bad alias")
        if mg is None:
            bad += 1
        else:
            found.append((code, f'\t{{"{c_string(code)}", "{c_string(place)}", {mg}, {int(year)}, {number}, "{alias}"}},'))
    return found, bad


def carbon_paths(index):
    folder = os.path.dirname(index)
    tables = read_csv(index, ["provider", "table", "uncertainty_percent", "dataset"])
    return [(provider, os.path.join(folder, table), *rest) for provider, table, *rest in tables]


def make_carbon(index):
    places, sets, bad = {}, [], 0
    for provider, path, percent, dataset in carbon_paths(index):
        rows, n = carbon_rows(path, provider, len(sets))
        for code, row in rows:
            # Locations are found in any case.
            if places.setdefault(code.lower(), row) is not row:
                sys.exit(f"{path}: {code} has a figure already")
        sets.append(f'\t{{"{c_string(dataset)}", {int(percent)}}},')
        bad += n
    providers = sorted({provider for provider, *_ in carbon_paths(index) if provider})
    return [
        '#include "energy/carbon_table.h"',
        "",
        "const struct wtl_carbon_dataset wtl_carbon_datasets[] = {",
        *sets,
        "};",
        "",
        f"/* {len(places)} places. Left out: {bad} without a plain positive figure. */",
        "const struct wtl_carbon_row wtl_carbon_rows[] = {",
        *(places[code] for code in sorted(places)),
        "};",
        "",
        f"const size_t wtl_carbon_row_count = {len(places)};",
        "",
        f'const char wtl_carbon_providers[] = "{c_string(", ".join(providers))}";',
    ]


def main(argv):
    if len(argv) == 4 and argv[1] == "tdp":
        made = make_tdp(argv[3])
    elif len(argv) == 5 and argv[1] == "carbon":
        made = make_carbon(argv[3])
        with open(argv[4], "w", encoding="ascii") as file:
            file.write(f"{argv[2]}: {' '.join(path for _, path, *_ in carbon_paths(argv[3]))}\n")
    else:
        sys.exit(__doc__)
    with open(argv[2], "w", encoding="ascii") as file:
        file.write("/* SPDX-License-Identifier: MIT */\n/* Made by tools/mkdata.py from data/: do not edit. */\n")
        file.write("\n".join(made) + "\n")


if __name__ == "__main__":
    main(sys.argv)
