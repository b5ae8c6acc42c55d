// Completion of names in fields of expressions: a list below the field, of names that hold the word at the caret.

import { ask, type Found } from "./api";
import { h } from "./dom";

const MOST = 12;
/** How long after a letter it is asked, in milliseconds. */
const PAUSE = 120;
let number = 0;

/** Makes an input complete names of the tree that `where` tells. */
export function completes(input: HTMLInputElement, where: () => { file: string; path: string }): HTMLElement {
  const id = `names-${(number += 1)}`;
  const list = h("ul", { id, role: "listbox", class: "names", hidden: true, "aria-label": "Names" });
  let chosen = -1;
  let asked = 0;
  let waiting = 0;
  input.setAttribute("role", "combobox");
  input.setAttribute("aria-autocomplete", "list");
  input.setAttribute("aria-expanded", "false");
  input.setAttribute("aria-controls", id);
  input.setAttribute("autocomplete", "off");
  input.setAttribute("spellcheck", "false");

  const close = (): void => {
    list.hidden = true;
    chosen = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const word = (): [number, number] => {
    const end = input.selectionStart ?? input.value.length;
    const start = end - (/[\w.]*$/.exec(input.value.slice(0, end))?.[0].length ?? 0);
    return [start, end];
  };
  const take = (name: string): void => {
    const [start, end] = word();
    const rest = /^[\w.]*/.exec(input.value.slice(end))?.[0].length ?? 0;
    input.setRangeText(name, start, end + rest, "end");
    input.dispatchEvent(new Event("change"));
    close();
  };
  const mark = (): void => {
    [...list.children].forEach((item, place) => item.setAttribute("aria-selected", String(place === chosen)));
    if (chosen >= 0) input.setAttribute("aria-activedescendant", `${id}-${chosen}`);
    else input.removeAttribute("aria-activedescendant");
  };
  const look = async (): Promise<void> => {
    const [start, end] = word();
    const text = input.value.slice(start, end);
    const { file, path } = where();
    if (text.length < 2 || !file || !path) {
      close();
      return;
    }
    const turn = (asked += 1);
    const found = await ask<Found>("search", { file, path, text }).catch(() => null);
    if (turn !== asked || !found || document.activeElement !== input) return;
    const names = found.expressions.filter(Boolean);
    names.sort((a, b) => Number(b.startsWith(text)) - Number(a.startsWith(text)) || a.length - b.length);
    const shown = names.filter((name) => name !== text).slice(0, MOST);
    list.replaceChildren(
      ...shown.map((name, place) => {
        const item = h("li", { id: `${id}-${place}`, role: "option", "aria-selected": "false" }, name);
        item.addEventListener("mousedown", (event) => {
          event.preventDefault();
          take(name);
        });
        return item;
      }),
    );
    chosen = -1;
    mark();
    list.hidden = shown.length === 0;
    input.setAttribute("aria-expanded", String(shown.length > 0));
  };
  input.addEventListener("input", () => {
    asked += 1;
    clearTimeout(waiting);
    waiting = setTimeout(() => void look(), PAUSE);
  });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && chosen < 0) {
      // What is asked for comes too late now.
      asked += 1;
      clearTimeout(waiting);
      close();
    }
    if (list.hidden) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const count = list.children.length;
      chosen = (chosen + (event.key === "ArrowDown" ? 1 : count) + (chosen < 0 && event.key === "ArrowUp" ? 1 : 0)) % count;
      mark();
      event.preventDefault();
    } else if ((event.key === "Enter" || event.key === "Tab") && chosen >= 0) {
      take(list.children[chosen]?.textContent ?? "");
      event.preventDefault();
      event.stopImmediatePropagation();
    } else if (event.key === "Escape") {
      close();
      event.stopPropagation();
    }
  });
  return h("span", { class: "completes" }, input, list);
}
