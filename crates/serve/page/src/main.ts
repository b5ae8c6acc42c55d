// The page: the tree at the left, the rooms at the right, and the view in the address.

import type { App, Room as Shown } from "./app";
import { at, button, h, middle, say } from "./dom";
import { DrawRoom } from "./draw";
import { LayoutRoom } from "./layout";
import { LiveRoom } from "./live";
import { ObjectRoom } from "./object";
import { search } from "./search";
import { TableRoom } from "./table";
import { type Node, Tree } from "./tree";
import { read, type Room, type View, view as viewOf, write } from "./view";

const WORDS: Record<Room, string> = { draw: "Histogram", table: "Table", object: "Object", layout: "Layout", live: "Live" };
const states = new Map<string, number>();
const names = new Map<string, string>();
let current: Node | null = null;

const app: App = {
  view: read(location.hash),
  go(some) {
    app.view = { ...app.view, ...some };
    const hash = write(app.view);
    if (hash !== location.hash) history.pushState(null, "", hash);
    show();
  },
  keep(some) {
    app.view = { ...app.view, ...some };
    history.replaceState(null, "", write(app.view));
  },
  state(file, state) {
    const known = states.get(file);
    if (state < 0) {
      // The file is another one now; nothing of that was asked for yet.
      if (known === -state) changed(file, "has changed on storage: what is shown is what it was");
    } else if (known !== undefined && known !== state) {
      states.set(file, state);
      changed(file, "has changed since it was opened: what is shown now is its new content");
      void tree.reload(file);
    } else states.set(file, state);
  },
  name: (file) => names.get(file) ?? (file.includes("/") ? below(file) : file),
  runs: new Map(),
  dark: () => document.documentElement.dataset.theme === "dark",
};

/** The name of a file in a folder. */
function below(file: string): string {
  const [root, ...rest] = file.split("/");
  return `${names.get(root ?? "") ?? root}/${rest.join("/")}`;
}

function changed(file: string, words: string): void {
  const banner = at("changed");
  banner.replaceChildren(
    h("span", {}, `${app.name(file)} ${words}. `),
    button("Load again", () => {
      banner.hidden = true;
      states.delete(file);
      void tree.reload(file).then(() => location.reload());
    }),
    button("Close", () => (banner.hidden = true)),
  );
  banner.hidden = false;
}

const rooms: Record<Room, Shown> = {
  draw: new DrawRoom(app),
  table: new TableRoom(app),
  object: new ObjectRoom(app),
  layout: new LayoutRoom(app),
  live: new LiveRoom(app),
};
const tabs = {} as Record<Room, HTMLButtonElement>;

const tree = new Tree({
  open(node) {
    chose(node);
  },
  current(node) {
    current = node;
    describe(node);
    // Where nothing is shown yet, a tree that is selected is the one that is meant.
    if (!app.view.path && (node.kind === "tree" || node.kind === "ntuple")) app.keep({ file: node.file, path: node.path });
  },
  state: (file, state) => app.state(file, state),
});

/** Whether values of a type are texts, which are no numbers to draw. */
const isText = (type: string): boolean => /^(std::)?string$|^TString$|^char ?\*$/.test(type);

/** What Enter or a double click on a row does. */
function chose(node: Node): void {
  const { file, path, kind, expression, inner } = node;
  const place = { file, path };
  const isOther = file !== app.view.file || path !== app.view.path;
  if (expression && isText(node.detail)) {
    app.go(viewOf({ ...place, room: "table", columns: expression }));
  } else if (expression && (!inner || node.children === null || kind === "field")) {
    app.go({ ...(isOther ? viewOf(place) : place), room: "draw", x: expression, y: "", z: "", bins: "", zoom: "" });
    if (inner) void tree.unfold(node);
  } else if (kind === "tree" || kind === "ntuple") {
    void tree.unfold(node);
    if (isOther) app.go(viewOf({ ...place, room: app.view.room === "object" || app.view.room === "live" ? "draw" : app.view.room }));
  } else if (kind === "run") {
    app.go({ room: "layout", run: `${file}\n${path}` });
  } else if (["folder", "file", "directory", "branch", "field", "member", "value"].includes(kind)) {
    void tree.unfold(node);
  } else if (path) {
    app.go(viewOf({ ...place, room: "object" }));
  }
}

