// SPDX-License-Identifier: MIT
// The page of `wattle serve`: what /api/v1/… tells (docs/api.md), drawn. Text from outside is put by textContent alone.
"use strict";

const $ = id => document.getElementById(id);

// ---- Figures, as the command prints them (src/document/format.c) ----

const UNITS = {J: ["µJ", "mJ", "J", "kJ", "MJ", "GJ"], W: ["µW", "mW", "W", "kW", "MW", "GW"], g: ["µg", "mg", "g", "kg", "t", "kt"]};
const digits = micro => String(Math.floor(micro)).length;

function scaleOf(micro) {
	if (micro < 1e6) return micro === 0 ? 6 : micro < 1000 ? 0 : 3;
	let scale = 6;
	for (let limit = 1e10; scale < 15 && micro >= limit; limit *= 1000) scale += 3;
	return scale;
}

function lastDigit(micro, uncertainty) {
	const n = digits(micro);
	if (micro === 0 && uncertainty === 0) return 6;
	if (uncertainty === 0) return Math.max(n - 4, 0);
	return Math.max(digits(uncertainty) - 2, n - 6, 0);
}

function rounded(micro, last, scale, up) {
	const steps = Math.round(micro / 10 ** last);
	return ((up && steps === 0 ? 1 : steps) * 10 ** last / 10 ** scale).toFixed(Math.max(scale - last, 0));
}

// A value with its ± (k = 2), both in W, J or g; a power has four digits at most.
function measure(value, uncertainty, unit) {
	if (value === undefined || value === null) return "–";
	const micro = Math.round(value * 1e6), unc = Math.round((uncertainty || 0) * 1e6);
	const scale = scaleOf(Math.max(micro, unc));
	let last = lastDigit(micro, unc);
	if (unit === "W") last = Math.max(last, lastDigit(micro, 0));
	const about = unc > 0 ? ` ± ${rounded(unc, last, scale, true)}` : "";
	return `${rounded(micro, last, scale)}${about} ${UNITS[unit][scale / 3]}`;
}

function percent(ratio) {
	if (!Number.isFinite(ratio)) return "–";
	const value = ratio * 100;
	return `${value.toFixed(value < 1 ? 2 : value < 10 ? 1 : 0)} %`;
}

function duration(s) {
	if (s < 59.995) return `${s.toFixed(s < 10 ? 3 : 2)} s`;
	const pad = n => String(n).padStart(2, "0"), whole = Math.round(s);
	if (s < 3600) return `${Math.floor(s / 60)} min ${(s % 60).toFixed(1)} s`;
	if (s < 86400) return `${Math.floor(whole / 3600)} h ${pad(Math.floor(whole % 3600 / 60))} min ${pad(whole % 60)} s`;
	return `${Math.floor(whole / 86400)} d ${Math.floor(whole % 86400 / 3600)} h ${pad(Math.floor(whole % 3600 / 60))} min`;
}

function bytes(n) {
	const units = ["KiB", "MiB", "GiB", "TiB"];
	let value = n / 1024, i = 0;
	for (; i < 3 && value >= 1024; i++) value /= 1024;
	return `${value >= 100 || value % 1 === 0 ? Math.floor(value) : (Math.floor(value * 10) / 10).toFixed(1)} ${units[i]}`;
}

const clock = ms => new Date(ms).toLocaleTimeString([], {hour12: false});

// ---- Elements ----

function cell(row, content, tag = "td", className = "") {
	const to = document.createElement(tag);
	if (tag === "th") to.scope = "row";
	to.className = className;
	if (content instanceof Node) to.append(content);
	else to.textContent = content;
	row.append(to);
}

// Rows of a table's body: lists of texts or elements; the first text column is the row's head.
function fill(id, rows, heads = [0]) {
	const body = $(id).tBodies[0], made = rows.map(({cells, sum}) => {
		const row = document.createElement("tr");
		row.className = sum ? "sum" : "";
		cells.forEach((content, i) => cell(row, content, i === heads[0] ? "th" : "td", heads.includes(i) ? "text" : ""));
		return row;
	});
	body.replaceChildren(...made);
	for (const [i, head] of [...$(id).tHead.rows[0].cells].entries()) head.className = heads.includes(i) ? "text" : "";
}

