# SPDX-License-Identifier: MIT
"""What wattle's JSON, CSV and text have to be: a validator by docs/format-json.md, docs/report.md and docs/format-csv.md.

A schema is a dict from key to (check, is_required); a check is a function that raises AssertionError. The unit of a number is
checked by its key's last word, whatever the schema says.
"""

import re
from decimal import Decimal

UTC = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)\.\d{3}Z")
MICRO = 6
NANO = 9
# The decimals of a number, by the last word of its key.
DECIMALS = {"j": MICRO, "w": MICRO, "s": NANO, "gco2e": NANO, "kwh": 3}
METHODS = ("counter", "integrated", "modelled")
STATUSES = ("ok", "gap", "stale", "denied", "gone", "failed", "asleep", "absent")
FLAGS = ("short", "disagrees", "reset", "incomplete")
KINDS = ("cpu", "core", "uncore", "dram", "platform", "gpu", "gpu-memory", "module", "soc", "battery", "board")
GAPS = ("suspend", "clock-step", "channel", "overrun", "exits", "damaged")
STATES = ("live", "exited", "kernel", "folded")
LEDGER = ("live_j", "exited_j", "kernel_j", "idle_j", "unattributed_j")


# ---- Checks of one value ----

def text(value):
    assert isinstance(value, str) and value != "", repr(value)
    # Text from outside cannot move a terminal's cursor, nor is it cut in the middle of a letter.
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", value), repr(value)


def any_text(value):
    assert isinstance(value, str), repr(value)


def boolean(value):
    assert isinstance(value, bool), repr(value)


def count(value):
    assert isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2 ** 64, repr(value)


def number(value):
    """A decimal of its key's decimals (see check_decimals); never negative."""
    assert isinstance(value, Decimal) and value >= 0, repr(value)


def signed(value):
    assert isinstance(value, Decimal), repr(value)


def utc(value):
    assert isinstance(value, str) and UTC.fullmatch(value), repr(value)


def one_of(*words):
    def check(value):
        assert value in words, (value, words)
    return check


def or_null(check):
    def checked(value):
        if value is not None:
            check(value)
    return checked


def array(check):
    def checked(value):
        assert isinstance(value, list), repr(value)
        for item in value:
            check(item)
    return checked


def some_of(*words):
    """A list of different words."""
    def check(value):
        assert isinstance(value, list) and len(set(value)) == len(value) and set(value) <= set(words), (value, words)
    return check


def fields(schema):
    def check(value):
        assert isinstance(value, dict), repr(value)
        missing = {key for key, (_, required) in schema.items() if required} - set(value)
        assert not missing, f"{missing} is missing in {list(value)}"
        assert set(value) <= set(schema), f"{set(value) - set(schema)} is not documented"
        for key, item in value.items():
            try:
                schema[key][0](item)
            except AssertionError as error:
                raise AssertionError(f"{key}: {error}") from error
    return check


def schema_of(required=None, optional=None):
    return {**{key: (check, True) for key, check in (required or {}).items()},
            **{key: (check, False) for key, check in (optional or {}).items()}}


# ---- Schemas ----

FIGURES_REQUIRED = {"status": one_of(*STATUSES)}
FIGURES_OPTIONAL = {"method": one_of(*METHODS, "mixed"), "energy_j": number, "uncertainty_j": number, "mean_w": number, "max_w": number,
                    "measured_s": number, "gap_s": number, "samples": count, "flags": some_of(*FLAGS), "reason": text}
FIGURES = schema_of({}, {**FIGURES_REQUIRED, **FIGURES_OPTIONAL})
DOMAIN = schema_of(
    {**FIGURES_REQUIRED, "name": text, "kind": one_of(*KINDS), "inside": or_null(text), "in_total": boolean},
    {**FIGURES_OPTIONAL, "device": text, "source": text, "check": text, "update_s": number, "remedy": text, "idle_w": number,
     "idle_uncertainty_w": number, "idle_method": one_of("learned", "modelled", "given"), "idle_t_utc": utc, "idle_age_s": number,
     "idle_reason": text, "weight": text,
     "sensor": lambda value: (any_text if isinstance(value, str) else fields_of_numbers)(value)})
