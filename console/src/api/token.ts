// The token that the person has given, in this page's memory alone: a reload asks again.
import { signal } from "@preact/signals";

let token = "";
/** Why the console asks for a token; empty when it does not. */
export const asked = signal("");

export function authorization(): Record<string, string> {
  return token === "" ? {} : { Authorization: `Bearer ${token}` };
}

export function setToken(given: string): void {
  token = given;
}

export function hasToken(): boolean {
  return token !== "";
}

export function askForToken(): void {
  asked.value = token === "" ? "This server asks for a token." : "The server does not accept this token.";
}
