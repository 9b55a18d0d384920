// What this server is, and who is looking at it.
import { signal } from "@preact/signals";
import { api, request, RequestError } from "../api/requests.ts";
import { startLive } from "../api/live.ts";
import { asked, askForToken, hasToken, setToken } from "../api/token.ts";
import type { About, Open } from "../api/types.ts";

export const auth = signal<Open["auth"]>("none");
export const about = signal<About | undefined>(undefined);
export const failed = signal<RequestError | undefined>(undefined);

/** Asks who is there. Without a token that the server accepts, the login is shown. */
export async function enter(): Promise<void> {
  try {
    const open = await request<Open>("/console/api/open");
    auth.value = open.auth;
    if (open.auth !== "none" && !hasToken()) {
      askForToken();
      return;
    }
    about.value = await api<About>("about");
    asked.value = "";
    failed.value = undefined;
    startLive();
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    if (error.status !== 401) failed.value = error;
  }
}

export function login(token: string): Promise<void> {
  setToken(token);
  failed.value = undefined;
  return enter();
}

export function logout(): void {
  setToken("");
  location.reload();
}
