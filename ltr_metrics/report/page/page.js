"use strict";
/* Choices: a part is shown, and the others wait. */
document.querySelectorAll(".choose").forEach((choice) => {
  const label = choice.querySelector("label");
  const select = choice.querySelector("select");
  const show = () => choice.querySelectorAll(".choice").forEach((part, i) => { part.hidden = i !== select.selectedIndex; });
  label.hidden = select.options.length < 2;
  choice.classList.add("chosen");
  select.addEventListener("change", show);
  select.selectedIndex = 0;
  show();
});

/* Contents: the section that is read is marked, and moved into view. */
(() => {
  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [document.getElementById(link.hash.slice(1)), link]));
  const heads = [...links.keys()];
  const mark = () => {
    const isEnd = innerHeight + scrollY > document.documentElement.scrollHeight - 4;
    const read = heads.filter((head) => head.getBoundingClientRect().top < innerHeight / 3);
    const current = isEnd ? heads.at(-1) : read.at(-1) ?? heads[0];
    links.forEach((link, head) => (head === current ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current")));
    const link = links.get(current);
    const list = link.closest("ul");
    if (list.scrollWidth > list.clientWidth) list.scrollLeft = link.offsetLeft - list.clientWidth / 3;
  };
  for (const event of ["scroll", "resize"]) addEventListener(event, mark, { passive: true });
  mark();
})();

