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
  const MANY_COLUMNS = 14;
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
    if (column.keys) return column.keys;
    if (column.kind !== "text") {
      column.keys = Float64Array.from(column.values, (value) => (value === null ? NaN : value));
    } else {
      const compare = column.numeric ? (a, b) => Number(a) - Number(b) : (a, b) => collator.compare(a, b);
      const distinct = [...new Set(column.values)].filter((text) => text !== null).sort(compare);
      const ranks = new Map(distinct.map((text, rank) => [text, rank]));
      column.keys = Float64Array.from(column.values, (text) => ranks.get(text) ?? NaN);
    }
    return column.keys;
  };

  const sort = (column, sign) => {
    const keys = keysOf(column);
    const known = [];
    const missing = [];
    for (let row = 0; row < data.n_rows; row += 1) (Number.isNaN(keys[row]) ? missing : known).push(row);
    known.sort((a, b) => sign * (keys[a] - keys[b])); // stable: equal rows stay in the order of the data
    Object.assign(state, { sorted: column, sign, order: known.concat(missing), page: 0 });
  };

  const shownNumber = (column, value) => {
    if (value === null) return "–";
    if (column.metric === null) return value.toLocaleString("en-US", { maximumFractionDigits: 6 }); // counts and weights
    const text = value.toFixed(PLACES);
    return column.kind === "difference" && value >= 0 ? `+${text}` : text;
  };
  const shown = (column, row) => {
    if (column.kind === "text") return column.values[row] ?? "–";
    return shownNumber(column, column.values[row]);
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
    const metrics = [...new Set(columns.map((column) => column.metric))].filter((metric) => metric !== null);
    const groups = element("tr", null);
    const own = columns.filter((column) => column.metric === null).length;
    groups.append(element("td", null, { colSpan: own }));
    for (const metric of metrics) {
      const span = columns.filter((column) => column.metric === metric).length;
      groups.append(element("th", metric, { colSpan: span, scope: "colgroup", className: "metric" }));
    }
    const names = element("tr", null);
    names.append(...columns.map(header));
    id("query-table").tHead.replaceChildren(groups, names);
  };
  const drawBody = () => {
    const size = Number(id("per-page").value);
    const pages = Math.max(1, Math.ceil(state.chosen.length / size));
    state.page = Math.min(Math.max(state.page, 0), pages - 1);
    const columns = visible();
    const rows = state.chosen.slice(state.page * size, (state.page + 1) * size).map((row) => {
      const line = element("tr", null);
      columns.forEach((column, place) => {
        const cell = element(place === 0 ? "th" : "td", null);
        if (place === 0) cell.scope = "row";
        const text = shown(column, row);
        if (column.kind === "text") {
          cell.className = "text";
          cell.append(element("bdi", text, { className: "name", title: text.length > LONG ? text : "" }));
        } else {
          cell.textContent = text;
          if (column.kind === "difference" && column.values[row]) cell.className = column.values[row] > 0 === column.higher_is_better ? "gain" : "loss";
        }
        line.append(cell);
      });
      return line;
    });
    id("query-table").tBodies[0].replaceChildren(...rows);
    const count = (number) => number.toLocaleString("en-US");
    const from = state.chosen.length ? state.page * size + 1 : 0;
    const to = Math.min((state.page + 1) * size, state.chosen.length);
    const filtered = state.chosen.length < data.n_rows ? `${count(state.chosen.length)} of ${count(data.n_rows)}` : `all ${count(data.n_rows)}`;
    id("shown").textContent = !state.chosen.length ? `None of ${count(data.n_rows)} queries matches.` : `Rows ${count(from)} to ${count(to)} of ${filtered} queries.`;
    id("page").textContent = `Page ${count(state.page + 1)} of ${count(pages)}`;
    for (const name of ["first", "previous"]) id(name).disabled = state.page === 0;
    for (const name of ["next", "last"]) id(name).disabled = state.page === pages - 1;
  };
  const draw = () => {
    choose();
    drawHead();
    drawBody();
  };
  const drawAgain = () => {
    state.page = 0;
    choose();
    drawBody();
  };

  /* What can be chosen */
  const fillMetrics = () => {
    if (data.metrics.length < 2) id("metric").parentElement.hidden = true;
    id("metric").append(new Option("all", ""), ...data.metrics.map((metric) => new Option(metric, metric)));
    id("metric").value = all.length > MANY_COLUMNS ? data.metrics[0] : "";
  };
  const fillColumns = () => {
    const before = id("where-column").value;
    const options = visible()
      .filter((column) => column.kind !== "text")
      .map((column) => new Option(id("metric").value ? column.name : fullName(column), String(all.indexOf(column))));
    id("where-column").replaceChildren(...options);
    if (options.some((option) => option.value === before)) id("where-column").value = before;
    else id("where-sign").value = ""; // a condition on a column that is gone holds no more
  };
  const turn = (page) => () => {
    state.page = page();
    drawBody();
  };
  const unsort = () => Object.assign(state, { sorted: null, order: inOrder(), page: 0 });
  const start = () => {
    id("find").value = id("where-sign").value = id("where-value").value = "";
    unsort();
    fillColumns();
    draw();
  };
  for (const name of ["find", "where-value"]) id(name).addEventListener("input", drawAgain);
  for (const name of ["where-column", "where-sign"]) id(name).addEventListener("change", drawAgain);
  id("per-page").addEventListener("change", turn(() => 0));
  id("metric").addEventListener("change", () => {
    fillColumns();
    if (state.sorted && !visible().includes(state.sorted)) unsort();
    draw();
  });
  id("reset").addEventListener("click", start);
  id("first").addEventListener("click", turn(() => 0));
  id("previous").addEventListener("click", turn(() => state.page - 1));
  id("next").addEventListener("click", turn(() => state.page + 1));
  id("last").addEventListener("click", turn(() => Infinity));
  fillMetrics();
  start();
  id("per-query").hidden = false;
})();
