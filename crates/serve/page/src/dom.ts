// Elements, without a framework.

type Child = Node | string | null | undefined | false;
type Value = string | number | boolean | null | undefined | ((event: never) => void);

const SVG = "http://www.w3.org/2000/svg";

function fill(element: Element, attributes: Record<string, Value>, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value as EventListener);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
}

/** An element of HTML; functions among the attributes are listeners. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, Value> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

/** An element of SVG. */
export function s(tag: string, attributes: Record<string, Value> = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS(SVG, tag) as SVGElement;
  fill(element, attributes, children);
  return element;
}

/** The element with an id, which the page has. */
export function at<T extends HTMLElement = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no ${id}`);
  return element as T;
}

/** A button. */
export function button(words: string, click: () => void, attributes: Record<string, Value> = {}): HTMLButtonElement {
  return h("button", { type: "button", click, ...attributes }, words);
}

/** A label with its control in it. */
export function labelled(words: string, control: HTMLElement): HTMLLabelElement {
  return h("label", {}, h("span", {}, words), control);
}

/** A long name without what is in its middle: its beginning says where, its end what. */
export function middle(text: string, most: number): string {
  const letters = [...text];
  if (letters.length <= most) return text;
  const before = Math.floor((most - 1) * 0.4);
  return `${letters.slice(0, before).join("")}…${letters.slice(letters.length - (most - 1 - before)).join("")}`;
}

/** Says something to screen readers, and shows it in the line at the bottom. */
export function say(words: string): void {
  at("said").textContent = words;
}

/** Bytes in units that are read. */
export function bytes(count: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (count >= 1000 && unit < units.length - 1) {
    count /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? count : count.toPrecision(3)} ${units[unit]}`;
}

/** Saves something as a file of the user's. */
export function download(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
