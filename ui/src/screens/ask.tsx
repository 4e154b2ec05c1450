/** Ask: a conversation, question by question, each with its answer, its sources, and how it was found. */

import { useEffect, useRef } from "preact/hooks";
import { getJson, indexPath, withQuery } from "../api";
import { ask, begin, type Conversation, conversation, isShown, leave, show, stop } from "../asking";
import { useLoaded } from "../components/loading";
import { AddDocuments } from "../components/states";
import { SavedThreads, ThreadBar } from "../components/threads";
import { headingOf, TurnView } from "../components/turn";
import { go, href, numberOf, type Route } from "../router";
import { useStore } from "../store";
import { count } from "../text";
import { type Asked, keyOf, newId, threads } from "../threads";
import { questionsOf } from "../transcript";
import type { Entities, IndexFacts, Method } from "../types";
import { askedOf, queryOf, QuestionForm } from "./question";

interface Props {
  route: Route;
  index: IndexFacts;
  methods: Method[];
}

export function AskScreen({ route, index, methods }: Props) {
  const state = useStore(conversation);
  const asked = askedOf(route, index.name);
  const id = route.query.get("thread");
  const isFocused = useRef(true);
  useEffect(() => {
    if (asked) show(asked, id, newId());
  }, [asked && keyOf(asked), id]);
  const current = asked && state && isShown(state, asked, id) ? state : null;
  const shared = asked ? [] : questionsOf(route);
  if (shared.length) return <Shared route={route} index={index} questions={shared} />;
  const last = current?.turns.at(-1);
  const start = (next: Asked): void => {
    isFocused.current = true;
    const fresh = newId();
    void begin([next.question], next, fresh);
    go(addressOf(next, fresh));
  };
  /** Ask in place of a turn and all after it; the address names the first question. */
  const askAt = (next: Asked, at: number): void => {
    const first = at ? current?.turns[0]?.asked : next;
    if (!current || !first) return;
    void ask(next, at);
    go(addressOf(first, current.id), true);
    requestAnimationFrame(() => {
      const heading = document.getElementById(headingOf(at));
      heading?.scrollIntoView();
      if (document.activeElement === document.body) heading?.focus({ preventScroll: true }); // its button is gone
    });
  };
  const follow = (next: Asked): void => askAt(next, current?.turns.length ?? 0);
  const busy = last?.phase === "searching" || last?.phase === "writing";
  const form = (
    <QuestionForm
      key={current?.id ?? "new"}
      asked={last ? { ...last.asked, question: "" } : { index: index.name, question: "" }}
      follows={current !== null}
      focused={isFocused.current}
      index={index}
      methods={methods}
      busy={busy}
      onAsk={current ? follow : start}
      onStop={stop}
    />
  );
  if (current) {
    return (
      <div class="column wide ask">
        <h1 tabIndex={-1} class="unseen">
          Conversation
        </h1>
        <ThreadBar state={current} onDelete={() => leaveFor(index.name)} />
        <Turns route={route} state={current} onAsk={askAt} />
        {form}
      </div>
    );
  }
  isFocused.current = !asked;
  return (
    <div class="column ask blank">
      <h1 tabIndex={-1} class="hero">
        What do you want to know?
      </h1>
      <Facts index={index} />
      {index.nodes ? form : <AddDocuments index={index.name} />}
      <Recent index={index} />
    </div>
  );
}

function addressOf(first: Asked, id: string): string {
  return href("ask", { ...queryOf(first), thread: id });
}

function leaveFor(index: string): void {
  leave();
  go(href("ask", { index }));
}

interface TurnsProps {
  route: Route;
  state: Conversation;
  onAsk: (asked: Asked, at: number) => void;
}

/** The turns; the address names one of them, by default the last one, and which view of it is shown. */
function Turns({ route, state, onAsk }: TurnsProps) {
  const { turns } = state;
  const chosen = numberOf(route.query, "turn") ?? turns.length;
  return (
    <>
      {turns.map((turn, at) => (
        <TurnView
          key={`${state.id} ${at}`}
          route={at + 1 === chosen ? route : { ...route, screen: "ask" }}
          state={turn}
          at={at}
          following={turns.length - at - 1}
          onAsk={(question) => onAsk({ ...turn.asked, question }, at)}
          onFollow={(question) => onAsk({ ...turn.asked, question }, at + 1)}
        />
      ))}
    </>
  );
}

/** The questions of a link, which are asked when the reader says so. */
function Shared({ route, index, questions }: { route: Route; index: IndexFacts; questions: string[] }) {
  const query = new URLSearchParams(route.query);
  query.set("q", questions[0] ?? "");
  const asked = askedOf({ ...route, query }, index.name);
  const start = (): void => {
    if (!asked) return;
    const id = newId();
    void begin(questions, asked, id);
    go(addressOf(asked, id));
  };
  return (
    <div class="column ask">
      <h1 tabIndex={-1}>Shared questions</h1>
      <p class="lead">
        The link has {count(questions.length, "question")} to <bdi>{index.name}</bdi>, and no answers. They are asked
        one after the other, and answered from what the index holds now.
      </p>
      <ol class="shared">
        {questions.map((question, at) => (
          <li key={at} dir="auto">
            {question}
          </li>
        ))}
      </ol>
      <div class="turn-actions">
        <button type="button" class="button primary" onClick={start}>
          {questions.length === 1 ? "Ask this question" : `Ask these ${questions.length} questions`}
        </button>
        <a class="button" href={href("ask", { index: index.name })}>
          Ask something else
        </a>
      </div>
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
  const { data } = useLoaded<Entities>(
    index.nodes
      ? (signal) => getJson(withQuery(indexPath(index.name, "entities"), { limit: 4 * SUGGESTED }), signal)
      : null,
    [index.name, index.snapshot],
  );
  const names = data?.entities.filter(({ type }) => type !== "number" && type !== "date") ?? [];
  if (!names.length) return null;
  const often = names.filter(({ passages }) => passages > 1);
  const named = (often.length ? often : names).slice(0, SUGGESTED);
  return (
    <section class="suggestions" aria-label="Examples">
      <p class="soft">For example</p>
      <ul class="chips">
        {named.map((entity) => {
          const question = index.documents ? `Tell me about ${entity.name}.` : `What is known about ${entity.name}?`;
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
  const own = useStore(threads).filter((thread) => thread.index === index.name);
  return own.length ? <SavedThreads threads={own} addressOf={addressOf} /> : <Suggestions index={index} />;
}
