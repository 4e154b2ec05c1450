/** The screen for a server that needs a key. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Problem } from "../api";
import { Logo } from "../components/icon";
import { asProblem, signIn } from "../server";

export function LoginScreen() {
  const [key, setKey] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => box.current?.focus(), []);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (!key.trim()) {
      box.current?.focus();
      return;
    }
    setBusy(true);
    setProblem(null);
    try {
      await signIn(key.trim());
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(false);
      box.current?.select();
    }
  };
  return (
    <main class="login">
      <form onSubmit={(event) => void submit(event)}>
        <Logo />
        <h1>Sign in</h1>
        <p class="soft">This server answers to those who have a key. Ask the person who runs it for one.</p>
        <label>
          Key
          <input
            ref={box}
            type="password"
            name="key"
            autocomplete="current-password"
            spellcheck={false}
            value={key}
            aria-invalid={problem !== null}
            aria-describedby={problem ? "key-problem" : undefined}
            placeholder="gw_…"
            onInput={(event) => setKey(event.currentTarget.value)}
          />
        </label>
        {problem && (
          <p class="field-error" id="key-problem" role="alert">
            {problem.detail || problem.title}
          </p>
        )}
        <button type="submit" class="button primary" disabled={busy}>
          {busy ? "Signing in…" : "Sign in"}
        </button>
        <p class="soft small">
          The key is exchanged for a cookie that ends with the session. A new key:{" "}
          <code>graphwright keys create NAME</code>
        </p>
      </form>
    </main>
  );
}
