// Three axes: boxes in space, which the mouse and the arrow keys turn.

import { s } from "./dom";
import { box, type Grid, type Ink, line, type Look, type Plot, scaled, text } from "./paper";
import { shade, short } from "./scale";

/** The most boxes along an axis; bins beyond are joined. */
const MOST_BOXES = 24;

interface Sums {
  /** How many boxes each axis has. */
  counts: number[];
  /** Place along each axis, and the sum of what is joined there. */
  boxes: [number, number, number, number][];
}

/** Sums of what was drawn last: it is turned without adding up its bins again. */
const known = new WeakMap<object, Sums>();

function joined(grid: Grid): Sums {
  const found = known.get(grid.of);
  if (found) return found;
  const bins = grid.axes.map((axis) => axis.bins);
  const joins = bins.map((count) => Math.ceil(count / MOST_BOXES));
  const counts = bins.map((count, axis) => Math.ceil(count / (joins[axis] ?? 1)));
  const [nx = 1, ny = 1, nz = 1] = counts;
  const [jx = 1, jy = 1, jz = 1] = joins;
  const sums = new Float64Array(nx * ny * nz);
  const numbers = new Uint32Array(nx * ny * nz);
  const at = [0, 0, 0];
  for (let k = 0; k < (bins[2] ?? 0); k += 1) {
    for (let j = 0; j < (bins[1] ?? 0); j += 1) {
      for (let i = 0; i < (bins[0] ?? 0); i += 1) {
        [at[0], at[1], at[2]] = [i, j, k];
        const value = grid.value(at);
        if (Number.isFinite(value)) {
          const place = Math.floor(i / jx) + nx * (Math.floor(j / jy) + ny * Math.floor(k / jz));
          sums[place] = (sums[place] ?? 0) + value;
          numbers[place] = (numbers[place] ?? 0) + 1;
        }
      }
    }
  }
  const boxes: Sums["boxes"] = [];
  sums.forEach((sum, place) => {
    const value = scaled(sum, numbers[place] ?? 0, jx * jy * jz, grid.isMean);
    if (value) boxes.push([place % nx, Math.floor(place / nx) % ny, Math.floor(place / nx / ny), value]);
  });
  const made = { counts, boxes };
  known.set(grid.of, made);
  return made;
}

