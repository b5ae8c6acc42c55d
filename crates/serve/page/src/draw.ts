// The room of histograms: what is drawn, with which cut, how; and the picture.

import { type Drawn, type Run, route } from "./api";
import type { App, Room } from "./app";
import { completes } from "./complete";
import { button, h, labelled, say } from "./dom";
import { toCsv, toPng, toSvg } from "./export";
import { edges, figures, type Plot } from "./paper";
import { plot } from "./plot";
import { drawing } from "./python";
import { Turn } from "./solid";
import type { View } from "./view";
import { Work } from "./work";

type Field = "x" | "y" | "z" | "cut" | "weight" | "bins" | "from" | "to";

interface Answer {
  state: number;
  object: Drawn;
  run?: Run;
}

export class DrawRoom implements Room {
  private readonly fields = {} as Record<Field, HTMLInputElement>;
  private readonly checks = {} as Record<"logx" | "logy" | "logz" | "profile" | "record", HTMLInputElement>;
  private readonly work = new Work();
  private readonly figure = h("figure", { class: "plot" });
  private readonly empty = h(
    "p",
    { class: "hint" },
    "Choose a branch with a double click or Enter, or write an expression. ",
    "The keys y and z put the chosen branch on the other axes.",
  );
  private readonly turn = new Turn(this.figure, () => this.paint());
  private readonly python = h("pre", { class: "python", tabindex: 0, "aria-label": "The same in Python" });
  private readonly tools: HTMLElement;
  readonly element: HTMLElement;
  private drawn: Drawn | null = null;
  private shown = "";
  private plot: Plot | null = null;