function meter(ratio) {
	const to = document.createElement("meter");
	to.value = Number.isFinite(ratio) ? Math.min(Math.max(ratio, 0), 1) : 0;
	to.setAttribute("aria-label", percent(ratio));
	return to;
}

const say = text => { if ($("state").textContent !== text) $("state").textContent = text; }; // what is the same is not read out again

// ---- What is chosen, and what is known ----

const RANGES = [[20, "20 s"], [60, "1 min"], [300, "5 min"], [900, "15 min"], [3600, "1 h"], [10800, "3 h"], [21600, "6 h"], [86400, "24 h"]];
const SHOWN = 9; // columns at most, unless more are chosen: the total of eight GPUs
const chosen = {seconds: 300, band: "uncertainty", shown: null, by: "name", paused: false, zoom: null};
const known = {live: null, curve: null, use: null, windows: [], lost: 0, connected: false};

// Okabe and Ito's colours, and dashes where those come again.
const light = ["#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#a96f00", "#2b8cbe", "#7a6a00"];
const dark = ["#ffffff", "#56b4e9", "#ff8a3d", "#20c997", "#e6a3c8", "#e69f00", "#8fd0f5", "#f0e442"];
const isDark = matchMedia("(prefers-color-scheme: dark)");
const colour = i => (isDark.matches ? dark : light)[i % 8];
const DASHES = [null, [7, 3], [2, 2]];
const dash = i => DASHES[Math.floor(i / 8) % 3];

// Columns: the total, and each domain.
const columns = live => [{name: "total", ...live.total}, ...live.domains];
const end = () => Date.parse(known.live.t_utc);
const stretch = () => chosen.zoom || [end() - chosen.seconds * 1000, end()];

function isShown(i) {
	if (!chosen.shown) {
		const all = columns(known.live);
		const most = all.map((d, k) => k).filter(k => all[k].energy_j > 0 && !all[k].inside).slice(0, SHOWN);
		chosen.shown = new Set(most.length > 0 ? most : [0]);
	}
	return chosen.shown.has(i);
}

// ---- Asking ----

async function ask(path) {
	const answer = await fetch(path, {cache: "no-store"});
	if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
	return answer.json();
}

function query() {
	const [from, to] = stretch();
	return `from=${(Math.max(from, 0) / 1000).toFixed(3)}&to=${(to / 1000).toFixed(3)}`;
}

let asking = 0, waiting = 0; // the newest question's answer counts; how many there are to come
async function readPast() {
	const mine = ++asking, q = query();
	waiting++;
	try {
		const [history, use, windows] = await Promise.all([ask(`api/v1/history?${q}`), ask(`api/v1/use?${q}`), ask(`api/v1/windows?${q}`)]);
		if (mine !== asking) return;
		const step = history.step_s * 1000, begin = Date.parse(history.begin_utc);
		const all = [history.total, ...history.domains];
		known.curve = {step, columns: all.length, rows: Array.from({length: history.steps}, (_, i) => ({
			t: begin + (i + 0.5) * step,
			of: all.map(d => d.power_w[i] === null ? null : [d.power_w[i], d.uncertainty_w[i], d.least_w[i], d.most_w[i]]),
		}))};
		known.use = use;
		known.windows = windows.windows;
		show();
	} catch (error) {
		showState(error);
	} finally {
		waiting--;
	}
}

// ---- Frames: one stream for all tabs of a browser ----

// Locks are there in secure contexts: at localhost and with TLS. Without them each tab has a stream of its own.
const channel = "BroadcastChannel" in window && navigator.locks ? new BroadcastChannel("wattle") : null;
let source = null, giveUp = null;

