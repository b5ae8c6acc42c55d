// The tree of files, directories, trees and branches. Only the rows that are seen are in the document, so that ten
// thousand branches unfold at once; screen readers hear how many there are.

import { ask, Failure, type Level } from "./api";
import { at, h, middle, say } from "./dom";

const ROW = 24;
/** The most letters of a file's name. */
const MOST_LETTERS = 44;
/** Rows of one request. */
const PAGE = 20_000;

export interface Node {
  name: string;
  id: string;
  kind: string;
  detail: string;
  title: string;
  inner: boolean;
  expression: string;
  /** What is to be said about a file, once it is open. */
  note: string;
  file: string;
  path: string;
  branch: string;
  member: string;
  level: number;
  position: number;
  siblings: number;
  parent: Node | null;
  children: Node[] | null;
  open: boolean;
  loading: boolean;
}

export interface Listener {
  /** A row was chosen with Enter or a double click. */
  open(node: Node): void;
  /** A row became the current one. */
  current(node: Node): void;
  /** Another content of a file was seen. */
  state(file: string, state: number): void;
}

// Signs that every font has.
const ICONS: Record<string, string> = {
  folder: "▣", file: "▤", directory: "▣", tree: "▲", ntuple: "△", branch: "●", field: "○", leaf: "·",
  histogram: "▥", graph: "◇", function: "ƒ", run: "◔", object: "◆", member: "·", value: "·", error: "!",
};

/** What the server is asked for the level below a node. */
function below(node: Node): Record<string, string> {
  const { file, path, branch, member } = node;
  return { file, path, branch, member };
}

export class Tree {
  private readonly box = at("tree");
  private readonly rows = h("div", { class: "rows", role: "presentation" });
  private roots: Node[] = [];
  private flat: Node[] = [];
  /** The rows that are in the document. */
  private shown = new Map<Node, HTMLElement>();
  private current: Node | null = null;
  private typed = "";
  private typedAt = 0;

  constructor(private readonly listener: Listener) {
    this.box.append(this.rows);
    this.box.addEventListener("scroll", () => this.paint(), { passive: true });
    this.box.addEventListener("keydown", (event) => this.key(event));
    this.box.addEventListener("click", (event) => this.click(event));
    this.box.addEventListener("dblclick", (event) => {
      const node = this.node(event);
      if (node) this.listener.open(node);
    });
    this.box.addEventListener("focus", () => {
      if (!this.current && this.flat[0]) this.select(this.flat[0]);
    });
    new ResizeObserver(() => this.paint()).observe(this.box);
  }

  /** Loads the roots, and unfolds the only one. */
  async start(): Promise<void> {
    this.roots = await this.load(null);
    this.lay();
    const only = this.roots.length === 1 ? this.roots[0] : undefined;
    if (only) await this.unfold(only);
  }

  /** Loads again what is below a file. */
  async reload(file: string): Promise<void> {
    for (const node of this.roots.concat(this.flat)) {
      if (node.file === file && node.path === "" && node.children) {
        node.children = null;
        node.open = false;
        await this.unfold(node);
        return;
      }
    }
  }

  /** Unfolds what leads to a place, and makes it the current row. */
  async reveal(file: string, path: string, branch: string): Promise<Node | null> {
    const steps: ((node: Node) => boolean)[] = [];
    const parts = file.split("/");
    parts.forEach((_, index) => {
      const id = parts.slice(0, index + 1).join("/");
      // Those of folders of servers end with a slash.
      steps.push((node) => node.file.replace(/\/$/, "") === id && node.path === "");
    });
    const bare = path.replace(/;\d+/g, "");
    const keys = bare === "" ? [] : bare.split("/");
    keys.forEach((_, index) => {
      const wanted = keys.slice(0, index + 1).join("/");
      const plain = (node: Node) => node.path.replace(/;\d+/g, "") === wanted;
      steps.push(index === keys.length - 1 ? (node) => node.path === path || plain(node) : plain);
    });
    const names = branch === "" ? [] : branch.split("/");
    names.forEach((_, index) => steps.push((node) => node.branch === names.slice(0, index + 1).join("/")));
    let level = this.roots;
    let last: Node | null = null;
    for (const step of steps) {
      const next: Node | undefined = level.find(step);
      if (!next) continue;
      last = next;
      if (step !== steps[steps.length - 1]) await this.unfold(next);
      level = next.children ?? [];
    }
    if (last) this.select(last, true);
    return last;
  }

