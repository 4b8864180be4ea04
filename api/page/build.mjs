// Builds the page into built/: one script, one style, both named by their content, and a manifest that names them.
// The same sources give the same bytes in any folder.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2] ?? join(here, "built");

const made = await build({
  absWorkingDir: here,
  entryPoints: ["src/main.ts", "style.css"],
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome111", "firefox115", "safari16.4"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  charset: "utf8",
  outdir: target,
  write: false,
});

await mkdir(target, { recursive: true });
for (const old of await readdir(target)) await rm(join(target, old));
const manifest = {};
for (const file of made.outputFiles) {
  const suffix = file.path.endsWith(".css") ? "css" : "js";
  const hash = createHash("sha256").update(file.contents).digest("hex").slice(0, 12);
  const name = `page-${hash}.${suffix}`;
  manifest[suffix === "js" ? "script" : "style"] = name;
  await writeFile(join(target, name), file.contents);
}
await writeFile(join(target, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
console.log(Object.values(manifest).join(" "));
