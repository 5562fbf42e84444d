# SPDX-License-Identifier: MIT
"""wattle import: what other tools wrote becomes a recording, with its energies, its times, and its gaps."""

import json
import os
from decimal import Decimal
from pathlib import Path

import pytest

from conftest import REPO, cut_environment, run_wattle

DATA = REPO.parent / "shared" / "data"
CAPTURES = REPO / "tests" / "fuzz" / "corpus"

NVIDIA_SMI = """\
timestamp, index, uuid, power.draw [W], utilization.gpu [%], temperature.gpu, memory.used [MiB]
2026/07/03 22:11:09.000, 0, GPU-a, 100.00 W, 10 %, 40, 100 MiB
2026/07/03 22:11:09.010, 1, GPU-b, 200.00 W, 20 %, 50, 200 MiB
2026/07/03 22:11:10.000, 0, GPU-a, 100.00 W, 11 %, 41, 100 MiB
2026/07/03 22:11:10.010, 1, GPU-b, 200.00 W, 21 %, 51, 200 MiB
2026/07/03 22:11:11.000, 0, GPU-a, 100.00 W, 12 %, 42, 100 MiB
2026/07/03 22:11:11.010, 1, GPU-b, 200.00 W, 22 %, 52, 200 MiB
"""
DMON = """\
#Date       Time        gpu    pwr  gtemp     sm
#YYYYMMDD   HH:MM:SS    Idx      W      C      %
 20260703   22:11:09      0     60     57      0
 20260703   22:11:10      0     60     57      0
 20260703   22:11:11      0     60     58      5
"""
CODECARBON_2021 = """\
timestamp,experiment_id,project_name,duration,emissions,energy_consumed,country_name,country_iso_code,region,on_cloud,cloud_provider,cloud_region
2021-03-01T12:00:10,x,train,10.0,0.001,0.001,France,FRA,,N,,
"""
HEAD_2023 = ("timestamp,project_name,run_id,duration,emissions,emissions_rate,cpu_power,gpu_power,ram_power,cpu_energy,gpu_energy,"
             "ram_energy,energy_consumed,country_name,country_iso_code,region,cloud_provider,cloud_region,os,python_version,"
             "codecarbon_version,cpu_count,cpu_model,gpu_count,gpu_model,longitude,latitude,ram_total_size,tracking_mode,on_cloud,pue\n")
ROW_2023 = ('2023-03-01T12:00:10,"a, b",r1,10.0,0.001,0.0001,42.5,100,10,0.0002,0.0004,0.00004,0.00064,France,FRA,,,,Linux,3.11,2.3.4,8,'
            '"Xeon, big",1,1 x A100,0,0,64,machine,N,2.0\n')
CODECARBON_2022 = """\
timestamp,project_name,run_id,duration,emissions,emissions_rate,cpu_power,gpu_power,ram_power,cpu_energy,gpu_energy,ram_energy,energy_consumed,country_name,country_iso_code,region,cloud_provider,cloud_region,os,python_version,cpu_count,cpu_model,gpu_count,gpu_model,longitude,latitude,ram_total_size,tracking_mode,on_cloud
2022-03-01T12:00:10,t,r,10.0,0.001,0.0001,42.5,0,10,0.0002,0,0.00004,0.00024,France,FRA,,,,Linux,3.11,8,Xeon,1,1 x K80,0,0,64,machine,N
"""
ZEUS_MONITOR = """\
Time,Power,Temp
2022-07-13 02:07:36.708783111,30000,40
2022-07-13 02:07:36.808783111,30000,40
2022-07-13 02:07:36.908783111,30000,41
"""
ZEUS = """\
start_time,window_name,elapsed_time,gpu0_energy,gpu1_energy
1789000001.5,step,2.0,300.5,200
1789000004.5,step,2.5,310.5,210
1789000000.25,epoch,10.0,1500,1000
"""
PERF = """\
# started on Fri Jul  3 22:11:09 2026

     1.000000000,12.34,Joules,power/energy-pkg/,1000123456,100.00,,
     1.000000000,2.34,Joules,power/energy-ram/,1000123456,100.00,,
     2.000000000,13.34,Joules,power/energy-pkg/,1000123456,100.00,,
     2.000000000,<not counted>,Joules,power/energy-ram/,0,0.00,,
     3.000000000,11.34,Joules,power/energy-pkg/,1000123456,100.00,,
     3.000000000,2.50,Joules,power/energy-ram/,1000123456,100.00,,
"""
OMEGAWATT = """\
#timestamp,#frame_is_ok,#U1,#current1,#activepow1,#activepow2
1789000000.0,1,230,1,100.0,50.0
1789000001.0,1,230,1,100.0,50.0
1789000002.0,1,230,1,100.0,50.0
"""
WATTMETER = "time;Power [kW]\n2026-07-03 22:11:09;0,5\n2026-07-03 22:11:10;0,5\n2026-07-03 22:11:11;0,5\n"
KEPLER = """\
# HELP kepler_node_cpu_joules_total x
# TYPE kepler_node_cpu_joules_total counter
kepler_node_cpu_joules_total{zone="package",path="/sys/x",index="0"} 100 1789000000000
kepler_node_cpu_joules_total{zone="dram",path="/sys/y",index="0"} 10 1789000000000
kepler_node_cpu_joules_total{zone="package",path="/sys/x",index="0"} 180.5 1789000001000
kepler_node_cpu_joules_total{zone="dram",path="/sys/y",index="0"} 12 1789000001000
"""
DCGM = """\
DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-a",modelName="Tesla T4"} 74
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="0",UUID="GPU-a",modelName="Tesla T4"} 1000000
DCGM_FI_DEV_MEMORY_TEMP{gpu="0",UUID="GPU-a",modelName="Tesla T4"} 9223372036854775794
# EOF
DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-a",modelName="Tesla T4"} 75
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="0",UUID="GPU-a",modelName="Tesla T4"} 1068000
# EOF
"""


def aipowermeter_line(second, gpu_key="per_gpu_power_draw", **cpu):
    return json.dumps({"date": f"2023-07-27 17:21:{second:02}.000000", "metrics": {
        "cpu": {"intel_power": 60.0, "psys_power": -1, "total_dram_power": 10.0, "uncore_power": [1.5], **cpu},
        "gpu": {gpu_key: {"0": 20.0, "1": 70.0}}}})


