// Builds the page into built/, every file named by its content, and a manifest that names them.
// The same sources give the same bytes in any folder.
import { build } from "esbuild";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2] ?? join(here, "built");

const common = {
  absWorkingDir: here,
  bundle: true,
  minify: true,
  target: ["chrome111", "firefox115", "safari16.4"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  charset: "utf8",
  outdir: target,
  entryNames: "[name]-[hash]",
  chunkNames: "part-[hash]",
  metafile: true,
  write: false,
};
// A page of its own is one script; one with loops, a front or symbols has another. The page of the service comes in parts: what a place needs is loaded there.
const alone = { alone: "src/main.ts", alone_loops: "src/main_loops.ts", alone_front: "src/main_front.ts", alone_symbols: "src/main_symbols.ts" };
const served = { served: "src/served.ts", worker: "src/worker/served.ts" };
const styles = { style: "style.css", served_style: "served.css" };
// The list of a library's site: a page in HTML that works without it.
const site = { site: "src/site/main.ts", site_style: "site.css" };
const named = (entries) => Object.entries(entries).map(([out, source]) => ({ in: source, out }));
const made = [
  await build({ ...common, format: "iife", define: { SERVED: "false" }, entryPoints: named({ ...alone, ...styles, ...site }) }),
  await build({ ...common, format: "esm", splitting: true, define: { SERVED: "true" }, entryPoints: named(served) }),
];

await mkdir(target, { recursive: true });
for (const old of await readdir(target)) await rm(join(target, old));
const outputs = made.flatMap((one) => Object.entries(one.metafile.outputs));
const nameOf = (source) => basename(outputs.find(([, output]) => output.entryPoint === source)[0]);
for (const file of made.flatMap((one) => one.outputFiles)) await writeFile(join(target, basename(file.path)), file.contents);
// What the first script asks for at once, so that the document can ask for it sooner.
const first_script = outputs.find(([, output]) => output.entryPoint === served.served)[1];
const manifest = {
  files: {
    alone: nameOf(alone.alone),
    alone_loops: nameOf(alone.alone_loops),
    alone_front: nameOf(alone.alone_front),
    alone_symbols: nameOf(alone.alone_symbols),
    style: nameOf(styles.style),
    site: nameOf(site.site),
    site_style: nameOf(site.site_style),
    served: nameOf(served.served),
    served_style: nameOf(styles.served_style),
    worker: nameOf(served.worker),
    editor: nameOf("src/editor/main.ts"),
  },
  first: first_script.imports.filter((one) => one.kind === "import-statement").map((one) => basename(one.path)).sort(),
  parts: outputs.map(([path]) => basename(path)).sort(),
};
await writeFile(join(target, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
console.log(Object.values(manifest.files).join(" "));
