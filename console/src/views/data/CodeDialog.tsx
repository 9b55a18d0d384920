// The same request as code.
import { useState } from "preact/hooks";
import { useLoaded } from "../../api/loaded.ts";
import { api } from "../../api/requests.ts";
import type { Code } from "../../api/types.ts";
import { CopyButton, Dialog, Shown, Tabs } from "../../shell/parts.tsx";

const LANGUAGES = [
  { key: "sortkey", title: "Python, Sortkey" },
  { key: "boto3", title: "Python, boto3" },
  { key: "cli", title: "AWS CLI" },
  { key: "curl", title: "curl" },
] as const;

export function CodeDialog({ asked, onClose }: { asked: object; onClose: () => void }) {
  const code = useLoaded(() => api<Code>("code", asked), [asked]);
  const [chosen, setChosen] = useState<(typeof LANGUAGES)[number]["key"]>("sortkey");
  return (
    <Dialog title="Code of this request" onClose={onClose}>
      <div>
        <Shown loaded={code}>
          {(value) => {
            const languages = LANGUAGES.filter(({ key }) => value[key] !== null);
            const language = languages.find(({ key }) => key === chosen)?.key ?? "boto3";
            const text = value[language] ?? "";
            return (
              <>
                <Tabs label="Language" choices={languages} chosen={language} onChoose={setChosen} />
                <pre class="code" tabIndex={0} aria-label="Code">
                  {text}
                </pre>
                <CopyButton text={() => text}>Copy</CopyButton>
              </>
            );
          }}
        </Shown>
      </div>
    </Dialog>
  );
}