ACCOUNT = schema_of({"domain": text, "unattributed_j": number, "total_j": number},
                    {"live_j": number, "exited_j": number, "kernel_j": number, "idle_j": number, "idle_reason": text, "reason": text})
SHARE = {"dynamic_j": number, "full_j": number, "uncertainty_j": number}
COMMAND = schema_of({}, {**SHARE, "gpu_dynamic_j": number, "gpu_full_j": number, "cpu_s": number, "attributed_cpu_s": number,
                         "processes": count, "max_rss_bytes": count, "reason": text})
PROCESS = schema_of(
    {"state": one_of(*STATES), "in_command": boolean, "full_j": number, "uncertainty_j": number},
    {"pid": count, "cpu_s": number, "parent": count, "start_utc": utc, "n_processes": count, "name": any_text, "command": any_text, "user": text,
     "uid": count, "cgroup": text, "unit": text, "container": text, "pod": text, "job": text, "step": text, "dynamic_j": number,
     "per_cpu_w": number, "per_cpu_uncertainty_w": number, "gpu_dynamic_j": number, "gpu_j": number, "pss_bytes": count, "uss_bytes": count, "rss_bytes": count, "gpu_memory_bytes": count})
OTHERS = schema_of({"n_processes": count, "full_j": number, "uncertainty_j": number}, {"cpu_s": number, "dynamic_j": number})
CARBON = schema_of({"location": text, "location_is_default": boolean},
                   {"gco2e": number, "gco2e_uncertainty": number, "missing_j": number, "intensity_g_per_kwh": number, "dataset": text, "year": count,
                    "pue": number, "gco2e_with_pue": number, "reason": text})
SELF = schema_of({"cpu_s": number},
                 {"max_rss_bytes": count, "ticks": count, "late_ticks": count, "energy_j": number, "uncertainty_j": number, "method": one_of("modelled"),
                  "reason": text})
MEASURED = {"start_utc": utc, "duration_s": number, "total": fields(FIGURES), "domains": array(fields(DOMAIN)),
            "ledger": array(fields(ACCOUNT))}
WHO = {"command_energy": fields(COMMAND), "processes": array(fields(PROCESS)), "others": fields(OTHERS),
       "no_process": fields(schema_of({"full_j": number})), "processes_reason": text}
REPORT = schema_of(
    {"schema": one_of("wattle.report/1"), "version": text, "command": or_null(array(any_text)), **MEASURED, "self": fields(SELF),
     "notes": array(text)},
    {"exit_status": count, "exit_signal": count, "interrupted": boolean, "carbon": fields(CARBON), **WHO})
STATISTIC = schema_of({"n": count}, {"mean": number, "sd": number, "ci95": number, "min": number, "max": number, "reason": text})
STATISTICS = schema_of({"runs": count, "duration_s": fields(STATISTIC)},
                       {"energy_j": fields(STATISTIC), "mean_w": fields(STATISTIC), "gco2e": fields(STATISTIC),
                        "command_dynamic_j": fields(STATISTIC), "command_full_j": fields(STATISTIC),
                        "domains": array(fields(schema_of({"name": text}, {"energy_j": fields(STATISTIC), "reason": text})))})
SERIES = schema_of({"schema": one_of("wattle.series/1"), "version": text, "runs": array(fields(REPORT)), "statistics": fields(STATISTICS)},
                   {"until": number, "converged": boolean})
MACHINE = schema_of({"cpus": count, "packages": count, "is_vm": boolean, "is_container": boolean},
                    {"cpu_model": text, "product": text, "kernel": text, "memory_bytes": count})
DOCTOR = schema_of(
    {"schema": one_of("wattle.doctor/1"), "version": text, "t_utc": utc, "summary": text, "machine": fields(MACHINE),
     "domains": array(fields(DOMAIN)),
     "sources": array(fields(schema_of({"source": text, "status": one_of(*STATUSES), "reason": text}, {"remedy": text}))),
     "ways": array(fields(schema_of({"way": text, "is_used": boolean}, {"reason": text, "remedy": text})))})
