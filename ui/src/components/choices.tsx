/** What an index is to be, in words: what is extracted from its documents, and what answers. */

import type { Choices, Extraction } from "../types";

interface Option<T> {
  value: T;
  label: string;
  about: string;
}

interface ChoiceProps<T> {
  legend: string;
  options: Option<T>[];
  value: T;
  onChoose: (value: T) => void;
}

/** A group of radio buttons, each with a sentence that says what it means. */
export function Choice<T extends string | null>({ legend, options, value, onChoose }: ChoiceProps<T>) {
  return (
    <fieldset class="choice">
      <legend>{legend}</legend>
      {options.map((option) => (
        <label key={option.value ?? ""}>
          <input type="radio" name={legend} checked={option.value === value} onChange={() => onChoose(option.value)} />
          <span>
            <bdi>{option.label}</bdi>
          </span>
          <small>{option.about}</small>
        </label>
      ))}
    </fieldset>
  );
}

interface NameProps {
  name: string;
  placeholder?: string;
  onName: (name: string) => void;
}

/** The name of an index. */
export function NameField({ name, placeholder, onName }: NameProps) {
  return (
    <label>
      Name
      <input
        type="text"
        dir="auto"
        required
        maxLength={100}
        autocomplete="off"
        value={name}
        placeholder={placeholder}
        onInput={(event) => onName(event.currentTarget.value)}
      />
    </label>
  );
}

interface ReadingProps {
  choices: Choices;
  extraction: Extraction;
  model: string | null;
  onChange: (extraction: Extraction, model: string | null) => void;
}

/** The choice of what answers, and of what is extracted. */
export function Reading({ choices, extraction, model, onChange }: ReadingProps) {
  const models = choices.models.map((name) => ({
    value: name,
    label: name,
    about: "This language model writes the answers. It is sent the question and the passages that were found.",
  }));
  const quotes = { value: null, label: "Without a language model", about: "Answers are quotations and short answers." };
  const readings: Option<Extraction>[] = [
    { value: null, label: "What suits the language", about: "Names, dates and figures; nothing leaves this server." },
    { value: "mentions", label: "Names in English texts", about: "A small model on this server finds the names." },
    { value: "rules", label: "Names by their spelling", about: "By rules, without a model: the fastest." },
  ];
  if (model !== null) {
    const about = "The language model reads every passage. It finds the most, takes the longest, and may cost money.";
    readings.push({ value: "llm", label: "Names, relations and descriptions", about });
  }
  return (
    <>
      {models.length > 0 && (
        <Choice<string | null>
          legend="What answers"
          options={[quotes, ...models]}
          value={model}
          onChoose={(chosen) => onChange(chosen === null && extraction === "llm" ? null : extraction, chosen)}
        />
      )}
      <Choice<Extraction>
        legend="What is extracted from the documents"
        options={readings}
        value={extraction}
        onChoose={(chosen) => onChange(chosen, model)}
      />
    </>
  );
}
