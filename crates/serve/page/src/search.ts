// The field above the tree: names of a file and of its branches.

import { ask, type Found } from "./api";
import { at, h, say } from "./dom";

/** The most names that are shown. */
const MOST = 100;

export function search(file: () => string, chosen: (path: string, branch: string, open: boolean) => void): void {
  const input = at<HTMLInputElement>("search");
  const list = at("found");
  let turn = 0;
  let place = -1;
  let found: Found | null = null;

  const close = (): void => {
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
    const now = (turn += 1);
    const text = input.value.trim();
    if (!text || !file()) {
      close();
      if (text) say("choose a file: its names are searched");
      return;
    }
    const answer = await ask<Found>("search", { file: file(), text }).catch((error: unknown) => {
      say(error instanceof Error ? error.message : String(error));
      return null;
    });
    if (now !== turn || !answer) return;
    found = answer;
    const rows = answer.paths.slice(0, MOST).map((path, row) => {
      const item = h("li", { id: `found-${row}`, role: "option", "aria-selected": "false" },
        h("span", { class: "name" }, answer.branches[row] || path),
        h("span", { class: "detail" }, answer.branches[row] ? path : (answer.details[row] ?? "")));
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
  input.addEventListener("input", () => void look());
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
