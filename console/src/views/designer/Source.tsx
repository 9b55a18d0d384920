// The editor: a text with completion. Tab takes the first choice only when one is open, so the keyboard is never caught.
import { useId, useRef, useState } from "preact/hooks";
import { type Completion, completions } from "./completion.ts";

const NONE: Completion = { start: 0, choices: [] };

export function Source({ value, onInput }: { value: string; onInput: (text: string) => void }) {
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  const [open, setOpen] = useState(NONE);
  const [chosen, setChosen] = useState(0);
  const isOpen = open.choices.length > 0;
  const look = (): void => {
    const { selectionStart, selectionEnd, value: text } = area.current!;
    setOpen(selectionStart === selectionEnd ? completions(text, selectionStart) : NONE);
    setChosen(0);
  };
  const take = (choice: string): void => {
    const shown = area.current!;
    shown.setRangeText(choice, open.start, shown.selectionStart, "end");
    onInput(shown.value);
    setOpen(NONE);
    shown.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!isOpen) return;
    const acts: Record<string, () => void> = {
      ArrowDown: () => setChosen((chosen + 1) % open.choices.length),
      ArrowUp: () => setChosen((chosen + open.choices.length - 1) % open.choices.length),
      Tab: () => take(open.choices[chosen]!),
      Enter: () => take(open.choices[chosen]!),
      Escape: () => setOpen(NONE),
    };
    const act = event.shiftKey ? undefined : acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };
  return (
    <div class="source">
      <textarea
        ref={area}
        aria-label="Item classes"
        aria-autocomplete="list"
        aria-haspopup="listbox"
        aria-controls={id}
        aria-activedescendant={isOpen ? `${id}-${chosen}` : undefined}
        rows={22}
        spellcheck={false}
        value={value}
        onInput={(event) => {
          onInput(event.currentTarget.value);
          look();
        }}
        onKeyDown={onKeyDown}
        onBlur={() => setOpen(NONE)}
      />
      <ul id={id} role="listbox" aria-label="Completions" class="completions" hidden={!isOpen}>
        {open.choices.map((each, index) => (
          <li
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === chosen}
            onMouseDown={(event) => {
              event.preventDefault();
              take(each);
            }}
          >
            {each}
          </li>
        ))}
      </ul>
    </div>
  );
}