  constructor(private readonly app: App) {
    const form = h("form", { class: "panel draw", "aria-label": "What is drawn" });
    const names: [Field, string, string][] = [
      ["x", "x", "an expression"],
      ["y", "y", "for two axes"],
      ["z", "z", "for three"],
      ["cut", "Cut", "nMuon > 1"],
      ["weight", "Weight", ""],
    ];
    const where = (): { file: string; path: string } => this.app.view;
    for (const [name, words, hint] of names) {
      const input = h("input", { name, placeholder: hint, id: `draw-${name}` });
      this.fields[name] = input;
      form.append(h("div", { class: `field ${name}` }, h("label", { for: `draw-${name}` }, words), completes(input, where)));
    }
    const bins = h("input", { name: "bins", placeholder: "bins, from, to, ...", title: "bins, from, to for x, then y, then z" });
    const from = h("input", { name: "from", type: "number", min: 0, placeholder: "first" });
    const to = h("input", { name: "to", type: "number", min: 0, placeholder: "last" });
    Object.assign(this.fields, { bins, from, to });
    const options = h("div", { class: "options" }, labelled("Bins", bins), labelled("From entry", from), labelled("to", to));
    const checks: [keyof DrawRoom["checks"], string][] = [
      ["logx", "log x"], ["logy", "log y"], ["logz", "log z"], ["profile", "Profile"], ["record", "Record reads"],
    ];
    for (const [name, words] of checks) {
      const check = h("input", { type: "checkbox", name });
      this.checks[name] = check;
      options.append(h("label", { class: "check" }, check, h("span", {}, words)));
      check.addEventListener("change", () => {
        if (name.startsWith("log")) {
          this.app.keep({ log: this.log() });
          this.paint();
        } else if (name === "profile") this.go();
      });
    }
    const draw = h("button", { type: "submit", class: "main" }, "Draw");
    const clear = button("Whole range", () => {
      this.fields.bins.value = "";
      this.go();
    });
    form.append(options, h("div", { class: "buttons" }, draw, clear));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.go();
    });
    const name = (): string => this.app.view.x.replace(/\W+/g, "_").slice(0, 60) || "histogram";
    const out = (of: (drawn: Drawn) => void) => () => this.drawn && of(this.drawn);
    this.tools = h(
      "div",
      { class: "tools", hidden: true },
      button("SVG", out((drawn) => toSvg(drawn, this.log(), this.turn, name()))),
      button("PNG", out((drawn) => void toPng(drawn, this.log(), this.turn, name()))),
      button("CSV", out((drawn) => toCsv(drawn, name()))),
      h("a", { class: "button save", href: "#", download: "histogram.root" }, "ROOT"),
      button("Copy link", () => void copy(location.href, "the link")),
      button("Copy Python", () => void copy(this.python.textContent ?? "", "the lines of Python")),
    );
    const lines = h("details", { class: "lines" }, h("summary", {}, "The same in Python"), this.python);
    this.element = h("section", { "aria-label": "Histogram" }, form, this.work.element, this.empty, this.figure, this.tools, lines);
  }

  show(view: View): void {
    for (const [name, input] of Object.entries(this.fields)) input.value = view[name as Field];
    this.checks.profile.checked = view.profile !== "";
    for (const letter of ["x", "y", "z"] as const) this.checks[`log${letter}`].checked = view.log.includes(letter);
    const { file, path, x, y, z, cut, weight, bins, from, to, profile } = view;
    const wanted = JSON.stringify([file, path, x, y, z, cut, weight, bins, from, to, profile]);
    this.python.textContent = x ? drawing(this.app.name(file), view) : "";
    if (!x || !path) {
      this.drawn = null;
      this.shown = "";
      this.paint();
    } else if (wanted === this.shown) this.paint();
    else void this.draw(view, wanted);
  }

  restyle(): void {
    this.paint();
  }

  private log(): string {
    return (["x", "y", "z"] as const).filter((letter) => this.checks[`log${letter}`].checked).join("");
  }

  /** Draws what the fields say. */
  private go(): void {
    const some: Partial<View> = { room: "draw", log: this.log(), profile: this.checks.profile.checked ? "1" : "" };
    for (const [name, input] of Object.entries(this.fields)) some[name as Field] = input.value.trim();
    if (!this.app.view.path) {
      this.work.fail("choose a tree first: what is drawn is of its entries");
      return;
    }
    this.shown = "";
    this.app.go(some);
  }

  private async draw(view: View, wanted: string): Promise<void> {
    const { file, path, x, y, z, cut, weight, bins, from, to, profile } = view;
    const params = { file, path, x, y, z, cut, weight, bins, from, to, profile };
    this.shown = wanted;
    const answer = await this.work.run<Answer>("draw", { ...params, record: this.checks.record.checked });
    if (!answer) {
      // What was drawn before is of another view.
      if (this.shown === wanted) {
        this.shown = "";
        this.drawn = null;
        this.paint();
      }
      return;
    }
    this.app.state(file, answer.state);
    this.drawn = answer.object;
    if (answer.run) this.app.runs.set(`${file}\n${path}`, answer.run);
    const save = this.tools.querySelector<HTMLAnchorElement>(".save");
    if (save) save.href = route("save", { ...params, name: "h" });
    this.paint();
    if (answer.object.kind === "histogram") {
      say(`drawn: ${figures(answer.object).map((pair) => pair.join(" ")).join(", ")}`);
    }
  }

  private paint(): void {
    const drawn = this.drawn;
    this.empty.hidden = drawn !== null;
    this.tools.hidden = drawn === null;
    if (!drawn) {
      this.figure.replaceChildren();
      return;
    }
    const width = Math.max(420, Math.min(1100, this.element.clientWidth - 24));
    // As high as there is room for below the form.
    const room = (this.element.parentElement?.clientHeight ?? 0) - this.figure.offsetTop + (this.element.offsetTop || 0) - 76;
    const height = Math.max(320, Math.min(620, width * 0.62, room));
    const look = { dark: this.app.dark(), log: this.log(), turn: this.turn.turn, tilt: this.turn.tilt, width, height };
    this.plot = plot(drawn, look);
    this.turn.set(drawn.kind === "histogram" && drawn.axes.length === 3);
    this.figure.replaceChildren(this.plot.svg);
    if (drawn.kind === "histogram") this.drags(this.plot, drawn.axes.map((axis) => edges(axis).length - 1));
  }

  /** A range that is dragged over the picture is drawn anew, with as many bins. */
  private drags(shown: Plot, counts: number[]): void {
    const { svg, x, y } = shown;
    if (!x) return;
    const mark = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    mark.setAttribute("fill", "#4a90d9");
    mark.setAttribute("fill-opacity", "0.25");
    let begun: [number, number] | null = null;
    const place = (event: PointerEvent): [number, number] => {
      const box = svg.getBoundingClientRect();
      const across = ((event.clientX - box.left) / box.width) * Number(svg.getAttribute("width"));
      const down = ((event.clientY - box.top) / box.height) * Number(svg.getAttribute("height"));
      const bounded = (value: number, a: number, b: number): number => Math.max(Math.min(a, b), Math.min(Math.max(a, b), value));
      return [bounded(across, x.start, x.end), y ? bounded(down, y.start, y.end) : down];
    };
    svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      begun = place(event);
      svg.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    svg.addEventListener("pointermove", (event) => {
      if (!begun) return;
      const [to, down] = place(event);
      const top = y ? Math.min(begun[1], down) : 38;
      const high = y ? Math.abs(down - begun[1]) : Number(svg.getAttribute("height")) - 94;
      for (const [name, value] of [["x", Math.min(begun[0], to)], ["y", top], ["width", Math.abs(to - begun[0])], ["height", high]] as const) {
        mark.setAttribute(name, String(value));
      }
      svg.append(mark);
    });
    svg.addEventListener("pointerup", (event) => {
      if (!begun) return;
      const [from, to] = [begun, place(event)];
      begun = null;
      mark.remove();
      if (Math.abs(to[0] - from[0]) < 6) return;
      const range = (scale: { value(point: number): number }, a: number, b: number): string => {
        const [low, high] = [scale.value(a), scale.value(b)].sort((one, other) => one - other);
        return `${Number((low ?? 0).toPrecision(6))},${Number((high ?? 0).toPrecision(6))}`;
      };
      const bins = [`${counts[0]},${range(x, from[0], to[0])}`];
      if (y) bins.push(`${counts[1]},${range(y, from[1], to[1])}`);
      this.fields.bins.value = bins.join(",");
      this.go();
    });
  }
}

/** Puts text where the user can paste it from. */
export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} is in the clipboard`);
  } catch {
    say(`the browser refuses the clipboard; ${what}: ${text}`);
  }
}
