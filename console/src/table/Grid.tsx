// A table of any number of rows: only those in sight, and a few around them, are in the document.
//
// The grid itself has the focus and names its current cell, so a row that scrolls out of sight takes no focus with it.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";

export const ROW_HEIGHT = 27;
const AROUND = 12;
/** Room for one below few rows. */
const SCROLLBAR = 18;

export interface Column<Row> {
  key: string;
  title: string;
  /** In pixels. */
  width: number;
  align?: "right";
  cell(row: Row): ComponentChildren;
}

interface Props<Row> {
  label: string;
  columns: Column<Row>[];
  rows: readonly Row[];
  /** Enter, or a double click. */
  onOpen?: (row: Row, index: number) => void;
  selected?: ReadonlySet<number>;
  onSelect?: (index: number, all: boolean) => void;
  current?: number | undefined;
}

export function Grid<Row>({ label, columns, rows, onOpen, selected, onSelect, current }: Props<Row>) {
  const id = useId();
  const frame = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const [cell, setCell] = useState({ row: 0, column: 0 });
  const [focused, setFocused] = useState(false);

  useLayoutEffect(() => {
    const measured = frame.current;
    if (!measured) return undefined;
    const observer = new ResizeObserver(() => setHeight(measured.clientHeight));
    observer.observe(measured);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    setCell({ row: 0, column: 0 });
    if (frame.current) frame.current.scrollTop = 0;
  }, [columns.map((each) => each.key).join("\0")]);

  const first = Math.max(0, Math.floor(top / ROW_HEIGHT) - AROUND);
  const last = Math.min(rows.length, Math.ceil((top + height) / ROW_HEIGHT) + AROUND);
  const template = `${onSelect ? "34px " : ""}${columns.map((each) => `${each.width}px`).join(" ")} 1fr`;
  const width = columns.reduce((sum, each) => sum + each.width, onSelect ? 34 : 0);
  const active = focused && cell.row >= first && cell.row < last ? `${id}-${cell.row}-${cell.column}` : undefined;

  const move = (row: number, column: number) => {
    const to = { row: clamp(row, rows.length), column: clamp(column, columns.length) };
    setCell(to);
    const shown = frame.current;
    if (!shown) return;
    const above = to.row * ROW_HEIGHT;
    const room = shown.clientHeight - 2 * ROW_HEIGHT;
    if (above < shown.scrollTop) shown.scrollTop = above;
    else if (above > shown.scrollTop + room) shown.scrollTop = above - room;
    const left = columns.slice(0, to.column).reduce((sum, each) => sum + each.width, 0);
    const right = left + (columns[to.column]?.width ?? 0) + 40;
    if (left < shown.scrollLeft) shown.scrollLeft = left;
    else if (right > shown.scrollLeft + shown.clientWidth) shown.scrollLeft = right - shown.clientWidth;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(height / ROW_HEIGHT) - 2);
    const { row, column } = cell;
    const moves: Record<string, () => void> = {
      ArrowDown: () => move(row + 1, column),
      ArrowUp: () => move(row - 1, column),
      ArrowRight: () => move(row, column + 1),
      ArrowLeft: () => move(row, column - 1),
      PageDown: () => move(row + page, column),
      PageUp: () => move(row - page, column),
      Home: () => (event.ctrlKey ? move(0, 0) : move(row, 0)),
      End: () => (event.ctrlKey ? move(rows.length - 1, columns.length - 1) : move(row, columns.length - 1)),
      Enter: () => open(row),
      " ": () => onSelect?.(row, false),
    };
    const chosen = moves[event.key];
    if (!chosen || event.altKey || event.metaKey) return;
    event.preventDefault();
    chosen();
  };
  const open = (index: number) => {
    const row = rows[index];
    if (row !== undefined) onOpen?.(row, index);
  };

  return (
    <div
      ref={frame}
      class="grid"
      style={{ height: `min(56vh, 620px, ${(rows.length + 1) * ROW_HEIGHT + SCROLLBAR}px)` }}
      role="grid"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      aria-colcount={columns.length}
      aria-multiselectable={onSelect ? true : undefined}
      aria-activedescendant={active}
      tabIndex={0}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      onKeyDown={onKeyDown}
      onFocus={() => setFocused(true)}
      onBlur={() => setFocused(false)}
    >
      <div role="rowgroup" class="grid-head" style={{ minWidth: `${width}px` }}>
        <div role="row" aria-rowindex={1} class="grid-row" style={{ gridTemplateColumns: template }}>
          {onSelect && (
            <div role="columnheader" class="grid-mark" title="Select all" onClick={() => onSelect(0, true)}>
              <span class="visually-hidden">Selected</span>
              <Mark on={rows.length > 0 && selected?.size === rows.length} />
            </div>
          )}
          {columns.map((each) => (
            <div role="columnheader" class={each.align} title={each.title}>
              {each.title}
            </div>
          ))}
        </div>
      </div>
      <div role="rowgroup" class="grid-body" style={{ height: `${rows.length * ROW_HEIGHT}px`, minWidth: `${width}px` }}>
        {rows.slice(first, last).map((row, offset) => {
          const index = first + offset;
          return (
            <div
              key={index}
              role="row"
              aria-rowindex={index + 2}
              aria-selected={onSelect ? (selected?.has(index) ?? false) : undefined}
              class={`grid-row${current === index ? " current" : ""}`}
              style={{ gridTemplateColumns: template, top: `${index * ROW_HEIGHT}px` }}
              onClick={() => setCell({ row: index, column: cell.column })}
              onDblClick={() => open(index)}
            >
              {onSelect && (
                <div role="gridcell" class="grid-mark" onClick={() => onSelect(index, false)}>
                  <Mark on={selected?.has(index)} />
                </div>
              )}
              {columns.map((each, column) => (
                <div
                  role="gridcell"
                  id={`${id}-${index}-${column}`}
                  class={`${each.align ?? ""}${active === `${id}-${index}-${column}` ? " active" : ""}`}
                  onClick={() => setCell({ row: index, column })}
                >
                  {each.cell(row)}
                </div>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}

function Mark({ on }: { on: boolean | undefined }) {
  return (
    <span class="mark" aria-hidden="true">
      {on ? "☑" : "☐"}
    </span>
  );
}

function clamp(value: number, length: number): number {
  return Math.max(0, Math.min(length - 1, value));
}
