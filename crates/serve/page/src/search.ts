// The field above the tree: names of a file and of its branches.

import { ask, type Found } from "./api";
import { at, h, middle, say } from "./dom";

/** The most names that are shown. */
const MOST = 100;
/** How long after a letter it is asked, in milliseconds: who types asks once. */
const PAUSE = 120;

export function search(file: () => string, chosen: (path: string, branch: string, open: boolean) => void): void {
  const input = at<HTMLInputElement>("search");
  const list = at("found");
  let waiting = 0;
  /** The request whose answer is wanted. */
  let asked: AbortController | null = null;
  let place = -1;
  let found: Found | null = null;

  const close = (): void => {
    clearTimeout(waiting);
    asked?.abort();
    asked = null;
    list.hidden = true;
    place = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const mark = (): void => {
    [...list.children].forEach((item, row) => item.setAttribute("aria-selected", String(row === place)));
    if (place >= 0) {
      input.setAttribute("aria-activedescendant", `found-${place}`);
      list.children[place]?.scrollIntoView({ block: "nearest" });
    }
  };
  const take = (row: number, open: boolean): void => {
    if (!found || row < 0 || row >= found.paths.length) return;
    chosen(found.paths[row] ?? "", found.branches[row] ?? "", open);
    if (open) close();
  };
  const look = async (): Promise<void> => {
    asked?.abort();
    const now = (asked = new AbortController());
    const text = input.value.trim();
    if (!text || !file()) {
      close();
      if (text) say("choose a file: its names are searched");
      return;
    }
    const answer = await ask<Found>("search", { file: file(), text }, now.signal).catch((error: unknown) => {
      if (now === asked) say(error instanceof Error ? error.message : String(error));
      return null;
    });
    if (now !== asked || !answer) return;
    found = answer;
    const rows = answer.paths.slice(0, MOST).map((path, row) => {
      const name = answer.branches[row] || path;
      const detail = answer.branches[row] ? path : (answer.details[row] ?? "");
      const item = h("li", { id: `found-${row}`, role: "option", "aria-selected": "false", title: `${name} — ${detail}` },
        h("span", { class: "name" }, middle(name, 48)),
        h("span", { class: "detail" }, middle(detail, 32)));
      item.addEventListener("mousedown", (event) => event.preventDefault());
      item.addEventListener("click", () => {
        place = row;
        mark();
        take(row, false);
      });
      item.addEventListener("dblclick", () => take(row, true));
      return item;
    });
    list.replaceChildren(...rows);
    list.hidden = rows.length === 0;
    place = -1;
    input.setAttribute("aria-expanded", String(rows.length > 0));
    const more = answer.total > rows.length ? `, the first ${rows.length} are shown` : "";
    say(`${answer.total} names hold ${text}${more}`);
  };
  input.addEventListener("input", () => {
    // What was found is of other words.
    asked?.abort();
    asked = null;
    clearTimeout(waiting);
    waiting = setTimeout(() => void look(), PAUSE);
  });
  input.addEventListener("keydown", (event) => {
    const count = list.hidden ? 0 : list.children.length;
    if (event.key === "ArrowDown" && count) place = (place + 1) % count;
    else if (event.key === "ArrowUp" && count) place = (place + count - 1) % count;
    else if (event.key === "Enter" && count) {
      take(Math.max(0, place), true);
      event.preventDefault();
      return;
    } else if (event.key === "Escape") {
      input.value = "";
      close();
      return;
    } else return;
    mark();
    event.preventDefault();
  });
}
