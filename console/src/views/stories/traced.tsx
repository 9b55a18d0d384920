// Requests to the services, with what each of them read.
import { useState } from "preact/hooks";
import { api, RequestError } from "../../api/requests.ts";
import type { Call, Trace } from "../../api/types.ts";
import { count, dollars, ratio } from "../../numbers.ts";
import { seconds } from "../../times.ts";
import { clipped, summary } from "../../values/attribute.ts";

export interface Asked {
  method?: string;
  path: string;
  body?: unknown;
}

export interface Traced<Body> {
  body: Body;
  seconds: number;
  calls: Call[];
}

/** Raises RequestError if the service rejects it. */
export async function traced<Body>(asked: Asked): Promise<Traced<Body>> {
  const { answers } = await api<Trace>("trace", { requests: [{ method: asked.method ?? (asked.body === undefined ? "GET" : "POST"), ...asked }] });
  const answer = answers[0]!;
  if (answer.status >= 400) {
    const { error } = answer.body as { error?: { code: string; message: string } };
    throw new RequestError(answer.status, error?.code ?? "", error?.message ?? `The service answers ${answer.status}.`);
  }
  return { body: answer.body as Body, seconds: answer.seconds, calls: answer.calls };
}

export function part(text: string): string {
  return encodeURIComponent(text);
}

/** What a request read: its calls, and on demand their keys. */
export function Calls({ calls, took }: { calls: Call[]; took?: number }) {
  const [open, setOpen] = useState(false);
  const units = calls.reduce((sum, each) => sum + each.units, 0);
  const price = calls.reduce((sum, each) => sum + each.dollars, 0);
  const read = calls.reduce((sum, each) => sum + each.rowsRead, 0);
  const returned = calls.reduce((sum, each) => sum + each.rowsReturned, 0);
  return (
    <div class="calls">
      <p class="cost">
        <span>
          <strong>{count(calls.length)}</strong> {calls.length === 1 ? "request" : "requests"} to the store
        </span>
        <span>
          <strong>{count(read)}</strong> rows read, <strong>{count(returned)}</strong> returned
        </span>
        <span>
          <strong>{ratio(units)}</strong> units, {dollars(price * 1e6)} a million times
        </span>
        {took !== undefined && (
          <span>
            <strong>{seconds(took)}</strong>
          </span>
        )}
        <button type="button" class="quiet" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Hide" : "Show"} what was read
        </button>
      </p>
      {open &&
        calls.map((each) => (
          <div class="call">
            <p>
              <strong>{each.operation}</strong> {each.table}
              {each.index && `.${each.index}`} <code class="muted wrap">{each.path && clipped(each.path, 200)}</code>{" "}
              <span class="muted">
                {count(each.rowsRead)} read, {count(each.rowsReturned)} returned, {ratio(each.units)} units
              </span>
            </p>
            <ul class="chips">
              {each.keys.slice(0, 120).map((key) => (
                <li class="chip">{summary({ M: key }, 80)}</li>
              ))}
            </ul>
          </div>
        ))}
    </div>
  );
}
