// Histograms, graphs, efficiencies and functions as SVG, with attributes alone: it is also what is exported.

import { type Axis, type Drawn, type Efficiency, type Function, type Graph, type Histogram, num } from "./api";
import { s } from "./dom";
import { intervals } from "./interval";
import {
  axes, box, cell, DARK, edges, figures, grid, type Grid, type Ink, LEFT, LIGHT, line, type Look, type Plot, scales, span, text, together, words,
} from "./paper";
import { type Scale, shade, short } from "./scale";
import { boxes } from "./solid";

/** The most cells of an axis that are drawn; bins beyond are joined. */
const MOST_CELLS = 300;

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
    : drawn.kind === "function" && drawn.axes.length === 1 ? curve(svg, drawn, look, ink)
    : drawn.kind === "histogram" && drawn.axes.length === 1 ? steps(svg, drawn, look, ink)
    : overAxes(svg, drawn.kind === "function" ? gridOf(drawn) : grid(drawn), look, ink);
  svg.setAttribute("aria-label", make.words);
  const title = drawn.kind === "efficiency" ? drawn.passed.title : drawn.title;
  svg.append(text(LEFT, 22, title, ink, { "font-size": 15 }));
  return make;
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
  const lines = [...figures(histogram), ...fits(svg, histogram.functions ?? [], x, y, ink)];
  box(svg, lines, look, ink);
  return { svg, x, y: null, words: words(histogram, lines) };
}

function overAxes(svg: SVGElement, grid: Grid, look: Look, ink: Ink): Plot {
  return grid.axes.length === 2 ? cells(svg, grid, look, ink) : boxes(svg, grid, look, ink);
}

