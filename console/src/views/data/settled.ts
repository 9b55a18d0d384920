import { useEffect, useState } from "preact/hooks";

/** The value, once it has stayed the same for so many milliseconds: requests as one types are few. */
export function useSettled(value: string, pause: number): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), pause);
    return () => clearTimeout(timer);
  }, [value, pause]);
  return settled;
}
