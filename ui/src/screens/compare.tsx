/** Compare: two methods on one question side by side, and buttons to judge them. */

import { useEffect, useState } from "preact/hooks";
import { indexPath, postJson, type Problem } from "../api";
import { AnswerText, titlesOf } from "../components/answer";
import { PassageList, scaleOf } from "../components/passages";
import { Failure, Fallback, Loading } from "../components/states";
import { clearJudged, judge, judged, type Judged, judgement, questionsFile, save } from "../judged";
import { go, href, type Route } from "../router";
import { asProblem } from "../server";
import { useStore } from "../store";
import { count, digits, duration, money, withoutMarkers } from "../text";
import type { Answer, IndexFacts, Method, Passage } from "../types";
import { MethodSelect } from "./question";

interface Props {
  route: Route;
  index: IndexFacts;
  methods: Method[];
}

interface Comparison {
  question: string;
  results: Answer[];
}

/** Compare as the address asks; a result stays while the source panel opens and closes. */
function useComparison(index: string, question: string, first: string, second: string) {
  const [state, setState] = useState<{ data: Comparison | null; problem: Problem | null; loading: boolean }>({
    data: null,
    problem: null,
    loading: false,
  });
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (!question) {
      setState({ data: null, problem: null, loading: false });
      return;
    }
    const control = new AbortController();
    setState({ data: null, problem: null, loading: true });
    const methods = first === second ? [first] : [first, second];
    postJson<Comparison>(indexPath(index, "compare"), { question, methods }, control.signal).then(
      (data) => setState({ data, problem: null, loading: false }),
      (error: unknown) =>
        !control.signal.aborted && setState({ data: null, problem: asProblem(error), loading: false }),
    );
    return () => control.abort();
  }, [index, question, first, second, round]);
  return { ...state, again: () => setRound((number) => number + 1) };
}

export function CompareScreen({ route, index, methods }: Props) {
  const asked = route.query.get("q")?.trim() ?? "";
  const first = route.query.get("a") ?? index.default_method;
  const second = route.query.get("b") ?? otherMethod(methods, first);
  const { data, problem, loading, again } = useComparison(index.name, asked, first, second);
  return (
    <div class="column wide compare">
      <h1 tabIndex={-1}>Compare methods</h1>
      <p class="soft intro">
        One question, two methods. Judge the results, and save what you judged as questions for{" "}
        <code>graphwright evaluate</code>.
      </p>
      <CompareForm key={`${asked}|${first}|${second}`} {...{ asked, first, second, index, methods }} />
      {loading && <Loading>Asking both methods…</Loading>}
      {problem && <Failure problem={problem} onRetry={again} />}
      {data && <Results route={route} index={index.name} comparison={data} />}
      <JudgedFile index={index.name} />
    </div>
  );
}

function otherMethod(methods: Method[], first: string): string {
  const names = methods.map(({ name }) => name);
  return (
    ["bm25", "dense", "ppr"].find((name) => name !== first && names.includes(name)) ??
    names.find((name) => name !== first) ??
    first
  );
}

interface FormProps {
  asked: string;
  first: string;
  second: string;
  index: IndexFacts;
  methods: Method[];
}

function CompareForm({ asked, first, second, index, methods }: FormProps) {
  const [question, setQuestion] = useState(asked);
  const [a, setA] = useState(first);
  const [b, setB] = useState(second);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (question.trim()) go(href("compare", { index: index.name, q: question.trim(), a, b }));
  };
  return (
    <form class="compare-form" onSubmit={submit}>
      <label class="grow">
        Question
        <input
          type="text"
          dir="auto"
          value={question}
          required
          onInput={(event) => setQuestion(event.currentTarget.value)}
        />
      </label>
      <label>
        First method
        <MethodSelect value={a} methods={methods} index={index} onChange={setA} />
      </label>
      <label>
        Second method
        <MethodSelect value={b} methods={methods} index={index} onChange={setB} />
      </label>
      <button type="submit" class="button primary">
        Compare
      </button>
    </form>
  );
}

function Results({ route, index, comparison }: { route: Route; index: string; comparison: Comparison }) {
  const { question, results } = comparison;
  useStore(judged);
  const said = judgement(index, question);
  const methods = results.map(({ method }) => method);
  const change = (part: Partial<Judged>): void => judge({ ...said, methods, ...part });
  const shared = sharedPassages(results);
  return (
    <>
      <div class="sides">
        {results.map((answer) => (
          <Side key={answer.method} {...{ route, index, answer, said, change, shared }} />
        ))}
      </div>
      {results.length > 1 && <Verdict methods={methods} said={said} change={change} />}
      <AcceptedAnswers key={question} said={said} change={change} />
    </>
  );
}

/** Ids of the passages that every method found. */
function sharedPassages(results: readonly Answer[]): ReadonlySet<string> {
  const [first, ...others] = results.map(({ passages }) => new Set(passages.map(({ id }) => id)));
  return new Set([...(first ?? [])].filter((id) => others.length > 0 && others.every((other) => other.has(id))));
}

