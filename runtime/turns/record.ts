import { z } from 'zod';
import type { ActorDefinition } from '../define-actor.ts';
import { SvcError } from '../errors.ts';
import { jsonField } from '../json.ts';
import { compiledWhenHot } from '../kit/hot-schema.ts';
import type { TraceCount } from './trace-count.ts';

/** A message that keeps failing, and those that wait behind it (K6). Bodies are encoded messages. */
const Stuck = z.object({
  body: z.string(),
  type: z.string(),
  attempts: z.number().int(),
  error: z.string(),
  /** Waiting messages in the order of their arrival. */
  behind: z.array(z.string()),
});
export type Stuck = z.infer<typeof Stuck>;

const wireRecord = compiledWhenHot(
  z.object({
    /** Version of the definition that wrote the state. */
    v: z.number().int(),
    /** Number of turns that changed the actor. */
    r: z.number().int(),
    /** Sequence number of its last event. */
    e: z.number().int(),
    /** Pending timers: name -> id of the message that will be sent. */
    t: z.record(z.string(), z.string()).optional(),
    /** Unsettled effects. */
    f: z.array(z.string()).optional(),
    x: Stuck.optional(),
    /** Length of its trace: trace, count, unreported, above. */
    c: z
      .tuple([
        z.string(),
        z.number().int(),
        z.number().int(),
        z.templateLiteral([z.string(), '/', z.string(), '/', z.string()]).nullable(),
      ])
      .optional(),
    s: z.unknown(),
  }),
);

/** This node's definition is older than the one that wrote an actor: a node of the newer version has to serve it. */
export class NewerVersion extends SvcError {
  constructor(message: string) {
    super('unavailable', message);
  }
}

/** The content of one actor in the store. */
export interface ActorRecord {
  readonly revision: number;
  readonly lastEvent: number;
  readonly timers: Readonly<Record<string, string>>;
  readonly effects: readonly string[];
  readonly stuck: Stuck | null;
  readonly traced?: TraceCount | undefined;
  /** Checked by the definition's schema. */
  readonly state: unknown;
}

/** Encodes a record. `state` is the state as JSON, which callers also need by itself. */
export function encodeRecord(version: number, record: ActorRecord, state = JSON.stringify(record.state)): string {
  const head = JSON.stringify({
    v: version,
    r: record.revision,
    e: record.lastEvent,
    t: Object.keys(record.timers).length > 0 ? record.timers : undefined,
    f: record.effects.length > 0 ? record.effects : undefined,
    x: record.stuck ?? undefined,
    c: record.traced && [record.traced.trace, record.traced.count, record.traced.unreported, record.traced.above],
  });
  return state === undefined ? head : `${head.slice(0, -1)},"s":${state}}`;
}

/**
 * Decodes a record and migrates a state of an older version. Throws for a version newer than the definition's: it is
 * never downgraded. With `unchecked` the caller checks the state itself.
 */
export function decodeRecord(definition: ActorDefinition, text: string, unchecked = false): ActorRecord {
  const wire = wireRecord().parse(JSON.parse(text));
  let state = wire.s;
  if (wire.v > definition.version) {
    throw new NewerVersion(`a newer version (${wire.v}) of ${definition.kind} wrote this actor`);
  }
  if (wire.v < definition.version) {
    if (definition.migrate === undefined) {
      throw new SvcError('internal', `${definition.kind} version ${definition.version} has no migrate for ${wire.v}`);
    }
    state = definition.migrate(jsonField.parse(state), wire.v);
  }
  return {
    revision: wire.r,
    lastEvent: wire.e,
    timers: wire.t ?? {},
    effects: wire.f ?? [],
    stuck: wire.x ?? null,
    traced: wire.c && { trace: wire.c[0], count: wire.c[1], unreported: wire.c[2], above: wire.c[3] },
    state: unchecked ? state : definition.state.parse(state),
  };
}

/**
 * Freezes a state with everything inside and returns it. A handler that changed its state in place and returned it
 * would seem to have changed nothing: the change would not be written, and would last until the actor leaves memory. On
 * a frozen state the change throws, which is a failed turn like any other (K6). Frozen parts are not walked again.
 */
export function frozen<T>(value: T): T {
  if (value === null || typeof value !== 'object' || Object.isFrozen(value) || ArrayBuffer.isView(value)) return value;
  // To read the values of an object that is frozen takes three times as long.
  const inner: unknown[] = Object.values(value);
  Object.freeze(value);
  for (const one of inner) if (typeof one === 'object') frozen(one);
  return value;
}
