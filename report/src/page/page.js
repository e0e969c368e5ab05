// The page's pickers. Everything that is shown is in the page already; nothing is asked of anybody.
(() => {
  "use strict";
  const D = JSON.parse(document.getElementById("data").textContent);
  const $ = id => document.getElementById(id);
  const LEVELS = 5, SEEDS_LISTED_MAX = 5;

  // An element with attributes and children; texts become text, never markup.
  const el = (tag, attributes, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  // As `number` of the page's maker: half away from zero, and no negative zero.
  const number = (value, decimals) => {
    const scale = 10 ** decimals, scaled = Math.abs(value) * scale;
    const rounded = scaled < 9e15 ? Math.round(scaled) / scale : Math.abs(value);
    return (value < 0 && rounded > 0 ? "-" : "") + rounded.toFixed(decimals);
  };
  const signed = (value, decimals) => {
    const text = number(value, decimals);
    return value > 0 && /[1-9]/.test(text) ? "+" + text : text;
  };
  const mean = values => values.length ? values.reduce((a, b) => a + b, 0) / values.length : null;
  const isNumber = value => typeof value === "number";

  // The cells of each profile and settings, in the order of the seeds.
  const groups = new Map();
  D.cells.forEach(([p, s], cell) => {
    const key = p + "-" + s;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(cell);
  });
  const group = (p, s) => groups.get(p + "-" + s) || [];
  const cellAt = (p, s, n) => group(p, s).find(cell => D.cells[cell][2] === n);
  const ok = cell => D.cells[cell][3] === 1;

  // What a heat cell comes down to; the same cases in the same order as in the tables of the terminal.
  const digest = (metric, cells) => {
    const values = cells.filter(ok).map(cell => metric.of[cell]);
    const numbers = values.filter(isNumber), lost = values.filter(value => value === "x").length;
    if (!values.length) return cells.length ? { value: "failed", worst: "" } : { value: "–", worst: "not run" };
    if (!numbers.length) return lost ? { value: "lost", worst: "never arrived", values } : { value: "n/a", worst: "", values };
    if (lost) return { value: "lost " + lost + "/" + values.length, worst: "never arrived", values };
    const worst = metric.better > 0 ? Math.min(...numbers) : Math.max(...numbers);
    return { mean: mean(numbers), value: number(mean(numbers), metric.decimals), worst: "worst " + number(worst, metric.decimals), values };
  };
  const extent = digests => {
    const means = digests.map(d => d.mean).filter(isNumber);
    return means.length ? [Math.min(...means), Math.max(...means)] : null;
  };
  const level = (mean, [least, most], better) => {
    if (most - least <= 0.01 * Math.max(Math.abs(most), Math.abs(least))) return LEVELS - 1;
    const share = (mean - least) / (most - least);
    return Math.min(LEVELS - 1, Math.floor((better > 0 ? share : 1 - share) * LEVELS));
  };
  const seedsText = (metric, values) => {
    const text = value => isNumber(value) ? number(value, metric.decimals) : value === "x" ? "lost" : "n/a";
    if (values.length <= SEEDS_LISTED_MAX) return values.map(text).join(" ");
    const numbers = values.filter(isNumber);
    if (!numbers.length) return "";
    return number(Math.min(...numbers), metric.decimals) + " to " + number(Math.max(...numbers), metric.decimals);
  };

  // By how much repeats of one seed differ, where there are any.
  const noiseText = (metric, cells) => {
    const seeds = new Map();
    for (const cell of cells.filter(ok)) {
      const seed = Math.floor(D.cells[cell][2] / D.repeats);
      if (isNumber(metric.of[cell])) seeds.set(seed, (seeds.get(seed) || []).concat(metric.of[cell]));
    }
    const spreads = [...seeds.values()].filter(values => values.length > 1).map(values => Math.max(...values) - Math.min(...values));
    return spreads.length ? " ±" + number(Math.max(...spreads), metric.decimals) : "";
  };

  const heat = () => {
    const metric = D.metrics.find(metric => metric.name === $("metric").value) || D.metrics[0];
    const byRow = $("scale").value === "row";
    const better = metric.better > 0 ? "Higher" : "Lower";
    $("reading").textContent = metric.title + ", " + metric.unit + ". " + better +
      " is better. Mean over the seeds" + (D.repeats > 1 ? " and their repeats" : "") + "; below it the worst seed and every seed" +
      (D.repeats > 1 ? ", in the order of the repeats, and after ± by how much repeats of one seed differ at the most: that much the machine makes." : ".");
    const rows = D.profiles.map((_, p) => D.settings.map((_, s) => digest(metric, group(p, s))));
    const whole = extent(rows.flat()), extents = rows.map(row => byRow ? extent(row) : whole);
    for (const link of $("heat").querySelectorAll("a[data-p]")) {
      const p = Number(link.dataset.p), s = Number(link.dataset.s), face = rows[p][s];
      const grade = isNumber(face.mean) ? level(face.mean, extents[p], metric.better) : null;
      link.parentNode.className = grade === null ? "lvx" : "lv" + grade;
      link.querySelector("use").setAttribute("href", grade === null ? "#lv-x" : "#lv-" + grade);
      link.querySelector("b").textContent = face.value;
      link.querySelector(".vh").textContent = grade === null ? "" : "grade " + (grade + 1) + " of " + LEVELS;
      const several = D.seeds.length > 1;
      link.querySelector(".w").textContent = several || grade === null ? face.worst : "";
      link.querySelector(".s").textContent = several ? seedsText(metric, face.values || []) + noiseText(metric, group(p, s)) : "";
    }
  };

  const sample = settings => {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    for (const [name, value] of [["class", "sample"], ["width", "26"], ["height", "10"], ["aria-hidden", "true"], ["focusable", "false"]]) svg.setAttribute(name, value);
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("class", "line " + D.lines[settings]);
    path.setAttribute("d", "M1 5H25");
    svg.append(path);
    return el("span", { class: "who" }, svg, D.settings[settings]);
  };

  const pairs = (metric, p, before, after) => {
    const result = { better: 0, worse: 0, same: 0 }, numbers = [];
    let lost = false;
    D.seeds.forEach((_, n) => {
      const a = cellAt(p, before, n), b = cellAt(p, after, n);
      if (a === undefined || b === undefined || !ok(a) || !ok(b)) return;
      const x = metric.of[a], y = metric.of[b];
      let difference;
      if (isNumber(x) && isNumber(y)) {
        numbers.push([x, y]);
        difference = Number(number(y - x, metric.decimals)) * metric.better;
      } else if (x === null || y === null) return;
      else difference = x === y ? 0 : x === "x" ? 1 : -1;
      lost = lost || x === "x" || y === "x";
      result[difference > 0 ? "better" : difference < 0 ? "worse" : "same"] += 1;
    });
    if (!lost && numbers.length) {
      result.before = mean(numbers.map(pair => pair[0]));
      result.after = mean(numbers.map(pair => pair[1]));
      result.difference = mean(numbers.map(pair => pair[1] - pair[0]));
    }
    return result;
  };
  const compare = () => {
    const before = Number($("before").value), after = Number($("after").value);
    const metrics = $("compare-metrics").value === "all" ? D.metrics : D.defaults.map(index => D.metrics[index]);
    const table = $("compare-table"), heads = table.tHead.rows[0].cells;
    heads[2].replaceChildren(sample(before));
    heads[3].replaceChildren(sample(after));
    for (const body of [...table.tBodies]) body.remove();
    D.profiles.forEach((name, p) => {
      const body = el("tbody");
      metrics.forEach((metric, place) => {
        const found = pairs(metric, p, before, after), row = el("tr");
        const text = value => value === undefined ? "–" : number(value, metric.decimals);
        if (place === 0) row.append(el("th", { scope: "rowgroup", rowspan: metrics.length }, name));
        const said = [["▲", "better"], ["▼", "worse"], ["=", "same"]].filter(([, word]) => found[word] > 0)
          .map(([mark, word]) => mark + " " + found[word] + " " + word).join(", ") || "no pair";
        const kind = found.better ? (found.worse ? "mixed" : "good") : found.worse ? "bad" : "even";
        row.append(
          el("th", { scope: "row" }, metric.title + " ", el("span", { class: "unit" }, metric.symbol)),
          el("td", {}, text(found.before)), el("td", {}, text(found.after)),
          el("td", {}, found.difference === undefined ? "–" : signed(found.difference, metric.decimals)),
          el("td", { class: kind }, said));
        body.append(row);
      });
      table.append(body);
    });
  };

  const shown = (metric, cell) => {
    const value = metric.of[cell];
    return isNumber(value) ? number(value, metric.decimals) : value === "x" ? "lost" : "n/a";
  };
  const counterTable = cell => {
    const body = el("tbody");
    for (const [name, column] of D.counters) {
      const value = Array.isArray(column) ? column[cell] : column;
      body.append(el("tr", {}, el("th", { scope: "row" }, el("code", {}, name)), el("td", {}, value === null ? "–" : String(value))));
    }
    const head = el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "counter"), el("th", { scope: "col" }, "value")));
    return el("div", { class: "scroll tall", role: "region", "aria-label": "Counters", tabindex: "0" }, el("table", { id: "counters", "aria-label": "Counters" }, head, body));
  };
  const copyButton = text => {
    const button = el("button", { type: "button" }, "Copy");
    button.addEventListener("click", () => {
      const done = () => { button.textContent = "Copied"; };
      // Files have no clipboard in some browsers: then the line is selected, to be copied by hand.
      const select = () => getSelection().selectAllChildren($("replay"));
      if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, select); else select();
    });
    return button;
  };
  const allTimelines = $("timeline-note").textContent;
  const panel = () => {
    const [p, s, n] = ["cell-p", "cell-s", "cell-n"].map(id => Number($(id).value));
    const cell = cellAt(p, s, n), key = p + "-" + s;
    for (const details of $("timelines").children) {
      details.hidden = details.id !== "t-" + key;
      details.open = !details.hidden;
    }
    const drawn = D.drawn.includes(key), details = $("t-" + key);
    $("timeline-note").textContent = drawn
      ? "The seed of this link and settings with the most frozen time: seed " + details.dataset.seed + "."
      : "The page has no room for this timeline. The tables in the cell's folder have it.";
    if (cell === undefined) return $("panel").replaceChildren(el("p", {}, "This cell was not run."));
    const command = D.replay[0] + D.replays[cell] + D.replay[1];
    const parts = [el("p", { class: "cellname" }, sample(s), " on ", el("b", {}, D.profiles[p]), ", seed " + D.seeds[n] + " ", el("code", {}, D.ids[cell]))];
    const error = D.errors.find(([index]) => index === cell);
    if (error) parts.push(el("p", { class: "bad" }, "failed: " + error[1]));
    if (ok(cell)) {
      const list = (kind, metrics) => el("dl", { class: kind }, ...metrics.map(metric =>
        el("div", {}, el("dt", {}, metric.title), el("dd", {}, el("b", {}, shown(metric, cell)), " " + metric.unit))));
      parts.push(list("tiles", D.defaults.map(index => D.metrics[index])));
      parts.push(el("details", {}, el("summary", {}, "All metrics"), list("numbers", D.metrics)));
      const counters = el("details", { id: "all-counters" }, el("summary", {}, "All counters"));
      counters.addEventListener("toggle", () => { if (counters.open && counters.children.length === 1) counters.append(counterTable(cell)); });
      parts.push(counters);
    }
    parts.push(el("h3", {}, "Run it again"), el("div", { class: "replay" }, el("pre", { id: "replay", class: "wrap", tabindex: "0" }, command), copyButton(command)));
    parts.push(el("p", {}, "Its settings: ", el("a", { href: "#setup" }, D.settings[s]), ". Its link: ", el("a", { href: "#link-" + p }, D.profiles[p]), "."));
    $("panel").replaceChildren(...parts);
  };
  const pick = (p, s, n) => {
    $("cell-p").value = p;
    $("cell-s").value = s;
    if (n !== undefined) $("cell-n").value = n;
    panel();
  };

  $("metric").addEventListener("change", heat);
  $("scale").addEventListener("change", heat);
  for (const id of ["before", "after", "compare-metrics"]) if ($(id)) $(id).addEventListener("change", compare);
  for (const id of ["cell-p", "cell-s", "cell-n"]) $(id).addEventListener("change", panel);
  for (const form of document.forms) form.addEventListener("submit", event => event.preventDefault());
  $("heat").addEventListener("click", event => {
    const link = event.target.closest("a[data-p]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const p = Number(link.dataset.p), s = Number(link.dataset.s), details = $("t-" + p + "-" + s);
    const seed = details ? D.seeds.indexOf(details.dataset.seed) : group(p, s).length ? D.cells[group(p, s)[0]][2] : 0;
    pick(p, s, seed);
    $("cell").focus({ preventScroll: true });
    $("cell").scrollIntoView();
  });
  // A link to a profile opens it.
  document.addEventListener("click", event => {
    const link = event.target.closest('a[href^="#link-"]');
    if (link) $(link.getAttribute("href").slice(1)).open = true;
  });
  // On paper every timeline is there, and what was picked comes back afterwards.
  addEventListener("beforeprint", () => {
    for (const details of $("timelines").children) { details.hidden = false; details.open = true; }
    $("timeline-note").textContent = allTimelines;
  });
  addEventListener("afterprint", panel);

  for (const form of document.querySelectorAll("form.js")) form.hidden = false;
  // A browser that goes back keeps what was picked; the page does not.
  heat();
  if (D.cells.length) pick(D.cells[D.worst][0], D.cells[D.worst][1], D.cells[D.worst][2]); else if ($("timelines").children.length === 0) $("panel").textContent = "No cell has ended yet.";
})();
