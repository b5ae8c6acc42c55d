// What is shown, as the part of the address behind the `#`: a link to it opens the same view again.

export type Room = "draw" | "table" | "object" | "layout" | "live";

/** All that a view depends on; empty texts where nothing was chosen. */
export interface View {
  room: Room;
  file: string;
  path: string;
  x: string;
  y: string;
  z: string;
  cut: string;
  weight: string;
  bins: string;
  from: string;
  to: string;
  log: string;
  profile: string;
  columns: string;
  /** The window of the layout: entries and offsets. */
  zoom: string;
  run: string;
}

const EMPTY: View = {
  room: "draw",
  file: "",
  path: "",
  x: "",
  y: "",
  z: "",
  cut: "",
  weight: "",
  bins: "",
  from: "",
  to: "",
  log: "",
  profile: "",
  columns: "",
  zoom: "",
  run: "",
};

const KEYS = Object.keys(EMPTY) as (keyof View)[];

/** The view of an address. */
export function read(hash: string): View {
  const query = new URLSearchParams(hash.replace(/^#/, ""));
  const view: Record<string, string> = { ...EMPTY };
  for (const key of KEYS) view[key] = query.get(key) ?? EMPTY[key];
  const rooms: string[] = ["draw", "table", "object", "layout", "live"];
  if (!rooms.includes(view.room ?? "")) view.room = "draw";
  return view as unknown as View;
}

/** The address of a view. */
export function write(view: View): string {
  const query = new URLSearchParams();
  for (const key of KEYS) if (view[key] !== EMPTY[key]) query.set(key, view[key]);
  return `#${query}`;
}

/** A view with nothing chosen but some of it. */
export function view(some: Partial<View>): View {
  return { ...EMPTY, ...some };
}