function take(frame) {
	const before = known.live;
	if (before && before.begin_utc === frame.begin_utc && frame.number < before.number) return;
	known.connected = true;
	known.live = frame;
	if (before && before.begin_utc !== frame.begin_utc) chosen.shown = null; // it was started anew
	if (chosen.paused) return showNow();
	if (!known.curve && waiting > 0) return; // the first answer is to come
	const step = known.curve ? known.curve.step : 0;
	const passed = before ? end() - Date.parse(before.t_utc) : 0; // less than nothing, or much: the clock was set
	if (!before || !known.curve || passed < 0 || passed > 60000 || before.begin_utc !== frame.begin_utc || step > 1000 && Math.floor(end() / step) !== Math.floor(Date.parse(before.t_utc) / step))
		return void readPast();
	if (step === 1000 && !chosen.zoom && frame.number > before.number) {
		const rows = known.curve.rows, row = columns(frame).map(d => d.power_w === undefined ? null : [d.power_w, d.power_uncertainty_w, d.power_w, d.power_w]);
		rows.push({t: end(), of: row.slice(0, known.curve.columns)});
		while (rows.length > 0 && rows[0].t < stretch()[0]) rows.shift();
		if (frame.number % 5 === 0 && waiting === 0) readPast(); // else one that is slow would never count
	}
	show();
}

function tell(message) {
	if (message.frame) take(message.frame);
	if (message.lost) {
		known.lost += message.lost;
		clearTimeout(known.told);
		known.told = setTimeout(() => { known.lost = 0; }, 60000);
		readPast();
	}
	if (message.failed) {
		known.connected = false;
		showState();
	}
}

function publish(message) {
	tell(message);
	if (channel) channel.postMessage(message);
}

function lead() {
	source = new EventSource("api/v1/stream");
	source.addEventListener("live", event => publish({frame: JSON.parse(event.data)}));
	source.addEventListener("lost", event => publish({lost: JSON.parse(event.data).frames}));
	source.onerror = () => {
		publish({failed: true});
		if (source && source.readyState === EventSource.CLOSED) setTimeout(() => { if (source) { source.close(); lead(); } }, 5000);
	};
	document.documentElement.dataset.stream = "own";
}

function follow() {
	if (giveUp || document.hidden) return;
	document.documentElement.dataset.stream = "shared";
	if (!channel) {
		giveUp = new AbortController();
		return lead();
	}
	const mine = giveUp = new AbortController();
	navigator.locks.request("wattle-stream", {signal: mine.signal}, () => {
		lead();
		return new Promise(resolve => mine.signal.addEventListener("abort", resolve));
	}).catch(() => {}); // given up while it waited
}

// Nobody looks: another tab may lead.
function leave() {
	if (source) source.close();
	source = null;
	if (giveUp) giveUp.abort();
	giveUp = null;
	document.documentElement.dataset.stream = "none";
}

if (channel) channel.onmessage = event => { if (!document.hidden) tell(event.data); };
document.addEventListener("visibilitychange", () => {
	if (document.hidden) return leave();
	follow();
	begin();
});
addEventListener("pagehide", leave);

// ---- The curve ----

let graph = null;

function point(of) {
	if (!of) return [null, null, null];
	const [mean, uncertainty, least, most] = of;
	return chosen.band === "extremes" ? [least, mean, most] : [Math.max(mean - uncertainty, 0), mean, mean + uncertainty];
}

// Windows on the time axis.
function underlay(context, area, g) {
	context.fillStyle = isDark.matches ? "rgba(230,159,0,.22)" : "rgba(230,159,0,.25)";
	for (const w of known.windows) {
		const left = Math.max(g.toDomXCoord(Date.parse(w.begin_utc)), area.x);
		const right = Math.min(g.toDomXCoord(Date.parse(w.end_utc)), area.x + area.w);
		if (right >= left) context.fillRect(left, area.y, Math.max(right - left, 1), area.h);
	}
}

function pointAt(event, x, points) {
	const all = columns(known.live);
	$("pointed").textContent = `${clock(x)}  ` + points.filter(p => p.yval !== null && !Number.isNaN(p.yval)).map(p => {
		const of = known.curve.rows.find(r => r.t === x), i = all.findIndex(d => d.name === p.name);
		return `${p.name} ${measure(p.yval, of && of.of[i] ? of.of[i][1] : 0, "W")}`;
	}).join("   ");
}