AIPOWERMETER = "\n".join([aipowermeter_line(0), aipowermeter_line(1), aipowermeter_line(2, "per_gpu_nvidia_power"),
                          '"END OF RECORDING SEGMENT"', ""])


def scaphandre_report(t, host=20e6):
    return {"host": {"consumption": host, "timestamp": t}, "consumers": [],
            "sockets": [{"id": 0, "consumption": 15e6, "timestamp": t,
                         "domains": [{"name": "dram", "consumption": 5e6, "timestamp": t}]}]}


SCAPHANDRE = json.dumps([scaphandre_report(1789000000.0 + i) for i in range(3)])


def plist(stamp, cpu, gpu=500):
    return ('<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "x">\n<plist version="1.0">\n'
            f"<dict>\n<key>is_delta</key><true/>\n<key>elapsed_ns</key><integer>1000000000</integer>\n<key>timestamp</key><date>{stamp}</date>"
            f"\n<key>processor</key>\n<dict>\n<key>clusters</key><array><dict><key>cpu_energy</key><integer>7</integer></dict></array>\n"
            f"<key>cpu_energy</key><integer>{cpu}</integer>\n<key>gpu_energy</key><integer>{gpu}</integer>\n"
            "<key>ane_power</key><real>0</real>\n</dict>\n</dict>\n</plist>\n")


POWERMETRICS = plist("2026-07-03T22:11:10Z", 2000) + "\0" + plist("2026-07-03T22:11:11Z", 3000)

# The format that is found, and what the recording has of each domain, in joules.
SAMPLES = {
    "nvidia-smi": (NVIDIA_SMI, {"gpu-0": 200, "gpu-1": 400, "total": 600}),
    "dmon": (DMON, {"gpu-0": 120, "total": 120}),
    "codecarbon": (HEAD_2023 + ROW_2023, {"package-0": 360, "gpu-0": 720, "dram-0": 72, "total": 1152}),
    "zeus-monitor": (ZEUS_MONITOR, {"gpu-0": 6, "total": 6}),
    "zeus": (ZEUS, {"gpu-0": 1500, "gpu-1": 1000, "total": 2500}),
    "perf": (PERF, {"package-0": "37.02", "dram-0": "4.84", "total": "41.86"}),
    "omegawatt": (OMEGAWATT, {"board-0": 200, "board-1": 100, "total": 300}),
    "wattmeter": (WATTMETER, {"board-0": 1000, "total": 1000}),
    "prometheus": (KEPLER, {"package-0": "80.5", "dram-0": 2, "total": "82.5"}),
    "aipowermeter": (AIPOWERMETER, {"package-0": 120, "uncore-0": 3, "dram-0": 20, "gpu-0": 40, "gpu-1": 140, "total": 320}),
    "scaphandre": (SCAPHANDRE, {"host-0": 40, "package-0": 30, "dram-0": 10, "total": 40}),
    "powermetrics": (POWERMETRICS, {"package-0": 5, "gpu-0": 1, "total": 6}),
}


class Place:
    def __init__(self, path):
        self.path = path
        self.n = 0

    def run(self, text, *args, name="file.log", env=None):
        """Imports a text; returns the result and the recording's name."""
        self.n += 1
        out = f"{self.n}.wattle"
        data = text if isinstance(text, bytes) else text.encode()
        (self.path / name).write_bytes(data)
        return run_wattle("import", name, "-o", out, *args, cwd=self.path, env={"TZ": "UTC", **(env or {})}), out

    def good(self, text, *args, **options):
        result, out = self.run(text, *args, **options)
        assert result.code == 0, result
        return result.err, out

    def export(self, out, what, *args):
        result = run_wattle("export", out, "--what", what, *args, cwd=self.path)
        assert result.code == 0, result
        return result.csv

    def energies(self, out, window="recording"):
        return {row["domain"]: Decimal(row["energy_j"]) for row in self.export(out, "windows")
                if row["name"] == window and row["energy_j"]}

    def lasted(self, out, window="recording"):
        return [row for row in self.export(out, "windows") if row["name"] == window and row["domain"] == "total"]


@pytest.fixture(name="place")
def place_of_test(tmp_path):
    return Place(tmp_path)


@pytest.mark.parametrize("name", SAMPLES)
def test_its_format_is_found_and_its_energy_kept(place, name):
    text, wanted = SAMPLES[name]
    err, out = place.good(text)
    assert f": {name}, " in err
    found = place.energies(out)
    for domain, energy in wanted.items():
        # Power is integrated with the sensor's delay: what is constant is the same wherever it begins.
        assert abs(found[domain] - Decimal(energy)) <= Decimal(energy) * Decimal("0.0001"), (domain, found)


@pytest.mark.parametrize("name", SAMPLES)
def test_from_names_the_format(place, name):
    text, wanted = SAMPLES[name]
    _, out = place.good(text, "--from", name)
    assert place.energies(out).keys() >= wanted.keys()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_encodings(place, encoding):
    """PowerShell's > writes UTF-16, and Excel a mark at the start."""
    _, out = place.good(NVIDIA_SMI.encode(encoding))
    assert place.energies(out)["total"] == 600


def test_bytes_of_another_encoding_do_no_harm(place):
    row = ROW_2023.replace("France", "Côte d'Ivoire").replace("Xeon", "Prozessör").encode("latin-1")
    _, out = place.good(HEAD_2023.encode() + row)
    assert place.energies(out)["package-0"] == 360


def test_windows_ends_of_lines(place):
    _, out = place.good(NVIDIA_SMI.replace("\n", "\r\n"))
    assert place.energies(out)["total"] == 600


# ---- Bad input ----


def test_a_torn_last_line_is_left_out(place):
    """Cut within a number it would be another number."""
    err, out = place.good(ZEUS_MONITOR[:-6])
    assert "file.log:4: the last line has no end, so it may be cut off" in err
    assert place.energies(out)["gpu-0"] == 3


def test_rows_that_cannot_be_read_are_counted_and_named(place):
    lines = NVIDIA_SMI.splitlines(keepends=True)
    bad = ["2026/07/03 22:11:09.500, 0, GPU-a, 100.00 W\n", "Unable to determine the device handle for GPU 0000:01:00.0\n"]
    err, out = place.good("".join(lines[:3] + bad + lines[3:]))
    assert "file.log:4: it has not as many columns as the first line names" in err
    assert "2 lines could not be read" in err
    assert place.energies(out)["total"] == 600


