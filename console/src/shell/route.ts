// The address names the view and nothing of the data: what is looked at stays out of histories and logs.
import { signal } from "@preact/signals";

export const route = signal(current());

export function go(view: string): void {
  location.hash = `#/${view}`;
}

addEventListener("hashchange", () => {
  route.value = current();
  document.getElementById("main")?.focus({ preventScroll: true });
  scrollTo(0, 0);
});

function current(): string {
  return location.hash.replace(/^#\/?/, "") || "overview";
}
