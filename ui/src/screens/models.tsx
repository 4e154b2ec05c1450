/** The language models that questions and indexes may choose, for an admin: those of the settings, and added ones. */

import { useState } from "preact/hooks";
import { getJson, type Problem, postJson, remove } from "../api";
import { Confirmed } from "../components/buttons";
import { NameField } from "../components/choices";
import { useLoaded } from "../components/loading";
import { AdminTabs, Failure, Loading } from "../components/states";
import { asProblem, refreshIndexes } from "../server";
import { count, money } from "../text";
import type { LanguageModel } from "../types";

interface Models {
  models: LanguageModel[];
  addresses: string[];
}

export function ModelsScreen() {
  const { data, problem, reload } = useLoaded<Models>((signal) => getJson("v1/language-models", signal), []);
  const [failed, setFailed] = useState<Problem | null>(null);
  const change = async (work: Promise<unknown>): Promise<boolean> => {
    setFailed(null);
    try {
      await work;
      await refreshIndexes();
      return true;
    } catch (error) {
      setFailed(asProblem(error));
      return false;
    } finally {
      reload();
    }
  };
  return (
    <div class="column settings">
      <AdminTabs here="models" />
      <h1 tabIndex={-1}>Language models</h1>
      {problem && <Failure problem={problem} onRetry={reload} />}
      {!data && !problem && <Loading />}
      {data && !data.models.length && <p>There is none: answers are quotations and short answers.</p>}
      {data && data.models.length > 0 && (
        <ul class="document-list">
          {data.models.map((model) => (
            <li key={`${model.model} ${model.added}`} class="document-row">
              <div class="document-name">
                <span>
                  <strong>
                    <bdi>{model.model}</bdi>
                  </strong>{" "}
                  {!model.added && <span class="tag">of the settings</span>}
                  {!model.usable && <span class="state failed">left out; the log says why</span>}
                </span>
                <span class="soft">{aboutOf(model)}</span>
              </div>
              {model.added && (
                <Confirmed
                  label="Delete"
                  question="Delete this model?"
                  onConfirm={() => void change(remove(`v1/language-models/${encodeURIComponent(model.model)}`))}
                />
              )}
            </li>
          ))}
        </ul>
      )}
      {data && <NewModel addresses={data.addresses} change={change} />}
      {failed && <Failure problem={failed} />}
    </div>
  );
}

function aboutOf(model: LanguageModel): string {
  const { prompt_price: prompt, completion_price: completion } = model;
  const price = prompt === null ? "no price" : `${money(prompt)} and ${money(completion)} a million tokens`;
  const answers = model.indexes.length ? `answers ${model.indexes.join(", ")}` : "answers where it is chosen";
  const limits = `replies of ${count(model.max_tokens, "token")} in ${model.timeout} s at most`;
  return `${model.base_url ?? "OpenAI"} · ${limits} · ${price} · ${answers}`;
}

interface NewProps {
  addresses: string[];
  change: (work: Promise<unknown>) => Promise<boolean>;
}

const EXAMPLE = `[[model_servers]]
base_url = "ADDRESS/v1"  # of a server with the interface of OpenAI`;

const NUMBERS = {
  prompt_price: "Price of a million tokens of prompts",
  completion_price: "Price of a million tokens of replies",
  max_tokens: "Tokens of a reply, at most",
  timeout: "Seconds of a reply, at most",
};

function NewModel({ addresses, change }: NewProps) {
  const [model, setModel] = useState("");
  const [address, setAddress] = useState(addresses[0] ?? "");
  const [numbers, setNumbers] = useState<Record<string, string>>({ max_tokens: "2048", timeout: "120" });
  const add = async (event: Event): Promise<void> => {
    event.preventDefault();
    const given = Object.entries(numbers).filter(([, value]) => value.trim());
    const values = Object.fromEntries(given.map(([name, value]) => [name, Number(value)]));
    const body = { model: model.trim(), base_url: address, ...values };
    if (await change(postJson("v1/language-models", body))) setModel("");
  };
  return (
    <section aria-labelledby="new-model">
      <h2 id="new-model">Add a model</h2>
      <p class="soft">
        It must be on a server that server.toml lists, in <code>[[model_servers]]</code>. Keys stay in the environment.
      </p>
      {!addresses.length && (
        <>
          <p>
            None is listed. Start the server with <code>graphwright serve --settings server.toml</code>, and in that
            file for example:
          </p>
          <pre tabIndex={0}>{EXAMPLE}</pre>
        </>
      )}
      {addresses.length > 0 && (
        <form class="new-index" onSubmit={(event) => void add(event)}>
          <NameField name={model} placeholder="qwen2.5:7b" onName={setModel} />
          <label>
            Server
            <select value={address} onChange={(event) => setAddress(event.currentTarget.value)}>
              {addresses.map((known) => (
                <option key={known} value={known}>
                  {known}
                </option>
              ))}
            </select>
          </label>
          {Object.entries(NUMBERS).map(([name, label]) => (
            <label key={name}>
              {label}
              <input
                type="number"
                min={0}
                step="any"
                value={numbers[name] ?? ""}
                onInput={(event) => setNumbers({ ...numbers, [name]: event.currentTarget.value })}
              />
            </label>
          ))}
          <button type="submit" class="button primary">
            Add the model
          </button>
        </form>
      )}
    </section>
  );
}
