/** A new index: its name, language, what is extracted and what answers; and its first files. */

import { useState } from "preact/hooks";
import { type Problem, postJson } from "../api";
import { Choice, NameField, Reading } from "../components/choices";
import { SchemaField } from "../components/schema";
import { Failure } from "../components/states";
import { chosenFiles, Drop } from "../components/upload";
import { go, href } from "../router";
import { asProblem, chooseIndex, refreshIndexes } from "../server";
import { count } from "../text";
import type { Choices, Extraction, IndexFacts } from "../types";

export function NewIndexScreen({ choices, first }: { choices: Choices; first: boolean }) {
  const [name, setName] = useState("");
  const [language, setLanguage] = useState("en");
  const [reading, setReading] = useState<{ extraction: Extraction; model: string | null }>({
    extraction: null,
    model: choices.models[0] ?? null,
  });
  const [toml, setToml] = useState("");
  const [files, setFiles] = useState<File[]>([]);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const make = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      const made = await postJson<IndexFacts>("v1/indexes", {
        name: name.trim(),
        language,
        extraction_schema: toml,
        ...reading,
      });
      await refreshIndexes();
      chosenFiles.set(files);
      chooseIndex(made.name);
      go(href("documents", { index: made.name }));
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(false);
    }
  };
  const languages = [
    { value: "en", label: "English", about: "Other languages are found by their words, and less well by meaning." },
  ];
  if (choices.languages.includes("other")) {
    const about = "For German, French, Spanish, Chinese, Arabic and ten others, by a larger model.";
    languages.push({ value: "other", label: "Another language, or several", about });
  }
  return (
    <div class="column">
      <h1 tabIndex={-1}>{first ? "Ask about your documents" : "New index"}</h1>
      <p class="intro soft">
        An index holds documents that are asked about together. Give it a name and some files; you can ask as soon as
        the first of them are read.
      </p>
      <form class="new-index" onSubmit={(event) => void make(event)}>
        <NameField name={name} placeholder="Minutes of the board" onName={setName} />
        <Choice legend="Language of the documents" options={languages} value={language} onChoose={setLanguage} />
        <Reading {...{ choices, ...reading }} onChange={(extraction, model) => setReading({ extraction, model })} />
        <details>
          <summary>Types of things to look for</summary>
          <SchemaField toml={toml} onToml={setToml} />
        </details>
        <Drop busy={busy} onFiles={(more) => setFiles([...files, ...more])} />
        {files.length > 0 && (
          <p role="status">
            {count(files.length, "file")} chosen:{" "}
            <bdi>
              {files
                .slice(0, 3)
                .map((file) => file.name)
                .join(", ")}
            </bdi>
            {files.length > 3 && "…"}{" "}
            <button type="button" class="button quiet" onClick={() => setFiles([])}>
              Choose none
            </button>
          </p>
        )}
        {problem && <Failure problem={problem} />}
        <button type="submit" class="button primary" disabled={busy}>
          {busy ? "Making the index…" : files.length ? "Make the index and read the files" : "Make the index"}
        </button>
      </form>
    </div>
  );
}