/* All queries */
(() => {
  const data = JSON.parse(document.getElementById("query-data").textContent);
  const id = (name) => document.getElementById(name);
  const PLACES = 4;
  const SHORT = 20; // longer names may be broken anywhere
  const LONG = 60; // text of more characters may be cut off; it is shown whole where the mouse rests
  const all = data.columns;
  const texts = all.filter((column) => column.kind === "text");
  const collator = new Intl.Collator("en", { numeric: true });
  const inOrder = () => Array.from({ length: data.n_rows }, (_, row) => row);
  const state = { sorted: null, sign: 1, order: inOrder(), chosen: [], page: 0 };

  /* A number a row to sort by; NaN where the value is missing. */
  const keysOf = (column) => {
    if (column.kind !== "text") return column.values.map((value) => value ?? NaN);
    const compare = column.numeric ? (a, b) => Number(a) - Number(b) : collator.compare;
    const distinct = [...new Set(column.values)].filter((text) => text !== null).sort(compare);
    const ranks = new Map(distinct.map((text, rank) => [text, rank]));
    return column.values.map((text) => ranks.get(text) ?? NaN);
  };

  const sort = (column, sign) => {
    const keys = keysOf(column);
    const known = inOrder().filter((row) => !Number.isNaN(keys[row]));
    const missing = inOrder().filter((row) => Number.isNaN(keys[row]));
    known.sort((a, b) => sign * (keys[a] - keys[b])); // stable: equal rows stay in the order of the data
    Object.assign(state, { sorted: column, sign, order: known.concat(missing), page: 0 });
  };

  const shown = (column, row) => {
    const value = column.values[row];
    if (value === null || column.kind === "text") return value ?? "–";
    if (column.metric === null) return value.toLocaleString("en-US", { maximumFractionDigits: 6 }); // counts and weights
    return `${column.kind === "difference" && value >= 0 ? "+" : ""}${value.toFixed(PLACES)}`.replace("-", "−");
  };

  /* What is chosen */
  const contains = (row, words) => texts.some((column) => (column.values[row] ?? "").toLowerCase().includes(words));
  const conditions = {
    ">=": (a, b) => a >= b,
    ">": (a, b) => a > b,
    "<=": (a, b) => a <= b,
    "<": (a, b) => a < b,
    "=": (a, b) => a === b,
    "!=": (a, b) => a !== b,
  };
  const condition = () => {
    const sign = id("where-sign").value;
    const column = all[Number(id("where-column").value)];
    if (sign === "") return () => true;
    if (sign === "missing") return (row) => column.values[row] === null;
    const text = id("where-value").value;
    if (text === "") return () => true;
    const rounded = column.metric !== null && (sign === "=" || sign === "!="); // what is shown as equal counts as equal
    const read = (value) => (rounded ? Number(value.toFixed(PLACES)) : value);
    const bound = read(Number(text));
    return (row) => column.values[row] !== null && conditions[sign](read(column.values[row]), bound);
  };
  const choose = () => {
    const words = id("find").value.trim().toLowerCase();
    const holds = condition();
    state.chosen = state.order.filter((row) => holds(row) && (words === "" || contains(row, words)));
  };

  /* What is drawn: text only, never markup */
  const element = (tag, text, properties = {}) => {
    const made = document.createElement(tag);
    if (text !== null) made.textContent = text;
    return Object.assign(made, properties);
  };
  const visible = () => {
    const metric = id("metric").value;
    return all.filter((column) => column.metric === null || metric === "" || column.metric === metric);
  };
  const fullName = (column) => (column.metric === null ? column.name : `${column.metric}: ${column.name}`);

  const header = (column) => {
    const cell = element("th", null, { scope: "col", className: column.kind === "text" ? "text" : "number" });
    const sorted = state.sorted === column;
    cell.setAttribute("aria-sort", !sorted ? "none" : state.sign > 0 ? "ascending" : "descending");
    const button = element("button", null, { type: "button", title: `Sort by ${fullName(column)}` });
    const sign = element("span", sorted ? (state.sign > 0 ? "↑" : "↓") : "↕", { className: "sorting" });
    sign.setAttribute("aria-hidden", "true");
    button.append(element("bdi", column.name, { className: column.name.length > SHORT ? "name" : "" }), sign);
    button.addEventListener("click", () => {
      sort(column, state.sorted === column ? -state.sign : 1);
      draw();
      id("query-table").querySelectorAll("thead button")[visible().indexOf(column)].focus();
    });
    cell.append(button);
    return cell;
  };
  const drawHead = () => {
    const columns = visible();
    const count = (metric) => columns.filter((column) => column.metric === metric).length;
    const groups = element("tr", null);
    groups.append(element("td", null, { colSpan: count(null) }));
    for (const metric of data.metrics.filter(count)) {
      groups.append(element("th", metric, { colSpan: count(metric), scope: "colgroup", className: "metric" }));
    }
    const names = element("tr", null);
    names.append(...columns.map(header));
    id("query-table").tHead.replaceChildren(groups, names);
  };
  const drawCell = (column, row) => {
    const text = shown(column, row);
    if (column.kind === "text") {
      const cell = column === all[0] ? element("th", null, { scope: "row", className: "text" }) : element("td", null, { className: "text" });
      cell.append(element("bdi", text, { className: "name", title: text.length > LONG ? text : "" }));
      return cell;
    }
    const change = column.kind === "difference" ? column.values[row] : 0;
    return element("td", text, { className: !change ? "" : change > 0 === column.higher_is_better ? "gain" : "loss" });
  };
  const drawBody = () => {
    const size = Number(id("per-page").value);
    const pages = Math.max(1, Math.ceil(state.chosen.length / size));
    state.page = Math.min(Math.max(state.page, 0), pages - 1);
    const columns = visible();
    const rows = state.chosen.slice(state.page * size, (state.page + 1) * size).map((row) => {
      const line = element("tr", null);
      line.append(...columns.map((column) => drawCell(column, row)));
      return line;
    });
    id("query-table").tBodies[0].replaceChildren(...rows);
    const count = (number) => number.toLocaleString("en-US");
    const from = state.chosen.length ? state.page * size + 1 : 0;
    const to = Math.min((state.page + 1) * size, state.chosen.length);
    const filtered = state.chosen.length < data.n_rows ? `${count(state.chosen.length)} of ${count(data.n_rows)}` : `${data.n_rows < data.n_queries ? "these" : "all"} ${count(data.n_rows)}`;
    id("shown").textContent = !state.chosen.length ? `None of ${count(data.n_rows)} queries matches.` : `Rows ${count(from)} to ${count(to)} of ${filtered} queries.`;
    id("page").textContent = `Page ${count(state.page + 1)} of ${count(pages)}`;
    for (const name of ["first", "previous"]) id(name).disabled = state.page === 0;
    for (const name of ["next", "last"]) id(name).disabled = state.page === pages - 1;
  };
  const drawAgain = () => {
    choose();
    drawBody();
  };
  const draw = () => {
    drawHead();
    drawAgain();
  };

  /* What can be chosen */
  const fillColumns = () => {
    const before = id("where-column").value;
    const options = visible()
      .filter((column) => column.kind !== "text")
      .map((column) => new Option(id("metric").value ? column.name : fullName(column), String(all.indexOf(column))));
    id("where-column").replaceChildren(...options);
    if (options.some((option) => option.value === before)) id("where-column").value = before;
    else id("where-sign").value = ""; // a condition on a column that is gone holds no more
  };
  const unsort = () => Object.assign(state, { sorted: null, order: inOrder(), page: 0 });
  const start = () => {
    id("find").value = id("where-sign").value = id("where-value").value = "";
    unsort();
    fillColumns();
    draw();
  };
  const on = (names, event, change) => {
    for (const name of names) {
      id(name).addEventListener(event, () => {
        state.page = 0;
        change();
      });
    }
  };
  on(["find", "where-value"], "input", drawAgain);
  on(["where-column", "where-sign", "per-page"], "change", drawAgain);
  on(["metric"], "change", () => {
    fillColumns();
    if (state.sorted && !visible().includes(state.sorted)) unsort();
    draw();
  });
  on(["reset"], "click", start);
  for (const [name, page] of Object.entries({ first: () => 0, previous: () => state.page - 1, next: () => state.page + 1, last: () => Infinity })) {
    id(name).addEventListener("click", () => {
      state.page = page();
      drawBody();
    });
  }
  id("metric").parentElement.hidden = data.metrics.length < 2;
  id("metric").append(new Option("all", ""), ...data.metrics.map((metric) => new Option(metric, metric)));
  id("metric").value = data.metrics[0];
  start();
  id("per-query").hidden = false;
})();