function draw() {
	if (!window.Dygraph || !known.curve) return;
	const all = columns(known.live), shown = all.map((_, i) => i).filter(i => i < known.curve.columns && isShown(i));
	const rows = known.curve.rows.map(row => [new Date(row.t), ...shown.map(i => point(row.of[i]))]);
	if (rows.length === 0) return;
	const options = {
		file: rows, labels: ["time", ...shown.map(i => all[i].name)], colors: shown.map(colour), dateWindow: stretch(),
		series: Object.fromEntries(shown.map(i => [all[i].name, {strokePattern: dash(i), strokeWidth: i === 0 ? 2 : 1.5}])),
		axisLineColor: isDark.matches ? "#6b7580" : "#8a929b", gridLineColor: isDark.matches ? "#30363d" : "#dde1e5",
	};
	if (graph) return graph.updateOptions(options);
	// Its legend sets style attributes, which the policy of this page forbids: there is one below.
	Dygraph.PLUGINS = Dygraph.PLUGINS.filter(plugin => plugin !== Dygraph.Plugins.Legend);
	const {file, ...rest} = options;
	graph = new Dygraph($("graph"), file, {
		...rest, customBars: true, includeZero: true, fillAlpha: 0.2, connectSeparatedPoints: false, highlightCircleSize: 3,
		rightGap: 8, underlayCallback: underlay, highlightCallback: pointAt, unhighlightCallback: () => { $("pointed").textContent = ""; },
		axes: {y: {axisLabelWidth: 56, axisLabelFormatter: y => y === 0 ? "0 W" : `${+y.toPrecision(4)} W`}},
		zoomCallback: (from, to) => {
			chosen.zoom = graph.isZoomed("x") && (to - from) < (end() - 0) ? [Math.round(from), Math.round(to)] : null;
			choose();
		},
	});
}

// ---- The rest of the page ----

// Of what is drawn: mean, lowest and highest.
function summary(i) {
	const rows = known.curve ? known.curve.rows.map(row => row.of[i]).filter(Boolean) : [];
	if (rows.length === 0) return [undefined, undefined, undefined, undefined];
	const mean = k => rows.reduce((sum, of) => sum + of[k], 0) / rows.length;
	return [mean(0), mean(1), Math.min(...rows.map(of => of[2])), Math.max(...rows.map(of => of[3]))];
}

function showDomains() {
	const rows = columns(known.live).map((d, i) => {
		const box = document.createElement("input"), name = document.createElement("span"), swatch = document.createElement("span");
		const [mean, about, least, most] = summary(i);
		box.type = "checkbox";
		box.checked = isShown(i);
		box.dataset.column = i;
		box.setAttribute("aria-label", `Show ${d.name}`);
		swatch.className = "swatch";
		swatch.style.background = dash(i) ? `repeating-linear-gradient(90deg, ${colour(i)} 0 ${dash(i)[0]}px, transparent 0 ${dash(i)[0] + dash(i)[1]}px)` : colour(i);
		name.append(swatch, d.name, i > 0 && !d.in_total ? (d.inside ? ` (in ${d.inside})` : " (not in the total)") : "");
		return {sum: i === 0, cells: [box, name, measure(d.power_w, d.power_uncertainty_w, "W"), measure(mean, about, "W"), measure(least, 0, "W"),
			measure(most, 0, "W"), measure(d.idle_w, d.idle_uncertainty_w, "W"), measure(d.energy_j, 0, "J")]};
	});
	const focused = document.activeElement && document.activeElement.dataset.column;
	fill("domains", rows, [1]);
	if (focused !== undefined) $("domains").querySelector(`[data-column="${focused}"]`)?.focus();
	$("energy-note").textContent = `Energy is what was counted since ${new Date(known.live.counters_since_utc).toLocaleString([], {hour12: false})}. Drag over the curve to choose a stretch; double-click, or a button above, to leave it.`;
}

const ACCOUNTS = [["processes_j", "processes", () => colour(1)], ["kernel_j", "kernel", () => colour(2)], ["idle_j", "idle", () => "#8a929b"],
	["unattributed_j", "unattributed", () => colour(4)]];

function showLedger() {
	const use = known.use && known.use.accounts ? known.use : null;
	const bar = ACCOUNTS.map(([key, , paint]) => {
		const part = document.createElement("span");
		part.style.flexGrow = use ? use.accounts[key] / (use.energy_j || 1) : 0;
		part.style.flexBasis = "0";
		part.style.background = paint();
		return part;
	});
	$("ledger").replaceChildren(...bar);
	fill("accounts", use ? [...ACCOUNTS.map(([key, name, paint]) => {
		const head = document.createElement("span"), swatch = document.createElement("span");
		swatch.className = "swatch";
		swatch.style.background = paint();
		head.append(swatch, name);
		const value = key !== "idle_j" || use.accounts[key] > 0 || known.live.domains.some(d => d.in_total && d.idle_w !== undefined) ? use.accounts[key] : undefined;
		return {cells: [head, measure(value, 0, "J"), percent(value / use.energy_j)]};
	}), {sum: true, cells: ["total", measure(use.energy_j, 0, "J"), ""]}] : [{cells: [known.use ? known.use.reason : "–", "", ""]}]);
}

