/** What a reader says of an answer, that it is helpful or wrong, with the right answer and passages; and its list. */

import { useRef, useState } from "preact/hooks";
import { addressOf, getJson, indexPath, postJson, type Problem, remove } from "../api";
import type { Asking } from "../asking";
import { asProblem, server } from "../server";
import { ago, count, shortened } from "../text";
import type { Answer, IndexFacts, Job } from "../types";
import { Confirmed } from "./buttons";
import { useLoaded } from "./loading";
import { Failure } from "./states";

type Verdict = "helpful" | "wrong";

/** Text of a document; `right`: whether it holds the answer. */
interface Quote {
  document: string;
  quote: string;
  right: boolean;
}

const FURTHER = 5; // passages that may be right, beside the cited ones
const MOST_CHARACTERS = 20_000; // of an answer, and quotes, that the server takes
const MOST_QUOTES = 50;

/** What was said of the answers that this page shows, so that other views of a turn do not forget it. */
const said = new WeakMap<Answer, Verdict>();

export function Feedback({ state: { answer, asked } }: { state: Asking }) {
  const [, setSaid] = useState<Verdict | null>(null);
  const [open, setOpen] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const wrong = useRef<HTMLButtonElement>(null);
  const close = (): void => {
    setOpen(false);
    if (open) wrong.current?.focus(); // which was in the form
  };
  if (!answer) return null;
  const verdict = said.get(answer) ?? null;
  const send = async (verdict: Verdict, answers: string[], quotes: Quote[]): Promise<void> => {
    setProblem(null);
    const shown = (answer.answer ?? "").slice(0, MOST_CHARACTERS);
    const body = { question: answer.question, verdict, answer: shown, answers, quotes: quotes.slice(0, MOST_QUOTES) };
    try {
      await postJson(indexPath(asked.index, "feedback"), body);
      said.set(answer, verdict);
      setSaid(verdict);
      close();
    } catch (error) {
      setProblem(asProblem(error));
    }
  };
  return (
    <section class="feedback" aria-label="Feedback">
      <div class="feedback-buttons">
        <button
          type="button"
          class="button judge small"
          aria-pressed={verdict === "helpful"}
          title="Keeps the question and the answer on the server"
          onClick={() => void send("helpful", answer.short, cited(answer, asked.index, true))}
        >
          Helpful
        </button>
        <button
          type="button"
          class="button judge small"
          aria-pressed={verdict === "wrong"}
          aria-expanded={open}
          ref={wrong}
          onClick={() => setOpen(!open)}
        >
          Wrong
        </button>
        <span class="soft" role="status">
          {verdict && !open && "Thank you. The server keeps it."}
        </span>
      </div>
      {open && (
        <WrongForm
          quotes={[...cited(answer, asked.index, false), ...further(answer, asked.index)]}
          onSend={(answers, quotes) => send("wrong", answers, quotes)}
          onCancel={close}
        />
      )}
      {problem && <Failure problem={problem} />}
    </section>
  );
}

interface FormProps {
  quotes: Quote[];
  onSend: (answers: string[], quotes: Quote[]) => Promise<void>;
  onCancel: () => void;
}

