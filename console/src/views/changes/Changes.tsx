// What happens to the data: changes as they come, the feeds that follow them, what they gave up, and what is due.
import { signal } from "@preact/signals";
import { Page, Tabs } from "../../shell/parts.tsx";
import { about } from "../../shell/session.ts";
import { DeadLetters } from "./DeadLetters.tsx";
import { FeedsTab } from "./FeedsTab.tsx";
import { Tail } from "./Tail.tsx";
import { Timers } from "./Timers.tsx";

/** The tab that is chosen, also by links of other views. */
export const tab = signal("");

export function Changes() {
  const has = about.value!.has;
  const choices = [
    ...(has.changes ? [{ key: "tail", title: "Live tail", view: () => <Tail /> }] : []),
    ...(has.feeds
      ? [
          { key: "feeds", title: "Feeds", view: () => <FeedsTab /> },
          { key: "letters", title: "Dead letters", view: () => <DeadLetters /> },
        ]
      : []),
    ...(has.timers ? [{ key: "timers", title: "Timers", view: () => <Timers /> }] : []),
  ];
  const chosen = choices.find(({ key }) => key === tab.value) ?? choices[0];
  return (
    <Page title="Changes">
      <Tabs label="Changes" choices={choices} chosen={chosen?.key ?? ""} onChoose={(key) => (tab.value = key)} />
      {chosen?.view()}
    </Page>
  );
}
