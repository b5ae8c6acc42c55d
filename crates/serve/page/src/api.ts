// Requests to the server: each answer is lines of JSON, of which the last one has the result or the error.

export type Params = Record<string, string | number | boolean | null | undefined>;

/** What went wrong: a kind to decide by, and words. */
export class Failure extends Error {
  constructor(
    readonly kind: string,
    words: string,
  ) {
    super(words);
  }
}

/** The address of a route. */
export function route(name: string, params: Params): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(params)) {
    if (value !== undefined && value !== null && value !== "" && value !== false) {
      query.set(key, value === true ? "1" : String(value));
    }
  }
  return `api/${name}?${query}`;
}

interface Line {
  progress?: number;
  result?: unknown;
  error?: { kind: string; words: string };
}

/** Asks, and tells how far it is; `signal` stops the work on the server. */
export async function ask<T>(
  name: string,
  params: Params,
  signal?: AbortSignal,
  progress?: (part: number) => void,
): Promise<T> {
  let response: Response;
  try {
    response = await fetch(route(name, params), { signal, cache: "no-store" });
  } catch (error) {
    if (signal?.aborted) throw new Failure("cancelled", "stopped");
    throw new Failure("gone", "sapwood browse does not answer: it may have ended");
  }
  if (!response.body || !(response.headers.get("Content-Type") ?? "").includes("ndjson")) {
    throw new Failure("refused", (await response.text()).trim() || response.statusText);
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  let last: Line = {};
  try {
    // To its end, so that the connection serves the next request.
    for (let end = false; !end; ) {
      const { done, value } = await reader.read();
      end = done;
      const lines = (text + (value ?? "")).split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) {
        last = JSON.parse(line) as Line;
        if (last.progress !== undefined) progress?.(last.progress);
      }
    }
  } catch (error) {
    if (signal?.aborted) throw new Failure("cancelled", "stopped");
    throw error;
  }
  if (last.error) throw new Failure(last.error.kind, last.error.words);
  if (last.result === undefined) throw new Failure("gone", "the answer has no end: sapwood browse may have ended");
  return last.result as T;
}

/** One level of the tree, in columns. */
export interface Level {
  state: number;
  total: number;
  from: number;
  names: string[];
  ids: string[];
  kinds: string[];
  details: string[];
  titles: string[];
  inner: boolean[];
  expressions: string[];
  note?: string;
}

export interface Found {
  state: number;
  total: number;
  paths: string[];
  branches: string[];
  kinds: string[];
  details: string[];
  expressions: string[];
}

/** Numbers, of which those that JSON lacks are texts. */
type Loose = number | string;

export interface Axis {
  title: string;
  bins: number;
  min: number;
  max: number;
  edges: number[] | null;
  labels: string[] | null;
  time: string | null;
}

export interface Histogram {
  kind: "histogram";
  class: string;
  name: string;
  title: string;
  axes: Axis[];
  values: Loose[];
  errors: Loose[] | null;
  is_profile: boolean;
  entries: number;
  mean: Loose[];
  std_dev: Loose[];
  integral: Loose;
  /** What was fitted to it. */
  functions?: Function[];
}

export interface Graph {
  kind: "graph";
  class: string;
  title: string;
  values: Loose[][];
  errors: ([Loose[], Loose[]] | null)[];
  points: number;
  functions?: Function[];
}

export interface Efficiency {
  kind: "efficiency";
  class: string;
  passed: Histogram;
  total: Histogram;
  level: number;
  interval: string;
  prior: [number, number];
}

/** Values at the middles of the bins of its axes. */
export interface Function {
  kind: "function";
  class: string;
  title: string;
  axes: Axis[];
  values: Loose[];
  /** Name, value and error of each. */
  parameters: [string, Loose, Loose][];
  is_saved: boolean;
}

export type Drawn = Histogram | Graph | Efficiency | Function;

export interface Run {
  title: string;
  figures: [string, Loose, string][];
  num_reads: number;
  reads: { entry: (number | null)[]; offset: number[]; offset_end: number[]; at: number[]; took: number[]; used: number[] };
}

export interface Layout {
  state: number;
  tree: string;
  entries: number;
  file_bytes: number;
  zip_bytes: number;
  tot_bytes: number;
  has_clusters: boolean;
  num_baskets: number;
  num_branches: number;
  num_clusters: number;
  is_exact: boolean;
  marks: { branch: number[]; entry: number[]; entry_end: number[]; offset: number[]; bytes: number[] };
  branches: { path: string[]; type: (string | null)[]; baskets: number[]; zip_bytes: number[]; tot_bytes: number[] };
  clusters: { entry: number[]; bytes: number[]; offset: number[]; offset_end: number[] };
  doctor: {
    issues: { kind: string; message: string }[];
    options: string[];
    readings: { reading: string; requests: [number, number]; seconds: [number, number] }[];
  };
}

export interface Table {
  state: number;
  total: number;
  next: number;
  entries: number[];
  names: string[];
  columns: unknown[][];
  types: string[];
  failures: (string | null)[];
}

export interface Live {
  files: {
    file: string;
    state: number;
    is_same: boolean;
    requests: number;
    ranges: number;
    bytes: number;
    open: number;
    hits: number;
    misses: number;
  }[];
}

/** A number that JSON may have as text. */
export function num(value: Loose | undefined): number {
  return typeof value === "number" ? value : Number(value ?? NaN);
}
