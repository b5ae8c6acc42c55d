// The lines of Python that do what the page shows.

import type { View } from "./view";

const quoted = (text: string): string => JSON.stringify(text);

function selection(view: View): string {
  if (!view.weight) return view.cut;
  return view.cut ? `(${view.weight}) * (${view.cut})` : view.weight;
}

/** The tree of a view, as Python opens it. */
function opened(name: string, view: View): string {
  return `import sapwood\n\ntree = sapwood.open(${quoted(name)})[${quoted(view.path)}]\n`;
}

/** A histogram. */
export function drawing(name: string, view: View): string {
  const words = [view.z, view.y, view.x].filter(Boolean).join(":");
  const bins = view.bins
    ? `>>h(${view.bins.split(",").map((number) => number || "0").join(", ")})`
    : "";
  const more = [quoted(words + bins)];
  const cut = selection(view);
  if (cut) more.push(quoted(cut));
  if (view.profile) more.push("profile=True");
  if (view.from) more.push(`entry_start=${view.from}`);
  if (view.to) more.push(`entry_stop=${view.to}`);
  return `${opened(name, view)}histogram = tree.draw(${more.join(", ")})\n`;
}

/** A table. */
export function table(name: string, view: View, columns: string[], from: number, stop: number): string {
  const more = [`[${columns.map(quoted).join(", ")}]`];
  if (view.cut) more.push(`cut=${quoted(view.cut)}`);
  more.push(`entry_start=${from}`, `entry_stop=${stop}`);
  return `${opened(name, view)}arrays = tree.arrays(${more.join(", ")})\n`;
}

/** An object. */
export function object(name: string, view: View): string {
  return `import sapwood\n\nobject = sapwood.open(${quoted(name)})[${quoted(view.path)}]\n`;
}
