/** Passages as a list, each a link to its characters. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Route } from "../router";
import { flowing } from "../text";
import type { Passage } from "../types";
import { sourceHref } from "./answer";

interface Props {
  route: Route;
  index: string;
  passages: Passage[];
  limit?: number;
  /** What stands beside the title of a passage. */
  beside?: (passage: Passage) => ComponentChildren;
  scores?: boolean;
}

export function PassageList({ route, index, passages, limit = 8, beside, scores = true }: Props) {
  const [all, setAll] = useState(false);
  const shown = all ? passages : passages.slice(0, limit);
  return (
    <>
      <ol class="passages">
        {shown.map((passage) => (
          <li key={passage.id} class="passage">
            <div class="passage-head">
              <a href={sourceHref(route, index, passage)} class="passage-title">
                <bdi>{passage.title || passage.document}</bdi>
              </a>
              {scores && Number.isFinite(passage.score) && (
                <span class="score" title="Score of the method: higher is better">
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