FILE = schema_of({"file": text, "begin_utc": utc, "begin_mono_ns": count, "span_s": number, "is_whole": boolean, "is_live": boolean,
                  "is_part": boolean},
                 {"n_runs": count, "wattle": text, "host": text, "cpu": text, "kernel": text, "location": text, "interval_s": number})
GROUP_NAMES = ("user", "command", "container", "pod", "unit", "job", "cgroup", "process")
GROUP = schema_of({"n_processes": count, "cpu_s": number, "full_j": number, "uncertainty_j": number},
                  {"dynamic_j": number, "gpu_j": number, **{name: or_null(text) for name in GROUP_NAMES}})
REST = schema_of({"n_groups": count, "n_processes": count, "cpu_s": number, "full_j": number, "uncertainty_j": number},
                 {"dynamic_j": number, "gpu_j": number})
GROUPING = schema_of({"groups": array(fields(GROUP))}, {"others": fields(REST)})
WINDOW = schema_of(
    {"id": count, "name": text, "is_main": boolean, "is_open": boolean, "begin_utc": utc, "begin_mono_ns": count},
    {"is_cut": boolean, "pid": count, "duration_s": number, "total": fields(FIGURES), "gco2e": number, "gco2e_uncertainty": number,
     "gco2e_reason": text, "reason": text, "domains": array(fields(schema_of({"name": text}, {**FIGURES_REQUIRED, **FIGURES_OPTIONAL})))})
GAP = schema_of({"kind": one_of(*GAPS), "begin_utc": utc, "duration_s": signed}, {"domain": text, "text": text})
INTENSITY = schema_of({"file": text, "known_s": number, "missing_s": number, "missing_j": number},
                      {"min_g_per_kwh": number, "max_g_per_kwh": number, "reason": text})
POLICY = schema_of({"idle": text}, {"idle_given": array(text), "weight": text})
RECORDING = schema_of(
    {"schema": one_of("wattle.recording/1"), "version": text, "recording": fields(FILE),
     "policy": fields(POLICY), "command": or_null(array(any_text)), **MEASURED, "end_utc": utc,
     "interrupted": boolean, "by": lambda value: [fields(GROUPING)(grouping) for grouping in value.values()], "windows": array(fields(WINDOW)),
     "gaps": array(fields(GAP)), "self": fields(SELF), "notes": array(text)},
    {"carbon": fields(CARBON), "intensity": fields(INTENSITY), "exit_status": count, "exit_signal": count, **WHO})
UNITS = ("s", "j", "w", "gco2e")
COMPARED = schema_of({}, {**{f"{name}_{unit}": number for unit in UNITS for name in ("value", "uncertainty", "difference_uncertainty")},
                          **{f"difference_{unit}": signed for unit in UNITS},
                          "ratio": signed, "is_significant": boolean, "is_same_sensor": boolean, "is_incomplete": boolean,
                          "has_other_domains": boolean, "reason": text})
COMPARISON = schema_of(
    {"schema": one_of("wattle.comparison/1"), "version": text, "recordings": array(fields(RECORDING)),
     "comparison": array(fields(schema_of({"what": text, "is_domain": boolean, "values": array(fields(COMPARED))})))})
RUN = schema_of({"file": text, "run": count, "command": or_null(array(any_text)), "interrupted": boolean, **MEASURED},
                {"exit_status": count, "exit_signal": count, "is_unfinished": boolean, "command_energy": fields(COMMAND), "carbon": fields(CARBON), "gco2e_per_s": number})
RUNS_FILE = schema_of({"recording": fields(FILE), "policy": fields(POLICY), "gaps": array(fields(GAP))})
SUM = schema_of({"n_runs": count, "duration_s": number, "n_energy": count, "n_emitted": count},
                {"energy_j": number, "uncertainty_j": number, "gco2e": number, "gco2e_uncertainty": number})
RUNS = schema_of({"schema": one_of("wattle.runs/1"), "version": text, "runs": array(fields(RUN)), "sum": fields(SUM), "files": array(fields(RUNS_FILE)),
                  "statistics": fields(STATISTICS)})
