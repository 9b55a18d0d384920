// What is looked at, kept while other views are shown: the table, the path and its fields, the rows that came.
import { signal } from "@preact/signals";
import type { Cursor, DeclaredPath, Key, Page, PathRequest, Row, Table } from "../../api/types.ts";

export type Way = "path" | "raw" | "structure";
export const table = signal<string | undefined>(undefined);
export const way = signal<Way>("path");
export const path = signal<string | undefined>(undefined);
export const asked = signal<Asked>({ fields: {}, range: undefined, descending: false, first: 50, collection: false });

export interface Asked {
  fields: Record<string, string>;
  range: PathRequest["range"];
  descending: boolean;
  first: number;
  collection: boolean;
}

/** The rows of the pages so far, and how they came. */
export interface Result {
  of: Table;
  rows: Row[];
  pages: number;
  rowsRead: number;
  requests: number;
  units: number;
  dollars: number;
  seconds: number;
  operation: string;
  request: object;
  next: Cursor | Key | null;
  /** What the code of this result is asked with. */
  code: object;
  more: (after: Cursor) => Promise<Page>;
}
export const result = signal<Result | undefined>(undefined);

export function choose(name: string): void {
  if (table.value === name) return;
  table.value = name;
  path.value = undefined;
  result.value = undefined;
  forget();
}

export function choosePath(chosen: DeclaredPath): void {
  path.value = chosen.name;
  result.value = undefined;
  forget();
}

function forget(): void {
  asked.value = { fields: {}, range: undefined, descending: false, first: asked.value.first, collection: false };
}

export function grown(before: Result, page: Page): Result {
  return {
    ...before,
    rows: [...before.rows, ...page.rows],
    pages: before.pages + 1,
    rowsRead: before.rowsRead + page.rowsRead,
    requests: before.requests + page.requests,
    units: before.units + page.units,
    dollars: before.dollars + page.dollars,
    seconds: before.seconds + page.seconds,
    next: page.next as Cursor | null,
  };
}

export function begun(of: Table, page: Page, code: object, more: Result["more"]): Result {
  return { of, ...page, pages: 1, next: page.next as Cursor | null, code, more };
}
