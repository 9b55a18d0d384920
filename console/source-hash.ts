// The hash of everything that the build reads. It is written beside the built files, so that a test can tell without
// node whether they were built from these sources: tests/server/console/ computes the same.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import type { Plugin } from "vite";

const READ = [
  "index.html",
  "licenses.ts",
  "package.json",
  "package-lock.json",
  "source-hash.ts",
  "tsconfig.json",
  "vite.config.ts",
];
const FILE = "build.json";

export function sourceHash(root: string): string {
  const files = [...READ, ...filesBelow(join(root, "src")).map((each) => relative(root, each).replaceAll("\\", "/"))];
  const hash = createHash("sha256");
  for (const file of files.sort()) {
    hash.update(file).update("\0").update(readFileSync(join(root, file))).update("\0");
  }
  return hash.digest("hex");
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((each) => {
    const path = join(folder, each.name);
    return each.isDirectory() ? filesBelow(path) : [path];
  });
}

export function writeSourceHash(): Plugin {
  let folder = "";
  let root = "";
  return {
    name: "source-hash",
    apply: "build",
    configResolved(config) {
      root = config.root;
      folder = resolve(config.root, config.build.outDir);
    },
    closeBundle() {
      writeFileSync(join(folder, FILE), `${JSON.stringify({ sources: sourceHash(root) })}\n`);
    },
  };
}
