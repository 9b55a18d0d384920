import { useEffect, useRef, useState } from "preact/hooks";
import { asked } from "../api/token.ts";
import { Field, Problem, Sign } from "./parts.tsx";
import { auth, failed, login } from "./session.ts";

/** Asks for a token, or for an access key and its secret. */
export function Login() {
  const [token, setToken] = useState("");
  const [id, setId] = useState("");
  const [tried, setTried] = useState(false);
  const first = useRef<HTMLInputElement>(null);
  const keys = auth.value === "key";
  useEffect(() => {
    document.title = "Sign in · Sortkey";
    first.current?.focus();
  }, []);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void login(keys ? `${id.trim()}:${token.trim()}` : token.trim()).then(() => setTried(true));
  };
  return (
    <main id="main" class="login">
      <form onSubmit={submit} autocomplete="off">
        <h1>Sortkey</h1>
        <p>{keys ? "This endpoint asks for an access key that its file of keys has." : "This server asks for a token with the scope console:read."}</p>
        {keys && (
          <Field label="Access key id">
            {(field) => <input id={field} ref={first} value={id} onInput={(event) => setId(event.currentTarget.value)} required />}
          </Field>
        )}
        <Field label={keys ? "Secret access key" : "Token"}>
          {(field) => (
            <input
              id={field}
              ref={keys ? undefined : first}
              type="password"
              autocomplete="off"
              value={token}
              onInput={(event) => setToken(event.currentTarget.value)}
              required
            />
          )}
        </Field>
        <button type="submit" class="main">
          Sign in
        </button>
        {tried && asked.value && (
          <p class="problem" role="alert">
            <Sign tone="bad" /> {keys ? "The server does not accept this key." : asked.value}
          </p>
        )}
        {failed.value && <Problem error={failed.value} />}
        <p class="muted">It stays in the memory of this page: a reload asks again.</p>
      </form>
    </main>
  );
}