/** The line below the tree: what the current row is, and what can be done with it. */
function describe(node: Node): void {
  const axis = (letter: "x" | "y" | "z"): HTMLButtonElement =>
    button(`As ${letter}`, () => onAxis(node, letter), { "aria-label": `${node.name} as ${letter}` });
  const { file, path } = node;
  const has = node.kind === "tree" || node.kind === "ntuple" || node.expression !== "";
  at("chosen").replaceChildren(
    h("p", {}, h("strong", {}, node.name), ` ${node.detail}`, node.title ? ` — ${node.title}` : ""),
    ...(node.expression ? [axis("x"), axis("y"), axis("z")] : []),
    ...(has
      ? [
          button("Table", () => app.go(viewOf({ room: "table", file, path, columns: node.expression }))),
          button("Layout", () => app.go(viewOf({ room: "layout", file, path, run: app.view.run }))),
        ]
      : []),
  );
}

function onAxis(node: Node, letter: "x" | "y" | "z"): void {
  const { file, path, expression } = node;
  if (!expression) return;
  const isOther = file !== app.view.file || path !== app.view.path;
  const some: Partial<View> = { room: "draw", file, path, bins: "", [letter]: expression };
  app.go(isOther ? viewOf(some) : some);
}

/** Shows the view. */
function show(): void {
  for (const [name, room] of Object.entries(rooms) as [Room, Shown][]) {
    const isShown = name === app.view.room;
    room.element.hidden = !isShown;
    tabs[name].setAttribute("aria-selected", String(isShown));
    tabs[name].tabIndex = isShown ? 0 : -1;
  }
  shownPlace();
  const { file, path, room } = app.view;
  document.title = `${path || app.name(file) || WORDS[room]} – Sapwood`;
  rooms[room].show(app.view);
}

/** Where the view is, in the line at the top. */
function shownPlace(): void {
  const { file, path } = app.view;
  const line = at("place");
  const words = file ? `${app.name(file)}${path ? ` › ${path}` : ""}` : "";
  // A letter is about 7.5 points wide.
  line.textContent = middle(words, Math.max(24, Math.floor(line.clientWidth / 7.5)));
  line.title = words;
}

function tabbar(): void {
  const bar = at("tabs");
  for (const [name, words] of Object.entries(WORDS) as [Room, string][]) {
    const tab = button(words, () => app.go({ room: name }), { role: "tab", id: `tab-${name}`, "aria-controls": `room-${name}` });
    tabs[name] = tab;
    bar.append(tab);
    const room = rooms[name].element;
    room.id = `room-${name}`;
    room.setAttribute("role", "tabpanel");
    room.setAttribute("aria-labelledby", `tab-${name}`);
    room.removeAttribute("aria-label");
    at("rooms").append(room);
  }
  bar.addEventListener("keydown", (event) => {
    const all = Object.keys(WORDS) as Room[];
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? all.length - 1 : 0;
    const next = all[(all.indexOf(app.view.room) + step) % all.length];
    if (!step || !next) return;
    app.go({ room: next });
    tabs[next].focus();
  });
}

function themes(): void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const toggle = at("theme");
  const set = (dark: boolean): void => {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    toggle.textContent = dark ? "Light" : "Dark";
    for (const room of Object.values(rooms)) room.restyle?.();
  };
  system.addEventListener("change", () => set(system.matches));
  toggle.addEventListener("click", () => set(!app.dark()));
  set(system.matches);
}

async function start(): Promise<void> {
  tabbar();
  themes();
  at("tree").addEventListener("keydown", (event) => {
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (isPlain && current?.expression && ["x", "y", "z"].includes(event.key)) {
      onAxis(current, event.key as "x" | "y" | "z");
      event.preventDefault();
      event.stopImmediatePropagation();
    }
  }, { capture: true });
  document.addEventListener("keydown", (event) => {
    const target = event.target as Element;
    if (event.key === "/" && !target.matches("input, textarea, select")) {
      at("search").focus();
      event.preventDefault();
    }
  });
  search(() => (current?.kind === "folder" ? "" : current?.file || app.view.file || "0"), (path, branch, open) => {
    const file = current?.file || app.view.file || "0";
    void tree.reveal(file, path, branch).then((node) => open && node && chose(node));
  });
  const { ask } = await import("./api");
  try {
    const roots = await ask<{ names: string[]; ids: string[] }>("list", {});
    roots.ids.forEach((id, place) => names.set(id, roots.names[place] ?? id));
    await tree.start();
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
  }
  addEventListener("popstate", () => {
    const before = app.view;
    app.view = read(location.hash);
    const { file, path } = app.view;
    show();
    if (path && (file !== before.file || path !== before.path)) void tree.reveal(file, path, "");
  });
  let waiting = 0;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      shownPlace();
      rooms[app.view.room].restyle?.();
    }, 150);
  });
  // The address may be another one by now.
  app.view = read(location.hash);
  show();
  if (app.view.file && app.view.path) await tree.reveal(app.view.file, app.view.path, "");
}

void start();
