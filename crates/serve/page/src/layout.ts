// The layout room: where baskets are in the file, clusters, compression of branches, what the doctor says, and how a
// recorded run read it. A second layout can stand beside the first.

import { type Layout, num, route, type Run } from "./api";
import type { App, Room } from "./app";
import { copy } from "./draw";
import { button, bytes, h, labelled, say } from "./dom";
import { colour, Scale, short } from "./scale";
import type { View } from "./view";
import { Work } from "./work";

const LEFT = 84;
const TOP = 16;
const BOTTOM = 36;
const RIGHT = 12;

/** The canvas of one layout. */
class Picture {
  private readonly canvas = h("canvas", {
    tabindex: 0, role: "img",
    "aria-description": "Arrow keys move, plus and minus zoom, 0 shows all",
  });
  private readonly told = h("p", { class: "where" });
  private readonly caption = h("figcaption", {});
  readonly element = h("figure", { class: "layout" }, this.caption, this.canvas, this.told);
  private x = new Scale(0, 1, LEFT, 600);
  private y = new Scale(0, 1, TOP, 400);
  private begun: [number, number] | null = null;
  private to: [number, number] | null = null;
  marked: number | null = null;

  constructor(
    private readonly app: App,
    readonly layout: Layout,
    private readonly run: Run | null,
    private window: [number, number, number, number],
    name: string,
    private readonly zoomed: ((window: [number, number, number, number] | null) => void) | null,
  ) {
    const { tree, entries, num_baskets, num_branches, num_clusters } = layout;
    const words = `${name} ${tree}: ${entries} entries, ${num_clusters} clusters, ${num_baskets} baskets of ${num_branches} branches`;
    this.caption.textContent = words;
    const of = run ? ` A run with ${run.num_reads} reads is drawn over it.` : "";
    this.canvas.setAttribute("aria-label", `Layout of ${words}.${of}`);
    this.canvas.addEventListener("pointermove", (event) => this.move(event));
    this.canvas.addEventListener("pointerdown", (event) => {
      this.begun = this.place(event);
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointerup", (event) => this.drop(event));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  private place(event: PointerEvent): [number, number] {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  private move(event: PointerEvent): void {
    const [px, py] = this.place(event);
    if (this.begun) {
      this.to = [px, py];
      this.paint();
      return;
    }
    const [entry, offset] = [this.x.value(px), this.y.value(py)];
    const { marks, branches } = this.layout;
    const slack = Math.abs(this.y.value(2) - this.y.value(0));
    let best = -1;
    for (let at = 0; at < marks.offset.length; at += 1) {
      const [from, length] = [marks.offset[at] ?? 0, marks.bytes[at] ?? 0];
      const isInside = entry >= (marks.entry[at] ?? 0) && entry < (marks.entry_end[at] ?? 0);
      if (isInside && offset >= from - slack && offset <= from + length + slack) best = at;
    }
    if (best < 0) {
      this.told.textContent = `entry ${Math.round(entry)}, offset ${Math.round(offset)}`;
      return;
    }
    const name = branches.path[marks.branch[best] ?? 0] ?? "a branch";
    const span = `entries ${marks.entry[best]} to ${(marks.entry_end[best] ?? 1) - 1}`;
    this.told.textContent = `${name}: ${span}, ${bytes(marks.bytes[best] ?? 0)} at ${marks.offset[best]}`;
  }

  private drop(event: PointerEvent): void {
    const [from, to] = [this.begun, this.place(event)];
    this.begun = null;
    this.to = null;
    if (from && Math.abs(from[0] - to[0]) > 6 && Math.abs(from[1] - to[1]) > 6) {
      const sorted = (scale: Scale, a: number, b: number): [number, number] => {
        const [low, high] = [scale.value(Math.min(a, b)), scale.value(Math.max(a, b))];
        return [Math.max(0, Math.floor(low)), Math.ceil(high)];
      };
      this.zoomed?.([...sorted(this.x, from[0], to[0]), ...sorted(this.y, from[1], to[1])]);
    } else this.paint();
  }

  private key(event: KeyboardEvent): void {
    const [a, b, c, d] = this.window;
    const [wide, high] = [b - a, d - c];
    const within = (low: number, size: number, all: number): [number, number] => {
      const held = Math.min(size, all);
      const from = Math.max(0, Math.min(low, all - held));
      return [Math.floor(from), Math.ceil(from + held)];
    };
    const { entries, file_bytes } = this.layout;
    const to = (x: number, w: number, y: number, t: number): void => {
      this.zoomed?.([...within(x, w, entries), ...within(y, t, file_bytes)]);
    };
    switch (event.key) {
      case "ArrowLeft": to(a - wide / 4, wide, c, high); break;
      case "ArrowRight": to(a + wide / 4, wide, c, high); break;
      case "ArrowUp": to(a, wide, c - high / 4, high); break;
      case "ArrowDown": to(a, wide, c + high / 4, high); break;
      case "+": to(a + wide / 4, wide / 2, c + high / 4, high / 2); break;
      case "-": to(a - wide / 2, wide * 2, c - high / 2, high * 2); break;
      case "0": this.zoomed?.(null); break;
      default: return;
    }
    event.preventDefault();
  }

  paint(): void {
    const dark = this.app.dark();
    const [ink, paper, faint] = dark ? ["#e4e7ec", "#15181d", "#3b424d"] : ["#1a1a1a", "#ffffff", "#ccd1d8"];
    const width = Math.max(300, this.element.clientWidth);
    const height = Math.max(320, Math.min(620, width * 0.75));
    const dense = window.devicePixelRatio || 1;
    this.canvas.width = width * dense;
    this.canvas.height = height * dense;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const pen = this.canvas.getContext("2d");
    if (!pen) return;
    pen.scale(dense, dense);
    pen.fillStyle = paper;
    pen.fillRect(0, 0, width, height);
    const [a, b, c, d] = this.window;
    this.x = new Scale(a, Math.max(b, a + 1), LEFT, width - RIGHT);
    this.y = new Scale(c, Math.max(d, c + 1), TOP, height - BOTTOM);
    pen.save();
    pen.beginPath();
    pen.rect(LEFT, TOP, width - LEFT - RIGHT, height - TOP - BOTTOM);
    pen.clip();
    const { clusters, marks } = this.layout;
    pen.fillStyle = faint;
    const inside = clusters.entry.filter((entry) => entry > a && entry < b);
    if (inside.length <= 400) for (const entry of inside) pen.fillRect(Math.round(this.x.at(entry)), TOP, 1, height);
    for (let at = 0; at < marks.offset.length; at += 1) {
      const branch = marks.branch[at] ?? 0;
      const left = this.x.at(marks.entry[at] ?? 0);
      const top = this.y.at(marks.offset[at] ?? 0);
      const wide = Math.max(1, this.x.at(marks.entry_end[at] ?? 0) - left);
      const high = Math.max(1, this.y.at((marks.offset[at] ?? 0) + (marks.bytes[at] ?? 0)) - top);
      pen.globalAlpha = this.marked === null || this.marked === branch ? 1 : 0.12;
      pen.fillStyle = colour(branch);
      pen.fillRect(left, top, wide, high);
    }
    pen.globalAlpha = 1;
    if (this.run) this.reads(pen, ink);
    pen.restore();
    pen.strokeStyle = ink;
    pen.strokeRect(LEFT, TOP, width - LEFT - RIGHT, height - TOP - BOTTOM);
    pen.fillStyle = ink;
    pen.font = "12px sans-serif";
    pen.textAlign = "center";
    for (const tick of this.x.ticks()) pen.fillText(short(tick, 9), this.x.at(tick), height - BOTTOM + 15);
    pen.fillText("entry", (LEFT + width - RIGHT) / 2, height - 5);
    pen.textAlign = "right";
    for (const tick of this.y.ticks(8)) pen.fillText(bytes(tick), LEFT - 6, this.y.at(tick) + 4);
    if (this.begun && this.to) {
      pen.fillStyle = "rgb(74 144 217 / 0.3)";
      pen.fillRect(this.begun[0], this.begun[1], this.to[0] - this.begun[0], this.to[1] - this.begun[1]);
    }
  }

  /** Ranges that a run read, as outlines, and a line from each to the next. */
  private reads(pen: CanvasRenderingContext2D, ink: string): void {
    const { entry, offset, offset_end } = (this.run as Run).reads;
    pen.strokeStyle = "#e23b3b";
    pen.lineWidth = 1;
    pen.beginPath();
    let last = 0;
    offset.forEach((from, place) => {
      last = entry[place] ?? last;
      const [x, y] = [this.x.at(last), this.y.at((from + (offset_end[place] ?? from)) / 2)];
      if (place) pen.lineTo(x, y);
      else pen.moveTo(x, y);
    });
    pen.stroke();
    pen.strokeStyle = ink;
    offset.forEach((from, place) => {
      last = entry[place] ?? last;
      const high = Math.max(2, this.y.at(offset_end[place] ?? from) - this.y.at(from));
      pen.strokeRect(this.x.at(last) - 2, this.y.at(from), 5, high);
    });
  }
}

interface Shown {
  view: View;
  layout: Layout;
  run: Run | null;
  picture: Picture;
}

export class LayoutRoom implements Room {
  private readonly work = new Work();
  private readonly pictures = h("div", { class: "pictures" });
  private readonly about = h("div", { class: "about" });
  private readonly byte = h("input", { type: "number", min: 0, placeholder: "offset" });
  private readonly runs = h("select", {});
  private readonly save = h("a", { class: "button", href: "#", download: "layout.svg" }, "SVG");
  private readonly tools: HTMLElement;
  readonly element: HTMLElement;
  private now: Shown | null = null;
  private pinned: Shown | null = null;

  constructor(private readonly app: App) {
    const pin = button("Keep beside", () => {
      this.pinned = this.pinned ? null : this.now;
      pin.setAttribute("aria-pressed", String(this.pinned !== null));
      say(this.pinned ? "kept: open the layout of another tree, and both are shown" : "one layout is shown");
      this.lay();
    }, { "aria-pressed": "false" });
    this.runs.addEventListener("change", () => this.app.go({ room: "layout", run: this.runs.value }));
    this.byte.addEventListener("change", () => this.toByte());
    this.tools = h(
      "div",
      { class: "tools panel" },
      button("All", () => this.app.go({ room: "layout", zoom: "" })),
      labelled("Zoom to byte", this.byte),
      labelled("Reads of", this.runs),
      pin,
      this.save,
      button("Copy link", () => void copy(location.href, "the link")),
    );
    this.element = h("section", { "aria-label": "Layout" }, this.tools, this.work.element, this.pictures, this.about);
  }

  show(view: View): void {
    if (!view.path) {
      this.about.replaceChildren(h("p", { class: "hint" }, "Choose a tree: its baskets are shown here."));
      this.pictures.replaceChildren();
      return;
    }
    void this.load(view);
  }

  restyle(): void {
    this.now?.picture.paint();
    this.pinned?.picture.paint();
  }

  /** Shows some kilobytes around a byte of the file. */
  private toByte(): void {
    if (!this.now || this.byte.value === "") return;
    const [at, room] = [Number(this.byte.value), 20_000];
    const [from, to] = [Math.max(0, at - room), Math.min(this.now.layout.file_bytes, at + room)];
    this.app.go({ room: "layout", zoom: `0,${this.now.layout.entries},${from},${to}` });
  }

  private async load(view: View): Promise<void> {
    const [entry, entry_end, offset, offset_end] = view.zoom ? view.zoom.split(",") : [];
    const { file, path } = view;
    this.save.href = route("layout.svg", { file, path });
    const layout = await this.work.run<Layout>("layout", { file, path, entry, entry_end, offset, offset_end });
    if (!layout) return;
    this.app.state(file, layout.state);
    const run = await this.read(view);
    const zoom = view.zoom.split(",").map(Number);
    const window: [number, number, number, number] =
      zoom.length === 4 && zoom.every(Number.isFinite)
        ? (zoom as [number, number, number, number])
        : [0, layout.entries, 0, layout.file_bytes];
    const zoomed = (to: [number, number, number, number] | null): void =>
      this.app.go({ room: "layout", zoom: to ? to.join(",") : "" });
    const name = this.app.name(file).split("/").pop() ?? "";
    this.now = { view, layout, run, picture: new Picture(this.app, layout, run, window, name, zoomed) };
    this.lay();
    say(`${layout.num_baskets} baskets of ${layout.num_branches} branches; findings: ${layout.doctor.issues.length}`);
  }

  /** The run that is drawn over it: one of this page, or one that a file holds. */
  private async read(view: View): Promise<Run | null> {
    const choices = [h("option", { value: "" }, "no run")];
    for (const key of this.app.runs.keys()) {
      const [file, path] = key.split("\n");
      choices.push(h("option", { value: key }, `${this.app.name(file ?? "").split("/").pop()} ${path}, recorded here`));
    }
    if (view.run && !this.app.runs.has(view.run)) {
      choices.push(h("option", { value: view.run }, view.run.split("\n").pop() ?? view.run));
    }
    this.runs.replaceChildren(...choices);
    this.runs.value = view.run;
    if (!view.run) return null;
    const known = this.app.runs.get(view.run);
    if (known) return known;
    const [file, path] = view.run.split("\n");
    const saved = await this.work.run<{ run: Run }>("run", { file, path });
    return saved?.run ?? null;
  }

  private lay(): void {
    const shown = [this.pinned, this.now].filter((one): one is Shown => one !== null);
    const two = this.pinned && this.now && this.pinned !== this.now;
    const each = two ? shown : this.now ? [this.now] : [];
    this.pictures.classList.toggle("two", each.length > 1);
    this.pictures.replaceChildren(...each.map((one) => one.picture.element));
    for (const one of each) one.picture.paint();
    this.about.replaceChildren(...each.flatMap((one) => [this.doctor(one), ...(one.run ? [this.figures(one.run)] : [])]));
    if (this.now) this.about.append(this.branches(this.now));
  }

  private doctor({ view, layout }: Shown): HTMLElement {
    const name = this.app.name(view.file).split("/").pop();
    const { issues, options, readings } = layout.doctor;
    const list = issues.map(({ message }) => h("li", {}, message));
    const costs = readings.map(({ reading, requests, seconds }) =>
      h("tr", {}, h("th", { scope: "row" }, reading), h("td", {}, `${requests[0]}`), h("td", {}, `${requests[1]}`),
        h("td", {}, `${short(seconds[0], 3)} s`), h("td", {}, `${short(seconds[1], 3)} s`)),
    );
    return h(
      "section",
      { class: "doctor", "aria-label": `Findings about ${name} ${layout.tree}` },
      h("h2", {}, `${name} ${layout.tree}: ${bytes(layout.zip_bytes)}, ${bytes(layout.tot_bytes)} before compression`),
      list.length ? h("ul", {}, ...list) : h("p", {}, "The doctor finds nothing wrong with the layout."),
      options.length ? h("p", {}, "sapwood rewrite ", h("code", {}, options.join(" "))) : null,
      h("table", {}, h("caption", {}, "What the doctor expects readings to cost: as it is, and well laid out"),
        h("thead", {}, h("tr", {}, ...["reading", "requests", "well laid out", "time", "well laid out"].map((words) =>
          h("th", { scope: "col" }, words)))),
        h("tbody", {}, ...costs)),
    );
  }

  private figures(run: Run): HTMLElement {
    const rows = run.figures.map(([name, value, unit]) =>
      h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, `${short(num(value))} ${unit}`)));
    return h("table", { class: "figures" }, h("caption", {}, `The run ${run.title}`), h("tbody", {}, ...rows));
  }

  private branches({ layout, picture }: Shown): HTMLElement {
    const { path, type, baskets, zip_bytes, tot_bytes } = layout.branches;
    const rows = path.slice(0, 300).map((name, rank) => {
      const dot = h("span", { class: "dot", "aria-hidden": "true" });
      dot.style.background = colour(rank);
      const mark = button(name, () => {
        picture.marked = picture.marked === rank ? null : rank;
        picture.paint();
      });
      const [zip, tot] = [zip_bytes[rank] ?? 0, tot_bytes[rank] ?? 0];
      return h("tr", {}, h("th", { scope: "row" }, dot, mark), h("td", {}, type[rank] ?? ""), h("td", {}, String(baskets[rank])),
        h("td", {}, bytes(zip)), h("td", {}, bytes(tot)), h("td", {}, zip ? (tot / zip).toFixed(2) : ""));
    });
    const more = path.length > rows.length ? h("p", {}, `and ${layout.num_branches - rows.length} branches more`) : null;
    const head = ["branch", "type", "baskets", "bytes", "before", "factor"].map((words) => h("th", { scope: "col" }, words));
    return h("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": "Branches" },
      h("table", { class: "branches" }, h("caption", {}, "Branches: a click shows one alone"),
        h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows)), more);
  }
}
