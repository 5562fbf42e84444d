#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turn the CSV files of data/ into C tables, sorted by key for bsearch().

usage: mkdata.py tdp OUT.c cpu_tdp.csv
       mkdata.py carbon OUT.c carbon_world.csv carbon_countries.csv carbon_gcp_regions.csv

Energy figures leave here as exact integers: milliwatts, milligrams per kWh. A row whose figure is not a
positive number, or whose key stands for two different figures, is left out and counted in the output's head:
no answer is better than a wrong one.
"""

import csv
import re
import sys
from decimal import Decimal, InvalidOperation

# The normalisation of processor names. src/sensors/cpu_tdp.c does the same in C; data/README.md ("Processor names")
# is the specification of both; tests/cli/test_tools.py holds the two against each other.
VENDORS = {"intel", "amd"}
DROPPED = {"cpu", "processor", "apu", "soc", "gen", "edition", "0"}
STOPS = {"with", "w/", "radeon"}
MAX_NAME = 128


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


def read_csv(path, columns):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
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


def make_tdp(paths):
    found, bad, bare, conflicts = tdp_rows(*paths)
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


def carbon_row(code, place, grams, year):
    mg = scaled(grams, 1000)
    return None if mg is None else f'\t{{"{c_string(code)}", "{c_string(place)}", {mg}, {int(year)}}},'


def carbon_table(name, rows):
    ordered = [carbon_row(*row) for row in sorted(rows)]
    kept = [row for row in ordered if row]
    return [
        f"/* {len(kept)} places. Left out: {len(ordered) - len(kept)} without a plain positive figure. */",
        f"const struct wtl_carbon_row wtl_carbon_{name}[] = {{",
        *kept,
        "};",
        "",
        f"const size_t wtl_carbon_{name}_count = {len(kept)};",
        "",
    ]


def make_carbon(paths):
    world, countries, regions = paths
    gcp = read_csv(regions, ["region", "place", "carbon_free_fraction", "g_co2e_per_kwh"])
    return [
        '#include "energy/carbon_table.h"',
        "",
        *carbon_table("world", read_csv(world, ["code", "place", "g_co2e_per_kwh", "year"])),
        *carbon_table("countries", read_csv(countries, ["iso3", "country", "g_co2e_per_kwh", "year"])),
        *carbon_table("gcp_regions", [(region, place, grams, "2024") for region, place, _, grams in gcp]),
    ]


def main(argv):
    makers = {"tdp": (make_tdp, 1), "carbon": (make_carbon, 3)}
    if len(argv) < 3 or argv[1] not in makers or len(argv) != 3 + makers[argv[1]][1]:
        sys.exit(__doc__)
    maker, _ = makers[argv[1]]
    lines = ["/* SPDX-License-Identifier: MIT */", "/* Made by tools/mkdata.py from data/: do not edit. */", *maker(argv[3:])]
    with open(argv[2], "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv)
