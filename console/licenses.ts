// The licences of what the built page contains, beside it.
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Plugin } from "vite";

const CONTAINED = ["@preact/signals", "@preact/signals-core", "preact", "uplot"];

export function writeLicenses(): Plugin {
  let folder = "";
  let root = "";
  return {
    name: "licenses",
    apply: "build",
    configResolved(config) {
      root = config.root;
      folder = resolve(config.root, config.build.outDir);
    },
    closeBundle() {
      const texts = CONTAINED.map((name) => `${name}\n\n${readFileSync(join(root, "node_modules", name, "LICENSE"), "utf8").trim()}\n`);
      writeFileSync(join(folder, "LICENSES.txt"), texts.join("\n\n"));
    },
  };
}
