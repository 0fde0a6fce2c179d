"use strict";
// The page is whole without this script; it adds filters, the runs behind a number and copying.
// Text from records only ever becomes text (textContent), never markup.

const page = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const BATCH = 12; // runs shown at once; the rest behind one more press

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// --- runs behind a number ---------------------------------------------------------------------

function duration(hours) {
  if (hours === null) return "not recorded";
  const seconds = hours * 3600;
  const rounded = seconds < 90 ? `${seconds.toFixed(1)} s` : `${(seconds / 60).toFixed(1)} min`;
  return hours < 2 ? `${Number(hours.toPrecision(2))} h (${rounded})` : `${hours.toFixed(1)} h`;
}

function moment(start, end) {
  const plain = (text) => (text || "?").replace("T", " ").replace(/(\d\d:\d\d:\d\d)\.\d+/, "$1");
  return `${plain(start)} to ${plain(end)}`;
}

function commandLine(text) {
  const button = element("button", { type: "button", class: "copy" }, "Copy");
  return element("div", { class: "command" }, element("code", {}, text), button);
}

function runCard(run) {
  const shared = page.shared[run.shared];
  const facts = element("dl");
  const known = {
    status: shared.status, seed: run.seed, took: duration(run.hours), device: shared.device,
    threads: shared.threads, host: shared.host, when: moment(run.start, run.end),
    commit: shared.commit, "code id": shared.code,
  };
  for (const [name, value] of Object.entries(known)) {
    const shown = value === null || value === "" ? "—" : String(value);
    facts.append(element("div", {}, element("dt", {}, name), element("dd", {}, shown)));
  }
  const config = element("pre", {}, page.configs[run.config]);
  const folded = element("details", {}, element("summary", {}, "Config"), config);
  const command = commandLine(`python -m harness run ${run.id} --scale ${page.scale}`);
  return element("li", {}, element("p", { class: "run-id" }, run.id), command, facts, folded);
}

function runList(indices, name = "") {
  const list = element("ul", { class: "run-list" });
  const more = element("button", { type: "button", class: "plain" });
  let shown = 0;
  const grow = (count) => {
    list.append(...indices.slice(shown, shown + count).map((index) => runCard(page.runs[index])));
    shown = Math.min(indices.length, shown + count);
    more.hidden = shown === indices.length;
    more.textContent = `Show all ${indices.length} runs`;
  };
  more.addEventListener("click", () => grow(indices.length));
  grow(BATCH);
  const many = indices.length ? `${indices.length} runs` : "no record of these runs is here";
  const count = indices.length === 1 ? "1 run" : many;
  const title = name ? `${name}: ${count}` : count;
  return element("div", { class: "runs-box" }, element("p", { class: "eyebrow" }, title), list, more);
}

function toggleRuns(button) {
  const row = button.closest("tr"); // none of a claim or a figure, whose runs stand below their button
  const id = `runs-${button.dataset.number}`;
  const open = button.getAttribute("aria-expanded") === "true";
  button.setAttribute("aria-expanded", String(!open));
  if (open) {
    byId(id).remove();
    button.removeAttribute("aria-controls");
    return;
  }
  const list = runList(page.numbers[Number(button.dataset.number)], button.dataset.name);
  if (row) {
    row.after(element("tr", { class: "unfolded", id }, element("td", { colspan: row.cells.length }, list)));
    if (row.closest(".compare")) keepTable(row.parentElement);
  } else {
    button.after(element("div", { class: "unfolded", id }, list));
  }
  button.setAttribute("aria-controls", id);
}

// A grid is plain text until it is opened: thousands of buttons would only slow the page.
function pressable(grid) {
  for (const cell of all("td[data-number]", grid)) {
    const name = place(cell).join(", ");
    const label = `${name}: ${cell.firstChild.data}, show its runs`;
    const button = element("button", {
      type: "button", class: "runs", "data-number": cell.dataset.number, "data-name": name,
      "aria-expanded": "false", "aria-label": label,
    }, cell.firstChild);
    cell.prepend(button);
    cell.removeAttribute("data-number");
  }
}

function place(cell) {
  const heads = cell.closest("table").tHead.rows[0].cells;
  return [cell.parentElement.cells[0].textContent, heads[cell.cellIndex].textContent];
}

