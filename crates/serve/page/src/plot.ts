// Histograms, graphs and efficiencies as SVG, with attributes alone: it is also what is exported.

import { type Axis, type Drawn, type Efficiency, type Graph, type Histogram, num } from "./api";
import { s } from "./dom";
import { intervals } from "./interval";
import { Scale, shade, short } from "./scale";

export interface Look {
  dark: boolean;
  /** Axes that are logarithmic: letters of x, y, z. */
  log: string;
  /** From where three axes are seen, in degrees. */
  turn: number;
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

const LEFT = 78;
const RIGHT = 24;
const TOP = 38;
const BOTTOM = 56;
/** The most cells of an axis that are drawn; bins beyond are joined. */
const MOST_CELLS = 300;

interface Ink {
  paper: string;
  line: string;
  fill: string;
  edge: string;
  faint: string;
}

const LIGHT: Ink = { paper: "#ffffff", line: "#1a1a1a", fill: "#cfe0f5", edge: "#1f4e8c", faint: "#d5d9df" };
const DARK: Ink = { paper: "#15181d", line: "#e4e7ec", fill: "#23405f", edge: "#7fb4f0", faint: "#353b45" };

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

/** The figures of a histogram, a line each. */
export function figures(histogram: Histogram): [string, string][] {
  const found: [string, string][] = [["Entries", short(num(histogram.entries), 9)]];
  histogram.axes.forEach((_, axis) => {
    const letter = histogram.axes.length > 1 ? ` ${"xyz"[axis]}` : "";
    found.push([`Mean${letter}`, short(num(histogram.mean[axis]))]);
    found.push([`Std dev${letter}`, short(num(histogram.std_dev[axis]))]);
  });
  const [x] = histogram.axes;
  if (x && histogram.axes.length === 1) {
    found.push(["Underflow", short(cell(histogram, [0]))]);
    found.push(["Overflow", short(cell(histogram, [x.bins + 1]))]);
  }
  found.push(["Integral", short(num(histogram.integral))]);
  return found;
}

export function plot(drawn: Drawn, look: Look): Plot {
  const ink = look.dark ? DARK : LIGHT;
  const svg = s("svg", {
    xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${look.width} ${look.height}`, width: look.width,
    height: look.height, "font-family": "sans-serif", "font-size": 13, role: "img",
  });
  svg.append(s("rect", { width: look.width, height: look.height, fill: ink.paper }));
  const make: Plot =
    drawn.kind === "graph" ? graph(svg, drawn, look, ink)
    : drawn.kind === "efficiency" ? efficiency(svg, drawn, look, ink)
    : drawn.axes.length === 1 ? steps(svg, drawn, look, ink)
    : drawn.axes.length === 2 ? cells(svg, drawn, look, ink)
    : boxes(svg, drawn, look, ink);
  svg.setAttribute("aria-label", make.words);
  const title = drawn.kind === "efficiency" ? drawn.passed.title : drawn.title;
  svg.append(text(LEFT, 22, title, ink, { "font-size": 15 }));
  return make;
}

function text(x: number, y: number, words: string, ink: Ink, more: Record<string, string | number> = {}): SVGElement {
  return s("text", { x, y, fill: ink.line, ...more }, words);
}

function line(points: [number, number][]): string {
  return points.map(([x, y], place) => `${place ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
}

/** Scales for a picture, with room for the axes. */
function scales(x: [number, number], y: [number, number], look: Look): [Scale, Scale] {
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

function axes(svg: SVGElement, x: Scale, y: Scale, ofX: Axis | string, ofY: Axis | string, look: Look, ink: Ink): void {
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

function box(svg: SVGElement, lines: [string, string][], look: Look, ink: Ink): void {
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
function span(values: number[], log: boolean): [number, number] {
  const finite = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
  const most = finite.reduce((a, b) => Math.max(a, b), log ? 1e-300 : 0);
  const least = finite.reduce((a, b) => Math.min(a, b), log ? most : 0);
  if (log) return [least * 0.5, most * 2];
  return [least < 0 ? least * 1.08 : 0, most > 0 ? most * 1.08 : least < 0 ? 0 : 1];
}

function steps(svg: SVGElement, histogram: Histogram, look: Look, ink: Ink): Plot {
  const axis = histogram.axes[0] as Axis;
  const borders = edges(axis);
  const values = Array.from({ length: axis.bins }, (_, bin) => cell(histogram, [bin + 1]));
  const errors = histogram.errors?.slice(1, axis.bins + 1).map(num) ?? null;
  const tops = values.map((value, bin) => value + (errors?.[bin] ?? 0));
  const bottoms = values.map((value, bin) => value - (errors?.[bin] ?? 0));
  const log = look.log.includes("y");
  let range = span(tops.concat(histogram.is_profile ? bottoms : values), log);
  if (histogram.is_profile && !log) {
    const filled = values.filter((_, bin) => (errors?.[bin] ?? 0) !== 0 || values[bin] !== 0);
    const least = Math.min(...bottoms.filter((_, bin) => filled.includes(values[bin] as number)));
    if (Number.isFinite(least) && least > 0) range = [least - (range[1] - least) * 0.1, range[1]];
  }
  const [x, y] = scales([axis.min, axis.max], range, look);
  const group = s("g", { "shape-rendering": "crispEdges" });
  // Bins that are narrower than a point are drawn together: their largest and smallest.
  const joined = Math.max(1, Math.floor(axis.bins / 4000));
  if (histogram.is_profile || errors) {
    const marks: string[] = [];
    values.forEach((value, bin) => {
      const error = errors?.[bin] ?? 0;
      if (value === 0 && error === 0) return;
      const middle = ((borders[bin] ?? 0) + (borders[bin + 1] ?? 0)) / 2;
      marks.push(line([[x.at(borders[bin] ?? 0), y.at(value)], [x.at(borders[bin + 1] ?? 0), y.at(value)]]));
      marks.push(line([[x.at(middle), y.at(value - error)], [x.at(middle), y.at(value + error)]]));
    });
    group.append(s("path", { d: marks.join(""), fill: "none", stroke: ink.edge, "stroke-width": 1.2 }));
  } else {
    const base = y.at(log ? range[0] : 0);
    const outline: [number, number][] = [[x.at(axis.min), base]];
    for (let bin = 0; bin < axis.bins; bin += joined) {
      const value = Math.max(...values.slice(bin, bin + joined));
      const at = Number.isFinite(value) ? y.at(value) : base;
      outline.push([x.at(borders[bin] ?? 0), at], [x.at(borders[Math.min(bin + joined, axis.bins)] ?? 0), at]);
    }
    outline.push([x.at(axis.max), base]);
    group.append(s("path", { d: line(outline), fill: ink.fill, stroke: ink.edge, "stroke-width": 1.2 }));
  }
  svg.append(group);
  axes(svg, x, y, axis, histogram.is_profile ? "mean" : "", look, ink);
  const lines = figures(histogram);
  box(svg, lines, look, ink);
  return { svg, x, y: null, words: words(histogram, lines) };
}

function words(histogram: Histogram, lines: [string, string][]): string {
  const kind = histogram.is_profile ? "Profile" : "Histogram";
  return `${kind} of ${histogram.title || histogram.name}. ${lines.map((pair) => pair.join(" ")).join(", ")}`;
}

function cells(svg: SVGElement, histogram: Histogram, look: Look, ink: Ink): Plot {
  const [ofX, ofY] = histogram.axes as [Axis, Axis];
  const [bordersX, bordersY] = [edges(ofX), edges(ofY)];
  const plain = { ...look, log: look.log.replace("z", "") };
  const [x, y] = scales([ofX.min, ofX.max], [ofY.min, ofY.max], plain);
  const [joinX, joinY] = [Math.ceil(ofX.bins / MOST_CELLS), Math.ceil(ofY.bins / MOST_CELLS)];
  const found: [number, number, number][] = [];
  for (let row = 0; row < ofY.bins; row += joinY) {
    for (let column = 0; column < ofX.bins; column += joinX) {
      let sum = 0;
      for (let j = row; j < Math.min(row + joinY, ofY.bins); j += 1) {
        for (let i = column; i < Math.min(column + joinX, ofX.bins); i += 1) sum += cell(histogram, [i + 1, j + 1]);
      }
      if (sum !== 0 && Number.isFinite(sum)) found.push([column, row, sum]);
    }
  }
  const most = found.reduce((largest, [, , value]) => Math.max(largest, value), 0);
  const least = found.reduce((smallest, [, , value]) => (value > 0 ? Math.min(smallest, value) : smallest), most);
  const log = look.log.includes("z");
  const share = (value: number): number =>
    log && most > least ? 0.08 + (0.92 * Math.log(value / least)) / Math.log(most / least) : value / most;
  const group = s("g", { "shape-rendering": "crispEdges" });
  // Cells of one shade are one path: the page has few elements, however many bins there are.
  const shades = new Map<string, string[]>();
  for (const [column, row, value] of found) {
    if (value <= 0) continue;
    const fill = shade(Math.round(share(value) * 40) / 40, look.dark);
    const [left, right] = [x.at(bordersX[column] ?? 0), x.at(bordersX[Math.min(column + joinX, ofX.bins)] ?? 0)];
    const [low, high] = [y.at(bordersY[row] ?? 0), y.at(bordersY[Math.min(row + joinY, ofY.bins)] ?? 0)];
    const path = `M${left.toFixed(1)} ${high.toFixed(1)}H${right.toFixed(1)}V${low.toFixed(1)}H${left.toFixed(1)}Z`;
    const paths = shades.get(fill);
    if (paths) paths.push(path);
    else shades.set(fill, [path]);
  }
  for (const [fill, paths] of shades) group.append(s("path", { d: paths.join(""), fill }));
  svg.append(group);
  axes(svg, x, y, ofX, ofY, look, ink);
  const lines = figures(histogram);
  box(svg, lines, look, ink);
  return { svg, x, y, words: words(histogram, lines) };
}

/** Three axes: a box for each bin, the larger the more it holds, seen from the side. */
function boxes(svg: SVGElement, histogram: Histogram, look: Look, ink: Ink): Plot {
  const all = histogram.axes as [Axis, Axis, Axis];
  const turn = (look.turn * Math.PI) / 180;
  const tilt = 0.5;
  const size = Math.min(look.width * 0.5, look.height * 0.62);
  const place = (a: number, b: number, c: number): [number, number, number] => {
    const [i, j] = [a - 0.5, b - 0.5];
    const [right, deep] = [i * Math.cos(turn) - j * Math.sin(turn), i * Math.sin(turn) + j * Math.cos(turn)];
    return [look.width / 2 + right * size, look.height * 0.56 - (c - 0.5) * size * 0.8 + deep * size * tilt, deep];
  };
  const edge = (from: [number, number, number], to: [number, number, number]): string =>
    line([place(...from).slice(0, 2) as [number, number], place(...to).slice(0, 2) as [number, number]]);
  const frame: string[] = [];
  for (const a of [0, 1]) {
    for (const b of [0, 1]) {
      frame.push(edge([0, a, b], [1, a, b]), edge([a, 0, b], [a, 1, b]), edge([a, b, 0], [a, b, 1]));
    }
  }
  svg.append(s("path", { d: frame.join(""), stroke: ink.faint, fill: "none" }));
  const joins = all.map((axis) => Math.ceil(axis.bins / 24));
  const sums = new Map<string, number>();
  for (let k = 1; k <= all[2].bins; k += 1) {
    for (let j = 1; j <= all[1].bins; j += 1) {
      for (let i = 1; i <= all[0].bins; i += 1) {
        const value = cell(histogram, [i, j, k]);
        if (!(value > 0)) continue;
        const key = [i, j, k].map((bin, axis) => Math.floor((bin - 1) / (joins[axis] ?? 1))).join(",");
        sums.set(key, (sums.get(key) ?? 0) + value);
      }
    }
  }
  const most = Math.max(...sums.values(), 0);
  const counts = all.map((axis, number) => Math.ceil(axis.bins / (joins[number] ?? 1)));
  const found = [...sums].map(([key, value]) => {
    const [a, b, c] = key.split(",").map((bin, axis) => (Number(bin) + 0.5) / (counts[axis] ?? 1));
    const share = look.log.includes("z") ? Math.log1p(value) / Math.log1p(most) : value / most;
    return { at: place(a ?? 0, b ?? 0, c ?? 0), share };
  });
  found.sort((one, other) => one.at[2] - other.at[2]);
  for (const { at, share } of found) {
    const wide = Math.max(1, (Math.cbrt(share) * size) / Math.max(...counts));
    svg.append(
      s("rect", {
        x: (at[0] - wide / 2).toFixed(1), y: (at[1] - wide / 2).toFixed(1), width: wide.toFixed(1),
        height: wide.toFixed(1), fill: shade(share, look.dark), stroke: ink.edge, "stroke-width": 0.4,
      }),
    );
  }
  all.forEach((axis, number) => {
    const end: [number, number, number] = number === 0 ? [1, 1, 0] : number === 1 ? [0, 1, 0] : [0, 0, 1];
    const [px, py] = place(...end);
    const range = `${axis.title} ${short(axis.min)} to ${short(axis.max)}`;
    svg.append(text(px, py + (number === 2 ? -8 : 22), `${"xyz"[number]}: ${range}`, ink, { "text-anchor": "middle" }));
  });
  const lines = figures(histogram);
  box(svg, lines, look, ink);
  return { svg, x: null, y: null, words: words(histogram, lines) };
}

function graph(svg: SVGElement, found: Graph, look: Look, ink: Ink): Plot {
  const [xs, ys] = [found.values[0]?.map(num) ?? [], found.values[1]?.map(num) ?? []];
  const side = (axis: number, which: 0 | 1, point: number): number => num(found.errors[axis]?.[which][point] ?? 0);
  const finite = (values: number[]): number[] => values.filter(Number.isFinite);
  const range = (values: number[], axis: number): [number, number] => {
    const low = finite(values.map((value, point) => value - side(axis, 0, point)));
    const high = finite(values.map((value, point) => value + side(axis, 1, point)));
    const [from, to] = [low.reduce((a, b) => Math.min(a, b), Infinity), high.reduce((a, b) => Math.max(a, b), -Infinity)];
    const room = (to - from) * 0.05 || 0.5;
    return [from - room, to + room];
  };
  const [x, y] = scales(range(xs, 0), range(ys, 1), look);
  const points = xs.map((value, point): [number, number] => [x.at(value), y.at(ys[point] ?? NaN)]);
  const bars = points.flatMap(([px, py], point) => {
    const [vx, vy] = [xs[point] ?? 0, ys[point] ?? 0];
    const across = line([[x.at(vx - side(0, 0, point)), py], [x.at(vx + side(0, 1, point)), py]]);
    const up = line([[px, y.at(vy - side(1, 0, point))], [px, y.at(vy + side(1, 1, point))]]);
    return [found.errors[0] ? across : "", found.errors[1] ? up : ""];
  });
  svg.append(s("path", { d: bars.join(""), stroke: ink.edge, fill: "none" }));
  const drawn = points.filter(([px, py]) => Number.isFinite(px) && Number.isFinite(py));
  if (!found.errors[1] && drawn.length > 1) {
    svg.append(s("path", { d: line(drawn), stroke: ink.edge, fill: "none", "stroke-width": 1.4 }));
  }
  if (drawn.length <= 5_000) {
    for (const [px, py] of drawn) svg.append(s("circle", { cx: px.toFixed(1), cy: py.toFixed(1), r: 2.5, fill: ink.edge }));
  }
  axes(svg, x, y, "", "", look, ink);
  return { svg, x, y: null, words: `Graph of ${found.title}, ${found.points} points` };
}

function efficiency(svg: SVGElement, found: Efficiency, look: Look, ink: Ink): Plot {
  const axis = found.total.axes[0] as Axis;
  if (found.total.axes.length > 1) {
    const values = found.total.values.map((all, bin) => (num(all) ? num(found.passed.values[bin]) / num(all) : 0));
    return cells(svg, { ...found.total, values, title: found.passed.title }, look, ink);
  }
  const borders = edges(axis);
  const [x, y] = scales([axis.min, axis.max], [0, 1.08], { ...look, log: look.log.replace("y", "") });
  const marks: string[] = [];
  for (let bin = 1; bin <= axis.bins; bin += 1) {
    const [all, passed] = [cell(found.total, [bin]), cell(found.passed, [bin])];
    if (!(all > 0)) continue;
    const middle = ((borders[bin - 1] ?? 0) + (borders[bin] ?? 0)) / 2;
    marks.push(line([[x.at(borders[bin - 1] ?? 0), y.at(passed / all)], [x.at(borders[bin] ?? 0), y.at(passed / all)]]));
    const ends = intervals(found.interval, found.level, found.prior, passed, all);
    if (ends) marks.push(line([[x.at(middle), y.at(ends[0])], [x.at(middle), y.at(ends[1])]]));
  }
  svg.append(s("path", { d: marks.join(""), stroke: ink.edge, fill: "none", "stroke-width": 1.2 }));
  axes(svg, x, y, axis, "efficiency", look, ink);
  return { svg, x, y: null, words: `Efficiency of ${found.passed.title}, errors: ${found.interval}` };
}
