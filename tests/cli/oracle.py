# SPDX-License-Identifier: MIT
"""What a recording's readings and looks say, computed a second time: whole numbers and fractions, by docs/ alone.

Energy counters only: sampled power needs an integral, and is told apart (Channel.is_counter). Nothing here was taken from
src/: where both say the same, both have to be wrong in the same way to be wrong.
"""

import collections
from fractions import Fraction

from recording import Recording

NS = 10 ** 9
OK = 0
ANEW = 16
SAMPLE, BEGIN, END, CANCEL, LOOK, BILLED, RESET, SECOND, DEVICES = range(9)
OWNER, STATE, CPU, COUNTED, FLAGS, PARENT, PROCESSES, THREADS = range(8)
CHANGE_FIELDS = 13
UNSEEN, INTERRUPTS, NOBODY = range(3)
LIVE, EXITED, KERNEL, FOLDED = range(4)
CPU_KINDS = {0, 1, 3, 8}   # cpu, core, dram, soc: by what the processors did
GPU_KINDS = {5, 6}
RESETS_SLACK_NS = NS       # what a sensor may publish late
SLEPT_NS = 100_000_000
STANDSTILL_NS = 15_000_000  # a counter that stands still for longer may be taken for broken


class Counter:
    """A counter: sums what is certain, as fractions of a microjoule."""

    def __init__(self, row):
        self.unit = Fraction(row["unit_num"], row["unit_den"])
        self.range, self.max_uw = row["range"], row["max_uw"]
        self.is_counter = row["quantity"] == 0
        self.energy = Fraction(0)
        self.gap_ns = 0
        self.last = self.last_ns = self.base = None
        self.steps = collections.Counter()
        self.samples = 0
        self.stood_ns = 0           # the longest time with one value
        self.moved_ns = None

    def wraps(self, value, dt_ns):
        """How often it may have wrapped between base and value: each of them is possible."""
        most = None
        if self.max_uw:
            # The most that the part can have used, to the nearest microjoule, and the counts that are.
            energy_uj = (2 * self.max_uw * (dt_ns + RESETS_SLACK_NS) + NS) // (2 * NS)
            most = energy_uj // self.unit
        passed = value - self.base
        if not self.range:
            return [0] if passed >= 0 and (most is None or passed <= most) else []
        first = 0 if passed >= 0 else 1
        if most is None:
            return [first]
        found = []
        while passed + (first + len(found)) * self.range <= most and len(found) < 2:
            found.append(first + len(found))
        return found

    def feed(self, t_ns, value, anew=False, is_new_epoch=False):
        """True where the reading counts: it is newer than the last one, and possible."""
        if self.last_ns is not None and t_ns <= self.last_ns:
            return False
        if self.range and value >= self.range:
            self.steps["bad"] += 1
            if self.last_ns is not None:
                self.gap_ns += t_ns - self.last_ns
            self.base, self.last_ns = None, t_ns
            return False
        if anew or is_new_epoch:
            self.base = None
        self.step(t_ns, value)
        if self.last is None or value != self.last or self.base is None:
            self.moved_ns = t_ns
        self.stood_ns = max(self.stood_ns, t_ns - self.moved_ns)
        self.base = self.last = value
        self.last_ns = t_ns
        self.samples += 1
        return True

    def step(self, t_ns, value):
        if self.last_ns is None:
            return
        if self.base is None:
            self.gap_ns += t_ns - self.last_ns
            return
        wraps = self.wraps(value, t_ns - self.last_ns)
        if len(wraps) == 1:
            self.energy += (value - self.base + wraps[0] * self.range) * self.unit
            self.steps["wrapped" if wraps[0] else "ok"] += 1
        else:
            self.steps["ambiguous" if wraps else "reset"] += 1
            self.gap_ns += t_ns - self.last_ns
            self.base = None

    def whole_uj(self):
        return self.energy.numerator // self.energy.denominator