def test_each_of_the_first_bad_lines_is_named(place):
    """A blank line on the screen was all that was told of the second one."""
    err, out = place.good("hello\nworld\n" + NVIDIA_SMI)
    assert [line.split(":")[2] for line in err.splitlines()[:2]] == ["1", "2"] and "2 lines could not be read in full" in err
    assert all(line.split(": ", 2)[2] for line in err.splitlines()) and place.energies(out)["total"] == 600


@pytest.mark.parametrize("name, old, new, says", [
    ("nvidia-smi", "22:11:10.000, 0, GPU-a, 100.00 W", "22:11:10.000, 0, GPU-a, -5.00 W", "file.log:4: power.draw cannot be '-5.00 W'"),
    ("nvidia-smi", "100.00 W, 11 %", "11 %, 100.00 W", "file.log:4: power.draw cannot be '11 %'"),  # shifted
    ("dmon", "22:11:10      0     60", "22:11:10      0   6O.5", "file.log:4: column 4 cannot be '6O.5'"),
    ("zeus-monitor", "36.808783111,30000", "36.808783111,3OOOO", "file.log:3: Power cannot be '3OOOO'"),
    ("wattmeter", "22:11:10;0,5", "22:11:10;x", "file.log:3: column 2 cannot be 'x'"),
    ("nvidia-smi", "10.000, 0, GPU-a, 100.00 W", "10.000, 0, GPU-a, 9999999.00 W", "1 powers above 100 kW cannot be"),
])
def test_what_cannot_be_a_value_is_named_and_missing(place, name, old, new, says):
    text = SAMPLES[name][0]
    assert old in text
    err, out = place.good(text.replace(old, new))
    assert says in err and " values are missing in it" in err
    assert place.lasted(out)


@pytest.mark.parametrize("text", [
    PERF.replace(",", ";").replace("12.34", "12,34").replace("2.34;", "2,34;").replace("13.34", "13,34").replace("11.34", "11,34"),
])
def test_perf_in_another_language(place, text):
    """Its locale's decimal point, where something else is between columns."""
    err, out = place.good(text)
    assert "cannot be" not in err and place.energies(out)["package-0"] == Decimal("37.02")
    err, _ = place.good(PERF.replace("13.34", "13.3x"))
    assert "file.log:5: power/energy-pkg/ cannot be '13.3x'" in err


@pytest.mark.parametrize("title, stamps", [
    ("Date;Time", "2026-07-03;22:11:{}"), ("time;date", "22:11:{};2026-07-03"), ("date", "03.07.2026 22:11:{}"),
    ("Date;Time", "03.07.2026;22:11:{}"),
])
def test_dates_of_wattmeters(place, title, stamps):
    text = f"{title};Power [W]\n" + "".join(f"{stamps.format(s)};5,5\n" for s in (10, 11, 12))
    err, out = place.good(text)
    assert place.energies(out)["total"] == 11 and place.lasted(out)[0]["begin_utc"] == "2026-07-03T22:11:10.000Z", err
    err, _ = place.good(text + "07/13/2026;" * len(title.split(";")) + "5\n")
    assert "file.log:5: column" in err and "is no time: '07/13/2026'" in err


def test_a_list_of_scaphandre_that_is_cut_off(place):
    """What came before is whole."""
    text = SCAPHANDRE[:-40]
    err, out = place.good(text)
    assert "file.log:1: " in err and place.energies(out)["package-0"] == 15


@pytest.mark.parametrize("word", ["", "N/A", "-", "nan"])
def test_words_for_what_is_not_known_are_no_error(place, word):
    err, _ = place.good(WATTMETER.replace("22:11:10;0,5", "22:11:10;" + word))
    assert "cannot be" not in err and "1 values are missing in it" in err


def test_nvidia_smi_without_titles(place):
    text = NVIDIA_SMI.split("\n", 1)[1]
    columns = "timestamp,index,uuid,power.draw,utilization.gpu,temperature.gpu,memory.used"
    _, out = place.good(text, "--from", "nvidia-smi", "--columns", columns)
    assert place.energies(out)["total"] == 600
    result, _ = place.run(text, "--from", "nvidia-smi")
    assert result.code == 1 and "--columns timestamp,index,power.draw does" in result.err
    result, _ = place.run(text, "--from", "nvidia-smi", "--columns", "time=1,power=4")
    assert result.code == 1 and "'time=1,power=4' is no list of fields" in result.err


def test_nvidia_smi_saved_by_a_spreadsheet(place):
    """With decimal commas, and times as they were shown: not what nvidia-smi wrote."""
    result, out = place.run("timestamp;index;power.draw [W]\n00:00,0;0;55,30 W\n00:01,0;0;56,10 W\n")
    assert result.code == 1 and result.err.count("\n") == 1
    assert "semicolons: a spreadsheet has saved it anew" in result.err
    assert not (place.path / out).exists()


def test_missing_values_are_a_gap_and_never_zero(place):
    rows = "".join(f"2026/07/03 22:{11 + i // 60:02}:{i % 60:02}.000, 0, {'[N/A]' if 10 <= i < 70 else '100.00 W'}\n" for i in range(100))
    err, out = place.good("timestamp, index, power.draw [W]\n" + rows)
    assert "60 values are missing in it" in err
    total = place.lasted(out)[0]
    assert 55 < float(total["gap_s"]) < 65 and 3500 < float(total["energy_j"]) < 4500
    assert [row["kind"] for row in place.export(out, "gaps")]


@pytest.mark.parametrize("lost", ["0, GPU-a, 100.00 W, 11 %, 41, 100 MiB, 2026/07/03 22:11:10.000", "\0" * 4096 + "7/03 22:11:10.000, 0, GPU-a, 1 W, 1 %, 4, 1 MiB",
                                  "2026/07/03 25:11:10.000, 0, GPU-a, 100.00 W, 11 %, 41, 100 MiB"], ids=["shifted", "NUL", "hour"])
def test_a_row_whose_time_is_none_moves_no_other(place, lost):
    lines = NVIDIA_SMI.splitlines(keepends=True)
    err, out = place.good("".join([*lines[:3], lost + "\n", *lines[4:]]))
    assert "file.log:4: timestamp cannot be '" in err and "no timestamps" not in err and "5 samples" not in err
    assert [row["t_utc"] for row in place.export(out, "samples") if row["domain"] == "gpu-0"] == [
        "2026-07-03T22:11:09.000Z", "2026-07-03T22:11:11.000Z"]


