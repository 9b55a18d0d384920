// JSON requests to the server. Whatever goes wrong is a RequestError whose message can be shown.
import { isAway, isUp } from "./connection.ts";
import { askForToken, authorization } from "./token.ts";
import type { ErrorAnswer } from "./types.ts";

export class RequestError extends Error {
  readonly status: number;
  readonly code: string;
  readonly answer: Partial<ErrorAnswer>;

  constructor(status: number, code: string, message: string, answer: Partial<ErrorAnswer> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.answer = answer;
  }
}

interface Options {
  method?: string;
  body?: unknown;
  signal?: AbortSignal;
}

/** The console's own API. */
export function api<Answer>(name: string, body: object = {}, signal?: AbortSignal): Promise<Answer> {
  return request<Answer>(`/console/api/${name}`, { body, ...(signal ? { signal } : {}) });
}

export async function request<Answer>(path: string, options: Options = {}): Promise<Answer> {
  const answer = await send(path, options);
  const text = await answer.text();
  return (text === "" ? undefined : JSON.parse(text)) as Answer;
}

/** The answer as soon as its headers are there; its status is that of a success. */
export async function send(path: string, { method, body, signal }: Options): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(path, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: {
        Accept: "application/json",
        ...authorization(),
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      cache: "no-store",
      credentials: "same-origin",
      signal: signal ?? null,
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    isAway();
    throw new RequestError(0, "away", "The server does not answer.");
  }
  isUp();
  if (answer.ok) return answer;
  if (answer.status === 401) askForToken();
  throw await errorOf(answer);
}

async function errorOf(answer: Response): Promise<RequestError> {
  try {
    const body = (await answer.json()) as ErrorAnswer;
    const details = body.error.details?.map((each) => (each.field ? `${each.field}: ${each.message}` : each.message)) ?? [];
    const message = details.length > 0 ? `${body.error.message} ${details.join(" ")}` : body.error.message;
    return new RequestError(answer.status, body.error.code, message, body);
  } catch {
    return new RequestError(answer.status, String(answer.status), `The server answers ${answer.status}.`);
  }
}
