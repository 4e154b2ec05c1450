/** A turn of a conversation: its question, which can be changed, and the views of its answer. */

import { useState } from "preact/hooks";
import { type Asking, instruction } from "../asking";
import { EvidenceView } from "../evidence/view";
import { href, hrefWith, type Route } from "../router";
import { queryOf } from "../screens/question";
import { TraceView } from "../screens/trace";
import { server } from "../server";
import { useStore } from "../store";
import { ago, belowHeadline, count, duration, money, quotedLines, shortened, withoutPipes } from "../text";
import type { Answer } from "../types";
import { AnswerText, Quotations, Sources, titlesOf } from "./answer";
import { Feedback } from "./feedback";
import { Icon } from "./icon";
import { PassageList, scaleOf } from "./passages";
import { Failure, Fallback } from "./states";

const TABS = [
  { screen: "ask", label: "Answer" },
  { screen: "evidence", label: "Evidence" },
  { screen: "passages", label: "Passages" },
  { screen: "trace", label: "Trace" },
];

interface Props {
  /** The address, with the view of this turn as its screen. */
  route: Route;
  state: Asking;
  /** Its place in the conversation. */
  at: number;
  /** How many turns follow, which are removed when it is asked again. */
  following: number;
  /** Ask it again, with the same or another question. */
  onAsk: (question: string) => void;
  /** Ask a question after it. */
  onFollow: (question: string) => void;
}

/** Return the id of the heading of a turn. */
export function headingOf(at: number): string {
  return `turn-${at + 1}`;
}

export function TurnView({ route, state, at, following, onAsk, onFollow }: Props) {
  const [change, setChange] = useState<"edit" | "again" | null>(null);
  const { answer, asked } = state;
  const isSearched = !answer || wasSearched(answer);
  const ask = (question: string): void => {
    setChange(null);
    onAsk(question);
  };
  const again = (): void => (following ? setChange("again") : ask(asked.question));
  return (
    <section class="turn" aria-labelledby={headingOf(at)}>
      {change === "edit" ? (
        <EditForm question={asked.question} following={following} onAsk={ask} onCancel={() => setChange(null)} />
      ) : (
        <div class="turn-head">
          <h2 id={headingOf(at)} tabIndex={-1} dir="auto">
            {asked.question}
          </h2>
          <button type="button" class="button quiet" onClick={() => setChange("edit")}>
            Edit
          </button>
        </div>
      )}
      {answer?.turn && (
        <p class="understood">
          <span class="soft">Taken to mean:</span> <bdi>{answer.question}</bdi>
        </p>
      )}
      {isSearched && <Tabs route={route} state={state} at={at} />}
      <p class="unseen" role="status">
        {spoken(state)}
      </p>
      <Fallback answer={answer} />
      {answer?.instructed === false && isSearched && instruction.get().trim() && (
        <p class="note">
          No language model wrote this answer, so that it does not follow how answers are to be written.
        </p>
      )}
      <div class="result">
        {isSearched ? (
          <View route={route} state={state} onAgain={again} />
        ) : (
          <Said state={state} onFollow={following ? null : onFollow} onAgain={again} />
        )}
      </div>
      {change === "again" && (
        <div class="note" role="group" aria-label="Ask again?">
          <p>{removed(following)}</p>
          <div class="turn-actions">
            <button
              type="button"
              class="button danger"
              ref={(button) => button?.focus()}
              onClick={() => ask(asked.question)}
            >
              Remove and ask again
            </button>
            <button type="button" class="button" onClick={() => setChange(null)}>
              Cancel
            </button>
          </div>
        </div>
      )}
    </section>
  );
}

function removed(following: number): string {
  return `The ${following === 1 ? "question" : `${following} questions`} below ${following === 1 ? "builds" : "build"} on this one, and will be removed.`;
}

interface EditProps {
  question: string;
  following: number;
  onAsk: (question: string) => void;
  onCancel: () => void;
}

function EditForm({ question, following, onAsk, onCancel }: EditProps) {
  const [text, setText] = useState(question);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (text.trim()) onAsk(text.trim());
  };
  return (
    <form class="turn-edit" onSubmit={submit} onKeyDown={(event) => event.key === "Escape" && onCancel()}>
      <label>
        Edited question
        <textarea
          dir="auto"
          rows={2}
          value={text}
          ref={(box) => void (box && document.activeElement?.closest("form") !== box.form && box.focus())}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => event.key === "Enter" && !event.shiftKey && !event.isComposing && submit(event)}
        />
      </label>
      {following > 0 && <p class="note">{removed(following)}</p>}
      <div class="turn-actions">
        <button type="submit" class="button primary">
          {following ? "Remove and ask" : "Ask"}
        </button>
        <button type="button" class="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}

/** Whether something was searched for an answer; thanks and what may mean two things are only replied to. */
function wasSearched({ trace }: Answer): boolean {
  return trace.some(({ sizes }) => Object.keys(sizes).some((what) => what !== "nodes"));
}

interface SaidProps {
  state: Asking;
  onFollow: ((question: string) => void) | null;
  onAgain: () => void;
}

