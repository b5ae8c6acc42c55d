// The room of tables: entries, and values of expressions with their lists.

import { type Found, ask, type Table } from "./api";
import type { App, Room } from "./app";
import { copy } from "./draw";
import { button, download, h, labelled, say } from "./dom";
import * as python from "./python";
import type { View } from "./view";
import { Work } from "./work";

const COUNT = 50;
/** Columns that are shown where none were named. */
const FIRST = 10;

export class TableRoom implements Room {
  private readonly columns = h("textarea", { rows: 3, spellcheck: "false", "aria-label": "Columns, one a line" });
  private readonly cut = h("input", { spellcheck: "false", placeholder: "nMuon > 1" });
  private readonly from = h("input", { type: "number", min: 0, value: 0 });
  private readonly work = new Work();
  private readonly table = h("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": "Entries" });
  private readonly where = h("p", { class: "where" });
  readonly element: HTMLElement;
  private shown: Table | null = null;
  private before: number[] = [];

  constructor(private readonly app: App) {
    const form = h(
      "form",
      { class: "panel", "aria-label": "What the table shows" },
      labelled("Columns, one a line", this.columns),
      labelled("Cut", this.cut),
      labelled("From entry", this.from),
      h("button", { type: "submit", class: "main" }, "Show"),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.before = [];
      this.app.go({ room: "table", columns: this.columns.value.trim(), cut: this.cut.value.trim(), from: this.from.value });
    });
    const tools = h(
      "div",
      { class: "tools" },
      button("Previous", () => this.turn(this.before.pop() ?? 0)),
      button("Next", () => {
        if (!this.shown || this.shown.next >= this.shown.total) return;
        this.before.push(Number(this.app.view.from || 0));
        this.turn(this.shown.next);
      }),
      button("CSV", () => this.shown && download(new Blob([csv(this.shown)], { type: "text/csv" }), "entries.csv")),
      button("Copy link", () => void copy(location.href, "the link")),
      button("Copy Python", () => {
        const view = this.app.view;
        const words = python.table(this.app.name(view.file), view, this.names(), Number(view.from || 0), this.shown?.next ?? 0);
        void copy(words, "the lines of Python");
      }),
    );
    this.element = h("section", { "aria-label": "Table" }, form, this.work.element, this.where, tools, this.table);
  }

  show(view: View): void {
    this.columns.value = view.columns;
    this.cut.value = view.cut;
    this.from.value = view.from || "0";
    if (view.path) void this.load(view);
    else this.where.textContent = "Choose a tree.";
  }

  private names(): string[] {
    return this.columns.value.split("\n").map((name) => name.trim()).filter(Boolean);
  }

  private turn(from: number): void {
    this.app.go({ room: "table", from: String(from) });
  }

  private async load(view: View): Promise<void> {
    if (!view.columns) {
      const level = await ask<{ expressions: string[] }>("list", { file: view.file, path: view.path, count: 200 }).catch(() => null);
      const names = level?.expressions.filter(Boolean).slice(0, FIRST) ?? [];
      if (names.length === 0) {
        const found = await ask<Found>("search", { file: view.file, path: view.path, text: "." }).catch(() => null);
        names.push(...(found?.expressions.slice(0, FIRST) ?? []));
      }
      this.columns.value = names.join("\n");
    }
    const { file, path, cut, from } = view;
    const params = { file, path, cut, from, count: COUNT, columns: this.columns.value };
    const answer = await this.work.run<Table>("table", params);
    if (!answer) return;
    this.app.state(file, answer.state);
    this.shown = answer;
    this.paint(answer);
  }

  private paint(found: Table): void {
    const head = h("tr", {}, h("th", { scope: "col" }, "entry"));
    found.names.forEach((name, column) => {
      const title = found.failures[column] ?? found.types[column] ?? "";
      head.append(h("th", { scope: "col", title }, name));
    });
    const body = found.entries.map((entry, row) => {
      const line = h("tr", {}, h("th", { scope: "row" }, String(entry)));
      found.columns.forEach((column, place) => {
        const failure = found.failures[place];
        const words = failure ? "—" : text(column[row]);
        line.append(h("td", { title: failure ?? (words.length > 40 ? words : null) }, words));
      });
      return line;
    });
    this.table.replaceChildren(h("table", {}, h("thead", {}, head), h("tbody", {}, ...body)));
    const failed = found.names.filter((_, column) => found.failures[column]);
    const [first, last] = [found.entries[0], found.entries[found.entries.length - 1]];
    const words = first === undefined ? `none of ${found.total} entries` : `entries ${first} to ${last} of ${found.total}`;
    this.where.textContent = failed.length
      ? `${words}; not shown: ${failed.map((name) => `${name} (${found.failures[found.names.indexOf(name)]})`).join(", ")}`
      : words;
    say(this.where.textContent);
  }
}

/** A value as its cell shows it. */
function text(value: unknown): string {
  if (Array.isArray(value)) {
    const last = value[value.length - 1] as { count?: number } | undefined;
    const cut = last !== null && typeof last === "object" && "count" in last;
    const items = (cut ? value.slice(0, -1) : value).map(text).join(", ");
    return cut ? `[${items}, … ${last?.count} items]` : `[${items}]`;
  }
  if (value === null || value === undefined) return "";
  if (typeof value === "object") {
    return `{${Object.entries(value).map(([name, inner]) => `${name}: ${text(inner)}`).join(", ")}}`;
  }
  return String(value);
}

function csv(found: Table): string {
  const quoted = (words: string): string => (/[",\n]/.test(words) ? `"${words.replaceAll('"', '""')}"` : words);
  const lines = [["entry", ...found.names]];
  found.entries.forEach((entry, row) => {
    lines.push([String(entry), ...found.columns.map((column) => text(column[row]))]);
  });
  return lines.map((line) => line.map(quoted).join(",")).join("\n") + "\n";
}
