// The room of objects: histograms, graphs, efficiencies and functions are drawn here, everything else by jsroot.

import { ask, type Drawn, type Level, route } from "./api";
import type { App, Room } from "./app";
import { copy } from "./draw";
import { button, h } from "./dom";
import { toCsv, toPng, toSvg } from "./export";
import { Frame } from "./jsroot";
import { plot } from "./plot";
import { Turn } from "./solid";
import * as python from "./python";
import type { View } from "./view";
import { Work } from "./work";

interface Answer {
  state: number;
  class: string;
  name: string;
  title: string;
  object: Drawn | null;
}

export class ObjectRoom implements Room {
  private readonly work = new Work();
  private readonly head = h("h2", {});
  private readonly figure = h("figure", { class: "plot" });
  private readonly turn = new Turn(this.figure, () => this.paint());
  private readonly checks = ["x", "y", "z"].map((letter) => {
    const check = h("input", { type: "checkbox", value: letter, change: () => this.app.keep({ log: this.log() }) });
    check.addEventListener("change", () => this.paint());
    return check;
  });
  private readonly tools: HTMLElement;
  private readonly save = h("a", { class: "button", href: "#", download: "object.root" }, "ROOT");
  private readonly frame = new Frame();
  private readonly table = h("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": "Members", hidden: true });
  readonly element: HTMLElement;
  private drawn: Drawn | null = null;
  private found: Answer | null = null;
  private shown = "";

  constructor(private readonly app: App) {
    const name = (): string => (this.found?.name ?? "object").replace(/\W+/g, "_");
    const out = (of: (drawn: Drawn) => void) => () => this.drawn && of(this.drawn);
    const logs = this.checks.map((check) => h("label", { class: "check" }, check, h("span", {}, `log ${check.value}`)));
    this.tools = h(
      "div",
      { class: "tools", hidden: true },
      h("span", { class: "own" }, ...logs,
        button("SVG", out((drawn) => toSvg(drawn, this.log(), this.turn, name()))),
        button("PNG", out((drawn) => void toPng(drawn, this.log(), this.turn, name()))),
        button("CSV", out((drawn) => toCsv(drawn, name())))),
      this.save,
      button("Draw with jsroot", () => void this.byJsroot()),
      button("Copy link", () => void copy(location.href, "the link")),
      button("Copy Python", () => {
        const view = this.app.view;
        void copy(python.object(this.app.name(view.file), view), "the lines of Python");
      }),
    );
    this.element = h("section", { "aria-label": "Object" }, this.head, this.work.element, this.tools, this.figure, this.frame.element, this.table);
  }

  show(view: View): void {
    for (const check of this.checks) check.checked = view.log.includes(check.value);
    const wanted = `${view.file}\n${view.path}`;
    if (!view.path) this.head.textContent = "Choose an object with a double click or Enter.";
    else if (wanted === this.shown) this.paint();
    else void this.load(view, wanted);
  }

  restyle(): void {
    this.paint();
  }

  private log(): string {
    return this.checks.filter((check) => check.checked).map((check) => check.value).join("");
  }

  private async load(view: View, wanted: string): Promise<void> {
    this.shown = wanted;
    this.drawn = null;
    this.frame.clear();
    this.table.hidden = true;
    this.figure.replaceChildren();
    this.tools.hidden = true;
    this.head.textContent = view.path;
    const answer = await this.work.run<Answer>("object", { file: view.file, path: view.path });
    if (!answer) {
      this.shown = "";
      return;
    }
    this.app.state(view.file, answer.state);
    this.found = answer;
    this.head.textContent = `${answer.name} · ${answer.class}${answer.title ? ` · ${answer.title}` : ""}`;
    this.drawn = answer.object;
    this.save.href = route("save", { file: view.file, path: view.path });
    this.save.download = `${answer.name.replace(/\W+/g, "_") || "object"}.root`;
    this.tools.hidden = false;
    for (const own of this.tools.querySelectorAll<HTMLElement>(".own")) own.hidden = answer.object === null;
    if (answer.object) this.paint();
    else await this.byJsroot();
  }

  private paint(): void {
    if (!this.drawn) return;
    const width = Math.max(420, Math.min(1100, this.element.clientWidth - 24));
    const look = { dark: this.app.dark(), log: this.log(), turn: this.turn.turn, tilt: this.turn.tilt, width, height: Math.max(320, width * 0.6) };
    this.turn.set(isSolid(this.drawn));
    this.figure.replaceChildren(plot(this.drawn, look).svg);
  }

  /** The members of the object, where nothing draws it. */
  private async members(): Promise<void> {
    const { file, path } = this.app.view;
    const level = await ask<Level>("list", { file, path, count: 500 }).catch(() => null);
    if (!level || path !== this.app.view.path) return;
    const rows = level.names.map((name, row) =>
      h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, level.details[row] ?? ""), h("td", {}, level.titles[row] ?? "")));
    const head = ["member", "type", "value"].map((words) => h("th", { scope: "col" }, words));
    this.table.replaceChildren(h("table", {}, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows)));
    this.table.hidden = false;
  }

  private async byJsroot(): Promise<void> {
    this.table.hidden = true;
    const about = await ask<{ frame: string | null }>("about", {});
    if (!about.frame) {
      this.work.fail(
        "this build has no jsroot, which draws objects of this class: with npm, `npm ci && npm run jsroot` in " +
          "crates/serve/page and another build bring it. The members of the object are below, and in the tree.",
      );
      await this.members();
      return;
    }
    const { file, path } = this.app.view;
    try {
      await this.frame.draw(about.frame, { file, name: this.app.name(file), path, dark: this.app.dark() });
    } catch (error) {
      // Another object was chosen meanwhile.
      if (path !== this.app.view.path || file !== this.app.view.file) return;
      this.frame.clear();
      this.work.fail(`jsroot does not draw it: ${error instanceof Error ? error.message : String(error)}. These are its members.`);
      await this.members();
    }
  }
}

/** Whether it has three axes, which can be turned. */
function isSolid(drawn: Drawn): boolean {
  if (drawn.kind === "graph") return false;
  return (drawn.kind === "efficiency" ? drawn.total.axes : drawn.axes).length === 3;
}
