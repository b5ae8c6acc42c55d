// Builds the page into `dist`, which is committed: a build of the command needs no Node. With `--check` it compares what
// it builds with what is there, and writes nothing.

import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { argv, exit } from "node:process";

import { build } from "esbuild";

/** The page has to stay small: what it loads before anything is drawn, in bytes. */
const MOST_BYTES = 300_000;

const at = (path) => new URL(path, import.meta.url);

if (argv.includes("--jsroot")) {
  await copyFile(at("node_modules/jsroot/build/jsroot.min.js"), at("jsroot/jsroot.min.js"));
  exit(0);
}

const built = await build({
  absWorkingDir: at(".").pathname,
  entryPoints: { page: "src/main.ts", frame: "src/frame.ts" },
  bundle: true, minify: true, format: "iife", target: "es2022", charset: "utf8", legalComments: "none",
  outdir: "dist", write: false,
});
const css = await build({
  absWorkingDir: at(".").pathname, entryPoints: ["src/page.css"], minify: true, outdir: "dist", write: false,
});
const files = new Map();
for (const { path, text } of [...built.outputFiles, ...css.outputFiles]) files.set(path.split("/").pop(), text);
for (const name of ["index.html", "frame.html"]) files.set(name, await readFile(at(`src/${name}`), "utf8"));

const total = [...files.values()].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
if (total > MOST_BYTES) {
  console.error(`the page has ${total} bytes, and at most ${MOST_BYTES} are wanted`);
  exit(1);
}
await mkdir(at("dist"), { recursive: true });
const stale = [];
for (const [name, text] of files) {
  const there = await readFile(at(`dist/${name}`), "utf8").catch(() => null);
  if (there === text) continue;
  stale.push(name);
  if (!argv.includes("--check")) await writeFile(at(`dist/${name}`), text);
}
if (argv.includes("--check") && stale.length > 0) {
  console.error(`dist is not what its sources make: ${stale.join(", ")}. Run \`npm run build\` in crates/serve/page`);
  exit(1);
}
console.log(`${total} bytes in ${files.size} files`);
