// Whether the server answers. What is on the screen stays when it does not, and loads anew when it does again.
import { signal } from "@preact/signals";

export type State = "up" | "away";
export const connection = signal<State>("up");
/** When it will be asked again. */
export const nextTry = signal(0);
/** Counts the returns of the server; what is loaded depends on it. */
export const returns = signal(0);

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 15_000;
let pause = FIRST_PAUSE;
let timer: ReturnType<typeof setTimeout> | undefined;

export function isUp(): void {
  clearTimeout(timer);
  timer = undefined;
  pause = FIRST_PAUSE;
  if (connection.value === "away") {
    connection.value = "up";
    returns.value += 1;
  }
}

export function isAway(): void {
  connection.value = "away";
  if (timer !== undefined) return;
  nextTry.value = Date.now() + pause;
  timer = setTimeout(tryAgain, pause);
  pause = Math.min(LONGEST_PAUSE, pause * 2);
}

export function tryAgain(): void {
  clearTimeout(timer);
  timer = undefined;
  fetch("/health", { cache: "no-store" }).then(
    (answer) => (answer.ok ? isUp() : isAway()),
    () => isAway(),
  );
}