class Mark:
    """A counter as it was when a window began."""

    def __init__(self, t_ns):
        self.t_ns = t_ns
        self.from_ns = self.energy_uj = self.gap_ns = None

    def take(self, counter):
        self.from_ns, self.energy_uj, self.gap_ns = counter.last_ns, counter.whole_uj(), counter.gap_ns

    def is_taken(self):
        return self.from_ns is not None


class Figure:
    def __init__(self, counter, mark):
        self.energy_uj = counter.whole_uj() - mark.energy_uj
        read_ns = counter.last_ns - mark.from_ns
        self.measured_ns = read_ns - min(max(counter.gap_ns - mark.gap_ns, 0), read_ns)


class Share:
    """An account: what it should be, and how often that was rounded."""

    def __init__(self):
        self.full, self.time, self.n_rounded = Fraction(0), Fraction(0), 0

    def add(self, full, time):
        self.full += full
        self.time += time
        self.n_rounded += 1

    def take_over(self, other):
        self.full += other.full
        self.time += other.time
        self.n_rounded += other.n_rounded


class Consumer:
    def __init__(self, number):
        self.number = number
        self.numbers = [0] * CHANGE_FIELDS


class Oracle:
    """Goes by a recording. Afterwards: windows (id -> domain -> Figure), accounts, consumers, cpu."""

    def __init__(self, path):
        self.file = Recording(path)
        self.domains = [dict(row) for row in self.file.rows("domain")]
        self.channels = [Counter(row) for row in self.file.rows("channel")]
        self.facts = {row["key"]: row["value"] for row in self.file.rows("fact")}
        self.gpus = self.find_gpus()
        self.values, self.at = {}, collections.Counter()
        self.asleep_ns = None
        self.sampled_ns = 0
        self.marks, self.windows, self.ended = {}, {}, set()
        self.main = None
        self.main_figures = None
        self.accounts = collections.defaultdict(Share)   # (domain, slot)
        self.billed = collections.defaultdict(lambda: [0, 0])
        self.doubtful_time = set()
        self.owners = {}
        self.uses_since = collections.Counter()
        self.n_looks = self.n_bills = 0
        self.looks = []
        self.bills = []     # (when, how many looks there were)
        self.moments = []   # each sample: when it began, and every counter behind it
        self.play()

    # ---- Values ----

    def take(self, name, count=None):
        if name not in self.values:
            self.values[name] = self.file.values(name)
        at = self.at[name]
        self.at[name] += 1 if count is None else count
        assert self.at[name] <= len(self.values[name]), f"{name} is too short"
        return self.values[name][at] if count is None else self.values[name][at:self.at[name]]

    def check_all_taken(self):
        for name, values in self.values.items():
            assert self.at[name] == len(values), f"{name}: {self.at[name]} of {len(values)} values belong to an op"

    def find_gpus(self):
        gpus = []
        while f"gpu.{len(gpus)}.weight" in self.file.series:
            gpus.append(self.facts.get(f"gpu.{len(gpus)}.domain", ""))
        return gpus

    # ---- What happened ----

    def play(self):
        handlers = {SAMPLE: self.sample, BEGIN: self.begin, END: self.end, CANCEL: self.cancel, LOOK: self.look,
                    BILLED: self.bill, RESET: self.reset, SECOND: self.second, DEVICES: self.devices}
        ops = self.file.values("op")
        for op in ops:
            handlers[op]()
        self.ops = collections.Counter(ops)
        self.check_all_taken()

    def sample(self):
        begin_ns, asleep_ns = self.take("sample.mono"), self.take("sample.asleep")
        assert self.take("sample.took") >= 0 and begin_ns >= self.sampled_ns
        slept = self.asleep_ns is not None and asleep_ns - self.asleep_ns > SLEPT_NS
        self.asleep_ns, self.sampled_ns = asleep_ns, begin_ns
        for number, channel in enumerate(self.channels):
            if slept:
                channel.base = None
            self.reading(number, channel, begin_ns)
        self.take_late_marks()
        self.moments.append((begin_ns, [(counter.last_ns, counter.whole_uj()) for counter in self.channels]))

    def part(self, from_ns, to_ns):
        """What each domain used from the first sample that is no earlier than from_ns to the first no earlier than to_ns."""
        first = next(i for i, (at_ns, _) in enumerate(self.moments) if at_ns >= from_ns)
        last = next((i for i, (at_ns, _) in enumerate(self.moments) if at_ns >= to_ns), len(self.moments) - 1)
        found = {}
        for domain in self.domains:
            if not self.primary(domain):
                continue
            number = domain["primary_channel"]
            # A reading of before the part says nothing of where it begins.
            begins = [state[number] for at_ns, state in self.moments[first:last + 1]
                      if state[number][0] is not None and state[number][0] >= self.moments[first][0]]
            if begins:
                found[domain["name"]] = self.moments[last][1][number][1] - begins[0][1]
        return found

    def reading(self, number, channel, begin_ns):
        at_ns = self.take(f"ch.{number}.at")
        if at_ns == 0:
            return
        t_ns = begin_ns + at_ns - (at_ns > 0)
        value = self.take(f"ch.{number}.value") % 2 ** 64
        assert self.take(f"ch.{number}.half") >= 0
        state = self.take(f"ch.{number}.state")
        if state % ANEW != OK:
            self.take(f"ch.{number}.error")
            self.doubtful_time.add(number)
            return
        # The first reading is older than the recording, and kept as it was.
        assert t_ns % 1000 == 0 or self.at["sample.mono"] == 1, "times of readings are whole microseconds"
        if channel.is_counter:
            channel.feed(t_ns, value, anew=state >= ANEW)
            if channel.stood_ns > STANDSTILL_NS:
                self.doubtful_time.add(number)

    def primary(self, domain):
        number = domain["primary_channel"]
        return self.channels[number] if number >= 0 and self.channels[number].is_counter else None

    def take_late_marks(self):
        for marks in self.marks.values():
            for number, mark in marks.items():
                counter = self.primary(self.domains[number])
                if not mark.is_taken() and counter.last is not None and counter.last_ns >= mark.t_ns:
                    mark.take(counter)

    def begin(self):
        number, t_ns = self.take("window.id"), self.take("window.mono")
        ahead_ns = self.take("window.utc") - t_ns
        marks = {}
        for domain in self.domains:
            counter = self.primary(domain)
            if not counter:
                continue
            mark = marks[domain["id"]] = Mark(t_ns)
            if counter.samples and counter.last_ns >= self.sampled_ns:
                mark.take(counter)
        self.marks[number] = marks
        if self.main is None:
            self.main, self.main_figures = number, None
            self.main_ahead_ns, self.main_end_ns = ahead_ns, None

    def figures(self, number):
        return {domain: Figure(self.primary(self.domains[domain]), mark)
                for domain, mark in self.marks[number].items() if mark.is_taken()}

    def end(self):
        number = self.take("window.id")
        end_ns = self.take("window.mono")
        assert end_ns >= self.sampled_ns
        self.windows[number] = self.figures(number)
        if number == self.main:
            self.main_figures, self.main_end_ns = self.windows[number], end_ns
        del self.marks[number]

    def cancel(self):
        number = self.take("window.id")
        self.marks.pop(number, None)
        if number == self.main:
            self.main = None

    def second(self):
        for name in ("mono", "utc", "cpu", "rss"):
            assert self.take(f"second.{name}") >= 0

    def devices(self):
        count = self.take("device.count")
        for name in ("gpu", "number", "value"):
            self.take(f"device.{name}", count)

    # ---- Who ran ----

    def look(self):
        look = {name: self.take(f"look.{name}") for name in ("mono", "duration", "capacity", "busy", "weight")}
        assert look["capacity"] == 0 or look["busy"] <= look["capacity"]
        n_uses = self.take("look.uses")
        slots = self.running(self.take("use.slot", n_uses))
        assert len(set(slots)) == len(slots), "a slot is named once in a look"
        look["uses"] = list(zip(slots, self.take("use.weight", n_uses)))
        n_folds = self.take("look.folds")
        look["folds"] = list(zip(self.take("fold.from", n_folds), self.take("fold.into", n_folds)))
        look["gpus"] = [self.gpu_look(number) for number in range(len(self.gpus))]
        for source, into in look["folds"]:
            self.fold(source, into)
        look["changes"] = self.changes()
        self.n_looks += 1
        self.last_look = look
        self.looks.append(look)

    @staticmethod
    def running(steps):
        total, sums = 0, []
        for step in steps:
            total += step
            sums.append(total)
        return sums

    def gpu_look(self, number):
        weight, use = self.take(f"gpu.{number}.weight"), self.take(f"gpu.{number}.use")
        count = self.take(f"gpu.{number}.uses")
        assert 0 <= use <= 10 ** 6
        uses = list(zip(self.take(f"gpu.{number}.slot", count), self.take(f"gpu.{number}.share", count)))
        return {"weight": weight, "uses": uses}

    def fold(self, source, into):
        if source == into:
            return
        for domain in self.domains:
            self.accounts[domain["id"], into].take_over(self.accounts.pop((domain["id"], source), Share()))
        self.uses_since[into] += self.uses_since.pop(source, 0)

    def changes(self):
        count = self.take("change.count")
        slots = self.running(self.take("change.slot", count))
        changes = list(zip(slots, self.take("change.field", count), self.take("change.by", count)))
        for slot, field, by in changes:
            if field == OWNER:
                self.owners.pop(slot, None)
                if by:
                    self.owners[slot] = Consumer(by)
            else:
                self.owners[slot].numbers[field] += by
        return changes

    # ---- Bills ----

    def uses_of(self, domain):
        if domain["kind"] in CPU_KINDS:
            return self.last_look["uses"]
        if domain["kind"] in GPU_KINDS:
            for gpu, look in reversed(list(zip(self.gpus, self.last_look["gpus"]))):
                if domain["name"] == gpu or domain["name"].startswith(gpu + "-"):
                    return look["uses"] if look["weight"] else [(UNSEEN, 1)]
        return [(UNSEEN, 1)]

    def bill(self):
        utc_ns = self.take("bill.utc")
        self.n_bills += 1
        self.bills.append((self.main_end_ns or utc_ns - self.main_ahead_ns, self.n_looks))
        figures = self.main_figures if self.main_figures is not None else self.figures(self.main)
        for number, figure in figures.items():
            if figure.measured_ns > 0:
                self.bill_domain(self.domains[number], figure)
        for slot, weight in self.last_look["uses"]:
            self.uses_since[slot] += weight

    def bill_domain(self, domain, figure):
        billed = self.billed[domain["id"]]
        energy_uj, time_ns = figure.energy_uj - billed[0], max(figure.measured_ns - billed[1], 0)
        assert energy_uj >= 0, "a counter's energy never falls"
        billed[0] += energy_uj
        billed[1] += time_ns
        uses = self.uses_of(domain)
        whole = sum(weight for _, weight in uses)
        for slot, weight in uses if whole else [(NOBODY, 1)]:
            if weight:
                part = Fraction(weight, whole or 1)
                self.accounts[domain["id"], slot].add(energy_uj * part, time_ns * part)

    def part_users(self, from_ns, to_ns):
        """Slot -> (CPU time, processes that lived) from the first bill that is no earlier than from_ns to the first no earlier than
        to_ns; from_ns None: from the recording's start. For recordings whose accounts begin once."""
        until = len(self.looks)
        first = 0 if from_ns is None else next((n for at_ns, n in self.bills if at_ns >= from_ns), until)
        last = next((n for at_ns, n in self.bills if at_ns >= to_ns), until)
        there, used, lived = {}, collections.Counter(), collections.Counter()
        for number, look in enumerate(self.looks[:last]):
            if number == first:
                # Those who had not ended, each one process; rows stand for who had.
                used.clear()
                lived = collections.Counter(slot for slot, one in there.items() if one["pid"] and one["state"] != EXITED)
            folded = collections.Counter()
            for source, into in look["folds"]:
                folded[into] += there.pop(source, {"processes": 0})["processes"]
                used[into] += used.pop(source, 0)
                lived[into] += lived.pop(source, 0)
            before = {slot: one["processes"] for slot, one in there.items()}
            self.follow(look["changes"], there, used, lived, set(folded))
            for slot, one in there.items():
                if not one["pid"]:
                    lived[slot] += one["processes"] - before.get(slot, 0) - folded[slot]
            for slot, weight in look["uses"]:
                used[slot] += weight
        return {slot: (used[slot], lived[slot]) for slot in there}

    def follow(self, changes, there, used, lived, kept):
        pids = {row["id"]: row["pid"] for row in self.file.rows("consumer")}
        for slot, field, by in changes:
            if field == OWNER:
                was = there.pop(slot, {"owner": 0})
                if by != was["owner"] and slot not in kept:
                    used.pop(slot, None)
                    lived.pop(slot, None)
                if by:
                    there[slot] = {"owner": by, "pid": pids.get(by, 0), "state": LIVE, "processes": 0}
                    if by != was["owner"] and there[slot]["pid"]:
                        lived[slot] = 1
            elif field == STATE:
                there[slot]["state"] += by
            elif field == PROCESSES:
                there[slot]["processes"] += by

    def reset(self):
        self.accounts.clear()
        self.billed.clear()
        self.uses_since.clear()
        self.changes()
        if self.main_figures is not None:
            self.main, self.main_figures = None, None

    # ---- What the tables say, and what follows from them ----

    def stored_accounts(self):
        return {(row["domain"], row["consumer"], row["slot"]): (row["full_uj"], row["share_ns"]) for row in self.file.rows("account")}

    def expected_accounts(self):
        """By the owners of the slots as they were at the end: (domain, consumer, slot) as in the table."""
        expected = collections.defaultdict(Share)
        for (domain, slot), share in self.accounts.items():
            owner = self.owners.get(slot)
            if slot > NOBODY and owner:
                expected[domain, owner.number, 0].take_over(share)
            else:
                expected[domain, 0, slot if slot <= NOBODY else UNSEEN].take_over(share)
        return expected

    def baselines(self):
        return {row["domain"]: row["idle_uw"] for row in self.file.rows("baseline") if row["is_known"]}

    def ledger(self, number):
        """From the accounts as they are kept, the consumers' states and the idle power."""
        idle_uw = self.baselines().get(number)
        states = {row["id"]: row["state"] for row in self.file.rows("consumer")}
        ledger = collections.Counter({"idle": 0} if idle_uw is not None else {})
        names = {LIVE: "live", EXITED: "exited", FOLDED: "exited", KERNEL: "kernel"}
        for (domain, consumer, slot), (full_uj, share_ns) in self.stored_accounts().items():
            if domain != number:
                continue
            idle_uj = idle_part(full_uj, share_ns, idle_uw)
            name = names[states[consumer]] if consumer else "kernel" if slot == INTERRUPTS else "unattributed"
            ledger[name] += full_uj - idle_uj
            if idle_uw is not None:
                ledger["idle"] += idle_uj
        return ledger


def idle_part(full_uj, share_ns, idle_uw):
    """Rounded to the nearest microjoule, and never more than there is."""
    return 0 if idle_uw is None else min(full_uj, (2 * idle_uw * share_ns + NS) // (2 * NS))
