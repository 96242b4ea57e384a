import type { Delivery, TraceEffect } from '../../clients/typescript/gen/operations.ts';
import { type PackedTexts, packTexts } from './columns.ts';

/** Outcomes of deliveries by their numbers in columns. */
export const OUTCOMES = ['done', 'refused', 'retried', 'deferred', 'stale', 'dead-lettered', 'unknown'] as const;

/** Outcomes of effects by their numbers in columns. */
const EFFECT_OUTCOMES = ['done', 'failed', 'in_doubt', 'open', 'started', 'retrying'] as const;

/** A page of a trace as columns, which are transferred from the worker to the page without a copy. */
export interface Batch {
  readonly deliveries: {
    readonly ids: PackedTexts;
    /** Empty for the root. */
    readonly causes: PackedTexts;
    /** Numbers of names; -1 for null. */
    readonly from: Int32Array<ArrayBuffer>;
    readonly to: Int32Array<ArrayBuffer>;
    readonly type: Int32Array<ArrayBuffer>;
    readonly node: Int32Array<ArrayBuffer>;
    /** Unix ms. */
    readonly at: Float64Array<ArrayBuffer>;
    readonly wait: Float32Array<ArrayBuffer>;
    readonly turn: Float32Array<ArrayBuffer>;
    readonly epoch: Int32Array<ArrayBuffer>;
    readonly attempt: Int32Array<ArrayBuffer>;
    readonly outcome: Uint8Array<ArrayBuffer>;
  };
  readonly effects: {
    readonly ids: PackedTexts;
    readonly messages: PackedTexts;
    readonly kind: Int32Array<ArrayBuffer>;
    readonly node: Int32Array<ArrayBuffer>;
    readonly attempt: Int32Array<ArrayBuffer>;
    /** Unix ms; NaN where there is none. */
    readonly startedAt: Float64Array<ArrayBuffer>;
    readonly endedAt: Float64Array<ArrayBuffer>;
    readonly outcome: Uint8Array<ArrayBuffer>;
  };
  /** Names that no earlier batch had; they continue the numbering. */
  readonly names: readonly string[];
}

/** Makes columns of the pages of one trace. Addresses, types, kinds and nodes are sent once, then by number. */
export class BatchWriter {
  readonly #numbers = new Map<string, number>();
  #fresh: string[] = [];

  write(deliveries: readonly Delivery[], effects: readonly TraceEffect[]): Batch {
    const columns = {
      deliveries: {
        ids: packTexts(deliveries.map(({ message_id }) => message_id)),
        causes: packTexts(deliveries.map(({ cause_id }) => cause_id ?? '')),
        from: Int32Array.from(deliveries, ({ from }) => this.#number(from)),
        to: Int32Array.from(deliveries, ({ to }) => this.#number(to)),
        type: Int32Array.from(deliveries, ({ type }) => this.#number(type)),
        node: Int32Array.from(deliveries, ({ node }) => this.#number(node)),
        at: Float64Array.from(deliveries, ({ at }) => Date.parse(at)),
        wait: Float32Array.from(deliveries, ({ wait_ms }) => wait_ms),
        turn: Float32Array.from(deliveries, ({ turn_ms }) => turn_ms),
        epoch: Int32Array.from(deliveries, ({ epoch }) => epoch),
        attempt: Int32Array.from(deliveries, ({ attempt }) => attempt),
        outcome: Uint8Array.from(deliveries, ({ outcome }) => OUTCOMES.indexOf(outcome)),
      },
      effects: {
        ids: packTexts(effects.map(({ effect_id }) => effect_id)),
        messages: packTexts(effects.map(({ message_id }) => message_id ?? '')),
        kind: Int32Array.from(effects, ({ kind }) => this.#number(kind)),
        node: Int32Array.from(effects, ({ node }) => this.#number(node)),
        attempt: Int32Array.from(effects, ({ attempt }) => attempt),
        startedAt: Float64Array.from(effects, ({ started_at }) => timeOf(started_at)),
        endedAt: Float64Array.from(effects, ({ ended_at }) => timeOf(ended_at)),
        outcome: Uint8Array.from(effects, ({ outcome }) => EFFECT_OUTCOMES.indexOf(outcome)),
      },
    };
    const names = this.#fresh;
    this.#fresh = [];
    return { ...columns, names };
  }

  #number(name: string | null): number {
    if (name === null) return -1;
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    const number = this.#numbers.size;
    this.#numbers.set(name, number);
    this.#fresh.push(name);
    return number;
  }
}

const timeOf = (iso: string | null): number => (iso === null ? Number.NaN : Date.parse(iso));

/** The buffers of a batch, for the transfer list of a message. */
export const buffersOf = ({ deliveries, effects }: Batch): ArrayBuffer[] =>
  [...Object.values(deliveries), ...Object.values(effects)].flatMap((one) =>
    'ends' in one ? [one.bytes.buffer, one.ends.buffer] : [one.buffer],
  );