  private async load(parent: Node | null): Promise<Node[]> {
    const found: Node[] = [];
    for (let total = 1; found.length < total; ) {
      const asked = { ...(parent ? below(parent) : {}), from: found.length, count: PAGE };
      const level = await ask<Level>("list", asked);
      total = level.total;
      if (parent && level.state) this.listener.state(parent.file, level.state);
      if (parent && level.note !== undefined) this.noted(parent, level.note);
      if (level.names.length === 0) break;
      level.names.forEach((name, index) => found.push(this.row(level, index, name, parent)));
    }
    return found;
  }

  /** Shows what is to be said about a file in its row. */
  private noted(node: Node, note: string): void {
    if (note === node.note) return;
    node.note = note;
    if (note) say(`${node.name}: ${note}`);
    this.shown.get(node)?.remove();
    this.shown.delete(node);
  }

  private row(level: Level, index: number, name: string, parent: Node | null): Node {
    const kind = level.kinds[index] ?? "";
    const id = level.ids[index] ?? "";
    const isFile = kind === "file" || kind === "folder";
    const isBranch = kind === "branch" || kind === "field" || kind === "leaf";
    const isMember = kind === "member" || kind === "value";
    const isKey = !isFile && !isBranch && !isMember;
    return {
      name, id, kind,
      detail: level.details[index] ?? "",
      title: level.titles[index] ?? "",
      inner: level.inner[index] ?? false,
      expression: level.expressions[index] ?? "",
      note: "",
      file: isFile ? id : (parent?.file ?? ""),
      path: isKey ? id : isFile ? "" : (parent?.path ?? ""),
      branch: isBranch ? id : "",
      member: isMember ? id : "",
      level: (parent?.level ?? 0) + 1,
      position: level.from + index + 1,
      siblings: level.total,
      parent, children: null, open: false, loading: false,
    };
  }

  /** Unfolds a row. What cannot be read is a row that says why. */
  async unfold(node: Node): Promise<void> {
    if (node.open || !node.inner || node.loading) return;
    node.loading = true;
    this.paint();
    try {
      node.children ??= await this.load(node);
    } catch (error) {
      const words = error instanceof Failure ? error.message : String(error);
      node.children = [{
        ...node, name: words, id: "", kind: "error", detail: "", title: "", inner: false, expression: "",
        level: node.level + 1, position: 1, siblings: 1, parent: node, children: null, open: false, loading: false,
      }];
      say(words);
    }
    node.loading = false;
    node.open = true;
    this.lay();
  }

  private fold(node: Node): void {
    node.open = false;
    // What was an error is asked for again.
    if (node.children?.[0]?.kind === "error") node.children = null;
    this.lay();
  }

  private lay(): void {
    const flat: Node[] = [];
    const walk = (nodes: Node[]): void => {
      for (const node of nodes) {
        flat.push(node);
        if (node.open && node.children) walk(node.children);
      }
    };
    walk(this.roots);
    this.flat = flat;
    if (this.current && !flat.includes(this.current)) this.current = null;
    this.rows.style.height = `${flat.length * ROW}px`;
    this.paint();
  }

