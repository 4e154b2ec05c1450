/** The kept conversations as a list, and what can be done with one: rename, export, share, delete. */

import { useState } from "preact/hooks";
import { type Conversation, threadFrom } from "../asking";
import { save } from "../judged";
import { href } from "../router";
import { useStore } from "../store";
import { ago, count } from "../text";
import { type Asked, deleteThread, isKept, keepThread, nameOf, type Thread, threads } from "../threads";
import { linkTo, markdown } from "../transcript";
import { Confirmed, CopyButton } from "./buttons";
import { Icon } from "./icon";

interface SavedProps {
  threads: Thread[];
  addressOf: (first: Asked, id: string) => string;
}

export function SavedThreads({ threads: shown, addressOf }: SavedProps) {
  const deleteAll = async (): Promise<void> => {
    for (const { id } of shown) await deleteThread(id);
  };
  return (
    <section class="recent" aria-labelledby="recent-title">
      <div class="section-head">
        <h2 id="recent-title">Threads</h2>
        <Confirmed label="Delete all" question={`Delete ${count(shown.length, "thread")}?`} onConfirm={deleteAll} />
      </div>
      <ul>
        {shown.map((thread) => (
          <SavedThread key={thread.id} thread={thread} addressOf={addressOf} />
        ))}
      </ul>
      <KeptNote />
    </section>
  );
}

function SavedThread({ thread, addressOf }: { thread: Thread; addressOf: SavedProps["addressOf"] }) {
  const [first] = thread.turns;
  const [renaming, setRenaming] = useState(false);
  if (!first) return null;
  return (
    <li>
      {renaming ? (
        <RenameForm thread={thread} onEnd={() => setRenaming(false)} />
      ) : (
        <a href={addressOf(first.asked, thread.id)} dir="auto">
          {nameOf(thread)}
        </a>
      )}
      <span class="thread-end">
        <span class="soft">
          {count(thread.turns.length, "question")} · {ago(thread.time)}
        </span>
        <button type="button" class="button quiet small" onClick={() => setRenaming(true)}>
          Rename
        </button>
        <Confirmed label="Delete" question="Delete this thread?" onConfirm={() => deleteThread(thread.id)} small />
      </span>
    </li>
  );
}

/** Where conversations are, as far as a reader needs to know. */
function KeptNote() {
  return (
    <small class="soft">
      {useStore(isKept)
        ? "Kept in this browser only."
        : "This browser keeps no threads, as in a private window: they end with this page."}
    </small>
  );
}

function RenameForm({ thread, onEnd }: { thread: Thread; onEnd: () => void }) {
  const [name, setName] = useState(nameOf(thread));
  const submit = (event: Event): void => {
    event.preventDefault();
    void keepThread({ ...thread, name: name.trim() });
    onEnd();
  };
  return (
    <form class="thread-name" onSubmit={submit} onKeyDown={(event) => event.key === "Escape" && onEnd()}>
      <label>
        <span class="unseen">Name of the thread</span>
        <input
          type="text"
          dir="auto"
          maxLength={200}
          value={name}
          ref={(box) => void (box && document.activeElement !== box && box.focus())}
          onInput={(event) => setName(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="button small">
        Save
      </button>
    </form>
  );
}

/** What can be done with the shown conversation. */
export function ThreadBar({ state, onDelete }: { state: Conversation; onDelete: () => void }) {
  const [open, setOpen] = useState<"rename" | "share" | null>(null);
  const kept = useStore(threads).find(({ id }) => id === state.id);
  const thread = kept ?? threadFrom(state);
  const index = state.turns[0]?.asked.index ?? "";
  const toggle = (what: "rename" | "share"): void => setOpen(open === what ? null : what);
  return (
    <section class="thread-bar" aria-label="Thread">
      <div class="thread-actions">
        <a class="button small" href={href("ask", { index })}>
          <Icon name="plus" />
          New thread
        </a>
        {thread && (
          <>
            <button
              type="button"
              class="button quiet small"
              aria-expanded={open === "rename"}
              onClick={() => toggle("rename")}
            >
              Rename
            </button>
            <button
              type="button"
              class="button quiet small"
              onClick={() => save(fileName(nameOf(thread)), markdown(thread), "text/markdown")}
            >
              Export
            </button>
            <button
              type="button"
              class="button quiet small"
              aria-expanded={open === "share"}
              onClick={() => toggle("share")}
            >
              Share
            </button>
            <Confirmed
              label="Delete"
              question="Delete this thread?"
              small
              onConfirm={() => {
                onDelete();
                return deleteThread(thread.id);
              }}
            />
          </>
        )}
      </div>
      {thread?.name && open !== "rename" && (
        <p class="thread-title" dir="auto">
          {thread.name}
        </p>
      )}
      {thread && open === "rename" && <RenameForm thread={thread} onEnd={() => setOpen(null)} />}
      {thread && open === "share" && <ShareLink link={linkTo(thread)} />}
    </section>
  );
}

function ShareLink({ link }: { link: string }) {
  return (
    <div class="thread-link">
      <label>
        Link to the thread
        <input type="text" readOnly value={link} onFocus={(event) => event.currentTarget.select()} />
        <small>It holds the questions, not the answers, and asks them again when its reader says so.</small>
      </label>
      <CopyButton text={link} />
    </div>
  );
}

/** Return a name for a file: letters and digits of a text, with hyphens between words. */
function fileName(text: string): string {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return `${words.join("-").slice(0, 60) || "thread"}.md`;
}
