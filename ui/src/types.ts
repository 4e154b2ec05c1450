/** Bodies of the server's replies, as its OpenAPI document describes them. */

export interface Passage {
  id: string;
  document: string;
  title: string;
  text: string;
  start: number;
  end: number;
  score: number;
}

/** A verified source: characters of a document, counted in Unicode code points. */
export interface Citation {
  document: string;
  chunk: string;
  start: number;
  end: number;
  text: string;
  path: string[];
  /** The part of the path to show: at most three stated relations, or none. */
  shown_path: string[];
  /** Page, slide, cell or lines in the file; missing where it has none. */
  location?: string;
  /** Documents with a copy of the passage; missing where there are none. */
  also_in?: string[];
}

export interface Anchor {
  text: string;
  kind: string;
  weight: number;
  nodes: string[];
  edges: string[][];
}

export interface EvidenceItem {
  nodes: string[];
  edges: string[][];
  score: number | null;
}

export interface Usage {
  calls: number;
  texts: number;
  tokens: number;
  llm_calls: number;
  prompt_tokens: number;
  completion_tokens: number;
  cost: number | null;
}

export interface Step extends Usage {
  operator: string;
  /** What it does; missing in threads that were kept before it was told. */
  about?: string;
  /** What the scores are that it gives, and their range; missing or empty where it gives none. */
  scale?: string;
  seconds: number;
  model_seconds: number;
  sizes: Record<string, number>;
  notes: string[];
}

export interface Found {
  passages: Passage[];
  anchors: Anchor[];
  evidence: EvidenceItem[];
}

export interface Answer extends Found {
  question: string;
  /** The turn of a conversation that was taken to ask the question, if it is another text. */
  turn?: string | null;
  /** Names that a turn may mean, if the answer asks which. */
  choices?: string[];
  method: string;
  found: boolean | null;
  answer: string | null;
  short: string[];
  /** The beginning of the text that tells what is found, which is shown above the rest. */
  headline?: string;
  verified: boolean | null;
  unsupported: string[];
  dropped?: string[];
  /** Why the language model did not answer, if it failed. */
  fallback?: string | null;
  /** The same in detail; only for an admin. */
  fallback_details?: string | null;
  /** False where an instruction was given, and no language model wrote the answer. */
  instructed?: boolean | null;
  citations: Citation[];
  usage: Usage;
  trace: Step[];
}

export interface IndexFacts {
  name: string;
  documents: number;
  chunks: number;
  nodes: number;
  edges: number;
  default_method: string;
  imported: boolean;
  /** False for an imported graph that is too large for documents beside it. */
  takes_documents: boolean;
  current: boolean;
  llm: string | null;
  /** The language models that a question may choose. */
  models: string[];
  /** The language model that reads documents that are added. */
  reader: string | null;
  /** What reads added documents; null: what suits the language of the index. */
  extraction: Extraction;
  /** Whether it was made on this server, and can be renamed and deleted. */
  own: boolean;
  /** Names that it had before. */
  former: string[];
  /** What feedback has changed in the ranking; 0: nothing. */
  gate: number;
  snapshot: number;
}

export type Extraction = "mentions" | "rules" | "llm" | null;

/** What a new index can be. */
export interface Choices {
  languages: string[];
  models: string[];
}

export interface Method {
  name: string;
  group: string;
  about: string;
  options: Record<string, unknown>;
  needs_llm: boolean;
}

export interface Session {
  closed: boolean;
  signed_in: boolean;
  name?: string | null;
  scope?: "read" | "write" | "admin" | null;
  indexes?: string[] | null;
  /** Whether this client may manage keys and language models. */
  manages?: boolean;
}

/** A key without its secret. */
export interface KeyFacts {
  id: string;
  name: string;
  scope: string;
  indexes: string[] | null;
  state: "active" | "expired" | "revoked";
  created: string;
  expires: string | null;
  used: string | null;
  /** Whether this session is of it. */
  own: boolean;
}