  private paint(): void {
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - 10);
    const last = Math.min(this.flat.length, Math.ceil((this.box.scrollTop + this.box.clientHeight) / ROW) + 10);
    // Elements of rows that stay are kept where they are: a double click is two clicks on one element.
    const shown = new Map<Node, HTMLElement>();
    for (let index = first; index < last; index += 1) {
      const node = this.flat[index];
      if (node) shown.set(node, this.element(node, index, this.shown.get(node)));
    }
    for (const [node, element] of this.shown) if (!shown.has(node)) element.remove();
    let next = this.rows.firstElementChild;
    for (const element of shown.values()) {
      if (element === next) next = next.nextElementSibling;
      else this.rows.insertBefore(element, next);
    }
    this.shown = shown;
    const place = this.current ? this.flat.indexOf(this.current) : -1;
    if (place >= first && place < last) this.box.setAttribute("aria-activedescendant", `row-${place}`);
    else this.box.removeAttribute("aria-activedescendant");
  }

  private element(node: Node, index: number, known?: HTMLElement): HTMLElement {
    const element = known ?? this.made(node);
    element.id = `row-${index}`;
    element.dataset.index = String(index);
    element.ariaSelected = String(node === this.current);
    element.style.top = `${index * ROW}px`;
    if (node.inner) element.ariaExpanded = String(node.open);
    const twist = element.firstElementChild;
    const sign = node.inner ? (node.loading ? "…" : node.open ? "▾" : "▸") : "";
    if (twist && twist.textContent !== sign) twist.textContent = sign;
    return element;
  }

  private made(node: Node): HTMLElement {
    const isFile = node.kind === "file" || node.kind === "folder";
    const shownTitle = node.kind === "member" || node.kind === "value" ? node.title : "";
    const element = h(
      "div",
      {
        class: `row ${node.kind}${node.note ? " noted" : ""}`, role: "treeitem", "aria-level": node.level, "aria-setsize": node.siblings,
        "aria-posinset": node.position, title: [node.name, node.note, node.detail, node.title].filter(Boolean).join(" — "),
      },
      h("span", { class: "twist", "aria-hidden": "true" }),
      h("span", { class: "icon", "aria-hidden": "true" }, ICONS[node.kind] ?? "◆"),
      h("span", { class: "name" }, isFile ? middle(node.name, MOST_LETTERS) : node.name),
      h("span", { class: "detail" }, node.note || shownTitle || node.detail),
    );
    element.style.paddingLeft = `${(node.level - 1) * 14}px`;
    return element;
  }

  private node(event: Event): Node | null {
    const row = (event.target as Element).closest<HTMLElement>("[data-index]");
    return row ? (this.flat[Number(row.dataset.index)] ?? null) : null;
  }

  private click(event: MouseEvent): void {
    const node = this.node(event);
    if (!node) return;
    this.select(node);
    const isTwist = (event.target as Element).classList.contains("twist");
    if (isTwist && node.open) this.fold(node);
    else if (isTwist) void this.unfold(node);
  }

  private select(node: Node, center = false): void {
    this.current = node;
    const top = this.flat.indexOf(node) * ROW;
    const { scrollTop, clientHeight } = this.box;
    if (center) this.box.scrollTop = top - clientHeight / 2;
    else if (top < scrollTop) this.box.scrollTop = top;
    else if (top + ROW > scrollTop + clientHeight) this.box.scrollTop = top + ROW - clientHeight;
    this.paint();
    this.listener.current(node);
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const place = this.current ? this.flat.indexOf(this.current) : -1;
    const go = (index: number): void => {
      const node = this.flat[Math.max(0, Math.min(this.flat.length - 1, index))];
      if (node) this.select(node);
    };
    const node = this.current;
    const page = Math.max(1, Math.floor(this.box.clientHeight / ROW) - 1);
    switch (event.key) {
      case "ArrowDown": go(place + 1); break;
      case "ArrowUp": go(place - 1); break;
      case "PageDown": go(place + page); break;
      case "PageUp": go(place - page); break;
      case "Home": go(0); break;
      case "End": go(this.flat.length - 1); break;
      case "ArrowRight":
        if (node?.open) go(place + 1);
        else if (node) void this.unfold(node);
        break;
      case "ArrowLeft":
        if (node?.open) this.fold(node);
        else if (node?.parent) this.select(node.parent);
        break;
      case "Enter":
        if (node) this.listener.open(node);
        break;
      default:
        if (event.key.length !== 1 || event.key === " ") return;
        this.jump(event.key, place);
    }
    event.preventDefault();
  }

  /** Goes to the next row whose name begins with what is typed. */
  private jump(letter: string, place: number): void {
    const now = Date.now();
    this.typed = now - this.typedAt < 800 ? this.typed + letter : letter;
    this.typedAt = now;
    const wanted = this.typed.toLowerCase();
    const from = this.typed.length === 1 ? place + 1 : place;
    for (let step = 0; step < this.flat.length; step += 1) {
      const node = this.flat[(from + step) % this.flat.length];
      if (node?.name.toLowerCase().startsWith(wanted)) {
        this.select(node);
        return;
      }
    }
  }
}
