/** Ask: a question, its answer with sources, and how it was found. */

import { useEffect } from "preact/hooks";
import { getJson, indexPath, withQuery } from "../api";
import { ask, asking, type Asking, show, stop } from "../asking";
import { AnswerText, Quotations, Sources, titlesOf } from "../components/answer";
import { Icon } from "../components/icon";
import { useLoaded } from "../components/loading";
import { PassageList } from "../components/passages";
import { AddDocuments, Failure } from "../components/states";
import { EvidenceView } from "../evidence/view";
import { type Asked, clearHistory, history, keyOf } from "../history";
import { go, href, hrefWith, type Route } from "../router";
import { useStore } from "../store";
import { server } from "../server";
import { ago, count, digits, duration, money, quotedLines, shortened } from "../text";
import type { EntityRow, IndexFacts, Method } from "../types";
import { askedOf, queryOf, QuestionForm } from "./question";
import { TraceView } from "./trace";

interface Props {
  route: Route;
  index: IndexFacts;
  methods: Method[];
}

export function AskScreen({ route, index, methods }: Props) {
  const state = useStore(asking);
  const asked = askedOf(route, index.name);
  const key = asked ? keyOf(asked) : "";
  useEffect(() => {
    if (asked) show(asked);
  }, [key]);
  const submit = (next: Asked): void => {
    void ask(next);
    go(href("ask", queryOf(next)));
  };
  const current = asked && state && keyOf(state.asked) === key ? state : null;
  const busy = current?.phase === "searching" || current?.phase === "writing";
  return (
    <div class={current ? "column wide ask" : "column ask blank"}>
      <h1 tabIndex={-1} class={current ? "unseen" : "hero"}>
        {current ? "Answer" : "What do you want to know?"}
      </h1>
      {!current && <Facts index={index} />}
      {current || index.nodes ? (
        <QuestionForm
          key={key}
          asked={asked ?? { index: index.name, question: "" }}
          index={index}
          methods={methods}
          busy={busy}
          onAsk={submit}
          onStop={stop}
        />
      ) : (
        <AddDocuments index={index.name} />
      )}
      {current ? <Result route={route} state={current} /> : <Recent index={index} />}
    </div>
  );
}

function Facts({ index }: { index: IndexFacts }) {
  if (!index.nodes) {
    return (
      <p class="lead">
        The index <strong>{index.name}</strong> has no documents yet. Add some to ask about them.
      </p>
    );
  }
  const parts = [
    ...(index.imported ? [`graph of ${count(index.nodes, "node")}`] : []),
    ...(index.documents || !index.imported ? [count(index.documents, "document")] : []),
  ];
  return (
    <p class="lead">
      Answers come from the {parts.join(" and ")} in <bdi>{index.name}</bdi>, and every citation opens at its exact
      words.
    </p>
  );
}