const ROWS = 12;

function showGroups() {
	const use = known.use && known.use.groups ? known.use : {energy_j: 0, groups: {}};
	const now = new Map(known.live.groups[chosen.by].map(g => [g.name, g.power_w]));
	const titles = new Map(known.live.groups[chosen.by].map(g => [g.name, chosen.by === "job" && g.title ? `${g.name} (${g.title})` : g.title]));
	const groups = [...(use.groups[chosen.by] || [])].sort((a, b) => b.energy_j - a.energy_j);
	const nameOf = g => g.name === "" ? "(in none)" : g.name === "__overflow__" ? "(others)" : titles.get(g.name) || g.name;
	const rows = groups.slice(0, ROWS).map(g => ({cells: [nameOf(g), measure(now.get(g.name), 0, "W"), measure(g.energy_j, 0, "J"), meter(g.energy_j / use.energy_j)]}));
	const sum = list => list.reduce((all, g) => all + g.energy_j, 0);
	const rest = groups.slice(ROWS), none = use.energy_j - sum(groups);
	if (rest.length > 0)
		rows.push({cells: [`${rest.length} others`, measure(rest.reduce((all, g) => all + (now.get(g.name) || 0), 0), 0, "W"), measure(sum(rest), 0, "J"), meter(sum(rest) / use.energy_j)]});
	rows.push({cells: ["no process", "", measure(Math.max(none, 0), 0, "J"), meter(none / use.energy_j)]});
	rows.push({sum: true, cells: ["total", measure(known.live.total.power_w, 0, "W"), measure(use.energy_j, 0, "J"), ""]});
	fill("groups", rows);
	fill("processes", known.live.processes.slice(0, 50).map(p => ({cells: [p.pid === undefined ? "" : String(p.pid), p.name, p.user || "", percent(p.cpu_percent / 100),
		measure(p.power_w, 0, "W"), measure(p.energy_j, p.uncertainty_j, "J")]})), [1, 2]);
}

function showDevices() {
	const live = known.live, list = live.gpus;
	$("gpus-section").hidden = list.length === 0;
	fill("gpus", list.map(g => {
		const d = live.domains.find(one => one.name === g.domain) || {}, has = (value, unit) => value === undefined ? "–" : `${value} ${unit}`;
		return {cells: [g.domain || "", g.name || "", measure(d.power_w, d.power_uncertainty_w, "W"), measure(g.limit_w, 0, "W"), has(g.use_percent, "%"),
			g.memory_used_bytes === undefined ? "–" : `${bytes(g.memory_used_bytes)} of ${bytes(g.memory_total_bytes || 0)}`, has(g.temperature_c, "°C"), has(g.clock_mhz, "MHz")]};
	}), [0, 1]);
	$("windows-section").hidden = known.windows.length === 0;
	fill("windows", [...known.windows].reverse().slice(0, 20).map(w => {
		const from = Date.parse(w.begin_utc);
		return {cells: [w.name, clock(from), duration((Date.parse(w.end_utc) - from) / 1000), measure(w.energy_j, w.uncertainty_j, "J")]};
	}));
}

