/** Requests to the server that sent this page. Addresses are relative to the page, so it works below any path. */

import { readEvents, type ServerEvent } from "./sse";

const base = new URL(".", document.baseURI);

/** Path of the page, which tells several servers of one host apart. */
export const basePath = base.pathname;

/** An error that the server states by RFC 9457, or a failure to reach it (status 0). */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly title: string,
    readonly detail: string,
    readonly retryAfter: number | null = null,
  ) {
    super(detail || title);
  }
}

let onUnauthorized: () => void = () => undefined;

/** Call `then` whenever the server answers that a key is needed. */
export function whenUnauthorized(then: () => void): void {
  onUnauthorized = then;
}

/** Return the path of something that belongs to an index. Ids may hold any character. */
export function indexPath(index: string, ...parts: string[]): string {
  return ["v1/indexes", index, ...parts].map((part, at) => (at ? encodeURIComponent(part) : part)).join("/");
}

/** Return a path with the parameters that have a value. */
export function withQuery(path: string, query: Record<string, string | number | null | undefined>): string {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text ? `${path}?${text}` : path;
}

export function addressOf(path: string): string {
  return new URL(path, base).href;
}

async function send(path: string, options: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(new URL(path, base), { credentials: "same-origin", ...options });
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new Problem(
      0,
      "The server does not answer",
      "Check that it is running and that this device is online, then try again.",
    );
  }
  if (response.ok) return response;
  if (response.status === 401) onUnauthorized();
  throw await problemOf(response);
}

async function problemOf(response: Response): Promise<Problem> {
  const after = Number(response.headers.get("Retry-After"));
  const body: unknown = await response.json().catch(() => null);
  const told = (body && typeof body === "object" ? body : {}) as Record<string, unknown>;
  const title = typeof told["title"] === "string" ? told["title"] : response.statusText || `Error ${response.status}`;
  const detail = typeof told["detail"] === "string" ? told["detail"] : "";
  return new Problem(response.status, title, detail, Number.isFinite(after) && after > 0 ? after : null);
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await send(path, { headers: { Accept: "application/json" }, ...(signal ? { signal } : {}) });
  return (await response.json()) as T;
}

export async function postJson<T>(path: string, body: unknown, signal?: AbortSignal, method = "POST"): Promise<T> {
  const response = await send(path, {
    method,
    headers: { "Content-Type": "application/json", Accept: "application/json" },
    body: JSON.stringify(body),
    ...(signal ? { signal } : {}),
  });
  return (await response.json()) as T;
}

export async function remove<T>(path: string): Promise<T | null> {
  const response = await send(path, { method: "DELETE" });
  return response.status === 204 ? null : ((await response.json()) as T);
}

export async function isReachable(path: string): Promise<boolean> {
  await send(path, { headers: { Accept: "application/json" } });
  return true;
}

/** Upload a form, with the share of it that has been sent. Fetch does not tell that share; XMLHttpRequest does. */
export function upload<T>(path: string, form: FormData, onSent: (share: number) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", new URL(path, base));
    request.setRequestHeader("Accept", "application/json");
    request.upload.onprogress = (event) => event.lengthComputable && onSent(event.loaded / event.total);
    request.onerror = () =>
      reject(
        new Problem(
          0,
          "The upload was interrupted",
          "The server closed the connection. Files that are too large are refused this way.",
        ),
      );
    request.onload = () => {
      if (request.status === 401) onUnauthorized();
      if (request.status < 300) {
        resolve(JSON.parse(request.responseText) as T);
        return;
      }
      const response = new Response(request.responseText, { status: request.status, statusText: request.statusText });
      void problemOf(response).then(reject);
    };
    request.send(form);
  });
}

/** Yield the events of the reply to a body. A plain JSON reply is one event `done`. */
export async function* streamEvents(path: string, body: unknown, signal: AbortSignal): AsyncGenerator<ServerEvent> {
  const response = await send(path, {
    method: "POST",
    headers: { Accept: "text/event-stream", "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });
  if (!response.headers.get("Content-Type")?.startsWith("text/event-stream")) {
    yield { kind: "done", data: await response.json() };
    return;
  }
  if (response.body) yield* readEvents(response.body);
}

/** Return the problem that an `error` event carries. */
export function problemFrom(data: unknown): Problem {
  const told = (data && typeof data === "object" ? data : {}) as Record<string, unknown>;
  return new Problem(
    Number(told["status"]) || 500,
    String(told["title"] ?? "The answer failed"),
    String(told["detail"] ?? ""),
  );
}
