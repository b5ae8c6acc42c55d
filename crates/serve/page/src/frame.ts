// The inside of the frame of jsroot: reads a file through the page around it, and draws one of its objects.

interface Told {
  kind: "draw" | "bytes";
  id?: number;
  found?: ArrayBuffer[];
  words?: string;
  name?: string;
  size?: number;
  path?: string;
  dark?: boolean;
}

interface JsrootFile {
  readObject(name: string): Promise<unknown>;
}

interface Jsroot {
  FileProxy: new () => object;
  settings: { DarkMode: boolean };
  openFile(proxy: object): Promise<JsrootFile>;
  draw(where: HTMLElement, object: unknown, options: string): Promise<unknown>;
  resize(where: HTMLElement): void;
}

declare const JSROOT: Jsroot;

const waiting = new Map<number, (told: Told) => void>();
let asked = 0;

function tell(message: unknown): void {
  parent.postMessage(message, "*");
}

/** Asks the page for ranges of the file. */
function bytes(ranges: [number, number][]): Promise<ArrayBuffer[]> {
  const id = (asked += 1);
  return new Promise((done, fail) => {
    waiting.set(id, (told) => (told.found ? done(told.found) : fail(new Error(told.words))));
    tell({ kind: "bytes", id, ranges });
  });
}

async function draw(told: Told): Promise<void> {
  class Proxy extends JSROOT.FileProxy {
    openFile(): Promise<boolean> {
      return Promise.resolve(true);
    }
    getFileName(): string {
      return told.name ?? "file.root";
    }
    getFileSize(): number {
      return told.size ?? 0;
    }
    async readBuffer(start: number, length: number): Promise<DataView> {
      const [found] = await bytes([[start, length]]);
      return new DataView(found ?? new ArrayBuffer(0));
    }
    async readBuffers(places: number[]): Promise<DataView[]> {
      const ranges: [number, number][] = [];
      for (let at = 0; at < places.length; at += 2) ranges.push([places[at] ?? 0, places[at + 1] ?? 0]);
      return (await bytes(ranges)).map((found) => new DataView(found));
    }
  }
  JSROOT.settings.DarkMode = told.dark ?? false;
  document.body.className = told.dark ? "dark" : "";
  const file = await JSROOT.openFile(new Proxy());
  const object = await file.readObject(told.path ?? "");
  const where = document.getElementById("drawing") as HTMLElement;
  const painter = await JSROOT.draw(where, object, "");
  if (!painter) throw new Error("it has no picture for objects of this class");
  window.addEventListener("resize", () => JSROOT.resize(where));
}

window.addEventListener("message", (event: MessageEvent<Told>) => {
  if (event.source !== parent) return;
  const told = event.data;
  if (told.kind === "bytes") {
    waiting.get(told.id ?? 0)?.(told);
    waiting.delete(told.id ?? 0);
  } else {
    draw(told).then(
      () => tell({ kind: "drawn" }),
      (error: unknown) => tell({ kind: "failed", words: error instanceof Error ? error.message : String(error) }),
    );
  }
});
tell({ kind: "ready" });