/** Questions to begin with, about the best connected entities. */
function Suggestions({ index }: { index: IndexFacts }) {
  const { data } = useLoaded<{ entities: EntityRow[] }>(
    index.nodes
      ? (signal) => getJson(withQuery(indexPath(index.name, "entities"), { limit: SUGGESTED }), signal)
      : null,
    [index.name, index.snapshot],
  );
  if (!data?.entities.length) return null;
  return (
    <section class="suggestions" aria-label="Examples">
      <p class="soft">For example</p>
      <ul class="chips">
        {data.entities.map((entity) => {
          const question = `What is known about ${entity.name}?`;
          return (
            <li key={entity.node}>
              <a href={href("ask", { index: index.name, q: question })} dir="auto">
                {question}
              </a>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

const SUGGESTED = 4;

function Recent({ index }: { index: IndexFacts }) {
  const entries = useStore(history).filter(({ asked }) => asked.index === index.name);
  if (!entries.length) return <Suggestions index={index} />;
  return (
    <section class="recent" aria-labelledby="recent-title">
      <div class="section-head">
        <h2 id="recent-title">Asked before</h2>
        <button type="button" class="button quiet" onClick={clearHistory}>
          Clear
        </button>
      </div>
      <ul>
        {entries.map(({ asked, time, answer }) => (
          <li key={keyOf(asked)}>
            <a href={href("ask", queryOf(asked))} dir="auto">
              {asked.question}
            </a>
            <span class="soft">
              {answer.found === false ? "not found" : count(answer.citations.length, "citation")} · {ago(time)}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const TABS = [
  { screen: "ask", label: "Answer" },
  { screen: "evidence", label: "Evidence" },
  { screen: "passages", label: "Passages" },
  { screen: "trace", label: "Trace" },
];

function Result({ route, state }: { route: Route; state: Asking }) {
  const passages = state.found?.passages ?? [];
  return (
    <>
      <nav class="tabs" aria-label="Views of the answer">
        <ul>
          {TABS.map(({ screen, label }) => (
            <li key={screen}>
              <a href={hrefWith(route, {}, screen)} aria-current={route.screen === screen ? "true" : undefined}>
                {label}
                {screen === "passages" && passages.length > 0 && <span class="badge">{passages.length}</span>}
                {screen === "trace" && state.steps.length > 0 && <span class="badge">{state.steps.length}</span>}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <p class="unseen" role="status">
        {spoken(state)}
      </p>
      <div class="result">
        <View route={route} state={state} />
      </div>
    </>
  );
}

/** What a screen reader says of the progress: each stage once, not each word. */
function spoken({ phase, answer, found, problem }: Asking): string {
  if (phase === "failed") return `The question failed: ${problem?.title ?? ""}`;
  if (phase === "stopped") return "Stopped.";
  if (answer?.found === false) return "The documents do not answer this.";
  if (answer) return `Answer with ${count(answer.citations.length, "citation")}.`;
  return found ? `${count(found.passages.length, "passage")} found. Writing the answer.` : "Searching.";
}

function View({ route, state }: { route: Route; state: Asking }) {
  const index = state.asked.index;
  switch (route.screen) {
    case "evidence":
      return <EvidenceView route={route} state={state} />;
    case "trace":
      return <TraceView state={state} />;
    case "passages":
      return state.found ? (
        <PassageList route={route} index={index} passages={state.found.passages} limit={50} />
      ) : (
        <Progress state={state} />
      );
    default:
      return <AnswerView route={route} state={state} />;
  }
}

function AnswerView({ route, state }: { route: Route; state: Asking }) {
  const { asked, answer, text, citations, found } = state;
  const titles = titlesOf(found?.passages ?? []);
  const common = { route, index: asked.index, citations, titles };
  if (answer?.found === false) return <NotFound route={route} state={state} />;
  const quoted = answer?.usage.llm_calls === 0 ? quotedLines(text, citations) : null;
  return (
    <article
      class={citations.length && !quoted ? "answer-view two" : "answer-view"}
      aria-busy={!answer && !state.problem}
    >
      <div class="answer-main">
        {answer && answer.short.length > 0 && <ShortAnswer short={answer.short} text={text} />}
        {quoted ? (
          <>
            <p class="soft">Quoted from the documents. No language model wrote this answer.</p>
            <Quotations {...common} quoted={quoted} />
          </>
        ) : text ? (
          <AnswerText {...common} text={withoutHeadline(text, answer?.short ?? [])} writing={!answer} />
        ) : (
          <Progress state={state} />
        )}
        {!answer && text !== "" && state.phase !== "stopped" && (
          <p class="soft">Citations are checked when the answer is complete.</p>
        )}
        {state.phase === "stopped" && (
          <p class="note">Stopped. What is shown is incomplete, and its citations are not checked.</p>
        )}
        {state.problem && <Failure problem={state.problem} onRetry={() => void ask(asked)} />}
        {answer && <Remarks state={state} />}
        {answer && <Footer state={state} />}
      </div>
      {citations.length > 0 && !quoted && <Sources {...common} />}
    </article>
  );
}

/** Return an answer's text without the short answer that it begins with, which stands above it. */
function withoutHeadline(text: string, short: string[]): string {
  const headline = `${short.join(", ")}: `;
  return short.length && text.startsWith(headline) ? text.slice(headline.length) : text;
}

function ShortAnswer({ short, text }: { short: string[]; text: string }) {
  const line = short.join(", ");
  if (text.trim().replace(/\s*\[\d+\]\.?$/, "") === line) return null;
  return (
    <p class="short-answer" dir="auto">
      {line}
    </p>
  );
}

function Progress({ state }: { state: Asking }) {
  if (state.phase !== "searching" && state.phase !== "writing") return null;
  const { found, steps } = state;
  return (
    <div class="progress">
      <span class="spinner" aria-hidden="true" />
      <p>
        {found ? `Reading ${count(found.passages.length, "passage")}…` : "Searching…"}
        {steps.length > 0 && <span class="soft"> {count(steps.length, "step")} done</span>}
      </p>
      <div class="skeleton" aria-hidden="true">
        <i />
        <i />
        <i />
      </div>
    </div>
  );
}

/** What a reader should know about an answer: statements and quotes that have no source. */
function Remarks({ state }: { state: Asking }) {
  const { answer, dropped } = state;
  if (!answer) return null;
  const bare = !answer.citations.length && answer.verified === false;
  return (
    <>
      {bare && <p class="note">No citation of this answer could be verified. Read it with care.</p>}
      {answer.unsupported.length > 0 && (
        <Listed
          title={`${count(answer.unsupported.length, "statement")} without a source`}
          texts={answer.unsupported}
        />
      )}
      {dropped.length > 0 && (
        <Listed title={`${count(dropped.length, "quote")} dropped: in no passage`} texts={dropped} />
      )}
    </>
  );
}

function Listed({ title, texts }: { title: string; texts: string[] }) {
  return (
    <details class="note" open>
      <summary>{title}</summary>
      <ul>
        {texts.map((text, at) => (
          <li key={at} dir="auto">
            {text}
          </li>
        ))}
      </ul>
    </details>
  );
}

function Footer({ state }: { state: Asking }) {
  const { answer, asked, seconds, time } = state;
  if (!answer) return null;
  const tokens = answer.usage.prompt_tokens + answer.usage.completion_tokens;
  return (
    <footer class="answer-foot">
      <span>
        {answer.method} · {duration(seconds)}
        {tokens > 0 && ` · ${digits(tokens)} tokens · ${money(answer.usage.cost)}`}
        {time !== null && ` · answered ${ago(time)}`}
      </span>
      <span class="answer-actions">
        <button type="button" class="button quiet" onClick={() => void ask(asked)}>
          Ask again
        </button>
        <a class="button quiet" href={href("compare", { index: asked.index, q: asked.question })}>
          Compare methods
        </a>
      </span>
    </footer>
  );
}

function notFoundText(passages: number, onGraph: boolean | undefined): string {
  if (passages) {
    const noun = onGraph ? "node" : "closest passage";
    return `The ${count(passages, noun)} ${passages === 1 ? "was read, and does not answer" : "were read, and none answers"} this.`;
  }
  return onGraph
    ? "No chain of its relations answers this question. Name an entity as the graph does, and one of its relations."
    : "No passage is close to this question.";
}

/** The documents do not answer the question: a result, not an error. */
function NotFound({ route, state }: { route: Route; state: Asking }) {
  const { asked, found } = state;
  const passages = found?.passages ?? [];
  const filtered = asked.filter !== undefined;
  const facts = useStore(server).indexes.find(({ name }) => name === asked.index);
  const onGraph = facts?.imported && !facts.documents;
  return (
    <article class="answer-main">
      <div class="absent">
        <Icon name="missing" />
        <h2>{onGraph ? "Not in this graph" : "Not in these documents"}</h2>
        <p>
          {notFoundText(passages.length, onGraph)}
          {filtered && " The search was limited by a filter."}
        </p>
        <div class="absent-actions">
          {onGraph && (
            <a class="button" href={href("graph", { index: asked.index })}>
              Look into the graph
            </a>
          )}
          {filtered && (
            <a class="button" href={href("ask", queryOf({ index: asked.index, question: asked.question }))}>
              Search all documents
            </a>
          )}
          <a class="button" href={href("compare", { index: asked.index, q: asked.question })}>
            Try other methods
          </a>
          <a class="button" href={href("documents", { index: asked.index })}>
            Add documents
          </a>
        </div>
      </div>
      {passages.length > 0 && (
        <section class="nearest" aria-labelledby="nearest-title">
          <h3 id="nearest-title">Closest passages</h3>
          <PassageList
            route={route}
            index={asked.index}
            passages={passages.map((passage) => ({ ...passage, text: shortened(passage.text, 320) }))}
            limit={3}
          />
        </section>
      )}
      <Footer state={state} />
    </article>
  );
}