function WrongForm({ quotes, onSend, onCancel }: FormProps) {
  const [text, setText] = useState("");
  const [right, setRight] = useState<number[]>([]);
  const submit = (event: Event): void => {
    event.preventDefault();
    const judged = quotes.map((quote, at) => ({ ...quote, right: right.includes(at) }));
    void onSend(text.trim() ? [text.trim()] : [], judged);
  };
  const toggle = (at: number): void =>
    setRight(right.includes(at) ? right.filter((other) => other !== at) : [...right, at]);
  return (
    <form class="feedback-form" onSubmit={submit} onKeyDown={(event) => event.key === "Escape" && onCancel()}>
      <label>
        The right answer, if you know it, as short as it can be
        <input
          type="text"
          dir="auto"
          maxLength={1000}
          value={text}
          ref={(box) => void (box && document.activeElement?.closest("form") !== box.form && box.focus())}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      {quotes.length > 0 && (
        <fieldset class="choice">
          <legend>Passages that hold it</legend>
          {quotes.map(({ document, quote }, at) => (
            <label key={at}>
              <input type="checkbox" checked={right.includes(at)} onChange={() => toggle(at)} />
              <bdi>{document}</bdi>
              <small dir="auto">{shortened(quote, 200)}</small>
            </label>
          ))}
        </fieldset>
      )}
      <p class="soft">The server keeps this with the question and the answer, for those who may change the index.</p>
      <div class="turn-actions">
        <button type="submit" class="button primary">
          Send
        </button>
        <button type="button" class="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}

/** Return the quotes of an answer; the nodes of a graph without documents have no text to quote. */
function cited({ citations }: Answer, index: string, right: boolean): Quote[] {
  return hasDocuments(index) ? citations.map(({ document, text }) => ({ document, quote: text, right })) : [];
}

/** Return the best passages that the answer does not quote. */
function further({ citations, passages }: Answer, index: string): Quote[] {
  const quoted = new Set(citations.map(({ chunk }) => chunk));
  const others = hasDocuments(index) ? passages.filter(({ id }) => !quoted.has(id)).slice(0, FURTHER) : [];
  return others.map(({ document, text }) => ({ document, quote: text, right: false }));
}

function hasDocuments(index: string): boolean {
  return (server.get().indexes.find(({ name }) => name === index)?.documents ?? 0) > 0;
}

interface Entry {
  id: string;
  question: string;
  verdict: Verdict;
  answers: string[];
  quotes: Quote[];
  comment: string;
  given: string;
  by: string;
}

interface GivenProps {
  index: IndexFacts;
  /** Whether a job runs. */
  busy: boolean;
  onJob: (job: Job) => void;
}

/** The newest feedback on an index, for an admin: each can be deleted, questions made of all, and the ranking refit. */
export function GivenFeedback({ index: { name: index, gate }, busy, onJob }: GivenProps) {
  const path = indexPath(index, "feedback");
  const { data, problem, reload } = useLoaded(
    (signal) => getJson<{ feedback: Entry[]; total: number }>(path, signal),
    [index],
  );
  const [failure, setFailure] = useState<Problem | null>(null);
  const shownProblem = failure ?? problem;
  const drop = (id: string): Promise<void> =>
    remove(`${path}/${id}`).then(reload, (error: unknown) => setFailure(asProblem(error)));
  const refit = (undo: boolean): Promise<void> =>
    postJson<{ job: Job }>(`${path}/refit`, { undo }).then(
      ({ job }) => onJob(job),
      (error: unknown) => setFailure(asProblem(error)),
    );
  return (
    <section aria-labelledby="feedback-title">
      <h2 id="feedback-title">Feedback</h2>
      {shownProblem && <Failure problem={shownProblem} />}
      {data?.total === 0 && <p class="soft">Nobody has said yet that an answer is helpful or wrong.</p>}
      {data && data.total > 0 && (
        <>
          <ul class="feedback-list">
            {data.feedback.map(({ id, question, verdict, answers, quotes, comment, given, by }) => (
              <li key={id}>
                <span class="tag">{verdict}</span>
                <div>
                  <bdi>{question}</bdi>
                  {answers.length > 0 && <small dir="auto">Right answer: {answers.join("; ")}</small>}
                  {comment && <small dir="auto">{comment}</small>}
                  <small>
                    {count(quotes.filter(({ right }) => right).length, "right passage")} ·{" "}
                    {ago(new Date(given).getTime())}
                    {by && ` · ${by}`}
                  </small>
                </div>
                <Confirmed small label="Delete" question="Delete this?" onConfirm={() => drop(id)} />
              </li>
            ))}
          </ul>
          {data.total > data.feedback.length && (
            <p class="soft">
              The newest {data.feedback.length} of {data.total}.
            </p>
          )}
          <p class="actions">
            <a class="button" href={addressOf(`${path}/questions`)} download={`${index}.jsonl`}>
              Download its questions
            </a>
            <button type="button" class="button" disabled={busy} onClick={() => void refit(false)}>
              Refit the ranking to it
            </button>
          </p>
        </>
      )}
      {gate !== 0 && (
        <p class="actions">
          The ranking is refit to feedback.
          <button type="button" class="button" disabled={busy} onClick={() => void refit(true)}>
            Go back to the usual ranking
          </button>
        </p>
      )}
    </section>
  );
}
