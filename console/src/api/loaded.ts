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

/** Loads when what it depends on changes, when the server returns, and so many milliseconds after each answer if given.
 * `kept`: the answer before stays until the next is there. */
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
    let timer: ReturnType<typeof setTimeout>;
    if (!load) {
      setState({ key, value: undefined, error: undefined, loading: false });
      return undefined;
    }
    const again = () => {
      timer = setTimeout(() => (document.hidden ? again() : setTurn((before) => before + 1)), every);
    };
    load()
      .then(
        (value) => ours && setState({ key, value, error: undefined, loading: false }),
        (error: unknown) => {
          if (!(error instanceof RequestError)) throw error;
          if (ours) setState((before) => ({ key, value: before.key === key ? before.value : undefined, error, loading: false }));
        },
      )
      // Not before the answer: a slow server would never be heard.
      .then(() => ours && every !== undefined && again());
    return () => {
      ours = false;
      clearTimeout(timer);
    };
  }, [key, turn, returns.value, every]);

  // What was loaded for something else is not shown for this, but in views that would jump.
  const shown = state.key === key ? state : { value: kept ? state.value : undefined, error: undefined, loading: true };
  return { ...shown, reload: () => setTurn((before) => before + 1) };
}
