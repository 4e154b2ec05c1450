/** The types of entities and relations that extraction looks for: their text, and reading the documents again by it. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { getJson, indexPath, type Problem, postJson } from "../api";
import { asProblem } from "../server";
import type { Estimate, ExtractionSchema, IndexFacts, Job } from "../types";
import { FileButton } from "./buttons";
import { useLoaded } from "./loading";
import { Price } from "./price";
import { Failure } from "./states";

const EXAMPLE = `[entities.company]
description = "A business that sells goods or services."
[relations."founded by"]
pairs = [["company", "person"]]`;

interface FieldProps {
  toml: string;
  busy?: boolean;
  onToml: (toml: string) => void;
  /** Further buttons that fill it. */
  children?: ComponentChildren;
}

/** The text of a schema, which a file can fill. */
export function SchemaField({ toml, busy = false, onToml, children }: FieldProps) {
  return (
    <>
      <label>
        Types to look for, in TOML; empty: all that is found
        <textarea
          class="toml"
          rows={10}
          spellcheck={false}
          disabled={busy}
          value={toml}
          placeholder={EXAMPLE}
          onInput={(event) => onToml(event.currentTarget.value)}
        />
      </label>
      <p class="actions">
        <FileButton label="Take a schema.toml" accept=".toml" busy={busy} onText={onToml} />
        {children}
      </p>
    </>
  );
}

interface AgainProps {
  index: IndexFacts;
  /** Whether a job runs. */
  busy: boolean;
  /** Changes when a job has ended. */
  version: number;
  onJob: (job: Job) => void;
}

/** The schema of an index for an admin, and reading its documents again, with another schema or another extractor. */
export function ReadAgain({ index, busy, version, onJob }: AgainProps) {
  const path = indexPath(index.name, "extraction-schema");
  const { data, problem, reload } = useLoaded<ExtractionSchema>((signal) => getJson(path, signal), [index.name]);
  const [draft, setDraft] = useState<string | null>(null);
  const [offer, setOffer] = useState<Estimate | null>(null);
  const [waits, setWaits] = useState(false); // for a reply
  const [failure, setFailure] = useState<Problem | null>(null);
  const stored = data?.toml ?? "";
  const toml = draft ?? stored;
  const changed = toml.trim() !== stored.trim();
  const shownProblem = failure ?? problem;
  useEffect(() => {
    if (version) reload();
  }, [version]);
  useEffect(() => setDraft(null), [data?.toml]);
  const ask = async <T,>(address: string, body: object, then: (reply: T) => void): Promise<void> => {
    setFailure(null);
    setOffer(null);
    setWaits(true);
    try {
      then(await postJson<T>(address, body));
    } catch (error) {
      setFailure(asProblem(error));
    }
    setWaits(false);
  };
  const address = indexPath(index.name, "reextract");
  const body = changed ? { extraction_schema: toml } : {};
  const read = (): Promise<void> => ask<{ job: Job }>(address, body, ({ job }) => onJob(job));
  const begin = (): void => {
    if (!index.reader) void read();
    else void ask<Estimate>(`${address}/estimate`, body, (found) => (found.calls ? setOffer(found) : void read()));
  };
  const suggest = (model: string | null): Promise<void> =>
    ask<ExtractionSchema>(`${path}/suggest`, { model }, (found) => setDraft(found.toml));
  const edit = (text: string): void => {
    setDraft(text);
    setOffer(null);
  };
  const still = busy || waits;
  return (
    <section aria-labelledby="again-title">
      <h2 id="again-title">Types, and reading again</h2>
      <SchemaField toml={toml} busy={still || !data} onToml={edit}>
        <button type="button" class="button" disabled={still} onClick={() => void suggest(null)}>
          Suggest what is frequent
        </button>
        {index.llm && (
          <button type="button" class="button" disabled={still} onClick={() => void suggest(index.llm)}>
            Have {index.llm} suggest some
          </button>
        )}
      </SchemaField>
      <p class="soft">
        {index.reader
          ? `${index.reader} reads the passages that something else, or with other types, has read; this may cost money.`
          : "Passages that something else, or with other types, has read are read again. The files are not needed."}
      </p>
      <button type="button" class="button" disabled={still || !data} onClick={begin}>
        {!changed
          ? "Read the documents again"
          : toml.trim()
            ? "Read again with these types"
            : "Read again without types"}
      </button>
      {offer && (
        <Price
          estimate={offer}
          what="what is to be read again"
          label="Read again"
          onAccept={() => void read()}
          onDecline={() => setOffer(null)}
        />
      )}
      {shownProblem && <Failure problem={shownProblem} />}
    </section>
  );
}