def test_rows_above_the_first_time(place):
    """A first row that is broken makes no log without times of the others."""
    head, *rows = NVIDIA_SMI.splitlines(keepends=True)
    err, out = place.good(head + "0, GPU-a, 100.00 W, 11 %, 41, 100 MiB, 2026/07/03 22:11:08.000\n" + "".join(rows))
    assert "what is above the first time in it is left out" in err and "no timestamps" not in err
    assert place.energies(out)["total"] == 600


def test_xml_of_which_a_part_has_no_time(place):
    text = next(text for text in (path.read_bytes()[1:] for path in sorted((CAPTURES / "nvidia_smi").glob("*.xml")))
                if text.count(b"<timestamp>") == 1)
    at, end = text.index(b"<timestamp>"), text.index(b"</timestamp>") + len(b"</timestamp>")
    err, out = place.good(text + text[:at] + text[end:])
    assert "only a part of it has times: the rest is left out" in err and "no timestamps" not in err


def test_columns_in_any_order_and_unknown_ones(place):
    text = ("power.draw [W], no.such.field, timestamp\n" +
            "".join(f"50.00 W, 7, 2026/07/03 22:11:{s:02}.000\n" for s in range(5)))
    err, out = place.good(text)
    assert "1 columns are none of nvidia-smi's" in err
    assert place.energies(out)["gpu-0"] == 200


def test_time_that_goes_back_is_left_out(place):
    lines = NVIDIA_SMI.splitlines(keepends=True)
    err, out = place.good("".join(lines + lines[1:3]))
    assert "left out, whose time is not after that of the one before; the first is of 20" in err
    assert place.energies(out)["total"] == 600


@pytest.mark.parametrize("text", ["", "\n", "hello\nworld\n", "a,b\n1,2\n", "{}\n", "\0\0\0", "[" * 100000])
def test_what_is_none_of_them(place, text):
    result, out = place.run(text)
    assert result.code == 1 and result.err.count("\n") == 1
    assert "it is of no known format; --from names the one to try" in result.err
    assert not (place.path / out).exists()


@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_with_nothing_to_record(place, name):
    result, out = place.run("x\ny\n", "--from", name)
    assert result.code == 1 and "file.log" in result.err
    assert not (place.path / out).exists()