function cells(svg: SVGElement, grid: Grid, look: Look, ink: Ink): Plot {
  const [ofX, ofY] = grid.axes as [Axis, Axis];
  const [bordersX, bordersY] = [edges(ofX), edges(ofY)];
  const plain = { ...look, log: look.log.replace("z", "") };
  const [x, y] = scales([ofX.min, ofX.max], [ofY.min, ofY.max], plain);
  const [joinX, joinY] = [Math.ceil(ofX.bins / MOST_CELLS), Math.ceil(ofY.bins / MOST_CELLS)];
  const found: [number, number, number][] = [];
  for (let row = 0; row < ofY.bins; row += joinY) {
    for (let column = 0; column < ofX.bins; column += joinX) {
      const values: number[] = [];
      for (let j = row; j < Math.min(row + joinY, ofY.bins); j += 1) {
        for (let i = column; i < Math.min(column + joinX, ofX.bins); i += 1) values.push(grid.value([i, j]));
      }
      const value = together(values, joinX * joinY, grid.isMean);
      if ((value !== 0 || grid.isFull) && Number.isFinite(value)) found.push([column, row, value]);
    }
  }
  const most = found.reduce((largest, [, , value]) => Math.max(largest, value), grid.isFull ? -Infinity : 0);
  const log = look.log.includes("z") && most > 0;
  const all = log ? found.filter(([, , value]) => value > 0) : found;
  const least = all.reduce((smallest, [, , value]) => Math.min(smallest, value), log || grid.isFull ? most : 0);
  const share = (value: number): number => {
    if (most <= least) return 1;
    return log ? 0.08 + (0.92 * Math.log(value / least)) / Math.log(most / least) : (value - least) / (most - least);
  };
  const group = s("g", { "shape-rendering": "crispEdges" });
  // Cells of one shade are one path: the page has few elements, however many bins there are.
  const shades = new Map<string, string[]>();
  for (const [column, row, value] of all) {
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
  box(svg, grid.lines, look, ink);
  return { svg, x, y, words: grid.words };
}

/** The parameters of a function, and where its values are from. */
function parameters(found: Function): [string, string][] {
  const lines = found.parameters.slice(0, 20).map(([name, value, error]): [string, string] => [
    name,
    num(error) ? `${short(num(value), 5)} ± ${short(num(error), 3)}` : short(num(value)),
  ]);
  return found.is_saved ? [...lines, ["Values", "saved"]] : lines;
}

function functionWords(found: Function): string {
  const lines = parameters(found);
  return `Function ${found.title}${lines.length ? `. ${lines.map((pair) => pair.join(" ")).join(", ")}` : ""}`;
}

/** A function of two or three variables as numbers over its axes. */
function gridOf(found: Function): Grid {
  const counts = found.axes.map((axis) => axis.bins);
  const value = ([i = 0, j = 0, k = 0]: number[]): number =>
    num(found.values[i + (counts[0] ?? 1) * (j + (counts[1] ?? 1) * k)]);
  return { of: found, axes: found.axes, value, isFull: true, isMean: true, lines: parameters(found), words: functionWords(found) };
}

/** Where the points of a function are. */
function pointsOf(found: Function): { from: number; to: number; at(point: number): number } {
  const axis = found.axes[0] as Axis;
  const half = (axis.max - axis.min) / axis.bins / 2;
  const [from, to] = [axis.min + half, axis.max - half];
  return { from, to, at: (point) => from + ((to - from) * point) / Math.max(1, axis.bins - 1) };
}

/** The curve of a function. Where it has no value, it has a gap. */
function trace(found: Function, x: Scale, y: Scale, colour: string): SVGElement {
  const { at } = pointsOf(found);
  const parts: [number, number][][] = [[]];
  found.values.map(num).forEach((value, point) => {
    const isThere = Number.isFinite(value) && (!y.log || value > 0) && (!x.log || at(point) > 0);
    if (isThere) parts[parts.length - 1]?.push([x.at(at(point)), y.at(value)]);
    else parts.push([]);
  });
  const d = parts.map(line).join("");
  return s("path", { class: "function", d, fill: "none", stroke: colour, "stroke-width": 1.8 });
}

/** Functions that were fitted, as curves and as lines of figures. */
function fits(svg: SVGElement, functions: Function[], x: Scale, y: Scale, ink: Ink): [string, string][] {
  for (const found of functions) svg.append(trace(found, x, y, ink.fit));
  return functions.flatMap(parameters);
}

/** A function of one variable. */
function curve(svg: SVGElement, found: Function, look: Look, ink: Ink): Plot {
  const axis = found.axes[0] as Axis;
  const { from, to } = pointsOf(found);
  const [x, y] = scales([from, to], span(found.values.map(num), look.log.includes("y")), look);
  svg.append(trace(found, x, y, ink.edge));
  axes(svg, x, y, axis, "", look, ink);
  const lines = parameters(found);
  if (lines.length) box(svg, lines, look, ink);
  return { svg, x, y: null, words: functionWords(found) };
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
  if (!found.errors[1] && !found.values[2] && drawn.length > 1) {
    svg.append(s("path", { d: line(drawn), stroke: ink.edge, fill: "none", "stroke-width": 1.4 }));
  }
  if (drawn.length <= 5_000) {
    // A third coordinate is the shade of its point.
    const zs = found.values[2]?.map(num);
    const [low, high] = finite(zs ?? []).reduce(([a, b], z) => [Math.min(a, z), Math.max(b, z)], [Infinity, -Infinity]);
    points.forEach(([px, py], point) => {
      if (!Number.isFinite(px) || !Number.isFinite(py)) return;
      const fill = zs ? shade(high > low ? ((zs[point] ?? low) - low) / (high - low) : 1, look.dark) : ink.edge;
      svg.append(s("circle", { cx: px.toFixed(1), cy: py.toFixed(1), r: zs ? 4 : 2.5, fill }));
    });
  }
  axes(svg, x, y, "", "", look, ink);
  const lines = fits(svg, found.functions ?? [], x, y, ink);
  box(svg, lines, look, ink);
  return { svg, x, y: null, words: `Graph of ${found.title}, ${found.points} points` };
}

function efficiency(svg: SVGElement, found: Efficiency, look: Look, ink: Ink): Plot {
  const axis = found.total.axes[0] as Axis;
  if (found.total.axes.length > 1) {
    const values = found.total.values.map((all, bin) => (num(all) ? num(found.passed.values[bin]) / num(all) : 0));
    const ratios = { ...grid({ ...found.total, values, title: found.passed.title }), isMean: true };
    return overAxes(svg, ratios, look, ink);
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
