/** How the page is built: one script, one stylesheet, and a note of the sources they came from. */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { defineConfig, type Plugin } from "vite";

const HERE = import.meta.dirname;
const OUT = join(HERE, "../src/provegym/view/static");
const ALONE = ["index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts"];

function files(folder: string): string[] {
  const found = readdirSync(folder, { recursive: true, withFileTypes: true });
  return found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

function sums(paths: string[], under: string): Record<string, string> {
  const named = paths.map((path): [string, string] => [relative(under, path).split(sep).join("/"), path]);
  named.sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(
    named.map(([name, path]) => [name, createHash("sha256").update(readFileSync(path)).digest("hex")]),
  );
}

/** Writes sums.json beside the built files, by which a test knows them to be those of the sources. */
function noteSources(): Plugin {
  return {
    name: "note-sources",
    apply: "build",
    closeBundle() {
      const sources = [...ALONE.map((name) => join(HERE, name)), ...files(join(HERE, "src"))];
      const built = files(OUT).filter((path) => !path.endsWith("sums.json"));
      const note = { sources: sums(sources, HERE), built: sums(built, OUT) };
      writeFileSync(join(OUT, "sums.json"), `${JSON.stringify(note, null, 1)}\n`);
    },
  };
}

export default defineConfig({
  base: "./",
  plugins: [noteSources()],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: OUT,
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
  server: { proxy: { "/api": process.env["PROVEGYM_VIEW"] ?? "http://127.0.0.1:8800" } },
});