@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_that_is_cut_anywhere(place, name):
    text = SAMPLES[name][0]
    for part in range(1, 8):
        result, _ = place.run(text[: len(text) * part // 8], "--from", name)
        assert result.code in (0, 1) and result.err


def test_hostile_texts_stay_text(place):
    text = ZEUS.replace("step", "\x1b[31mstep\x07")
    _, out = place.good(text)
    assert all("\x1b" not in row["name"] for row in place.export(out, "windows"))


def test_nested_json_is_no_way_to_the_stack(place):
    result, _ = place.run('{"date":"2023-07-27 17:21:57.1","metrics":' + "[" * 200000 + "\n")
    assert result.code == 1


# ---- Clocks ----


def test_long_files_take_no_longer_for_each_line(place):
    """A day of scaphandre's reports, and a stranger's million of nothing."""
    _, out = place.good("\n".join(json.dumps(scaphandre_report(1789000000.0 + 2 * i)) for i in range(43200)))
    assert place.energies(out)["total"] == 20 * 86398
    err, _ = place.good(SCAPHANDRE + "\n{}" * 1000000 + "\nx")
    assert "1000000 lines could not be read" in err or "1000001 lines" in err, err


def test_an_hour_that_is_there_twice(place):
    times = ["02:59:58", "02:59:59", "02:00:00", "02:00:01"]
    text = "timestamp, power.draw [W]\n" + "".join(f"2026/10/25 {t}.000, 100.00 W\n" for t in times)
    _, out = place.good(text, "--time-zone", "Europe/Paris")
    row = place.lasted(out)[0]
    assert row["begin_utc"] == "2026-10-25T00:59:58.000Z" and Decimal(row["duration_s"]) == 3


def test_an_hour_that_is_not_there(place):
    text = "timestamp, power.draw [W]\n" + "".join(f"2026/03/29 {t}.000, 100.00 W\n" for t in ["01:59:59", "03:00:00", "03:00:01"])
    _, out = place.good(text, "--time-zone", "Europe/Paris")
    assert Decimal(place.lasted(out)[0]["duration_s"]) == 2


@pytest.mark.parametrize("zone, begin", [("UTC", "22:11:09"), ("+01:00", "21:11:09"), ("-05:30", "03:41:09"), ("Europe/Paris", "20:11:09")])
def test_time_zones(place, zone, begin):
    _, out = place.good(NVIDIA_SMI, "--time-zone", zone)
    assert begin in place.lasted(out)[0]["begin_utc"]
    _, out = place.good(NVIDIA_SMI, env={"TZ": zone}) if "/" in zone else (None, out)
    assert begin in place.lasted(out)[0]["begin_utc"]


@pytest.mark.parametrize("zone", ["", "Nowhere/City", "../etc/passwd", "/etc/localtime", "+25:00", "+1"])
def test_zones_that_are_none(place, zone):
    result, _ = place.run(NVIDIA_SMI, "--time-zone", zone)
    assert result.code == 2 and "--time-zone takes" in result.err


def test_files_without_a_time(place):
    text = "index, power.draw [W]\n" + "0, 100.00 W\n1, 50.00 W\n" * 5
    err, out = place.good(text)
    assert "it has no timestamps: taken as one a second" in err and "it does not say when it began" in err
    assert place.energies(out)["gpu-1"] == 200
    _, out = place.good(text, "--interval", "2s", "--start", "2026-01-01T00:00Z")
    assert place.energies(out)["gpu-1"] == 400
    assert place.lasted(out)[0]["begin_utc"] == "2026-01-01T00:00:00.000Z"


def test_perf_says_when_it_began(place):
    _, out = place.good(PERF)
    assert place.lasted(out)[0]["begin_utc"] == "2026-07-03T22:11:09.000Z"


def test_what_perf_did_not_count_is_a_gap(place):
    err, out = place.good(PERF)
    assert "1 values are missing" in err
    row = [row for row in place.export(out, "windows") if row["domain"] == "dram-0"][0]
    assert (Decimal(row["measured_s"]), Decimal(row["gap_s"])) == (2, 1)


# ---- Each format ----


@pytest.mark.parametrize("last", [0, 300])
def test_a_power_is_the_mean_since_the_one_before(place, last):
    """It has its file's time, and is not thought to be late by what lies between two."""
    watts = [100, 100, 100, 100, last]
    _, out = place.good("time,power_w\n" + "".join(f"2026-07-03T22:11:{s:02}Z,{w}\n" for s, w in enumerate(watts)))
    assert abs(place.energies(out)["total"] - sum(watts[1:])) <= 30
    # The same once more, of a GPU whose sensor is known: each reading is of the 25 ms before it.
    rows = "".join(f"2026/07/03 22:11:{s:02}.000, 8.0, 535.1, {w}.00 W\n" for s, w in enumerate(watts))
    _, out = place.good("timestamp, compute_cap, driver_version, power.draw [W]\n" + rows)
    assert abs(place.energies(out)["total"] - (350 + last // 2)) <= 50


@pytest.mark.parametrize(("apart_ms", "card", "average", "power", "sensor"), [
    (1000, "9.0, 570.1", 200, "average", "hopper-average 1000/100"),
    (5000, "8.9, 535.1", 200, "average", "ada-average 1000/100"),
    (998, "8.6, 545.2", 200, "average", "ga10x-average 1000/100"),
    (100, "9.0, 570.1", 200, "instant", "hopper-instant 25/100"),
    (1000, "8.0, 570.1", "[N/A]", "instant", "ga100-instant 25/100"),
    (1000, "[N/A], [N/A]", 200, "average", "unknown-average"),
])
def test_the_power_that_sees_most_is_taken(place, apart_ms, card, average, power, sensor):
    """Of a second, the mean over a second sees all; between rows that are closer, it would see what was before."""
    def stamp(ms):
        return f"2026/07/03 22:{ms // 60000:02}:{ms // 1000 % 60:02}.{ms % 1000:03}"
    rows = "".join(f"{stamp(i * apart_ms + g)}, {g}, {card}, 300.00 W, 150.00 W, {average}{' W' if average == 200 else ''}\n"
                   for i in range(5) for g in range(2))
    err, out = place.good("timestamp, index, compute_cap, driver_version, power.draw.instant [W], power.draw [W], "
                          "power.draw.average [W]\n" + rows)
    assert f"power is power.draw.{power}, which" in err and err.count("power is") == 1
    assert place.energies(out)["gpu-1"] == {"average": 200, "instant": 300}[power] * Decimal(4 * apart_ms) / 1000
    document = run_wattle("report", "-f", "json", out, cwd=place.path).json
    assert [domain.get("sensor") for domain in document["domains"]][:2] == [sensor] * 2


def test_a_single_row_of_several_powers(place):
    """Nobody knows how far rows are apart: as if they were close."""
    result, _ = place.run("timestamp, power.draw.instant [W], power.draw.average [W]\n2026/07/03 22:11:09.000, 300.00 W, 200.00 W\n")
    assert "power is power.draw.instant" in result.err


def test_what_is_told_of_an_import(place):
    """Its windows are whole, also the first; and no cost of recording is made up."""
    _, out = place.good(ZEUS)
    text = run_wattle("report", out, cwd=place.path).out
    assert "imported from zeus" in text and "epoch  " in text and "(cut)" not in text
    assert "the file that was imported tells of none" in text and "recording took" not in text
    document = run_wattle("report", "-f", "json", out, cwd=place.path).json
    assert document["recording"]["imported_from"] == "zeus" and not any(window.get("is_cut") for window in document["windows"])


def test_what_gpus_tell_beside_energy(place):
    _, out = place.good(NVIDIA_SMI)
    rows = place.export(out, "devices")
    assert {row["quantity"] for row in rows} == {"use_percent", "temperature_c", "memory_used_bytes"}
    assert [row["value"] for row in rows if row["quantity"] == "temperature_c" and row["device"] == "gpu-1"] == ["50", "51", "52"]


@pytest.mark.parametrize("name", sorted(path.name for path in (CAPTURES / "nvidia_smi").glob("*.xml")))
def test_xml_of_each_generation(place, name):
    text = (CAPTURES / "nvidia_smi" / name).read_bytes()[1:]
    again = text.replace(b":36 20", b":37 20")
    result, out = place.run(text + again)
    if b"power_draw>" not in text or b" W</" not in text:
        return
    assert result.code == 0 and ": nvidia-smi-xml, " in result.err
    assert any(domain.startswith("gpu-") for domain in {row["domain"] for row in place.export(out, "samples")})


@pytest.mark.parametrize("text, total", [(CODECARBON_2021, 3600), (CODECARBON_2022, 864), (HEAD_2023 + ROW_2023, 1152)])
def test_codecarbon_of_each_year(place, text, total):
    _, out = place.good(text)
    assert place.energies(out)["total"] == total


def test_codecarbons_zero_for_a_gpu_is_no_figure(place):
    err, out = place.good(CODECARBON_2022)
    assert "gpu_energy is 0 in 1 rows that have a GPU" in err and "gpu-0" not in place.energies(out)


@pytest.mark.parametrize("change", [
    lambda row: row.replace(",r1,10.0,", ",r1,"),             # a value is missing: what follows is shifted
    lambda row: row.replace(",r1,10.0,", ",r1,exp,10.0,"),    # one is too many
    lambda row: row.replace(",r1,10.0,0.001,", ",r1,exp,10.0,").replace(",N,2.0", ",N,2.0"),  # shifted, of the right length
    lambda row: row.replace("0.00064", "0.001"),              # does not add up
])
def test_codecarbons_shifted_rows(place, change):
    good = ROW_2023.replace("12:00:10", "12:00:30").replace("r1", "r2")
    err, out = place.good(HEAD_2023 + change(ROW_2023) + good)
    assert "file.log:2: " in err
    assert place.energies(out)["total"] == 1152 and len(place.lasted(out, "a, b")) == 1


def test_codecarbons_runs_are_windows_and_between_them_is_a_gap(place):
    text = HEAD_2023 + ROW_2023 + ROW_2023.replace("12:00:10", "12:00:30").replace("r1", "r2")
    _, out = place.good(text)
    assert [Decimal(row["energy_j"]) for row in place.lasted(out, "a, b")] == [1152, 1152]
    assert Decimal(place.lasted(out)[0]["gap_s"]) == 10


def test_a_run_that_codecarbon_wrote_again_and_again_counts_once(place):
    later = ROW_2023.replace("12:00:10", "12:00:20").replace("10.0,", "20.0,", 1)
    for value, double in (("0.0002,", "0.0004,"), ("0.00004,", "0.00008,"), ("0.00064,", "0.00128,")):
        later = later.replace("," + value, ",#" + double, 1)
    later = later.replace(",0.0004,", ",0.0008,", 1).replace("#", "")
    _, out = place.good(HEAD_2023 + ROW_2023 + later)
    assert place.energies(out)["total"] == 2304


def test_codecarbons_tasks_are_windows_of_their_own(place):
    """As 3.3.2 writes them: all are of one run, one after the other, and their times are whole seconds."""
    text = ("task_name,timestamp,project_name,run_id,duration,emissions,cpu_energy,gpu_energy,ram_energy,energy_consumed\n"
            "a,2026-11-28T17:55:29,p,20f32fb5,2.0037,8.7e-07,4e-06,0.0,1e-05,1.4e-05\n"
            "b,2026-11-28T17:55:30,p,20f32fb5,1.0132,4.4e-07,2e-06,0.0,5e-06,7e-06\n")
    err, out = place.good(text)
    assert "could not be read" not in err and "in which it lies" not in err
    assert [place.energies(out, task)["total"] for task in "ab"] == [Decimal("50.4"), Decimal("25.2")]
    assert place.energies(out)["total"] == Decimal("75.6")


def test_windows_within_windows(place):
    _, out = place.good(ZEUS)
    assert [Decimal(row["energy_j"]) for row in place.lasted(out, "step")] == [Decimal("500.5"), Decimal("520.5")]
    assert Decimal(place.lasted(out, "epoch")[0]["energy_j"]) == 2500


def test_windows_end_where_they_end(place):
    """Times of more digits than a recording has."""
    _, out = place.good("start_time,window_name,elapsed_time,gpu0_energy\n1795449395.1066055,step,0.5001497268676758,50.0\n"
                        "1795449395.1064682,epoch,0.7022504806518555,70.0\n")
    assert [place.energies(out, name)["total"] for name in ("step", "epoch")] == [50, 70]


def test_windows_that_overlap_otherwise(place):
    err, out = place.good(ZEUS + "1789000009.0,late,9.0,100,100\n")
    assert "file.log:5: it overlaps line 4" in err
    assert place.energies(out)["total"] == 2500


def test_an_aipowermeter_folder(place):
    folder = place.path / "exp"
    folder.mkdir()
    (folder / "power_metrics.json").write_text(AIPOWERMETER, encoding="utf-8")
    result = run_wattle("import", "exp", "-o", "a.wattle", cwd=place.path, env={"TZ": "UTC"})
    assert result.code == 0, result
    assert round(place.energies("a.wattle")["gpu-1"]) == 140 and place.lasted("a.wattle", "segment 1")


def test_a_dcgm_scrape_without_times(place):
    err, out = place.good(DCGM, "--interval", "1s", "--start", "2026-01-01T00:00Z")
    assert "1 values are missing" in err
    assert place.energies(out) == {"gpu-0": 68, "total": 68}


def test_columns_of_a_wattmeter(place):
    values = ["0.25"] * 5
    text = "Zeit,Ort,P1\n" + "".join(f"2026-07-03T22:11:{s:02}Z,x,{v}\n" for s, v in enumerate(values))
    _, out = place.good(text, "--columns", "time=Zeit,power=P1:kw", "--domain", "wall-0")
    assert place.energies(out)["wall-0"] == 1000
    _, out = place.good(text, "--from", "wattmeter", "--columns", "time=1,energy=3:wh")
    assert place.energies(out) == {}  # it never moved
    _, out = place.good(text.replace("04Z,x,0.25", "04Z,x,0.5"), "--from", "wattmeter", "--columns", "time=1,energy=3:wh")
    assert place.energies(out)["total"] == 900
    for wrong in ("time=Nein,power=P1", "time=1,volts=3", "time=1,power=3:wh", "P1", "power=9"):
        result, _ = place.run(text, "--from", "wattmeter", "--columns", wrong)
        assert result.code == 1 and "--columns" in result.err


def test_a_wattmeter_with_the_titles_of_zeus_monitor(place):
    text = "Time,Power\n" + "".join(f"2026-07-03 22:11:{s:02},120\n" for s in range(3))
    _, out = place.good(text)
    assert place.energies(out)["board-0"] == 240


def test_a_wattmeter_without_titles(place):
    """The first column is the time, the second one watts; remarks are passed over."""
    text = "# a plug\n" + "".join(f"{1783116669 + s},500,x\n#\n\n" for s in range(3))
    err, out = place.good(text, "--from", "wattmeter")
    assert place.energies(out)["board-0"] == 1000 and "could not be read" not in err


def test_the_public_traces(place):
    traces = DATA / "gpu-power"
    if not traces.is_dir():
        pytest.skip("the shared traces are not here")
    _, out = place.good((traces / "a100_steps_meter.csv").read_bytes())
    assert 1650 < place.energies(out)["board-0"] < 1780


# ---- And back ----


def export_to(place, out, form, *args):
    result = run_wattle("export", out, "--to", form, *args, cwd=place.path, env={"TZ": "UTC"})
    assert result.code == 0 and result.err == "", result
    return result.out


@pytest.mark.parametrize("form, text", [("codecarbon", HEAD_2023 + ROW_2023), ("zeus", ZEUS)])
def test_what_is_exported_is_imported_again(place, form, text):
    _, out = place.good(text)
    again = export_to(place, out, form, *(["--pue", "1.5"] if form == "codecarbon" else []))
    err, back = place.good(again)
    assert f": {form}, " in err
    for window in {row["name"] for row in place.export(out, "windows")} - {"recording"}:
        one, two = place.energies(out, window), place.energies(back, window)
        assert one.keys() == two.keys() and all(abs(one[key] - two[key]) <= Decimal("0.000002") for key in one), (one, two)


def test_power_goes_to_aipowermeter_and_back(place):
    _, out = place.good(AIPOWERMETER)
    _, back = place.good(export_to(place, out, "aipowermeter"))
    for domain, energy in place.energies(back).items():
        if domain != "psys-0":
            assert abs(energy - place.energies(out)[domain]) < Decimal("0.01"), domain


@pytest.mark.parametrize("name", ["nvidia-smi", "codecarbon", "prometheus"])
def test_the_first_stretch_of_power_goes_to_aipowermeter_too(place, name):
    """A line says what was drawn since the one before it: the first has one before it, from when the recording began."""
    text, wanted = SAMPLES[name]
    _, out = place.good(text)
    _, back = place.good(export_to(place, out, "aipowermeter"))
    found = place.energies(back)
    for domain, energy in wanted.items():
        assert abs(found[domain] - Decimal(energy)) <= Decimal(energy) * Decimal("0.012"), (domain, found)


def test_use_and_memory_of_aipowermeters_gpus(place):
    """Use is a part of 1 until 2025, and in percent since 2026."""
    def line(second, gpu):
        return json.dumps({"date": f"2026-03-27 17:21:{second:02}.000000", "metrics": {"cpu": {}, "gpu": gpu}})

    for gpu, memory in (({"per_gpu_power_draw": {"0": 20.0}, "per_gpu_absolute_percent_usage": {"0": 0.4}}, []),
                        ({"per_gpu_nvidia_power": {"0": 20.0}, "per_gpu_nvidia_use_rate": {"0": 40}, "per_gpu_nvidia_memory": {"0": 5e9}},
                         [("memory_used_bytes", "5000000000")])):
        _, out = place.good("\n".join(line(second, gpu) for second in range(3)) + "\n")
        told = {(row["quantity"], row["value"]) for row in place.export(out, "devices")}
        assert told == {("use_percent", "40"), *memory}


def test_aipowermeters_own_parser_finds_its_keys(place):
    """What load_gpu_metrics() takes without asking whether it is there: of 2021 to 2025, and of 2026."""
    _, out = place.good(AIPOWERMETER)
    for line in export_to(place, out, "aipowermeter").splitlines()[:-1]:
        gpu = json.loads(line)["metrics"]["gpu"]
        assert gpu["per_gpu_attributable_power"]["all"] == gpu["nvidia_draw_absolute"] == sum(gpu["per_gpu_power_draw"].values())
        assert gpu["per_gpu_attributable_mem_use"] == gpu["per_gpu_absolute_percent_usage"] == {}
        assert gpu["per_gpu_estimated_attributable_utilization"] == gpu["per_gpu_per_pid_utilization_absolute"] == {}
        assert (gpu["nvidia_power"], gpu["per_gpu_nvidia_power"]) == (gpu["nvidia_draw_absolute"], gpu["per_gpu_power_draw"])
        for name in ("nvidia_memory", "nvidia_use_rate"):  # unknown
            assert gpu[name] is None and gpu[f"per_gpu_{name}"] == {}


@pytest.mark.parametrize(("form", "text", "says"), [
    ("zeus", PERF, "zeus has a place for GPUs alone, and none is measured in it"),
    ("zeus", WATTMETER, "zeus has a place for GPUs alone, and none is measured in it"),
    ("aipowermeter", WATTMETER, "aipowermeter has a place for packages, memory and GPUs alone, and none is measured in it"),
])
def test_what_a_form_has_no_place_for_is_no_file(place, form, text, says):
    _, out = place.good(text)
    result = run_wattle("export", out, "--to", form, "-o", "there", cwd=place.path)
    assert result.code == 1 and result.out == "" and f"{out}: {says}" in result.complaint()
    assert not (place.path / "there").exists()


def test_what_a_form_has_no_place_for_is_named(place):
    _, out = place.good(HEAD_2023 + ROW_2023)
    result = run_wattle("export", out, "--to", "zeus", cwd=place.path)
    assert result.code == 0 and result.err == f"wattle: {out}: zeus has a place for GPUs alone: package-0 and dram-0 are left out\n"


def test_a_wattmeter_is_no_processor_to_codecarbon(place):
    """Its energy is the row's sum alone, and comes back as what it was."""
    _, out = place.good(WATTMETER)
    written = export_to(place, out, "codecarbon")
    row = dict(zip(*(line.split(",") for line in written.splitlines())))
    assert [row[name] for name in ("cpu_energy", "gpu_energy", "ram_energy", "cpu_power")] == [""] * 4
    assert place.energies(place.good(written)[1]) == {"board-0": 1000, "total": 1000}


def test_zeus_text_is_the_same(place):
    _, out = place.good(ZEUS)
    again = export_to(place, out, "zeus")
    assert export_to(place, place.good(again)[1], "zeus") == again


def test_forms_over_time(place):
    _, out = place.good(NVIDIA_SMI)
    trace = json.loads(export_to(place, out, "perfetto"))["traceEvents"]
    assert {event["name"] for event in trace if event["ph"] == "C"} >= {"gpu-0 power_w", "gpu-1 temperature_c"}
    assert [event["name"] for event in trace if event["ph"] == "X"] == ["recording"]
    lines = export_to(place, out, "influx").splitlines()
    assert all(line.count(" ") == 2 and line.split(" ")[2].isdigit() for line in lines)
    assert any(line.startswith("wattle_energy,domain=gpu-1 energy_j=") for line in lines)
    text = export_to(place, out, "prometheus").splitlines()
    # Of the recording's 1.99 s after its first sample.
    assert text[-1] == "# EOF" and text[1] == "# TYPE wattle_domain_energy_joules counter"
    assert 'wattle_domain_energy_joules_total{domain="gpu-0"} 199.000000 1783116671.000' in text


@pytest.mark.parametrize("option", ["--what=power", "--format=json"])
def test_a_form_has_no_table(place, option):
    _, out = place.good(NVIDIA_SMI)
    result = run_wattle("export", out, "--to", "influx", option, cwd=place.path)
    assert result.code == 2 and "--to has a form of its own" in result.err


# ---- The command ----


def test_a_recording_is_never_replaced(place):
    _, out = place.good(NVIDIA_SMI)
    before = (place.path / out).read_bytes()
    result = run_wattle("import", "file.log", "-o", out, cwd=place.path)
    assert result.code == 1 and out in result.err
    assert (place.path / out).read_bytes() == before


@pytest.mark.parametrize("args, text", [
    ((), "which file?"), (("a.csv",), "where to?"), (("a.csv", "b.csv", "-o", "c"), "one file at a time"),
    (("a.csv", "-o", "c", "--start", "+90"), "--start takes a date"), (("a.csv", "-o", "c", "--from", "excel"), "--from"),
])
def test_usage(place, args, text):
    result = run_wattle("import", *args, cwd=place.path)
    assert result.code == 2 and text in result.err


def test_a_file_that_is_not_there(place):
    result = run_wattle("import", "nowhere.csv", "-o", "a.wattle", cwd=place.path)
    assert result.code == 1 and "nowhere.csv" in result.err and not (place.path / "a.wattle").exists()


def test_a_pipe_is_read_to_its_end(place):
    (place.path / "a.csv").write_text(NVIDIA_SMI, encoding="utf-8")
    with open(place.path / "a.csv", "rb") as file:
        result = run_wattle("import", "/dev/stdin", "-o", "a.wattle", cwd=place.path, env={"TZ": "UTC"}, stdin_file=file)
    assert result.code == 0 and place.energies("a.wattle")["total"] == 600


def test_quiet(place):
    result, _ = place.run(NVIDIA_SMI, "-q")
    assert result.code == 0 and result.err == ""


def test_names_of_windows_are_no_formulas(place):
    """What a spreadsheet would run, or a terminal obey, is written as text."""
    _, out = place.good(ZEUS.replace("step", "=1+1"))
    written = export_to(place, out, "zeus")
    assert "'=1+1" in written and ",=1" not in written


def test_a_file_that_somebody_truncates_while_it_is_read(tmp_path):
    path, out = tmp_path / "gpu.csv", tmp_path / "gpu.wattle"
    path.write_text(NVIDIA_SMI)
    result = run_wattle("import", path, "-o", out, env=cut_environment(path))
    assert result.code == 1 and f"{path}: another program has truncated it" in result.complaint()
    assert not out.exists()


def long_rows(gpus, begin=0, fan="[N/A]", n=12000):
    stamps = [f"2026/07/03 {t // 3600:02}:{t // 60 % 60:02}:{t % 60:02}.000" for t in range(begin, begin + n)]
    return "".join(f"{stamp}, {gpu}, GPU-{gpu}, {100 * (gpu + 1)}.00 W, {fan}\n" for stamp in stamps for gpu in gpus)


@pytest.mark.parametrize(("parts", "gpu_0", "gpu_1"), [
    ([([0],), ([0, 1], 12000)], 2399900, 2399800),  # a GPU that comes late
    ([([0],), ([1],)], 1199900, 2399800),  # one after the other
    ([([0, 1],), ([0], 12000)], 2399900, 2403800),  # one that goes away: 20 s of it are bridged
], ids=("late", "behind", "gone"))
def test_a_long_log_in_which_gpus_come_and_go(place, parts, gpu_0, gpu_1):
    rows = "".join(long_rows(*part) for part in parts)
    said, out = place.good("timestamp, index, uuid, power.draw [W], fan.speed [%]\n" + rows)
    assert place.energies(out) == {"gpu-0": gpu_0, "gpu-1": gpu_1, "total": gpu_0 + gpu_1}
    assert said.count("file.log") == 1


def test_a_long_log_of_which_a_value_is_known_late(place):
    _, out = place.good("timestamp, index, uuid, power.draw [W], fan.speed [%]\n" + long_rows([0]) + long_rows([0], 12000, "30 %"))
    assert len(place.export(out, "devices")) == 12000


def test_a_log_of_many_gpus_and_values(place):
    """More between two commits than a writer holds."""
    row = ", {}, 100.00 W, 3 %, 50, 60 MiB, 1000 MHz, 30 %, 60, 900 MHz\n"
    rows = "".join(row.format(gpu).join(("\0", "")) for gpu in range(40))
    stamps = (f"2026/07/03 {t // 3600:02}:{t // 60 % 60:02}:{t % 60:02}.000" for t in range(6000))
    _, out = place.good("timestamp, index, power.draw [W], utilization.gpu [%], temperature.gpu, memory.used [MiB], clocks.current.sm [MHz], "
                        "fan.speed [%], temperature.memory, clocks.current.memory [MHz]\n" + "".join(rows.replace("\0", s) for s in stamps))
    assert place.export(out, "gaps") == []
    assert place.energies(out)["total"] == 40 * 599900


@pytest.mark.parametrize("apart_ms", [1000, 700])
def test_every_value_of_a_long_log_is_kept(place, apart_ms):
    """Also behind rows that lack one, and where what devices tell is not kept with each."""
    powers = {t * apart_ms: None if t % 1000 in (7, 8, 400) else t * 37 % 300 for t in range(12000)}
    uses = {t: None if t // apart_ms % 1700 == 60 else t // apart_ms * 7 % 101 for t in powers}
    stamps = {t: f"2026/07/03 {t // 3600000:02}:{t // 60000 % 60:02}:{t // 1000 % 60:02}.{t % 1000:03}" for t in powers}
    shown = lambda value, unit: "[N/A]" if value is None else f"{value} {unit}"  # noqa: E731
    _, out = place.good("timestamp, index, power.draw [W], utilization.gpu [%]\n" + "".join(
        f"{stamps[t]}, 0, {shown(powers[t], 'W')}, {shown(uses[t], '%')}\n" for t in powers))
    time = lambda row: int(row["t_mono_ns"]) // 1000000 - 1000  # noqa: E731
    assert {time(row): row["power_w"] and float(row["power_w"]) for row in place.export(out, "samples")} == {
        t: "" if power is None else power for t, power in powers.items()}
    kept = {time(row): int(row["value"]) for row in place.export(out, "devices")}
    assert all(uses[t] == value for t, value in kept.items())
    assert len(kept) > 5900 and (apart_ms < 1000 or len(kept) == sum(use is not None for use in uses.values()))


def test_a_long_log_that_somebody_truncates_while_it_is_written(tmp_path):
    """The recording was begun, and is none."""
    path, out = tmp_path / "gpu.csv", tmp_path / "gpu.wattle"
    path.write_text("timestamp, index, uuid, power.draw [W], fan.speed [%]\n" + long_rows([0], n=80000))
    result = run_wattle("import", path, "-o", out, env={**cut_environment(out), "WATTLE_TEST_CUT_OTHER": path})
    assert result.code == 1 and f"{path}: another program has truncated it" in result.complaint()
    assert os.listdir(tmp_path) == ["gpu.csv"]


def test_a_date_of_nul_bytes_is_none(tmp_path):
    path, out = tmp_path / "gpu.csv", tmp_path / "gpu.wattle"
    path.write_bytes(NVIDIA_SMI.encode().replace(b"2026/07/03", bytes(10)))
    result = run_wattle("import", path, "-o", out)
    assert result.code == 0 and "it has no timestamps" in result.err