interface SideProps {
  route: Route;
  index: string;
  answer: Answer;
  said: Judged;
  change: (part: Partial<Judged>) => void;
  shared: ReadonlySet<string>;
}

function Side({ route, index, answer, said, change, shared }: SideProps) {
  const { method, citations, passages, usage, trace } = answer;
  const text = answer.short.length ? answer.short.join(", ") : withoutMarkers(answer.answer ?? "").trim();
  const accepted = said.answers.includes(text);
  const seconds = trace.reduce((sum, step) => sum + step.seconds, 0);
  const tokens = usage.prompt_tokens + usage.completion_tokens;
  const toggle = (document: string): void => {
    const gold = said.gold.includes(document) ? said.gold.filter((id) => id !== document) : [...said.gold, document];
    change({ gold });
  };
  return (
    <section class="side" aria-label={`Result of ${method}`}>
      <header class="side-head">
        <h2>{method}</h2>
        <span class="soft">
          {duration(seconds)} · {digits(tokens)} tokens · {money(usage.cost)}
        </span>
      </header>
      <Fallback answer={answer} />
      {answer.found === false ? (
        <p class="absent-line">{answer.fallback ? "No answer." : "No sure answer."}</p>
      ) : (
        <>
          <AnswerText {...{ route, index, citations }} text={answer.answer ?? ""} titles={titlesOf(passages)} />
          {text !== "" && (
            <button
              type="button"
              class="button judge"
              aria-pressed={accepted}
              onClick={() =>
                change({ answers: accepted ? said.answers.filter((other) => other !== text) : [...said.answers, text] })
              }
            >
              {accepted ? "Accepted answer" : "Accept this answer"}
            </button>
          )}
        </>
      )}
      <h3>{count(passages.length, "passage")}</h3>
      <PassageList
        route={route}
        index={index}
        passages={passages}
        limit={5}
        scale={scaleOf(trace, method)}
        beside={(passage) => <Judge passage={passage} said={said} onToggle={toggle} shared={shared} />}
      />
    </section>
  );
}

interface JudgeProps {
  passage: Passage;
  said: Judged;
  onToggle: (document: string) => void;
  shared: ReadonlySet<string>;
}

function Judge({ passage, said, onToggle, shared }: JudgeProps) {
  const isGold = said.gold.includes(passage.document);
  return (
    <>
      {shared.has(passage.id) && <span class="tag">in both</span>}
      <button
        type="button"
        class="button judge small"
        aria-pressed={isGold}
        onClick={() => onToggle(passage.document)}
        aria-label={`${passage.title || passage.document} holds evidence`}
        title="Judge: does this document hold evidence for the answer?"
      >
        Holds evidence
      </button>
    </>
  );
}

function Verdict({
  methods,
  said,
  change,
}: {
  methods: string[];
  said: Judged;
  change: (part: Partial<Judged>) => void;
}) {
  const choices = [
    ...methods.map((name) => ({ value: name, label: `${name} is better` })),
    { value: "both", label: "Both are good" },
    { value: "neither", label: "Neither is" },
  ];
  return (
    <fieldset class="verdict">
      <legend>Your judgement</legend>
      {choices.map(({ value, label }) => (
        <button
          key={value}
          type="button"
          class="button judge"
          aria-pressed={said.better === value}
          onClick={() => change({ better: said.better === value ? "" : value })}
        >
          {label}
        </button>
      ))}
    </fieldset>
  );
}

/** The accepted answers as lines that can be edited. */
function AcceptedAnswers({ said, change }: { said: Judged; change: (part: Partial<Judged>) => void }) {
  const lines = said.answers.join("\n");
  return (
    <label class="accepted">
      Accepted answers
      <textarea
        dir="auto"
        rows={2}
        value={lines}
        placeholder="One alternative a line, as short as it can be"
        onChange={(event) =>
          change({
            answers: event.currentTarget.value
              .split("\n")
              .map((line) => line.trim())
              .filter(Boolean),
          })
        }
      />
    </label>
  );
}

function JudgedFile({ index }: { index: string }) {
  const entries = useStore(judged).filter((entry) => entry.index === index);
  if (!entries.length) return null;
  return (
    <section class="judged" aria-label="Judged questions">
      <div>
        <p>
          <strong>{count(entries.length, "question")}</strong> judged in this browser.
        </p>
        <p class="soft">
          <code>graphwright evaluate --data questions.jsonl --index {index}</code>
        </p>
      </div>
      <div class="judged-actions">
        <button type="button" class="button primary" onClick={() => save("questions.jsonl", questionsFile(entries))}>
          Save questions.jsonl
        </button>
        <button type="button" class="button quiet" onClick={clearJudged}>
          Clear
        </button>
      </div>
    </section>
  );
}
