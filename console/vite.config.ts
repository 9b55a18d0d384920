import { defineConfig } from "vite";
import { writeLicenses } from "./licenses.ts";
import { writeSourceHash } from "./source-hash.ts";

const SERVER = process.env.SORTKEY_URL ?? "http://127.0.0.1:8080";

const SERVED = ["/console/api", "/boosts", "/favourites", "/restaurants", "/social", "/goals", "/pricing", "/health"];

export default defineConfig({
  base: "/console/",
  plugins: [writeLicenses(), writeSourceHash()],
  build: {
    outDir: "../src/sortkey/server/console/static",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    // A style or an image as a data: address would need a wider content security policy.
    assetsInlineLimit: 0,
    rolldownOptions: {
      output: {
        entryFileNames: "assets/console-[hash].js",
        chunkFileNames: "assets/[name]-[hash].js",
        assetFileNames: "assets/[name]-[hash][extname]",
      },
    },
  },
  // `npm run dev` shows the sources at once, with the data of a server that runs: SORTKEY_URL names it.
  server: { proxy: Object.fromEntries(SERVED.map((path) => [path, { target: SERVER, changeOrigin: true }])) },
});
