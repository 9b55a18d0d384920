// What a view has loaded: the last answer stays while the next is under way, or while the server is away.
import { useEffect, useRef, useState } from "preact/hooks";
import { returns } from "./connection.ts";
import { RequestError } from "./requests.ts";

export interface Loaded<Answer> {
  value: Answer | undefined;
  error: RequestError | undefined;
  loading: boolean;
  reload: () => void;
}

/** Loads when what it depends on changes, when the server returns, and every so many milliseconds if given. */
export function useLoaded<Answer>(
  load: (() => Promise<Answer>) | undefined,
  depends: readonly unknown[],
  every?: number,
): Loaded<Answer> {
  const [state, setState] = useState<Omit<Loaded<Answer>, "reload">>({ value: undefined, error: undefined, loading: true });
  const [turn, setTurn] = useState(0);
  const key = JSON.stringify(depends);
  const shown = useRef(key);

  useEffect(() => {
    let ours = true;
    if (!load) {
      setState({ value: undefined, error: undefined, loading: false });
      return undefined;
    }
    if (shown.current !== key) {
      shown.current = key;
      setState({ value: undefined, error: undefined, loading: true });
    }
    load().then(
      (value) => ours && setState({ value, error: undefined, loading: false }),
      (error: unknown) => {
        if (!(error instanceof RequestError)) throw error;
        if (ours) setState((before) => ({ value: before.value, error, loading: false }));
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

  return { ...state, reload: () => setTurn((before) => before + 1) };
}
