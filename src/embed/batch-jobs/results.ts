import type { Item } from "../batches.ts";
import { messageOf } from "../../errors.ts";
import { EmbedError } from "../errors.ts";
import type { SendReport } from "../send.ts";
import { checkedVectors, normalised } from "../vectors.ts";

/** Vectors that are handed out together: a result file may hold more than fits into memory. */
const GROUP = 256;

export type DeliveryOptions = {
  jobId: string;
  /** Of what is waited for from this job. */
  keys: readonly string[];
  /** Inputs that are waited for, by key. */
  wanted: ReadonlyMap<string, Item[]>;
  /** Name of the provider. */
  provider: string;
  /** Whether vectors are scaled to length 1. */
  normalise: boolean;
  /** Of vectors; learned when undefined. */
  met: { length: number | undefined };
  report: SendReport;
};

/** Hands out the vectors of a job as they are read. */
export type Delivery = {
  /** Takes one vector; a key that is unknown or was there before is passed over. */
  take(key: string, vector: unknown): Promise<void>;
  /** Hands out what is still held. */
  end(): Promise<void>;
  /** Keys that nothing was handed out for. */
  missing(): string[];
};

/** What `report.onVectors` threw, which says nothing of the service: the job is neither at fault nor done. */
export class NotStored extends EmbedError {
  constructor(readonly reason: unknown) {
    super("fatal", messageOf(reason));
  }
}

/** `take` and `end` throw `NotStored`, and `EmbedError` for vectors that do not hold together. */
export function createDelivery({ jobId, keys, wanted, provider, normalise, met, report }: DeliveryOptions): Delivery {
  const left = new Set(keys);
  let held = new Map<string, unknown>();

  const handOut = async (): Promise<void> => {
    const group = held;
    held = new Map();
    const items = [...group.keys()].flatMap((key) => wanted.get(key) ?? []);
    const raw = [...group].flatMap(([key, vector]) => (wanted.get(key) ?? []).map(() => vector));
    const vectors = checkedVectors(raw, items.length, met.length);
    if (typeof vectors === "string") throw new EmbedError("fatal", `${provider} batch ${jobId}: ${vectors}`);
    met.length ??= vectors[0]?.length;
    try {
      if (items.length > 0) await report.onVectors(items, normalise ? vectors.map(normalised) : vectors);
    } catch (error) {
      throw new NotStored(error);
    }
    for (const key of group.keys()) left.delete(key);
  };

  return {
    async take(key, vector) {
      if (!left.has(key) || held.has(key)) return;
      held.set(key, vector);
      if (held.size >= GROUP) await handOut();
    },
    end: handOut,
    missing: () => [...left],
  };
}