SCHEMAS = {"wattle.report/1": REPORT, "wattle.series/1": SERIES, "wattle.doctor/1": DOCTOR, "wattle.recording/1": RECORDING,
           "wattle.comparison/1": COMPARISON, "wattle.runs/1": RUNS}


def fields_of_numbers(value):
    assert isinstance(value, dict) and value
    for item in value.values():
        assert isinstance(item, (str, int, Decimal)), item


# ---- What holds beyond types ----

def check_decimals(value, key=""):
    """Energies have six decimals and times nine, wherever they are."""
    if isinstance(value, dict):
        for inner_key, inner in value.items():
            check_decimals(inner, inner_key if inner_key not in ("mean", "sd", "ci95", "min", "max") else "")
    elif isinstance(value, list):
        for inner in value:
            check_decimals(inner, key)
    elif isinstance(value, Decimal):
        last = key.rsplit("_", maxsplit=1)[-1]
        if last in DECIMALS and key not in ("value_s", "uncertainty_s", "difference_s", "difference_uncertainty_s") and not key.endswith("gco2e_per_s"):
            assert -value.as_tuple().exponent == (MICRO if key.endswith("_gco2e") else DECIMALS[last]), (key, value)
    elif key.endswith(("_j", "_w")) and not isinstance(value, (dict, list)):
        raise AssertionError(f"{key} is {value!r}, no decimal")


def check_figures(figures):
    """Absent with a reason; never a number without what it covers."""
    if "energy_j" not in figures:
        assert not {"uncertainty_j", "mean_w", "max_w", "measured_s", "samples"} & set(figures), figures
        return
    for key in ("uncertainty_j", "measured_s", "gap_s", "samples", "flags"):
        assert key in figures, (key, figures)
    assert ("mean_w" in figures) == ("max_w" in figures), figures
    if "mean_w" in figures:
        assert figures["max_w"] >= figures["mean_w"], figures


def check_mean(figures):
    """Power is energy by the time that it covers, to the microwatt."""
    if "mean_w" in figures and figures["measured_s"] > 0:
        mean = figures["energy_j"] / figures["measured_s"]
        assert abs(mean - figures["mean_w"]) <= Decimal("0.0000006"), (figures, mean)


def check_domain(domain):
    check_figures(domain)
    check_mean(domain)
    if "energy_j" not in domain:
        assert domain["reason"] and domain["status"] not in ("ok", "gap"), domain
        return
    assert domain["source"] and domain["method"] in METHODS
    assert ("idle_w" in domain) != ("idle_reason" in domain), domain
    assert ("idle_w" in domain) == ("idle_uncertainty_w" in domain) == ("idle_method" in domain)
    if domain["status"] == "ok":
        assert domain["gap_s"] == 0, domain
    if domain["method"] == "modelled":
        assert domain["reason"], "why it is modelled"


def check_account(account, by_name):
    parts = [account[part] for part in LEDGER if part in account]
    assert sum(parts) == account["total_j"] == by_name[account["domain"]]["energy_j"], account
    has_users = {part in account for part in ("live_j", "exited_j", "kernel_j")}
    assert len(has_users) == 1, account
    assert has_users == {True} or account["reason"], "why it is not divided"
    assert ("idle_j" in account) != ("idle_reason" in account), account


def check_share(share):
    if "dynamic_j" in share:
        assert share["dynamic_j"] <= share["full_j"], share


def check_carbon(carbon, energy_j):
    if "gco2e" not in carbon:
        return
    if "intensity_g_per_kwh" in carbon:
        grams = energy_j * carbon["intensity_g_per_kwh"] / 3600000
        assert abs(grams - carbon["gco2e"]) <= Decimal("0.000000001") + grams / 1000000, (carbon, grams)
    assert ("pue" in carbon) == ("gco2e_with_pue" in carbon)
    if "pue" in carbon:
        assert abs(carbon["gco2e"] * carbon["pue"] - carbon["gco2e_with_pue"]) <= Decimal("0.000000002") * carbon["pue"], carbon
        assert carbon["gco2e_with_pue"] >= carbon["gco2e"]


