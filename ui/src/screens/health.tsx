/** Health: whether the server answers, what it serves, and its methods. */

import { useEffect, useState } from "preact/hooks";
import { addressOf, isReachable, type Problem } from "../api";
import { Failure } from "../components/states";
import { href } from "../router";
import { asProblem, loadServer, refreshIndexes, type ServerState } from "../server";
import { count, digits } from "../text";

interface Check {
  milliseconds: number | null;
  problem: Problem | null;
}

const UNKNOWN: Check = { milliseconds: null, problem: null };

async function check(path: string): Promise<Check> {
  const began = performance.now();
  try {
    await isReachable(path);
    return { milliseconds: performance.now() - began, problem: null };
  } catch (error) {
    return { milliseconds: null, problem: asProblem(error) };
  }
}

const EVERY = 15_000;

export function HealthScreen({ state }: { state: ServerState }) {
  const [alive, setAlive] = useState(UNKNOWN);
  const [ready, setReady] = useState(UNKNOWN);
  useEffect(() => {
    const look = async (): Promise<void> => {
      setAlive(await check("healthz"));
      setReady(await check("readyz"));
      await refreshIndexes().catch(() => undefined);
    };
    void look();
    const timer = setInterval(() => void look(), EVERY);
    return () => clearInterval(timer);
  }, []);
  return (
    <div class="column wide health">
      <h1 tabIndex={-1}>Health</h1>
      <div class="checks">
        <CheckCard name="Server" good="answers" check={alive} />
        <CheckCard name="Indexes and models" good="loaded" check={ready} />
        <div class="check">
          <h2>Access</h2>
          <p>{accessOf(state)}</p>
        </div>
      </div>
      {alive.problem && <Failure problem={alive.problem} onRetry={() => void loadServer()} />}
      <section aria-labelledby="indexes-title">
        <h2 id="indexes-title">Indexes</h2>
        <div class="index-cards">
          {state.indexes.map((index) => (
            <article key={index.name} class="index-card">
              <h3>
                <a href={href("documents", { index: index.name })}>
                  <bdi>{index.name}</bdi>
                </a>{" "}
                {index.current ? (
                  <span class="state done">current</span>
                ) : (
                  <span class="state queued">some documents are not searched yet</span>
                )}
              </h3>
              <dl class="figures">
                {(!index.imported || index.documents > 0) && <Figure name="documents" value={index.documents} />}
                {index.chunks > 0 && <Figure name="passages" value={index.chunks} />}
                <Figure name="nodes" value={index.nodes} />
                <Figure name="edges" value={index.edges} />
              </dl>
              <p class="soft">
                Method {index.default_method} ·{" "}
                {index.llm ? `answers by ${index.llm}` : "answers are quotations, without a language model"} · revision{" "}
                {index.snapshot}
              </p>
            </article>
          ))}
        </div>
      </section>
      <details>
        <summary>{count(state.methods.length, "method")}</summary>
        {[...new Set(state.methods.map(({ group }) => group))].map((group) => (
          <section key={group}>
            <h3>{group}</h3>
            <ul class="methods">
              {state.methods
                .filter((method) => method.group === group)
                .map((method) => (
                  <li key={method.name}>
                    <strong>{method.name}</strong>
                    {method.needs_llm && <span class="tag">needs a language model</span>}
                    <span class="soft">{method.about}</span>
                  </li>
                ))}
            </ul>
          </section>
        ))}
      </details>
      <p class="soft">
        For programs: <a href={addressOf("docs")}>description of the HTTP interface</a>.
      </p>
    </div>
  );
}

function accessOf({ session }: ServerState): string {
  if (!session?.closed) return "Open on this machine: no key exists.";
  return `Signed in as ${session.name ?? "a key"}, which may ${session.scope ?? "read"}.`;
}

function CheckCard({ name, good, check: { milliseconds, problem } }: { name: string; good: string; check: Check }) {
  const state = problem ? "failed" : milliseconds === null ? "queued" : "done";
  return (
    <div class="check">
      <h2>{name}</h2>
      <p>
        <span class={`state ${state}`}>{problem ? problem.title : milliseconds === null ? "checking" : good}</span>
        {milliseconds !== null && <span class="soft"> in {Math.max(1, Math.round(milliseconds))} ms</span>}
      </p>
      {problem?.detail && <p class="soft">{problem.detail}</p>}
    </div>
  );
}

function Figure({ name, value }: { name: string; value: number }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{digits(value)}</dd>
    </div>
  );
}
