import { z } from 'zod';
import { type Address, tenantOf } from '../address.ts';
import type { EffectRequest } from '../define-actor.ts';
import type { EffectJob } from '../effect-queue.ts';
import { SvcError } from '../errors.ts';
import { jsonField, jsonObjectField } from '../json.ts';
import type { Message } from '../message.ts';

/** What `EffectOpen.body` holds: the request, and what is needed to send its results as messages. */
export interface EffectEnvelope {
  readonly request: EffectRequest;
  /** Actor that asked; results go there. */
  readonly to: Address;
  /** Id of the message whose turn asked. */
  readonly cause: string;
  /** W3C trace id of that turn. */
  readonly trace: string;
  readonly tenant: string;
  /** Time of that turn, Unix ms. Absent in records of before it was kept. */
  readonly askedAtMs?: number | undefined;
}

const Retry = z.object({
  maxAttempts: z.number().int().min(1),
  initialDelayMs: z.number().min(0),
  maxDelayMs: z.number().min(0),
});

const Envelope = z.object({
  request: z.object({
    kind: z.string(),
    mode: z.enum(['repeatable', 'once']),
    input: jsonObjectField,
    replyAs: z.string(),
    progressAs: z.string().optional(),
    context: jsonField.optional(),
    retry: Retry.optional(),
    timeoutMs: z.number().positive().optional(),
  }),
  to: z.templateLiteral([z.string(), '/', z.string(), '/', z.string()]),
  cause: z.string(),
  trace: z.string(),
  tenant: z.string(),
  askedAtMs: z.number().optional(),
});

export function encodeEffect(envelope: EffectEnvelope): string {
  return JSON.stringify(envelope);
}

/** What the turn of `cause` asked for. */
export function encodeRequest(asked: {
  readonly request: EffectRequest;
  readonly cause: Pick<Message, 'id' | 'to' | 'trace'>;
  readonly askedAtMs: number;
}): string {
  const { request, cause, askedAtMs } = asked;
  const { to, id, trace } = cause;
  return encodeEffect({ request, to, cause: id, trace, tenant: tenantOf(to), askedAtMs });
}

/** Throws `internal` for what `encodeEffect` did not write. */
export function decodeEffect(body: string): EffectEnvelope {
  try {
    return Envelope.parse(JSON.parse(body));
  } catch (cause) {
    throw new SvcError('internal', undefined, { cause });
  }
}

/** Of an attempt that begins at `now`. Clocks of nodes may differ: never less than nothing. */
export const askedAgo = ({ askedAtMs }: EffectEnvelope, now: number): { readonly askedAgoMs?: number } =>
  askedAtMs === undefined ? {} : { askedAgoMs: Math.max(0, now - askedAtMs) };

/** Whose turn an effect is: tenants take turns, and within a tenant its agents, workflows and other sources of effects. */
export interface Flow {
  readonly tenant: string;
  readonly key: string;
}

/** Without a fairness key all actors of one kind share a turn. */
export const flowOf = ({ address, fairnessKey }: Pick<EffectJob, 'address' | 'fairnessKey'>): Flow => ({
  tenant: tenantOf(address),
  key: fairnessKey ?? address.slice(0, address.indexOf('/')),
});

const MOST_KEY_CHARS = 200;

/** The fairness key as jobs and rows of effects hold it, in one short line; nothing without one. */
export function fairnessPart(key: string | null | undefined): { readonly fairnessKey?: string } {
  return key == null ? {} : { fairnessKey: key.slice(0, MOST_KEY_CHARS).replaceAll('\n', ' ') };
}
