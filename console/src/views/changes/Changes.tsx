// What happens to the data: changes as they come, the feeds that follow them, what they gave up, and what is due.
import { useState } from "preact/hooks";
import { Page, Tabs } from "../../shell/parts.tsx";
import { about } from "../../shell/session.ts";
import { DeadLetters } from "./DeadLetters.tsx";
import { FeedsTab } from "./FeedsTab.tsx";
import { Tail } from "./Tail.tsx";
import { Timers } from "./Timers.tsx";

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
  const [wanted, setWanted] = useState("");
  const chosen = choices.find(({ key }) => key === wanted) ?? choices[0];
  return (
    <Page title="Changes">
      <Tabs label="Changes" choices={choices} chosen={chosen?.key ?? ""} onChoose={setWanted} />
      {chosen?.view()}
    </Page>
  );
}