/** A reply without a search, with the names of which it asks one. */
function Said({ state, onFollow, onAgain }: SaidProps) {
  const choices = state.answer?.choices ?? [];
  return (
    <article class="answer-main">
      <p class="answer" dir="auto">
        {state.text}
      </p>
      {onFollow && choices.length > 0 && (
        <div class="turn-actions" role="group" aria-label="What is meant?">
          {choices.map((choice) => (
            <button key={choice} type="button" class="button" dir="auto" onClick={() => onFollow(choice)}>
              {choice}
            </button>
          ))}
        </div>
      )}
      <Footer state={state} onAgain={onAgain} />
    </article>
  );
}

function Tabs({ route, state, at }: { route: Route; state: Asking; at: number }) {
  const passages = state.found?.passages ?? [];
  return (
    <nav class="tabs" aria-label={`Views of answer ${at + 1}`}>
      <ul>
        {TABS.map(({ screen, label }) => (
          <li key={screen}>
            <a
              href={hrefWith(route, { turn: at + 1 }, screen)}
              aria-current={route.screen === screen ? "true" : undefined}
            >
              {label}
              {screen === "passages" && passages.length > 0 && <span class="badge">{passages.length}</span>}
              {screen === "trace" && state.steps.length > 0 && <span class="badge">{state.steps.length}</span>}
            </a>
          </li>
        ))}
      </ul>
    </nav>
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

interface ViewProps {
  route: Route;
  state: Asking;
  onAgain: () => void;
}

function View({ route, state, onAgain }: ViewProps) {
  const index = state.asked.index;
  switch (route.screen) {
    case "evidence":
      return <EvidenceView route={route} state={state} />;
    case "trace":
      return <TraceView state={state} />;
    case "passages":
      return state.found ? (
        <PassageList
          route={route}
          index={index}
          passages={state.found.passages}
          limit={50}
          scale={scaleOf(state.steps, state.answer?.method)}
        />
      ) : (
        <Progress state={state} />
      );
    default:
      return <AnswerView {...{ route, state, onAgain }} />;
  }
}

function AnswerView({ route, state, onAgain }: ViewProps) {
  const { asked, answer, text, citations, found } = state;
  const titles = titlesOf(found?.passages ?? []);
  const common = { route, index: asked.index, citations, titles };
  if (answer?.found === false) return <NotFound {...{ route, state, onAgain }} />;
  const isQuoted = answer && (answer.fallback || answer.usage.llm_calls === 0) && !answer.short.length;
  const quoted = isQuoted ? quotedLines(text, citations) : null;
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
          <AnswerText {...common} text={belowHeadline(text, answer?.headline ?? "")} writing={!answer} />
        ) : (
          <Progress state={state} />
        )}
        {!answer && text !== "" && state.phase !== "stopped" && (
          <p class="soft">Citations are checked when the answer is complete.</p>
        )}
        {state.phase === "stopped" && (
          <p class="note">Stopped. What is shown is incomplete, and its citations are not checked.</p>
        )}
        {state.problem && <Failure problem={state.problem} onRetry={onAgain} />}
        {answer && <Remarks state={state} />}
        {answer && <Footer state={state} onAgain={onAgain} />}
        <Feedback state={state} />
      </div>
      {citations.length > 0 && !quoted && <Sources {...common} />}
    </article>
  );
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
            {withoutPipes(text)}
          </li>
        ))}
      </ul>
    </details>
  );
}

function Footer({ state, onAgain }: { state: Asking; onAgain: () => void }) {
  const { answer, asked, seconds, time, model } = state;
  if (!answer) return null;
  const { llm_calls, prompt_tokens, completion_tokens, cost } = answer.usage;
  return (
    <footer class="answer-foot">
      <span>
        {answer.method} · {duration(seconds)}
        {llm_calls > 0 && model !== null && (
          <>
            {" · "}
            <bdi>{model}</bdi>
            {answer.fallback && ", which failed"}
          </>
        )}
        {llm_calls > 0 && ` · ${count(prompt_tokens + completion_tokens, "token")}`}
        {llm_calls > 0 && cost !== null && ` · ${money(cost)}`}
        {time !== null && ` · answered ${ago(time)}`}
      </span>
      <span class="answer-actions">
        <button type="button" class="button quiet" onClick={onAgain}>
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
    return `The ${count(passages, noun)} ${passages === 1 ? "was read, and does not surely answer" : "were read, and none surely answers"} this.`;
  }
  return onGraph
    ? "No chain of its relations answers this question. Name an entity as the graph does, and one of its relations."
    : "No passage is close to this question.";
}

/** No answer is sure: a result, not an error. */
function NotFound({ route, state, onAgain }: ViewProps) {
  const { asked, found } = state;
  const passages = found?.passages ?? [];
  const filtered = asked.filter !== undefined;
  const facts = useStore(server).indexes.find(({ name }) => name === asked.index);
  const onGraph = facts?.imported && !facts.documents;
  return (
    <article class="answer-main">
      <div class="absent">
        <Icon name="missing" />
        <h2>{state.answer?.fallback ? "No answer" : onGraph ? "Not in this graph" : "No sure answer"}</h2>
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
        <div class="nearest">
          <h3>Closest passages</h3>
          <PassageList
            route={route}
            index={asked.index}
            passages={passages.map((passage) => ({ ...passage, text: shortened(passage.text, 320) }))}
            limit={3}
            scale={scaleOf(state.steps, state.answer?.method)}
          />
        </div>
      )}
      <Footer state={state} onAgain={onAgain} />
      <Feedback state={state} />
    </article>
  );
}