async function copy(button) {
  const code = button.previousElementSibling;
  try {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(code); // no clipboard here: selected, so that a key press copies
    button.textContent = "Selected";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}

// On a phone rows are laid out as cards, and a browser then forgets that they are a table.
function keepTable(root) {
  const roles = { table: "table", thead: "rowgroup", tbody: "rowgroup", tr: "row", td: "cell" };
  for (const [tag, role] of Object.entries(roles)) {
    for (const node of all(tag, root)) node.setAttribute("role", role);
  }
  for (const node of all("th", root)) node.setAttribute("role", node.scope === "row" ? "rowheader" : "columnheader");
}

// --- filters ----------------------------------------------------------------------------------

const toggles = all("button.toggle");
const fields = ["words", "paper", "kind", "rows"].map(byId);
const artefacts = all("section.artefact").map((section) => {
  const about = all("header, .notes, .truths", section).map((part) => part.textContent).join(" ");
  const items = all(".item", section).map((node) => ({
    node,
    verdict: node.dataset.verdict ?? "",
    rows: node.dataset.rows ?? "", // of a number that is not printed, none
    group: node.classList.contains("claim") ? "claims" : "numbers",
    count: Number(node.dataset.count ?? 1), // a line of numbers without a value stands for several
    text: [node.tagName === "TD" ? place(node).join(" ") : "", node.textContent].join(" ").toLowerCase(),
  }));
  return { section, items, text: `${section.id} ${about}`.toLowerCase() };
});
const entries = new Map(all("li[data-artefact]").map((node) => [node.dataset.artefact, node]));

function wanted() {
  const [words, paper, kind, rows] = fields.map((field) => field.value);
  const verdicts = toggles.filter((t) => t.getAttribute("aria-pressed") === "true").map((t) => t.dataset.verdict);
  return { words: words.toLowerCase().split(/\s+/).filter(Boolean), paper, kind, rows, verdicts };
}

// A cell of a grid keeps its place, so that what is left stays below its heading.
function show(node, visible) {
  if (node.tagName === "TD") node.classList.toggle("off", !visible);
  else node.hidden = !visible;
}

function apply() {
  const want = wanted();
  const active = Boolean(want.words.length || want.paper || want.kind || want.rows || want.verdicts.length);
  const count = { numbers: [0, 0], claims: [0, 0] };
  for (const { section, items, text } of artefacts) {
    const inside = (!want.paper || section.dataset.paper === want.paper)
      && (!want.kind || section.dataset.kind === want.kind);
    const words = want.words.filter((word) => !text.includes(word)); // the others meet the whole artefact
    let visible = 0;
    for (const item of items) {
      const fits = inside && (!want.rows || item.rows === want.rows)
        && words.every((word) => item.text.includes(word))
        && (!want.verdicts.length || want.verdicts.includes(item.verdict));
      show(item.node, fits);
      visible += fits;
      count[item.group][0] += fits ? item.count : 0;
      count[item.group][1] += item.count;
    }
    const bare = !items.length && inside && !want.rows && !want.verdicts.length && !words.length;
    section.hidden = active && !visible && !bare;
    entries.get(section.id).hidden = section.hidden;
    tidy(section, active);
  }
  for (const part of all(".paper-section, .contents li[data-paper]")) {
    part.hidden = active && all(".artefact, li[data-artefact]", part).every((node) => node.hidden);
  }
  document.querySelector(".status").hidden = !active;
  const [numbers, claims] = [count.numbers, count.claims];
  byId("status").textContent = numbers[0] + claims[0]
    ? `${numbers[0]} of ${numbers[1]} numbers, ${claims[0]} of ${claims[1]} claims`
    : "Nothing matches these filters";
}

// Runs go with their row, and a list, table or fold without anything left goes with its heading.
function tidy(section, active) {
  const left = (node) => Boolean(node.querySelector(".item:not(.off, [hidden])"));
  for (const row of all(".sheet tbody tr:not(.unfolded)", section)) row.hidden = !left(row);
  for (const row of all("tr.unfolded", section)) row.hidden = byPress(row).closest("tr").hidden || byPress(row).closest(".off");
  for (const part of all(".sheet table, .sheet, .gaps", section)) part.hidden = !left(part);
  for (const list of all(".compare, .claims", section)) {
    list.hidden = !left(list);
    list.previousElementSibling.hidden = list.hidden;
  }
  for (const fold of all("details.unprinted", section)) {
    fold.hidden = !left(fold);
    if (active && !fold.open && !fold.hidden) {
      fold.open = fold.byFilter = true;
      pressable(fold); // here: the event of its opening comes later, which a fast reader would notice
    } else if (!active && fold.byFilter) fold.open = fold.byFilter = false;
  }
}

function byPress(row) {
  return document.querySelector(`[aria-controls="${row.id}"]`);
}

function choose({ paper = "", rows = "", verdict } = {}) {
  const values = { words: "", paper, kind: "", rows };
  for (const field of fields) field.value = values[field.id];
  for (const toggle of toggles) {
    toggle.setAttribute("aria-pressed", String(verdict !== undefined && toggle.dataset.verdict === verdict));
  }
  apply();
}

// A shared link must show its artefact, whatever is filtered.
function reveal() {
  const target = byId(decodeURIComponent(location.hash.slice(1)));
  if (!target || target.offsetParent) return;
  choose();
  target.scrollIntoView();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.matches(".runs")) toggleRuns(button);
  else if (button.matches(".copy")) copy(button);
  else if (button.matches(".count")) {
    choose(button.dataset);
    byId("artefacts").focus({ preventScroll: true });
    byId("artefacts").scrollIntoView();
  } else if (button.matches(".toggle")) {
    button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
    apply();
  } else if (button.id === "clear") choose();
});
byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("filters").addEventListener("input", apply);
addEventListener("hashchange", reveal);
document.addEventListener("toggle", (event) => { // it does not bubble: caught on its way down
  if (event.target.matches(".unprinted") && event.target.open) pressable(event.target);
}, true);

byId("filters").hidden = false;
all(".compare").forEach(keepTable);
all(".unprinted[open]").forEach(pressable);
for (const button of all("button.copy")) button.hidden = false;
if (matchMedia("(max-width: 60rem)").matches) document.querySelector(".contents").open = false;
apply(); // a browser may bring back the fields of an earlier visit
reveal();