def check_total(report):
    counted = [domain for domain in report["domains"] if domain["in_total"]]
    known = [domain["energy_j"] for domain in counted if "energy_j" in domain]
    total = report["total"]
    check_figures(total)
    assert "energy_j" not in total or ("status" in total and "method" in total), total
    if not known:
        assert "energy_j" not in total and total["reason"], total
        return
    assert sum(known) == total["energy_j"], total
    methods = {domain["method"] for domain in counted if "energy_j" in domain}
    assert total["method"] == (methods.pop() if len(methods) == 1 else "mixed"), total
    incomplete = len(known) < len(counted) or any(domain["gap_s"] > 0 for domain in counted)
    assert ("incomplete" in total["flags"]) == incomplete, total
    # Whatever the sensors have in common, the total's ± is not more than all of theirs, nor less than the largest one's root sum.
    parts = [domain["uncertainty_j"] for domain in counted if "energy_j" in domain]
    assert total["uncertainty_j"] <= sum(parts) + len(parts) * Decimal("0.000001"), total
    assert total["uncertainty_j"] ** 2 >= sum(part ** 2 for part in parts) * Decimal("0.999") - Decimal("0.000001"), total


def check_tree(domains):
    """What lies within another domain is there, counts in one place only, and is of no circle."""
    by_name = {domain["name"]: domain for domain in domains}
    assert len(by_name) == len(domains), "a name stands twice"
    for domain in domains:
        seen = [domain["name"]]
        while by_name[seen[-1]]["inside"] is not None:
            seen.append(by_name[seen[-1]]["inside"])
            assert seen.count(seen[-1]) == 1, seen
        counted = [name for name in seen if by_name[name]["in_total"]]
        assert len(counted) <= 1, f"{counted} would be counted twice"


def check_people(report):
    if "processes" not in report:
        assert report["processes_reason"] and "others" not in report and "no_process" not in report
        return
    assert "processes_reason" not in report
    energies = [process["full_j"] for process in report["processes"]]
    assert energies == sorted(energies, reverse=True), "those with the most energy first"
    for process in report["processes"]:
        check_share(process)
        assert ("n_processes" in process) == (process["state"] == "folded")
        assert process.get("gpu_j", 0) <= process["full_j"]
    if "no_process" in report:
        assert sum(energies) + report["others"]["full_j"] + report["no_process"]["full_j"] == report["total"]["energy_j"]


def check_measured(report):
    """A report, a recording's, or one run's."""
    check_tree(report["domains"])
    for domain in report["domains"]:
        check_domain(domain)
    check_total(report)
    by_name = {domain["name"]: domain for domain in report["domains"]}
    assert [account["domain"] for account in report["ledger"]] == [d["name"] for d in report["domains"] if "energy_j" in d]
    for account in report["ledger"]:
        check_account(account, by_name)
    if "carbon" in report and "intensity" not in report and "energy_j" in report["total"]:
        check_carbon(report["carbon"], report["total"]["energy_j"])
    command = report.get("command_energy")
    if command:
        check_share(command)
        assert "dynamic_j" in command or command["reason"], command
        assert "full_j" not in command or command["full_j"] <= report["total"].get("energy_j", 0)


def check_report(report):
    check_measured(report)
    check_people(report)
    own = report["self"]
    assert ("energy_j" in own) != ("reason" in own) and ("energy_j" in own) == ("method" in own)
    assert report["schema"] != "wattle.report/1" or own["late_ticks"] <= own["ticks"]


def check_recording(report):
    check_report(report)
    several = report["recording"]["is_part"] or "n_runs" in report["recording"]
    assert sum(window["is_main"] for window in report["windows"]) <= 1 or several
    if not report["recording"]["is_part"]:
        assert report["recording"]["span_s"] >= report["duration_s"], "the file is at least as long as what was measured"
    for window in report["windows"]:
        if "total" not in window:
            assert window["reason"]
            continue
        check_figures(window["total"])
        for domain in window["domains"]:
            check_figures(domain)
            check_mean(domain)
    for grouping in report["by"].values():
        for group in grouping["groups"]:
            check_share(group)
            assert len(set(group) & set(GROUP_NAMES)) == 1, group


