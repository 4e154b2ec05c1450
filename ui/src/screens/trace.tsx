/** Trace: the steps of an answer, each with its time, tokens, money, sizes and findings. */

import type { Asking } from "../asking";
import { Loading } from "../components/states";
import { digits, duration, money, shortened } from "../text";
import type { Found, Step } from "../types";

export function TraceView({ state }: { state: Asking }) {
  const { steps } = state;
  if (!steps.length) {
    return state.phase === "searching" ? (
      <Loading>Waiting for the first step…</Loading>
    ) : (
      <p class="soft">No steps were reported.</p>
    );
  }
  const longest = Math.max(...steps.map(({ seconds }) => seconds), 1e-9);
  const total = steps.reduce((sum, { seconds }) => sum + seconds, 0);
  const tokens = steps.reduce((sum, step) => sum + tokensOf(step), 0);
  const cost = steps.some((step) => step.cost === null) ? null : steps.reduce((sum, step) => sum + (step.cost ?? 0), 0);
  return (
    <section aria-label="Trace" class="trace">
      <dl class="figures">
        <div>
          <dt>Steps</dt>
          <dd>{steps.length}</dd>
        </div>
        <div>
          <dt>Time in steps</dt>
          <dd>{duration(total)}</dd>
        </div>
        <div>
          <dt>Language model tokens</dt>
          <dd>{digits(tokens)}</dd>
        </div>
        <div>
          <dt>Cost</dt>
          <dd>{money(cost)}</dd>
        </div>
      </dl>
      <ol class="steps">
        {steps.map((step, at) => (
          <StepRow key={at} step={step} before={steps[at - 1]} share={step.seconds / longest} found={state.found} />
        ))}
      </ol>
    </section>
  );
}

function tokensOf(step: Step): number {
  return step.prompt_tokens + step.completion_tokens;
}

/** What the sizes of a step count. */
const NOUNS: Record<string, string> = { anchors: "names of the question", evidence: "items of evidence" };

/** Return what a step found, by name, where the answer tells: entities of the question, and passages. */
function foundBy(step: Step, before: Step | undefined, found: Found | null): string[] {
  const isNew = (what: string): boolean => Boolean(step.sizes[what]) && step.sizes[what] !== before?.sizes[what];
  if (!found) return [];
  if (isNew("anchors")) return found.anchors.map(({ text }) => text);
  return isNew("passages") ? [...new Set(found.passages.map(({ title, document }) => title || document))] : [];
}

const SHOWN = 6;

interface RowProps {
  step: Step;
  before: Step | undefined;
  share: number;
  found: Found | null;
}

function StepRow({ step, before, share, found }: RowProps) {
  const keeps = /\)\s*%\s*(\d+)$/.exec(step.operator)?.[1];
  const tokens = tokensOf(step);
  const findings = foundBy(step, before, found);
  return (
    <li class="step">
      <div class="step-head">
        <h2>
          {step.about || /^\w*/.exec(step.operator)?.[0]} {keeps && <span class="soft">best {keeps}</span>}
        </h2>
      </div>
      <div class="step-found">
        <dl class="step-facts">
          {Object.entries(step.sizes)
            .filter(([what, size]) => (before?.sizes[what] ?? 0) !== size)
            .map(([what, size]) => (
              <div key={what}>
                <dt>{(NOUNS[what] ?? what).replace(/s\b/, size === 1 ? "" : "s")}</dt>
                <dd>{size ? digits(size) : "no"}</dd>
              </div>
            ))}
          {step.calls > 0 && (
            <div>
              <dt>{step.texts === 1 ? "text" : "texts"} read by a local model</dt>
              <dd>{digits(step.texts)}</dd>
            </div>
          )}
          {step.llm_calls > 0 && (
            <div>
              <dt>tokens of the language model, {money(step.cost)}</dt>
              <dd>{digits(tokens)}</dd>
            </div>
          )}
        </dl>
        {findings.length > 0 && (
          <ul class="chips" aria-label="Found">
            {findings.slice(0, SHOWN).map((text) => (
              <li key={text} dir="auto">
                {shortened(text, 60)}
              </li>
            ))}
            {findings.length > SHOWN && <li class="more">and {findings.length - SHOWN} more</li>}
          </ul>
        )}
        {step.notes.map((note, at) => (
          <p key={at} class="step-note" dir="auto">
            {note}
          </p>
        ))}
        <details class="step-code">
          <summary>Expression</summary>
          <code>{step.operator}</code>
        </details>
      </div>
      <div class="step-time">
        <svg class="step-bar" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
          <rect width={Math.max(0.4, share * 100)} height="1" />
        </svg>
        {duration(step.seconds)}
      </div>
    </li>
  );
}
