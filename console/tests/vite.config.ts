// Builds the tests for node, whose own runner runs them.
import { defineConfig } from "vite";

export default defineConfig({
  build: {
    ssr: "tests/values.test.ts",
    outDir: "tests/built",
    rolldownOptions: { output: { entryFileNames: "[name].mjs" } },
  },
});