/** A box for each bin, the larger the more it holds, seen from the side; those below zero are red. */
export function boxes(svg: SVGElement, grid: Grid, look: Look, ink: Ink): Plot {
  const [turn, tilt] = [(look.turn * Math.PI) / 180, (look.tilt * Math.PI) / 180];
  const size = Math.min(look.width * 0.5, look.height * 0.55);
  type Place = [number, number, number];
  const place = (a: number, b: number, c: number): Place => {
    const [i, j, k] = [a - 0.5, b - 0.5, c - 0.5];
    const [right, deep] = [i * Math.cos(turn) - j * Math.sin(turn), i * Math.sin(turn) + j * Math.cos(turn)];
    const down = deep * Math.sin(tilt) - k * Math.cos(tilt);
    return [look.width / 2 + right * size, look.height * 0.54 + down * size, deep * Math.cos(tilt) + k * Math.sin(tilt)];
  };
  const flat = ([x, y]: Place): [number, number] => [x, y];
  const edge = (from: Place, to: Place): string => line([flat(place(...from)), flat(place(...to))]);
  const frame: string[] = [];
  for (const a of [0, 1]) {
    for (const b of [0, 1]) {
      frame.push(edge([0, a, b], [1, a, b]), edge([a, 0, b], [a, 1, b]), edge([a, b, 0], [a, b, 1]));
    }
  }
  svg.append(s("path", { d: frame.join(""), stroke: ink.faint, fill: "none" }));
  const { counts, boxes: all } = joined(grid);
  const most = all.reduce((largest, [, , , sum]) => Math.max(largest, Math.abs(sum)), 0);
  const found = all.map(([i, j, k, sum]) => {
    const [a, b, c] = [i, j, k].map((bin, axis) => (bin + 0.5) / (counts[axis] ?? 1));
    const share = look.log.includes("z") ? Math.log1p(Math.abs(sum)) / Math.log1p(most) : Math.abs(sum) / most;
    return { at: place(a ?? 0, b ?? 0, c ?? 0), share, isLess: sum < 0 };
  });
  found.sort((one, other) => one.at[2] - other.at[2]);
  const group = s("g", { class: "boxes" });
  for (const { at, share, isLess } of found) {
    const wide = Math.max(1, (Math.cbrt(share) * size) / Math.max(...counts));
    group.append(
      s("rect", {
        x: (at[0] - wide / 2).toFixed(1), y: (at[1] - wide / 2).toFixed(1), width: wide.toFixed(1),
        height: wide.toFixed(1), fill: shade(share, look.dark, isLess ? 8 : 213), stroke: ink.edge, "stroke-width": 0.4,
      }),
    );
  }
  svg.append(group);
  // Names of axes stand at the edges that are nearest, or furthest to the left.
  const near = (one: Place, other: Place): Place => (place(...one)[1] > place(...other)[1] ? one : other);
  const uprights: Place[] = [[0, 0, 0.5], [1, 0, 0.5], [0, 1, 0.5], [1, 1, 0.5]];
  const left = uprights.reduce((best, one) => (place(...one)[0] < place(...best)[0] ? one : best));
  const ends = [near([0.5, 0, 0], [0.5, 1, 0]), near([0, 0.5, 0], [1, 0.5, 0]), left];
  grid.axes.forEach((axis, number) => {
    const [px, py] = place(...(ends[number] as Place));
    // Of a function the bins are around its points.
    const half = grid.isFull ? (axis.max - axis.min) / axis.bins / 2 : 0;
    const range = `${axis.title} ${short(axis.min + half)} to ${short(axis.max - half)}`;
    const [x, y, anchor] = number === 2 ? [Math.max(px - 10, 150), py, "end"] : [px, py + 24, "middle"];
    svg.append(text(x, y, `${"xyz"[number]}: ${range}`, ink, { "text-anchor": anchor }));
  });
  box(svg, grid.lines, look, ink);
  return { svg, x: null, y: null, words: grid.words };
}

/** From where three axes are seen: dragging and the arrow keys turn what a figure shows. */
export class Turn {
  turn = 30;
  tilt = 30;
  private from: { x: number; y: number; turn: number; tilt: number } | null = null;

  constructor(
    private readonly figure: HTMLElement,
    private readonly paint: () => void,
  ) {
    figure.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !this.isOn) return;
      this.from = { x: event.clientX, y: event.clientY, turn: this.turn, tilt: this.tilt };
      figure.setPointerCapture(event.pointerId);
      figure.focus();
      event.preventDefault();
    });
    figure.addEventListener("pointermove", (event) => {
      const { from } = this;
      if (from) this.to(from.turn - (event.clientX - from.x) / 2, from.tilt + (event.clientY - from.y) / 2);
    });
    for (const end of ["pointerup", "pointercancel"]) figure.addEventListener(end, () => (this.from = null));
    figure.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [5, 0], ArrowRight: [-5, 0], ArrowUp: [0, -5], ArrowDown: [0, 5] }[event.key];
      if (!step || !this.isOn) return;
      this.to(this.turn + (step[0] ?? 0), this.tilt + (step[1] ?? 0));
      event.preventDefault();
    });
  }

  private get isOn(): boolean {
    return this.figure.tabIndex === 0;
  }

  private to(turn: number, tilt: number): void {
    this.turn = ((turn % 360) + 360) % 360;
    this.tilt = Math.max(-90, Math.min(90, tilt));
    this.paint();
  }

  /** Whether what the figure shows can be turned. */
  set(isSolid: boolean): void {
    this.figure.tabIndex = isSolid ? 0 : -1;
    this.figure.classList.toggle("solid", isSolid);
    if (isSolid) this.figure.setAttribute("aria-label", "Three axes: drag, or press arrow keys, to turn them");
    else this.figure.removeAttribute("aria-label");
  }
}
