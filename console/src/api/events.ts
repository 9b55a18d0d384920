// Server-sent events over fetch: an EventSource cannot send the header with the token.
import { isAway } from "./connection.ts";
import { RequestError, send } from "./requests.ts";

export interface Event {
  name: string;
  data: unknown;
}

/** Reads until the server ends the stream, or the signal aborts. Raises RequestError. */
export async function readEvents(
  path: string,
  body: unknown,
  onEvent: (event: Event) => void,
  signal: AbortSignal,
): Promise<void> {
  const answer = await send(path, { body, signal });
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop()!;
      for (const event of blocks.map(eventOf)) if (event) onEvent(event);
    }
  } catch (error) {
    if (signal.aborted) return;
    isAway();
    throw new RequestError(0, "away", "The server does not answer.");
  }
}

function eventOf(block: string): Event | undefined {
  let name = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  return data.length === 0 ? undefined : { name, data: JSON.parse(data.join("\n")) };
}
