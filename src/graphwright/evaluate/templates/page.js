"use strict";
// Texts are always set as text, never parsed as HTML.
(() => {
  document.documentElement.classList.add("js");
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  function el(name, attributes = {}, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value === true) node.setAttribute(key, "");
      else if (value !== false && value != null) node.setAttribute(key, value);
    }
    node.append(...children.flat(2).filter((child) => child != null && child !== false));
    return node;
  }
  const plain = (text) => String(text).replace(/[\u202a-\u202e]/g, "\ufffd"); // bidi overrides reverse the text after them
  const own = (text, name = "bdi", attributes = {}) => el(name, { dir: "auto", ...attributes }, plain(text));

  // The selected metric applies to the whole page.
  function choose(metric) {
    for (const select of all("select.choose-metric")) select.value = metric;
    for (const part of all("[data-metric]")) part.hidden = part.dataset.metric !== metric;
  }
  for (const select of all("select.choose-metric")) {
    select.addEventListener("change", () => {
      const before = select.getBoundingClientRect().top;
      choose(select.value);
      scrollBy(0, select.getBoundingClientRect().top - before);
    });
  }

  // Sortable tables.
  function sort(table, at, header, buttons) {
    const current = header.getAttribute("aria-sort");
    const first = header.dataset.best === "least" ? "ascending" : "descending";
    const other = first === "ascending" ? "descending" : "ascending";
    const order = current === first ? other : first;
    for (const label of buttons) label.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    const value = (row) => row.children[at].dataset.v ?? "";
    const rows = all("tbody tr", table).sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === "" || y === "") return (x === "") - (y === "");
      return sign * (at === 0 ? x.localeCompare(y, undefined, { numeric: true }) : x - y);
    });
    table.tBodies[0].append(...rows);
  }
  for (const table of all("table.sortable")) {
    const headers = all("thead tr:last-child th", table);
    headers.forEach((header, at) => {
      const button = el("button", { type: "button" }, header.textContent);
      header.replaceChildren(button);
      button.addEventListener("click", () => sort(table, at, header, headers));
    });
  }

  // Tooltips, on touch screens too.
  const tip = el("div", { class: "tip", hidden: true, role: "presentation" });
  document.body.append(tip);
  for (const element of all(".board [title]")) {
    element.dataset.tip = element.title;
    element.removeAttribute("title");
  }
  function show(event) {
    const target = event.target instanceof Element ? event.target.closest("[data-tip]") : null;
    tip.hidden = !target;
    if (!target) return;
    tip.textContent = target.dataset.tip;
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, room)) + scrollX}px`;
    tip.style.top = `${event.clientY + 18 + scrollY}px`;
  }
  document.addEventListener("pointermove", show);
  document.addEventListener("pointerdown", show);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });

  // Question by question.
  const room = document.getElementById("asked");
  if (!room) return;
  const data = JSON.parse(document.getElementById("data").textContent);
  if (!data.questions.length) {
    room.append(el("p", {}, "There are no results to show."));
    return;
  }
  const shown = { a: 0, b: Math.min(1, data.methods.length - 1), metric: 0, kind: "", only: "all", words: "", at: -1, most: 100, none: false };
  if (data.methods.length > 1 && data.baseline !== 0) shown.b = data.baseline;
  const single = data.methods.length < 2;

  const figure = (value, metric) =>
    value == null ? "–" : data.percent[metric] ? (100 * value).toFixed(value === 0 || value === 1 ? 0 : 1) : value.toFixed(3);
  const reached = (question, method) => {
    const values = question.v[method];
    return values ? values[shown.metric] : null;
  };
  const filters = {
    all: ["all", () => true],
    a: ["A better", (x, y) => (x ?? 0) > (y ?? 0)],
    b: ["B better", (x, y) => (y ?? 0) > (x ?? 0)],
    differ: ["A and B differ", (x, y) => (x ?? 0) !== (y ?? 0)],
    fail: ["both miss", (x, y) => !x && !y],
    error: ["an error", (x, y, question) => question.e.includes(shown.a) || question.e.includes(shown.b)],
  };
  if (single) {
    filters.fail = ["misses", (x) => !x];
    for (const name of ["a", "b", "differ"]) delete filters[name];
  }
  if (!data.questions.some((question) => question.e.length)) delete filters.error;

  function chooser(label, name, options, number = true) {
    const select = el("select", {}, options.map(([value, text]) => el("option", { value }, plain(text))));
    select.value = String(shown[name]);
    select.addEventListener("change", () => {
      shown[name] = number ? Number(select.value) : select.value;
      shown.most = 100;
      list();
      detail();
    });
    return el("label", {}, label, select);
  }
  const search = el("input", { type: "search", placeholder: "words of a question, or its id" });
  search.addEventListener("input", () => { shown.words = search.value.toLowerCase(); shown.most = 100; list(); });
  const methods = data.methods.map((name, at) => [at, name]);
  const kinds = [...new Set(data.questions.map((question) => question.k))].filter(Boolean).sort();
  const note = el("p", { class: "asked-note", "aria-live": "polite" });
  const items = el("ol");
  const details = el("div", { class: "one", tabindex: "-1", "aria-live": "polite" });
  room.append(
    el("div", { class: "asking" },
      chooser(single ? "Method" : "Method A", "a", methods),
      single ? null : chooser("Method B", "b", methods),
      data.listed > 1 ? chooser("Metric", "metric", data.metrics.slice(0, data.listed).map((name, at) => [at, name])) : null,
      chooser("Show", "only", Object.entries(filters).map(([name, [text]]) => [name, text]), false),
      kinds.length > 1 ? chooser("Type", "kind", [["", "all types"], ...kinds.map((kind) => [kind, kind])], false) : null,
      el("label", {}, "Search", search)),
    note,
    el("div", { class: "asked" }, el("div", { class: "asked-list", role: "region", "aria-label": "Questions" }, items), details));

  function list() {
    const words = shown.words.split(/\s+/).filter(Boolean);
    const matches = data.questions.map((question, at) => [question, at]).filter(([question]) => {
      if (shown.kind && question.k !== shown.kind) return false;
      const text = `${question.t} ${question.i}`.toLowerCase();
      if (!words.every((word) => text.includes(word))) return false;
      return filters[shown.only][1](reached(question, shown.a), reached(question, shown.b), question);
    });
    note.textContent = `${matches.length.toLocaleString("en")} of ${data.questions.length.toLocaleString("en")} questions`;
    const before = shown.none;
    shown.none = !matches.length;
    if (shown.none !== before) detail();
    items.replaceChildren(...matches.slice(0, shown.most).map(([question, at]) => item(question, at)));
    if (matches.length > shown.most) {
      const more = el("button", { type: "button", class: "more" }, "Show more");
      more.addEventListener("click", () => { shown.most += 200; list(); });
      items.append(el("li", {}, more));
    }
  }

  function item(question, at) {
    const [x, y] = [reached(question, shown.a), reached(question, shown.b)];
    const score = (value, better) => el(better ? "b" : "span", {}, figure(value, shown.metric));
    const scores = single ? [score(x, false)] : [score(x, (x ?? 0) > (y ?? 0)), " · ", score(y, (y ?? 0) > (x ?? 0))];
    const button = el("button", { type: "button", disabled: !(at in data.rows), "aria-current": String(at === shown.at) },
      own(question.t, "span"), el("span", { class: "scores" }, scores));
    button.addEventListener("click", () => {
      shown.at = at;
      for (const other of all("button", items)) other.setAttribute("aria-current", "false");
      button.setAttribute("aria-current", "true");
      detail();
      if (matchMedia("(max-width: 46rem)").matches) details.scrollIntoView({ block: "start" });
    });
    return el("li", {}, button);
  }
  items.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const buttons = all("button:not(:disabled)", items);
    const next = buttons[buttons.indexOf(document.activeElement) + step];
    if (next) { event.preventDefault(); next.focus(); }
  });

  function detail() {
    const question = shown.none ? null : data.questions[shown.at];
    if (!question) return void details.replaceChildren();
    const rows = data.rows[shown.at];
    const [answers, gold] = question.n;
    const noun = data.places === "Nodes" ? "node" : "document";
    const extra = answers > question.a.length ? ` and ${answers - question.a.length} more` : "";
    const about = [
      answers ? `Accepted: ${question.a.join(" · ")}${extra}` : "",
      question.k ? `type ${question.k}` : "", question.h != null ? `${question.h} hops` : "",
      gold ? `${gold} gold ${noun}${gold === 1 ? "" : "s"}` : "", `id ${question.i}`,
    ].filter(Boolean);
    const chosen = single || shown.a === shown.b ? [shown.a] : [shown.a, shown.b];
    details.replaceChildren(
      own(question.t, "h3"),
      el("p", {}, about.flatMap((text, at) => [at ? " — " : "", own(text)])),
      el("div", { class: "sides" }, chosen.map((method) => side(question, method, rows[method], chosen.map((m) => rows[m])))));
  }

  function part(name, ...content) {
    return el("div", {}, el("h5", {}, name), ...content.filter((child) => child != null));
  }

  function side(question, method, row, rows) {
    const head = own(data.methods[method], "h4");
    if (!row) return el("div", { class: "side" }, head, el("p", { class: "quiet" }, "Not asked."));
    // Always eight parts, so that those of two methods are aligned.
    return el("div", { class: "side" }, [
      head,
      row.x ? own(row.x, "p", { class: "error" }) : row.a && answer(row.a),
      metrics(row, rows),
      (row.n[0] || question.g.length) && documents(question, row),
      row.p.length && evidence(row),
      row.a && row.a.c.length && citations(row.a),
      row.s.length && steps(row),
      costs(row),
    ].map((cell) => cell || el("div")));
  }

  function answer(result) {
    const squeezed = (text) => text.replace(/\s+/g, " ").trim();
    const whole = squeezed(result.t);
    const short = result.s.filter((text) => {
      const squeezedText = squeezed(text);
      return squeezedText !== whole && !(squeezedText.endsWith("…") && whole.startsWith(squeezedText.slice(0, -1)));
    });
    return part(result.f ? "Answer" : "Answer (nothing found)", own(result.t, "p", { class: "answer" }),
      short.length ? el("p", { class: "quiet" }, "Short: ", own(short.join(" · "))) : null,
      result.j ? el("p", { class: "quiet" }, `Judged ${{ 0: "wrong", 1: "right" }[result.j[0]] ?? result.j[0]}`, result.j[1] ? [": ", own(result.j[1])] : null) : null);
  }

  function documents(question, row) {
    const gold = new Set(question.g);
    const first = row.d.map(([document, score], at) => el("li", { class: gold.has(document) ? "is-gold" : null },
      el("span", { class: "rank" }, String(at + 1)),
      el("span", {}, own(document), gold.has(document) ? [" ", el("span", { class: "chip gold" }, "✓ gold")] : null),
      el("span", { class: "score" }, score == null ? "" : String(score))));
    const rest = question.g.map((document, at) => [document, row.r[at]]).filter(([, rank]) => rank === 0 || rank > row.d.length);
    const later = rest.map(([document, rank]) => el("li", {},
      el("span", { class: "rank" }, rank ? String(rank) : "–"),
      el("span", {}, own(document), " ", el("span", { class: "chip gold" }, "gold"), rank ? "" : " not found"), el("span")));
    const name = row.n[0] > row.d.length ? `${data.places}, the first ${row.d.length} of ${row.n[0]}` : data.places;
    return part(name, el("ol", { class: "ranks" }, first, later));
  }

  function evidence(row) {
    const count = `${row.p.length} ${row.p.length === 1 ? "item" : "items"}`;
    const scored = row.p.some(([, score]) => score != null);
    const name = !scored ? `${count} not ranked` : row.n[1] > row.p.length ? `the first ${count}` : count;
    return part(`Evidence, ${name}`, el("ol", { class: "ranks" }, row.p.map(([text, score], at) => el("li", {},
      el("span", { class: "rank" }, String(at + 1)), own(text, "bdi", { class: "item" }),
      el("span", { class: "score" }, score == null ? "" : String(score))))));
  }

  function citations(result) {
    const name = result.n > result.c.length ? `Citations, the first ${result.c.length} of ${result.n}` : "Citations";
    return part(name, el("ul", {}, result.c.map(([document, start, end, text, path]) => el("li", {},
      "“", own(text), "” ", document ? el("span", { class: "quiet" }, own(document), ` ${start}–${end}`) : null,
      path ? el("div", { class: "quiet" }, own(path)) : null))));
  }

  function steps(row) {
    const known = row.s.some(([, , recall]) => recall != null);
    const head = el("tr", {}, ["step", "ms", known ? "held, %" : null].filter(Boolean).map((name) => el("th", { scope: "col" }, name)));
    const body = row.s.map(([operator, ms, recall, notes]) => el("tr", {},
      el("td", { "data-tip": data.operators[operator] }, own(data.operators[operator].split("(")[0] || data.operators[operator]),
        notes.length ? el("small", {}, own(notes.join("; "))) : null),
      el("td", {}, ms.toFixed(ms < 10 ? 2 : 0)),
      known ? el("td", {}, recall == null ? "–" : (100 * recall).toFixed(0)) : null));
    return part("Steps", el("table", {}, el("thead", {}, head), el("tbody", {}, body)));
  }

  function metrics(row, rows) {
    const lines = data.metrics.map((name, at) => {
      const value = row.m[at];
      const others = rows.map((other) => (other ? other.m[at] : null));
      const better = value != null && others.some((other) => other != null && other < value);
      return value == null ? null : el("div", {}, el("dt", {}, name),
        el("dd", {}, el(better ? "b" : "span", {}, figure(value, at))));
    });
    return part(data.percent.includes(true) ? "Metrics, shares in percent" : "Metrics", el("dl", { class: "metrics" }, lines));
  }

  function costs(row) {
    const [seconds, tokens, calls, cost] = row.c;
    const figures = [
      seconds == null ? "" : `${(1000 * seconds).toFixed(seconds < 0.01 ? 2 : 0)} ms`,
      tokens ? `${tokens} encoder tokens` : "", row.l ? `${row.l} tokens of language models` : "",
      calls ? `${calls} model ${calls === 1 ? "call" : "calls"}` : "", cost ? `${cost} money` : "",
    ].filter(Boolean);
    return el("p", { class: "quiet" }, figures.join(", "));
  }

  list();
  const opened = data.questions.findIndex((question, at) => at in data.rows && reached(question, shown.a) !== reached(question, shown.b));
  shown.at = opened >= 0 ? opened : Number(Object.keys(data.rows)[0] ?? -1);
  list();
  detail();
})();
