/** Passages as a list, each a link to its characters. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Route } from "../router";
import { flowing } from "../text";
import type { Passage, Step } from "../types";
import { sourceHref } from "./answer";

interface Props {
  route: Route;
  index: string;
  passages: Passage[];
  limit?: number;
  /** What stands beside the title of a passage. */
  beside?: (passage: Passage) => ComponentChildren;
  /** What the scores are; without it none is shown. */
  scale: string | null;
}

/** Return in words what the scores of passages are: those of the last step that gives its own. */
export function scaleOf(steps: readonly Step[], method?: string): string | null {
  const scale = steps.findLast((step) => step.scale)?.scale;
  return scale ? `Scores${method ? ` of ${method}` : ""}: ${scale}. Higher is better, within this list alone.` : null;
}

export function PassageList({ route, index, passages, limit = 8, beside, scale }: Props) {
  const [all, setAll] = useState(false);
  const shown = all ? passages : passages.slice(0, limit);
  return (
    <>
      {scale && passages.length > 0 && <p class="scale soft">{scale}</p>}
      <ol class="passages">
        {shown.map((passage) => (
          <li key={passage.id} class="passage">
            <div class="passage-head">
              <a href={sourceHref(route, index, passage)} class="passage-title">
                <bdi>{passage.title || passage.document}</bdi>
              </a>
              {scale && Number.isFinite(passage.score) && (
                <span class="score" title={scale}>
                  score {passage.score.toFixed(2)}
                </span>
              )}
              {beside?.(passage)}
            </div>
            <p dir="auto">{flowing(passage.text)}</p>
          </li>
        ))}
      </ol>
      {passages.length > shown.length && (
        <button type="button" class="button quiet" onClick={() => setAll(true)}>
          Show all {passages.length}
        </button>
      )}
    </>
  );
}
