// What is read of files while it is read: requests, bytes, hits and rates, twice a second while the page is seen. Each
// time is a request of its own: one that never ended would hold one of the six connections of a browser to a server.

import { ask, type Live } from "./api";
import type { App, Room } from "./app";
import { at, bytes, h, s } from "./dom";

/** How often it is asked, in milliseconds. */
const EVERY = 500;
/** Points of the curve of rates: a minute. */
const POINTS = 120;

interface Seen {
  at: number;
  bytes: number;
  requests: number;
  rates: number[];
}

export class LiveRoom implements Room {
  private readonly body = h("tbody", {});
  readonly element = h(
    "section",
    { "aria-label": "Live" },
    h("p", { class: "hint" }, "Requests of this browser to the files that are open, and what the caches of trees had already."),
    h("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": "Files" },
      h("table", { class: "live" },
        h("thead", {}, h("tr", {}, ...["file", "requests", "ranges", "bytes", "rate", "under way", "hits", "misses", "last minute"].map(
          (words) => h("th", { scope: "col" }, words)))),
        this.body)),
  );
  private readonly seen = new Map<string, Seen>();

  constructor(private readonly app: App) {
    document.addEventListener("visibilitychange", () => this.ask());
    this.ask();
  }

  private asked: Promise<void> | null = null;

  /** Asks, and again after a while; pages that are not seen wait until they are. */
  private ask(): void {
    if (document.hidden || this.asked) return;
    this.asked = ask<Live>("live", {}).then(
      (live) => this.take(live),
      () => {
        at("counters").textContent = "sapwood browse does not answer";
      },
    ).finally(() => {
      setTimeout(() => {
        this.asked = null;
        this.ask();
      }, EVERY);
    });
  }

  show(): void {}

  private take(live: Live): void {
    const now = performance.now();
    let [requests, sum, rate, open] = [0, 0, 0, 0];
    const rows = live.files.map((file) => {
      if (!file.is_same) this.app.state(file.file, -file.state);
      const known = this.seen.get(`${file.file} ${file.state}`);
      const seen = known ?? { at: now, bytes: file.bytes, requests: file.requests, rates: [] };
      const seconds = (now - seen.at) / 1000;
      const bytesNow = seconds > 0 ? (file.bytes - seen.bytes) / seconds : 0;
      seen.rates = [...seen.rates, bytesNow].slice(-POINTS);
      Object.assign(seen, { at: now, bytes: file.bytes, requests: file.requests });
      this.seen.set(`${file.file} ${file.state}`, seen);
      [requests, sum, rate, open] = [requests + file.requests, sum + file.bytes, rate + bytesNow, open + file.open];
      const cells = [file.requests, file.ranges, bytes(file.bytes), `${bytes(Math.round(bytesNow))}/s`, file.open, file.hits, file.misses];
      return h("tr", {}, h("th", { scope: "row" }, this.app.name(file.file)), ...cells.map((cell) => h("td", {}, String(cell))),
        h("td", {}, curve(seen.rates)));
    });
    at("counters").textContent = `${requests} requests, ${bytes(sum)}, ${bytes(Math.round(rate))}/s${open ? `, ${open} under way` : ""}`;
    if (!this.element.hidden) this.body.replaceChildren(...rows);
  }
}

function curve(rates: number[]): SVGElement {
  const most = Math.max(...rates, 1);
  const points = rates.map((rate, place) => `${place ? "L" : "M"}${place + POINTS - rates.length} ${(22 - (20 * rate) / most).toFixed(1)}`);
  const svg = s("svg", { width: POINTS, height: 24, viewBox: `0 0 ${POINTS} 24`, "aria-hidden": "true" });
  svg.append(s("path", { d: points.join(""), fill: "none", stroke: "#2f74c0", "stroke-width": 1.5 }));
  return svg;
}
