// What differs between two items, attribute by attribute; inside maps, entry by entry.
import { type AttributeValue, equal, type Item, names } from "./attribute.ts";

export interface Difference {
  path: string[];
  kind: "added" | "removed" | "changed";
  old?: AttributeValue | undefined;
  new?: AttributeValue | undefined;
}

export function differences(old: Item, current: Item, path: string[] = []): Difference[] {
  const all = [...new Set([...names(old), ...names(current)])].sort();
  return all.flatMap((name): Difference[] => {
    const [before, after] = [old[name], current[name]];
    const here = [...path, name];
    if (before === undefined) return [{ path: here, kind: "added", new: after }];
    if (after === undefined) return [{ path: here, kind: "removed", old: before }];
    if (equal(before, after)) return [];
    if ("M" in before && "M" in after) return differences(before.M, after.M, here);
    return [{ path: here, kind: "changed", old: before, new: after }];
  });
}

export const MARKS: Record<Difference["kind"], string> = { added: "+", removed: "−", changed: "±" };
