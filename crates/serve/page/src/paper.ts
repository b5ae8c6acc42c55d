// What pictures have in common: their size and colours, axes, the box of figures.

import { type Axis, type Histogram, num } from "./api";
import { s } from "./dom";
import { Scale, short } from "./scale";

export interface Look {
  dark: boolean;
  /** Axes that are logarithmic: letters of x, y, z. */
  log: string;
  /** From where three axes are seen, in degrees: around them, and above them. */
  turn: number;
  tilt: number;
  width: number;
  height: number;
}

export interface Plot {
  svg: SVGElement;
  /** From points to values, where a range can be dragged. */
  x: Scale | null;
  y: Scale | null;
  /** What it shows, in words. */
  words: string;
}

export const LEFT = 78;
export const RIGHT = 24;
export const TOP = 38;
export const BOTTOM = 56;

export interface Ink {
  paper: string;
  line: string;
  fill: string;
  edge: string;
  faint: string;
  /** What was fitted. */
  fit: string;
}

export const LIGHT: Ink = { paper: "#ffffff", line: "#1a1a1a", fill: "#cfe0f5", edge: "#1f4e8c", faint: "#d5d9df", fit: "#c02626" };
export const DARK: Ink = { paper: "#15181d", line: "#e4e7ec", fill: "#23405f", edge: "#7fb4f0", faint: "#353b45", fit: "#ff8a80" };

/** Numbers over two or three axes. */
export interface Grid {
  /** What it is made of. */
  of: object;
  axes: Axis[];
  /** The value of a bin, numbered from 0 on along each axis. */
  value(at: number[]): number;
  /** Whether bins with nothing in them are drawn. */
  isFull: boolean;
  /** Whether bins that are drawn as one show their mean, and not their sum. */
  isMean: boolean;
  lines: [string, string][];
  words: string;
}

/** Edges of the bins of an axis. */
export function edges(axis: Axis): number[] {
  if (axis.edges) return axis.edges;
  const wide = (axis.max - axis.min) / axis.bins;
  return Array.from({ length: axis.bins + 1 }, (_, bin) => axis.min + bin * wide);
}

/** The value of a bin, numbered from 1 on along each axis. */
export function cell(histogram: Histogram, at: number[]): number {
  return num(histogram.values[index(histogram, at)]);
}

function index(histogram: Histogram, at: number[]): number {
  let place = 0;
  let step = 1;
  histogram.axes.forEach((axis, number) => {
    place += (at[number] ?? 0) * step;
    step *= axis.bins + 2;
  });
  return place;
}

/** The sum of what is in one bin of an axis, wherever it is on the others. */
function beyond(histogram: Histogram, axis: number, bin: number): number {
  const counts = histogram.axes.map((other, place) => (place === axis ? 1 : other.bins + 2));
  const total = counts.reduce((product, count) => product * count, 1);
  let sum = 0;
  for (let place = 0; place < total; place += 1) {
    let rest = place;
    const at = counts.map((count, other) => {
      const found = other === axis ? bin : rest % count;
      rest = Math.floor(rest / count);
      return found;
    });
    sum += cell(histogram, at);
  }
  return sum;
}

/** The figures of a histogram, a line each. */
export function figures(histogram: Histogram): [string, string][] {
  const found: [string, string][] = [["Entries", short(num(histogram.entries), 9)]];
  histogram.axes.forEach((_, axis) => {
    const letter = histogram.axes.length > 1 ? ` ${"xyz"[axis]}` : "";
    found.push([`Mean${letter}`, short(num(histogram.mean[axis]))]);
    found.push([`Std dev${letter}`, short(num(histogram.std_dev[axis]))]);
  });
  // Means do not add up.
  if (histogram.axes.length === 1 || !histogram.is_profile) {
    histogram.axes.forEach((axis, place) => {
      const letter = histogram.axes.length > 1 ? ` ${"xyz"[place]}` : "";
      found.push([`Underflow${letter}`, short(beyond(histogram, place, 0))]);
      found.push([`Overflow${letter}`, short(beyond(histogram, place, axis.bins + 1))]);
    });
  }
  found.push(["Integral", short(num(histogram.integral))]);
  return found;
}

export function text(x: number, y: number, words: string, ink: Ink, more: Record<string, string | number> = {}): SVGElement {
  return s("text", { x, y, fill: ink.line, ...more }, words);
}