def check_statistics(statistics, runs):
    for key, statistic in statistics.items():
        if not isinstance(statistic, dict):
            continue
        assert statistic["n"] <= len(runs), key
        if statistic["n"] < 2:
            assert not {"sd", "ci95"} & set(statistic) and statistic["reason"]
        if statistic["n"]:
            assert statistic["min"] <= statistic["mean"] <= statistic["max"], (key, statistic)
    assert statistics["runs"] == sum(not run.get("interrupted") and not run.get("is_unfinished") for run in runs)


def validate(document):
    """Everything that is to hold of a JSON document of wattle's."""
    schema = SCHEMAS[document["schema"]]
    fields(schema)(document)
    check_decimals(document)
    if document["schema"] == "wattle.report/1":
        check_report(document)
    elif document["schema"] == "wattle.recording/1":
        check_recording(document)
    elif document["schema"] == "wattle.doctor/1":
        check_tree(document["domains"])
        for domain in document["domains"]:
            check_domain(domain)
        for way in document["ways"]:
            assert way["is_used"] or way["reason"], way
    elif document["schema"] == "wattle.comparison/1":
        for recording in document["recordings"]:
            check_recording(recording)
    else:
        for run in document["runs"]:
            (check_report if document["schema"] == "wattle.series/1" else check_measured)(run)
        check_statistics(document["statistics"], document["runs"])
    return document


# ---- CSV ----

REPORT_COLUMNS = ("start_utc,run,command,exit_status,duration_s,domain,kind,inside,in_total,source,method,status,energy_j,uncertainty_j,"
                  "mean_w,max_w,measured_s,gap_s,flags,live_j,exited_j,kernel_j,idle_j,unattributed_j,gco2e,gco2e_uncertainty,"
                  "intensity_g_per_kwh,location,dataset,year,pue,gco2e_with_pue,command_dynamic_j,command_full_j,command_cpu_s,"
                  "command_processes,idle_w,reason").split(",")
DOCTOR_COLUMNS = ("t_utc,domain,kind,inside,in_total,source,check,method,status,mean_w,update_s,device,idle_w,way,is_used,reason,"
                  "remedy").split(",")


