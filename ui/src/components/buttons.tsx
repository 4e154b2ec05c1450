/** Buttons that do more than one thing: ask first, copy a text, read a file. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

interface ConfirmedProps {
  label: ComponentChildren;
  question: string;
  onConfirm: () => Promise<void> | void;
  small?: boolean;
}

/** A button that asks before it does something. */
export function Confirmed({ label, question, onConfirm, small = false }: ConfirmedProps) {
  const [asking, setAsking] = useState(false);
  const size = small ? " small" : "";
  if (!asking) {
    return (
      <button type="button" class={`button quiet${size}`} onClick={() => setAsking(true)}>
        {label}
      </button>
    );
  }
  return (
    <span class="confirm" role="group" aria-label={question}>
      <button
        type="button"
        class={`button danger${size}`}
        onClick={() => {
          setAsking(false);
          void onConfirm();
        }}
        ref={(button) => button?.focus()}
      >
        {question}
      </button>
      <button type="button" class={`button${size}`} onClick={() => setAsking(false)}>
        Keep
      </button>
    </span>
  );
}

interface FileProps {
  label: string;
  accept: string;
  busy?: boolean;
  onText: (text: string) => void;
}

/** A button that reads a text file. */
export function FileButton({ label, accept, busy = false, onText }: FileProps) {
  const read = async (input: HTMLInputElement): Promise<void> => {
    const file = input.files?.[0];
    if (file) onText(await file.text());
    input.value = "";
  };
  return (
    <label class="button">
      {label}
      <input
        class="unseen"
        type="file"
        accept={accept}
        disabled={busy}
        onChange={(event) => void read(event.currentTarget)}
      />
    </label>
  );
}

/** A button that copies a text, where the browser lets it. */
export function CopyButton({ text }: { text: string }) {
  const [copied, setCopied] = useState("");
  if (!("clipboard" in navigator)) return null;
  const copy = (): void => {
    void navigator.clipboard.writeText(text).then(
      () => setCopied(text),
      () => setCopied(""),
    );
  };
  return (
    <button type="button" class="button small" onClick={copy}>
      {copied === text ? "Copied" : "Copy"}
    </button>
  );
}