export interface LanguageModel {
  model: string;
  base_url: string | null;
  max_tokens: number;
  timeout: number;
  prompt_price: number | null;
  completion_price: number | null;
  /** Whether it was added in the page, and can be deleted there. */
  added: boolean;
  usable: boolean;
  indexes: string[];
}

export interface DocumentRow {
  id: string;
  title: string;
  characters: number;
  chunks: number;
}

export interface EntityRef {
  node: number;
  name: string;
}

export interface ChunkRow {
  id: string;
  start: number;
  end: number;
  entities: EntityRef[];
}

export interface DocumentFacts {
  id: string;
  title: string;
  characters: number;
  metadata: Record<string, string>;
  chunks: ChunkRow[];
  original: { name: string; pages: number } | null;
}

/** A line of cited text on a page of a PDF, in 1/10,000 of the page. */
export interface PageMark {
  page: number;
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export interface TextSpan {
  document: string;
  start: number;
  end: number;
  text: string;
}

export interface EntityRow extends EntityRef {
  type: string;
  passages: number;
  degree: number;
}

/** Entities, and which of them are neighbours. */
export interface Entities {
  entities: EntityRow[];
  links: [number, number][];
}

export interface Statement {
  head: string;
  relation: string;
  tail: string;
  text: string;
  passages: string[];
}

export interface Neighbour extends EntityRef {
  relation: string;
  direction: "in" | "out";
}

/** A passage that names an entity; without a document on an imported graph. */
export interface NamingPassage {
  node: number;
  id: string | null;
  document: string | null;
  title: string | null;
  start: number | null;
  end: number | null;
}

export interface EntityFacts extends Omit<EntityRow, "passages"> {
  text: string;
  statements: Statement[];
  total_statements: number;
  passages: NamingPassage[];
  total_passages: number;
  neighbours: Neighbour[];
}

export type PathPart = EntityRef | { relation: string; forward: boolean; text: string };

/** A type of entities, with the number of these. */
export interface TypeCount {
  name: string;
  count: number;
}

/** The types that extraction looks for, all of it as TOML. */
export interface ExtractionSchema {
  toml: string;
}

/** The work of the language model that reading documents would take. */
export interface Estimate {
  llm: string | null;
  chunks: number;
  calls: number;
  prompt_tokens: number;
  completion_tokens: number;
  hours: number | null;
  cost: number | null;
  /** Tokens of each prompt that list the types. */
  schema_tokens: number;
  skipped: { document: string; reason: string }[];
}

/** What a rebuild may change of an index, as it is. */
export interface Rebuildable {
  encoder: string;
  encoders: string[];
  chunk_tokens: number;
  overlap: number;
}

export interface JobChanges {
  added: number;
  replaced: number;
  removed: number;
  unchanged: number;
  retained: number;
  failed: { document: string; chunk: number | null; reason: string }[];
  skipped: number;
  pending: number;
  extracted: number;
  /** Entities and relations that fit no type. */
  off_schema: number;
}

/** An edit by hand; `idle`: why it changes nothing now. */
export interface Edit {
  id: string;
  words: string;
  change: object;
  time: string;
  who: string;
  why: string;
  idle: string;
}

/** Two entities that may be one, the better connected first. */
export interface Duplicate {
  first: string;
  second: string;
  score: number;
  reasons: string[];
}

export interface Job {
  id: string;
  index: string;
  kind: "add" | "remove" | "sync" | "reextract" | "rebuild" | "edit" | "undo" | "refit";
  state: "queued" | "running" | "done" | "failed" | "cancelled";
  cancelling: boolean;
  created: string;
  started: string | null;
  finished: string | null;
  progress: { done: number; total: number; unit: string } | null;
  message: string;
  changes: JobChanges | null;
}

/** A folder or another source that an index can be synced with. */
export interface SyncSource {
  name: string;
  /** "folder", or the scheme of its address. */
  kind: string;
  watched: boolean;
  /** Seconds after which it is synced again. */
  every: number | null;
  due: string | null;
  last: Job | null;
}

/** What restricts a question: its documents must meet all of it. */
export interface Filter {
  documents?: string[];
  folder?: string;
  metadata?: Record<string, string | number | boolean>;
}