def cell(value):
    """A JSON value as its cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return " ".join(value)
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def check_csv_report(rows, report):
    """The rows of a report say what its JSON says."""
    accounts = {account["domain"]: account for account in report["ledger"]}
    assert [row["domain"] for row in rows] == [*(domain["name"] for domain in report["domains"]), "total"]
    for row, figures in zip(rows, [*report["domains"], report["total"]]):
        assert list(row) == REPORT_COLUMNS
        for key in ("kind", "inside", "in_total", "source", "method", "status", "energy_j", "uncertainty_j", "mean_w", "max_w",
                    "measured_s", "flags", "idle_w"):
            assert row[key] == cell(figures.get(key)), (key, row, figures)
        if "energy_j" in figures:
            assert row["gap_s"] == cell(figures["gap_s"])
        for part in LEDGER:
            assert row[part] == cell(accounts.get(row["domain"], {}).get(part)), (part, row)
    last, carbon = rows[-1], report.get("carbon", {})
    for key in ("gco2e", "gco2e_uncertainty", "pue", "gco2e_with_pue", "year"):
        assert last[key] == cell(carbon.get(key)), (key, last)
    command = report.get("command_energy", {})
    for key, name in (("command_dynamic_j", "dynamic_j"), ("command_full_j", "full_j"), ("command_processes", "processes")):
        assert last[key] == cell(command.get(name)), (key, last)


def check_csv_doctor(rows, report):
    domains = [row for row in rows if row["domain"]]
    assert [row["domain"] for row in domains] == [domain["name"] for domain in report["domains"]]
    for row, domain in zip(domains, report["domains"]):
        assert list(row) == DOCTOR_COLUMNS
        for key in ("kind", "inside", "in_total", "source", "method", "check", "device", "remedy"):
            assert row[key] == cell(domain.get(key)), (key, row, domain)
    sources = [row for row in rows if not row["domain"] and not row["way"]]
    assert [row["source"] for row in sources] == [source["source"] for source in report["sources"]]
    ways = [row for row in rows if row["way"]]
    assert [(row["way"], row["is_used"]) for row in ways] == [(way["way"], cell(way["is_used"])) for way in report["ways"]]


# ---- Text ----

PREFIXES = {"n": Decimal("1e-9"), "µ": Decimal("1e-6"), "u": Decimal("1e-6"), "m": Decimal("1e-3"), "": Decimal(1), "k": Decimal(1000),
            "M": Decimal(10 ** 6), "G": Decimal(10 ** 9), "T": Decimal(10 ** 12)}
BASES = {"J": Decimal(1), "W": Decimal(1), "Wh": Decimal(3600), "s": Decimal(1), "g": Decimal(1)}
FIGURE = re.compile(r"~?\s?(?P<value>\d+(?:\.\d+)?)(?:\s(?:±|\+/-)\s(?P<error>\d+(?:\.\d+)?))?")


def scale(unit):
    """What one of a unit such as mWh is in the base unit."""
    for base in ("Wh", "J", "W", "g", "s"):
        if unit.endswith(base) and unit[:-len(base)] in PREFIXES:
            return PREFIXES[unit[:-len(base)]] * BASES[base]
    raise AssertionError(f"{unit!r} is no unit")


def resolution(shown):
    """What the last digit that counts is worth; zeros at the end of whole numbers need not count."""
    if "." in shown:
        return Decimal(1).scaleb(-len(shown.split(".")[1]))
    return Decimal(10) ** (len(shown) - len(shown.rstrip("0"))) if shown.strip("0") else Decimal(1)


def check_shown(shown, error, exact, factor, slack=Decimal("0.5")):
    """A printed number is the exact one, in its printed digits. error: its printed ±, or None."""
    digit = resolution(shown)
    if error:
        # Two digits of the ±: where it has zeros behind them, the number is rounded there, too.
        rounded = resolution(error)
        if "." in shown or shown == "0":
            digit = max(digit, rounded)
        else:
            digit = min(digit, rounded)
    apart = abs(Decimal(shown) - exact / factor)
    assert apart <= digit * slack + Decimal("1e-9"), f"{shown} (± {error}) for {exact / factor}: {apart} off, digit {digit}"


def table_of(page, head):
    """The header line and the lines of a table of a text report, up to the next empty one."""
    lines = page.splitlines()
    for number_of_line, line in enumerate(lines):
        if re.match(head, line):
            end = number_of_line + 1
            while end < len(lines) and lines[end].strip():
                end += 1
            return line, lines[number_of_line + 1:end]
    return None, []


def error_of_power(figures, factor):
    """A mean has as many digits as the energy's ± justifies: that, with two digits, where it is large."""
    if figures["measured_s"] <= 0:
        return None
    error = figures["uncertainty_j"] / figures["measured_s"] / factor
    return format(error.quantize(Decimal(1).scaleb(error.adjusted() - 1)), "f") if error >= 100 else None


def check_text_domains(page, report):
    """Every energy and power of the table of domains."""
    head, rows = table_of(page, r"domain\s+energy \[")
    if head is None:
        assert all("energy_j" not in domain for domain in report["domains"]) or not report["domains"], page
        return 0
    factor = scale(re.search(r"energy \[(\w+)\]", head)[1])
    power = re.search(r"mean \[(\w+)\]", head)
    found = 0
    figures = {domain["name"]: domain for domain in report["domains"]}
    figures["total"] = report["total"]
    for row in rows:
        match = re.match(r"\s*(?P<name>[a-z][a-z0-9-]*)(?P<mark> !)?\s+(?P<rest>[~\d].*)$", row)
        if not match or match["name"] not in figures or "energy_j" not in figures[match["name"]]:
            continue
        domain, cells = figures[match["name"]], [cell_ for cell_ in re.split(r"\s{2,}", match["rest"]) if cell_]
        energy = FIGURE.match(cells[0])
        check_shown(energy["value"], energy["error"], domain["energy_j"], factor)
        found += 1
        if power and "mean_w" in domain and len(cells) > 2:
            for shown, key in zip(cells[1:3], ("mean_w", "max_w")):
                value = FIGURE.fullmatch(shown.rstrip(" !"))
                if value:
                    check_shown(value["value"], error_of_power(domain, scale(power[1])), domain[key], scale(power[1]))
                    found += 1
    return found


