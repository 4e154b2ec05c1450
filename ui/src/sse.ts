/** Server-sent events, read from the body of a reply: unlike EventSource this works for POST. */

export interface ServerEvent {
  kind: string;
  data: unknown;
}

export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      text += decoder.decode(value, { stream: !done });
      const blocks = text.split(/\r?\n\r?\n/);
      text = done ? "" : (blocks.pop() ?? "");
      for (const block of blocks) {
        const event = parseEvent(block);
        if (event) yield event;
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Return the event of a block of lines, null for a comment such as a ping. */
function parseEvent(block: string): ServerEvent | null {
  let kind = "message";
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    if (line.startsWith("event:")) kind = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
  }
  return data.length ? { kind, data: JSON.parse(data.join("\n")) } : null;
}
