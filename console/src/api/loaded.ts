// What a view has loaded: the last answer stays while the next is under way, or while the server is away.
import { useEffect, useState } from "preact/hooks";
import { returns } from "./connection.ts";
import { RequestError } from "./requests.ts";

export interface Loaded<Answer> {
  value: Answer | undefined;
  error: RequestError | undefined;
  loading: boolean;
  reload: () => void;
}

interface State<Answer> extends Omit<Loaded<Answer>, "reload"> {
  /** What it depends on. */
  key: string;
}

/** Loads when what it depends on changes, when the server returns, and every so many milliseconds if given. `kept`: the
 * answer before stays until the next is there. */
export function useLoaded<Answer>(
  load: (() => Promise<Answer>) | undefined,
  depends: readonly unknown[],
  every?: number,
  kept = false,
): Loaded<Answer> {
  const [state, setState] = useState<State<Answer>>({ key: "", value: undefined, error: undefined, loading: true });
  const [turn, setTurn] = useState(0);
  const key = JSON.stringify(depends);

  useEffect(() => {
    let ours = true;
    if (!load) {
      setState({ key, value: undefined, error: undefined, loading: false });
      return undefined;
    }
    load().then(
      (value) => ours && setState({ key, value, error: undefined, loading: false }),
      (error: unknown) => {
        if (!(error instanceof RequestError)) throw error;
        if (ours) setState((before) => ({ key, value: before.key === key ? before.value : undefined, error, loading: false }));
      },
    );
    return () => {
      ours = false;
    };
  }, [key, turn, returns.value]);

  useEffect(() => {
    if (every === undefined) return undefined;
    const timer = setInterval(() => document.hidden || setTurn((before) => before + 1), every);
    return () => clearInterval(timer);
  }, [every]);

  // What was loaded for something else is not shown for this, but in views that would jump.
  const shown = state.key === key ? state : { value: kept ? state.value : undefined, error: undefined, loading: true };
  return { ...shown, reload: () => setTurn((before) => before + 1) };
}
