// What the rooms of the page share.

import type { Run } from "./api";
import type { View } from "./view";

export interface App {
  view: View;
  /** Shows another view; it becomes the address of the page. */
  go(some: Partial<View>): void;
  /** Notes a change of the view that is shown already. */
  keep(some: Partial<View>): void;
  /** Another content of a file was seen. */
  state(file: string, state: number): void;
  /** What a file is called. */
  name(file: string): string;
  /** Runs that were recorded in this page, by file and path. */
  runs: Map<string, Run>;
  dark(): boolean;
}

export interface Room {
  element: HTMLElement;
  show(view: View): void;
  /** The page is dark or light now, or another size. */
  restyle?(): void;
}
