/** How texts are dressed before they are embedded; models are trained with one form and lose much without it. */
export type PromptForm = {
  /** Part of the vectors' identity; begins with `qmd/` where qmd's own forms are used. */
  name: string;
  query(text: string): string;
  document(text: string, title?: string): string;
};

const plain = (text: string): string => text;
const titled = (text: string, title?: string): string => `title: ${title || "none"} | text: ${text}`;
const after = (prefix: string) => (text: string) => prefix + text;
const RETRIEVE_NOTES = "Instruct: Given a user query, retrieve relevant memory notes and documents\nQuery:";
const REPRESENT = "Represent this sentence for searching relevant passages: ";

const RAW: PromptForm = { name: "raw", query: plain, document: plain };

/** Families by what stands in a model's name or path, the more particular first. */
const FAMILIES: [RegExp, PromptForm][] = [
  [/embedding-?gemma/i, { name: "gemma", query: after("task: search result | query: "), document: titled }],
  [/qwen.*embed|embed.*qwen/i, { name: "qwen", query: after(RETRIEVE_NOTES), document: plain }],
  [
    /nomic-?embed-?(text|vision)?/i,
    { name: "nomic", query: after("search_query: "), document: after("search_document: ") },
  ],
  [/e5-.*instruct/i, { name: "e5-instruct", query: after(RETRIEVE_NOTES), document: plain }],
  [/(^|[-_/])e5[-_]/i, { name: "e5", query: after("query: "), document: after("passage: ") }],
  [/bge-m3/i, RAW],
  [/bge-.*zh/i, { name: "bge-zh", query: after("为这个句子生成表示以用于检索相关文章："), document: plain }],
  [/bge-|mxbai-embed/i, { name: "represent", query: after(REPRESENT), document: plain }],
  [/arctic-embed.*v2/i, { name: "arctic-2", query: after("query: "), document: plain }],
  [/arctic-embed/i, { name: "represent", query: after(REPRESENT), document: plain }],
];

const QMD_QWEN: PromptForm = {
  name: "qmd/qwen",
  query: after("Instruct: Retrieve relevant documents for the given query\nQuery: "),
  document: (text, title) => (title ? `${title}\n${text}` : text),
};
const QMD_DEFAULT: PromptForm = { name: "qmd/gemma", query: after("task: search result | query: "), document: titled };

/**
 * The prompt form of a GGUF model, by its URI or path: qmd's in a qmd home, so that vectors stay interchangeable with
 * those qmd made, else that of the model's family (from the models' cards; unknown families get none).
 */
export function promptFormOf(model: string, kind: "agent" | "qmd"): PromptForm {
  if (kind === "qmd") return /qwen.*embed|embed.*qwen/i.test(model) ? QMD_QWEN : QMD_DEFAULT;
  return FAMILIES.find(([family]) => family.test(model))?.[1] ?? RAW;
}

/**
 * What Ollama's models get in front of a query; documents go as they are, since their vectors must stay comparable with
 * those already made.
 */
export function ollamaQuery(model: string, query: string): string {
  if (/^qwen3-embedding/i.test(model)) return RETRIEVE_NOTES + query;
  if (/^nomic-embed-text/i.test(model)) return `search_query: ${query}`;
  return /^mxbai-embed-large/i.test(model) ? REPRESENT + query : query;
}