function showBeside() {
	const live = known.live, carbon = live.carbon, self = live.self;
	const rate = live.total.power_w === undefined ? "" : `, now ${measure(live.total.power_w / 1000 * carbon.intensity_g_per_kwh, 0, "g")} per hour`;
	$("carbon").textContent = `${measure(carbon.gco2e, carbon.gco2e_uncertainty, "g")} CO2e since ${clock(Date.parse(live.begin_utc))}${rate}`;
	$("carbon-note").textContent = `${carbon.location}: ${carbon.intensity_g_per_kwh} g/kWh (${carbon.dataset || "given"})` +
		(carbon.is_default ? ". Nobody said where this machine is: that is the world's average. --location changes it." : "");
	const items = [...live.domains.filter(d => d.reason && !live.missing.some(m => m.domain === d.name)).map(d => `${d.name}: ${d.status === "ok" ? d.method : d.status}: ${d.reason}`),
		...live.missing.map(m => `${[m.source, m.domain].filter(Boolean).join(", ")}: ${m.status}: ${m.reason}${m.remedy ? `. To do: ${m.remedy}` : ""}`)];
	if (!live.total.is_complete) items.unshift("The total lacks parts that have no figure.");
	$("missing").replaceChildren(...(items.length > 0 ? items : ["Everything that was found has a figure."]).map(text => {
		const item = document.createElement("li");
		item.textContent = text;
		return item;
	}));
	const span = (end() - Date.parse(live.begin_utc)) / 1000;
	$("self").textContent = `${self.energy_j === undefined ? "" : `${measure(self.energy_j, self.uncertainty_j, "J")}, `}CPU ${duration(self.cpu_s)} in ${duration(span)} (${percent(self.cpu_s / span)}), ` +
		`${bytes(self.rss_bytes)} of memory at most. ${live.store.is_recorded ? "Recorded" : "Not recorded"}${live.store.recording ? `: ${live.store.recording}` : "."}`;
	$("version").textContent = live.version;
	$("host").textContent = live.host || "";
}

function showNow() {
	const total = known.live.total, power = measure(total.power_w, total.power_uncertainty_w, "W");
	$("total").textContent = power;
	$("total-note").textContent = `${total.is_complete ? "" : "of what is measured, "}at ${clock(end())}`;
	document.title = `${measure(total.power_w, 0, "W")} – wattle`;
	showState();
	const now = Date.now(); // those who listen are told twice a minute
	if (now - (showNow.said || 0) > 30000) {
		showNow.said = now;
		$("said").textContent = `The machine draws ${power}`;
	}
}

function showState(error) {
	const lost = known.lost > 0 ? `; ${known.lost} snapshots were missed, the curve was read again` : "";
	$("state").classList.toggle("bad", !known.connected || Boolean(error));
	say(error ? `No answer: ${error.message}` : !known.connected ? "Not connected: what is shown is old" : chosen.paused ? "Paused" : `Live${lost}`);
}

function show() {
	if (!known.live) return;
	const [from, to] = stretch();
	showNow();
	draw();
	showDomains();
	showLedger();
	showGroups();
	showDevices();
	showBeside();
	const about = known.use && known.use.begin_utc ? `${clock(Date.parse(known.use.begin_utc))} to ${clock(Date.parse(known.use.end_utc))}` : `${clock(from)} to ${clock(to)}`;
	for (const to of document.querySelectorAll(".stretch")) to.textContent = about;
}

// ---- What the user does ----

function choose() {
	for (const button of $("ranges").children) button.setAttribute("aria-pressed", String(!chosen.zoom && Number(button.value) === chosen.seconds));
	if (known.live) readPast();
}

for (const [seconds, name] of RANGES) {
	const button = document.createElement("button");
	button.type = "button";
	button.value = seconds;
	button.textContent = name;
	button.addEventListener("click", () => {
		chosen.seconds = seconds;
		chosen.zoom = null;
		choose();
	});
	$("ranges").append(button);
}
for (const radio of document.getElementsByName("band"))
	radio.addEventListener("change", () => { chosen.band = radio.value; show(); });
$("by").addEventListener("change", () => { chosen.by = $("by").value; show(); });
$("domains").addEventListener("change", event => {
	const i = Number(event.target.dataset.column);
	if (event.target.checked) chosen.shown.add(i);
	else chosen.shown.delete(i);
	show();
});
$("pause").addEventListener("click", () => {
	chosen.paused = !chosen.paused;
	$("pause").setAttribute("aria-pressed", String(chosen.paused));
	if (!chosen.paused && known.live) readPast();
	showState();
});
isDark.addEventListener("change", show);

async function begin() {
	try {
		const live = await ask("api/v1/live");
		known.connected = true;
		known.live = live;
		await readPast();
	} catch (error) {
		showState(error);
		setTimeout(begin, 2000);
	}
}

choose();
begin();
follow();
