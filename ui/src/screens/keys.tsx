/** The keys of the server, for an admin: who has one, a new one, which is shown once, and the end of one. */

import { useState } from "preact/hooks";
import { getJson, type Problem, postJson, remove } from "../api";
import { Confirmed, CopyButton } from "../components/buttons";
import { Choice, NameField } from "../components/choices";
import { useLoaded } from "../components/loading";
import { AdminTabs, Failure, Loading } from "../components/states";
import { asProblem, server, type ServerState } from "../server";
import { ago } from "../text";
import type { KeyFacts, Session } from "../types";

export function KeysScreen({ state }: { state: ServerState }) {
  const { data, problem, reload } = useLoaded<{ keys: KeyFacts[] }>((signal) => getJson("v1/keys", signal), []);
  const [failed, setFailed] = useState<Problem | null>(null);
  const revoke = async (id: string): Promise<void> => {
    setFailed(null);
    await remove(`v1/keys/${id}`).catch((error: unknown) => setFailed(asProblem(error)));
    reload();
  };
  const keys = [...(data?.keys ?? [])].sort((a, b) => Number(b.state === "active") - Number(a.state === "active"));
  return (
    <div class="column settings">
      <AdminTabs here="keys" />
      <h1 tabIndex={-1}>Keys</h1>
      {problem && <Failure problem={problem} onRetry={reload} />}
      {!data && !problem && <Loading />}
      {data && !keys.length && <p class="note">There is no key: whoever can reach this server may do everything.</p>}
      {keys.length > 0 && (
        <ul class="document-list">
          {keys.map((key) => (
            <li key={key.id} class="document-row">
              <div class="document-name">
                <span>
                  <strong>
                    <bdi>{key.name}</bdi>
                  </strong>{" "}
                  <span class="tag">{key.scope}</span>{" "}
                  {key.state !== "active" && <span class="state failed">{key.state}</span>}
                  {key.own && <span class="state done">this session</span>}
                </span>
                <span class="soft">
                  {key.indexes ? key.indexes.join(", ") || "no index" : "all indexes"} · made{" "}
                  {ago(Date.parse(key.created))} · {key.used ? `used ${ago(Date.parse(key.used))}` : "never used"} ·{" "}
                  {key.expires ? `until ${key.expires.slice(0, 10)}` : "without end"}
                </span>
              </div>
              {key.state === "active" && !key.own && (
                <Confirmed label="Revoke" question="Revoke for good?" onConfirm={() => revoke(key.id)} />
              )}
            </li>
          ))}
        </ul>
      )}
      {failed && <Failure problem={failed} />}
      <NewKey state={state} onMade={reload} />
    </div>
  );
}

const SCOPES = [
  { value: "read", label: "Read", about: "Asks, and reads documents and the graph." },
  { value: "write", label: "Write", about: "Adds and removes documents, too." },
  { value: "admin", label: "Admin", about: "May do everything with its indexes; with all indexes, also manage keys." },
];
const ENDS = { "": "Never", "30d": "After 30 days", "90d": "After 90 days", "1y": "After a year" };

function NewKey({ state, onMade }: { state: ServerState; onMade: () => void }) {
  const first = !state.session?.closed;
  const [name, setName] = useState("");
  const [chosenScope, setScope] = useState("read");
  const [indexes, setIndexes] = useState<string[]>([]);
  const [expires, setExpires] = useState("");
  const [made, setMade] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const scope = first ? "admin" : chosenScope;
  const make = async (event: Event): Promise<void> => {
    event.preventDefault();
    setProblem(null);
    try {
      const body = { name: name.trim(), scope, indexes: indexes.length ? indexes : null, expires: expires || null };
      const { key } = await postJson<{ key: string }>("v1/keys", body);
      setMade(key);
      setName("");
      if (first) {
        const session = await postJson<Session>("session", { key });
        server.update((known) => ({ ...known, session }));
      }
      onMade();
    } catch (error) {
      setProblem(asProblem(error));
    }
  };
  const toggle = (index: string): void =>
    setIndexes(indexes.includes(index) ? indexes.filter((other) => other !== index) : [...indexes, index]);
  return (
    <section aria-labelledby="new-key">
      <h2 id="new-key">New key</h2>
      {made && (
        <div class="note new-index" role="status">
          <label>
            The key, which is shown only now
            <input type="text" readOnly value={made} onFocus={(event) => event.currentTarget.select()} />
          </label>
          <CopyButton text={made} />
        </div>
      )}
      {first && <p class="note">From the first key on, everybody needs one. This page is then signed in with it.</p>}
      <form class="new-index" onSubmit={(event) => void make(event)}>
        <NameField name={name} placeholder="Who has it" onName={setName} />
        {!first && <Choice legend="It may" options={SCOPES} value={scope} onChoose={setScope} />}
        {!first && state.indexes.length > 0 && (
          <fieldset class="choice">
            <legend>For these indexes alone (none chosen: all)</legend>
            {state.indexes.map((index) => (
              <label key={index.name} class="tick">
                <input type="checkbox" checked={indexes.includes(index.name)} onChange={() => toggle(index.name)} />
                <bdi>{index.name}</bdi>
              </label>
            ))}
          </fieldset>
        )}
        <label>
          It ends
          <select value={expires} onChange={(event) => setExpires(event.currentTarget.value)}>
            {Object.entries(ENDS).map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
        {problem && <Failure problem={problem} />}
        <button type="submit" class="button primary">
          Make the key
        </button>
      </form>
    </section>
  );
}