def check_text_ledger(page, report):
    """Every account: printed so that rows and columns add up, so a digit may be one off."""
    head, rows = table_of(page, r"where it went \[")
    if head is None:
        return 0
    factor = scale(re.search(r"where it went \[(\w+)\]", head)[1])
    titles = re.sub(r"where it went \[\w+\]", "", head).split()
    accounts = {account["domain"]: account for account in report["ledger"]}
    found = 0
    for row in rows:
        words = row.split()
        if words[0] not in accounts:
            continue
        account = accounts[words[0]]
        values = [word.lstrip("~") for word in words[1:] if re.fullmatch(r"~?\d+(\.\d+)?", word)]
        known = [title for title in titles if f"{title}_j" in account or title == "total"]
        if len(values) != len(known):
            continue
        for shown, title in zip(values, known):
            check_shown(shown if "." in shown else shown + ".", None, account[f"{title}_j"], factor, Decimal(len(titles)))
            found += 1
    return found


def check_text_head(page, report):
    """energy, power, time and carbon, where the page has them."""
    found = 0
    head = page.split("\n\n")[1] if "\n\n" in page else page
    number_ = r"~?\s?(\d+(?:\.\d+)?)(?: (?:±|\+/-) (\d+(?:\.\d+)?))?"
    for line in head.splitlines():
        if line.startswith("  energy  ") and "energy_j" in report["total"]:
            for value, error, unit in re.findall(number_ + r" ([numkMGµ]?(?:Wh|J))\b", line):
                energy = report["total"]["energy_j"]
                # Watt-hours come in whole microwatt-hours, whatever is shown of them.
                energy = round(energy / scale("µWh")) * scale("µWh") if unit.endswith("Wh") else energy
                check_shown(value, error, energy, scale(unit))
                found += 1
        if line.startswith("  power   ") and "mean_w" in report["total"]:
            for value, error, unit in re.findall(number_ + r" ([numkMGµ]?W)\b", line):
                check_shown(value, error, report["total"]["mean_w"], scale(unit))
                found += 1
        if line.startswith("  carbon  ") and "gco2e" in report.get("carbon", {}):
            for value, error, unit in re.findall(number_ + r" ([numkMGµ]?g) CO2e", line):
                # The JSON's own six decimals may be fewer digits than are shown.
                assert abs(Decimal(value) * scale(unit) - report["carbon"]["gco2e"]) <= \
                    max(resolution(value), resolution(error or value)) * scale(unit) / 2 + Decimal("0.000001")
                found += 1
    return found


def check_text_processes(page, report):
    """CPU time and full energy of every process that is listed, by its pid."""
    head, rows = table_of(page, r"\s*pid\s+process")
    if head is None or "processes" not in report:
        return 0
    unit = re.search(r"(?:dynamic|full|energy) \[(\w+)\]", head)
    by_pid = {str(process["pid"]): process for process in report["processes"] if "pid" in process}
    has_gpu = re.search(r"\bGPU\b", head) is not None
    found = 0
    for row in rows:
        pid = row.split()[0]
        # Without a baseline the last column is the only one, and has the ±.
        last = re.search(r"(\d+(?:\.\d+)?)(?: (?:±|\+/-) (\d+(?:\.\d+)?))?$", row)
        if pid not in by_pid or has_gpu or not unit or not last:
            continue
        check_shown(last[1], last[2], by_pid[pid]["full_j"], scale(unit[1]), Decimal(len(rows)))
        found += 1
    return found


def check_text(page, report):
    """Returns how many numbers were compared."""
    assert page.endswith("\n") and "\t" not in page and "\r" not in page
    for line in page.splitlines():
        assert len(line) <= 110 and line == line.rstrip(), repr(line)
    return (check_text_domains(page, report) + check_text_ledger(page, report) + check_text_head(page, report)
            + check_text_processes(page, report))