export function line(points: [number, number][]): string {
  return points.map(([x, y], place) => `${place ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
}

/** Scales for a picture, with room for the axes. */
export function scales(x: [number, number], y: [number, number], look: Look): [Scale, Scale] {
  const logX = look.log.includes("x") && x[1] > 0;
  const logY = look.log.includes("y") && y[1] > 0;
  const [fromX, toX] = widened(x);
  const [fromY, toY] = widened(y);
  return [
    new Scale(logX && fromX <= 0 ? toX * 1e-4 : fromX, toX, LEFT, look.width - RIGHT, logX),
    new Scale(logY && fromY <= 0 ? toY * 1e-6 : fromY, toY, look.height - BOTTOM, TOP, logY),
  ];
}

function widened([from, to]: [number, number]): [number, number] {
  if (!Number.isFinite(from) || !Number.isFinite(to)) return [0, 1];
  return to > from ? [from, to] : [from - 0.5, from + 0.5];
}

export function axes(svg: SVGElement, x: Scale, y: Scale, ofX: Axis | string, ofY: Axis | string, look: Look, ink: Ink): void {
  const bottom = look.height - BOTTOM;
  svg.append(s("path", { d: `M${LEFT} ${TOP}V${bottom}H${look.width - RIGHT}`, fill: "none", stroke: ink.line }));
  for (const [mark, words] of marks(x, ofX)) {
    const at = x.at(mark);
    svg.append(
      s("path", { d: `M${at.toFixed(1)} ${bottom}v5`, stroke: ink.line }),
      text(at, bottom + 19, words, ink, { "text-anchor": "middle" }),
    );
  }
  for (const [mark, words] of marks(y, ofY)) {
    const at = y.at(mark);
    svg.append(
      s("path", { d: `M${LEFT} ${at.toFixed(1)}h-5`, stroke: ink.line }),
      text(LEFT - 8, at + 4, words, ink, { "text-anchor": "end" }),
    );
  }
  const name = (of: Axis | string): string => (typeof of === "string" ? of : of.title);
  svg.append(text(look.width - RIGHT, look.height - 14, name(ofX), ink, { "text-anchor": "end" }));
  svg.append(text(16, TOP, name(ofY), ink, { "text-anchor": "end", transform: `rotate(-90 16 ${TOP})` }));
}

/** Where an axis has marks, and what they say: labels, dates, or numbers. */
function marks(scale: Scale, of: Axis | string): [number, string][] {
  if (typeof of !== "string" && of.labels) {
    const borders = edges(of);
    const every = Math.ceil(of.labels.length / 20);
    return of.labels.flatMap((words, bin): [number, string][] => {
      const middle = ((borders[bin] ?? 0) + (borders[bin + 1] ?? 0)) / 2;
      return bin % every ? [] : [[middle, words.length > 12 ? `${words.slice(0, 11)}…` : words]];
    });
  }
  const date = typeof of !== "string" && of.time !== null;
  return scale.ticks().map((value) => {
    // ROOT counts seconds from 1995 on, unless the format says otherwise.
    const seconds = value + (typeof of !== "string" && of.time?.includes("%F1970") ? 0 : 788918400);
    return [value, date ? new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " ") : short(value)];
  });
}

export function box(svg: SVGElement, lines: [string, string][], look: Look, ink: Ink): void {
  if (lines.length === 0) return;
  const width = 190;
  const left = look.width - RIGHT - width - 6;
  const group = s("g", { class: "figures", "font-size": 12 });
  group.append(
    s("rect", {
      x: left, y: TOP + 2, width, height: lines.length * 16 + 8, fill: ink.paper, "fill-opacity": 0.85,
      stroke: ink.faint,
    }),
  );
  lines.forEach(([name, value], row) => {
    const y = TOP + 18 + row * 16;
    group.append(
      text(left + 8, y, name, ink),
      text(left + width - 8, y, value, ink, { "text-anchor": "end" }),
    );
  });
  svg.append(group);
}

/** Smallest and largest of what is shown, with room above. */
export function span(values: number[], log: boolean): [number, number] {
  const finite = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
  const most = finite.reduce((a, b) => Math.max(a, b), log ? 1e-300 : 0);
  const least = finite.reduce((a, b) => Math.min(a, b), log ? most : 0);
  if (log) return [least * 0.5, most * 2];
  return [least < 0 ? least * 1.08 : 0, most > 0 ? most * 1.08 : least < 0 ? 0 : 1];
}

export function words(histogram: Histogram, lines: [string, string][]): string {
  const kind = histogram.is_profile ? "Profile" : "Histogram";
  return `${kind} of ${histogram.title || histogram.name}. ${lines.map((pair) => pair.join(" ")).join(", ")}`;
}

/** What bins that are drawn as one show: their mean, or their sum; at an edge, where there are fewer bins, a sum as
 * large as of all of them. */
export function scaled(sum: number, count: number, all: number, isMean: boolean): number {
  return count === 0 ? 0 : (sum / count) * (isMean ? 1 : all);
}

/** The same of values; those that are none do not count, unless all are. */
export function together(values: number[], all: number, isMean: boolean): number {
  const finite = values.filter(Number.isFinite);
  if (finite.length === 0) return NaN;
  return scaled(finite.reduce((sum, value) => sum + value, 0), finite.length, all, isMean);
}

/** A histogram as numbers over its axes. */
export function grid(histogram: Histogram): Grid {
  const lines = figures(histogram);
  const value = (at: number[]): number => cell(histogram, at.map((bin) => bin + 1));
  const isMean = histogram.is_profile;
  return { of: histogram, axes: histogram.axes, value, isFull: false, isMean, lines, words: words(histogram, lines) };
}
