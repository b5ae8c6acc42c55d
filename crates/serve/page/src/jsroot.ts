// jsroot in a frame that has no origin and no network: it asks this page for the bytes of the file.

import { route } from "./api";
import { h } from "./dom";

/** The most bytes that the server sends at once. */
const MOST = 64 << 20;

/** The most bytes and ranges that a frame can ask for at a time, in all of its requests: a file may claim anything. */
const MOST_ASKED = 1 << 30;
const MOST_RANGES = 10_000;

interface Asked {
  kind: "ready" | "bytes" | "drawn" | "failed";
  id?: number;
  ranges?: [number, number][];
  words?: string;
}

/** What is drawn, and how. */
export interface Subject {
  file: string;
  name: string;
  path: string;
  dark: boolean;
}

/** The sum of ranges; an error where one of them is none of the file's. */
function sum(ranges: [number, number][], size: number): number {
  let total = 0;
  for (const [start, length] of ranges) {
    const isRange = Number.isSafeInteger(start) && Number.isSafeInteger(length) && start >= 0 && length >= 0;
    if (!isRange || start + length > size) throw new Error(`${length} bytes at ${start} are not in the file, which has ${size}`);
    total += length;
  }
  return total;
}

async function bytes(file: string, start: number, length: number): Promise<ArrayBuffer> {
  const found = new Uint8Array(length);
  for (let done = 0; done < length; ) {
    const end = Math.min(length, done + MOST);
    const headers = { Range: `bytes=${start + done}-${start + end - 1}` };
    const response = await fetch(route("raw", { file }), { headers, cache: "no-store" });
    if (!response.ok) throw new Error(`the bytes of the file cannot be read: ${await response.text()}`);
    const part = new Uint8Array(await response.arrayBuffer());
    if (part.length === 0) throw new Error("the file is shorter than its header says");
    found.set(part, done);
    done += part.length;
  }
  return found.buffer;
}

export class Frame {
  readonly element = h("div", { class: "frame", hidden: true });
  private close: (() => void) | null = null;

  clear(): void {
    this.close?.();
    this.close = null;
    this.element.replaceChildren();
    this.element.hidden = true;
  }

  /** Draws an object; done when it is drawn. */
  async draw(address: string, { file, name, path, dark }: Subject): Promise<void> {
    this.clear();
    const size = Number(await (await fetch(route("raw", { file }))).text());
    const frame = h("iframe", { src: address, sandbox: "allow-scripts", title: `${path}, drawn by jsroot` });
    this.element.hidden = false;
    this.element.append(frame);
    // What the frame has asked for and not been given yet.
    let [open, count] = [0, 0];
    const read = async (ranges: [number, number][]): Promise<ArrayBuffer[]> => {
      const total = sum(ranges, size);
      if (open + total > MOST_ASKED || count + ranges.length > MOST_RANGES) {
        throw new Error(`an object asks for ${open + total} bytes in ${count + ranges.length} parts of the file at once`);
      }
      [open, count] = [open + total, count + ranges.length];
      try {
        return await Promise.all(ranges.map(([start, length]) => bytes(file, start, length)));
      } finally {
        [open, count] = [open - total, count - ranges.length];
      }
    };
    await new Promise<void>((done, fail) => {
      const hear = (event: MessageEvent<Asked>): void => {
        if (event.source !== frame.contentWindow) return;
        const asked = event.data;
        // The frame has no origin that could be named.
        const answer = (message: unknown, moved: Transferable[] = []): void =>
          frame.contentWindow?.postMessage(message, "*", moved);
        if (asked.kind === "ready") answer({ kind: "draw", name, size, path, dark });
        else if (asked.kind === "drawn") done();
        else if (asked.kind === "failed") fail(new Error(asked.words ?? "it does not say why"));
        else if (asked.kind === "bytes") {
          read(asked.ranges ?? []).then(
            (found) => answer({ kind: "bytes", id: asked.id, found }, found),
            (error: unknown) => answer({ kind: "bytes", id: asked.id, words: String(error) }),
          );
        }
      };
      window.addEventListener("message", hear);
      this.close = () => {
        window.removeEventListener("message", hear);
        fail(new Error("something else is drawn"));
      };
    });
  }
}
