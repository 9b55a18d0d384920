// What differs, with a sign before each line: it is read without colour.
import { type AttributeValue, clipped, contentOf, summary, typeOf, visible, visibleLines } from "./attribute.ts";
import { type Difference, MARKS } from "./diff.ts";

const LONG = 600;

export function DiffView({ differences, empty }: { differences: Difference[]; empty: string }) {
  if (differences.length === 0) return <p class="muted">{empty}</p>;
  return (
    <div class="diff">
      {differences.map(({ path, kind, old, new: current }) => (
        <div>
          <span class="mark" role="img" aria-label={kind}>
            {MARKS[kind]}
          </span>
          <span class="name wrap">{path.map((each) => clipped(each, 80)).join(".")}</span>
          <span>
            {old && <del class="old">{long(old)}</del>}
            {current && <ins class="new">{long(current)}</ins>}
            {old && current && typeOf(old) !== typeOf(current) && (
              <span class="muted">
                {typeOf(old)} becomes {typeOf(current)}
              </span>
            )}
          </span>
        </div>
      ))}
    </div>
  );
}

function long(value: AttributeValue): string {
  const type = typeOf(value);
  if (type === "M" || type === "L") return visible(JSON.stringify(contentOf(value)).slice(0, LONG));
  if (type === "S") return visibleLines((contentOf(value) as string).slice(0, LONG)) || "empty text";
  return summary(value, LONG);
}
