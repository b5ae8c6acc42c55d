// What is drawn, as files: SVG, PNG, CSV.

import { type Drawn, type Histogram, num } from "./api";
import { download, say } from "./dom";
import { cell, edges } from "./paper";
import { plot } from "./plot";

const WIDTH = 900;
const HEIGHT = 600;

/** From where three axes are seen. */
export interface Seen {
  turn: number;
  tilt: number;
}

function svg(drawn: Drawn, log: string, seen: Seen): string {
  const look = { dark: false, log, ...seen, width: WIDTH, height: HEIGHT };
  return new XMLSerializer().serializeToString(plot(drawn, look).svg);
}

export function toSvg(drawn: Drawn, log: string, { turn, tilt }: Seen, name: string): void {
  download(new Blob([svg(drawn, log, { turn, tilt })], { type: "image/svg+xml" }), `${name}.svg`);
}

export async function toPng(drawn: Drawn, log: string, { turn, tilt }: Seen, name: string): Promise<void> {
  const url = URL.createObjectURL(new Blob([svg(drawn, log, { turn, tilt })], { type: "image/svg+xml" }));
  const image = new Image();
  image.src = url;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [2 * WIDTH, 2 * HEIGHT];
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(url);
  canvas.toBlob((blob) => (blob ? download(blob, `${name}.png`) : say("the browser makes no PNG")), "image/png");
}

/** A line for each bin, or point. */
export function csv(drawn: Drawn): string {
  const lines: (string | number)[][] = [];
  if (drawn.kind === "graph") {
    lines.push(["x", "y", "z"].slice(0, drawn.values.length));
    for (let point = 0; point < drawn.points; point += 1) lines.push(drawn.values.map((of) => num(of[point])));
  } else if (drawn.kind === "efficiency") {
    lines.push(["x_low", "x_high", "passed", "total"]);
    rows(drawn.total, (at, low, high) => {
      lines.push([low[0] ?? 0, high[0] ?? 0, cell(drawn.passed, at), cell(drawn.total, at)]);
    });
  } else if (drawn.kind === "function") {
    const counts = drawn.axes.map((axis) => axis.bins);
    lines.push([...["x", "y", "z"].slice(0, counts.length), "value"]);
    drawn.values.forEach((value, place) => {
      let rest = place;
      const at = drawn.axes.map(({ min, max, bins }) => {
        const bin = rest % bins;
        rest = Math.floor(rest / bins);
        return min + ((bin + 0.5) * (max - min)) / bins;
      });
      lines.push([...at, num(value)]);
    });
  } else {
    const letters = ["x", "y", "z"].slice(0, drawn.axes.length);
    lines.push([...letters.flatMap((letter) => [`${letter}_low`, `${letter}_high`]), "value"]);
    rows(drawn, (at, low, high) => {
      lines.push([...low.flatMap((value, axis) => [value, high[axis] ?? 0]), cell(drawn, at)]);
    });
  }
  return lines.map((line) => line.join(",")).join("\n") + "\n";
}

function rows(histogram: Histogram, each: (at: number[], low: number[], high: number[]) => void): void {
  const borders = histogram.axes.map(edges);
  const counts = histogram.axes.map((axis) => axis.bins);
  const total = counts.reduce((a, b) => a * b, 1);
  for (let place = 0; place < total; place += 1) {
    let rest = place;
    const at = counts.map((count) => {
      const bin = (rest % count) + 1;
      rest = Math.floor(rest / count);
      return bin;
    });
    each(at, at.map((bin, axis) => borders[axis]?.[bin - 1] ?? 0), at.map((bin, axis) => borders[axis]?.[bin] ?? 0));
  }
}

export function toCsv(drawn: Drawn, name: string): void {
  download(new Blob([csv(drawn)], { type: "text/csv" }), `${name}.csv`);
}
