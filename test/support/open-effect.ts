import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { EffectOpen } from '../../runtime/actor-store.ts';
import { addressOf, type Partition } from '../../runtime/address.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { EffectRequest } from '../../runtime/define-actor.ts';
import { defineEffect, type EffectHandler, EffectProgress, EffectResult } from '../../runtime/effect.ts';
import type { EffectJob } from '../../runtime/effect-queue.ts';
import { encodeEffect } from '../../runtime/effects/effect-envelope.ts';
import type { EffectRunnerOptions } from '../../runtime/effects/effect-runner-claim.ts';
import type { JsonObject } from '../../runtime/json.ts';
import { systemRandom } from '../../runtime/random.ts';
import type { Sent, TestLedger } from './memory-effect-ledger.ts';
import { waitUntil } from './wait-until.ts';

export const PARTITION: Partition = 'default:3';
export const QUEUE = 'default';

/** Waits for a condition; its error names what did not happen. */
export const until = <T>(look: () => T | undefined | false | null, what: string, withinMs = 30_000): Promise<T> =>
  waitUntil(what, look, withinMs);

type Asked = Partial<Omit<EffectRequest, 'replyAs'>> & Pick<EffectRequest, 'kind'>;

/** Records an effect as a commit would and answers its job. */
export async function openEffect(
  ledger: Pick<TestLedger, 'open'>,
  asked: Asked,
  tenant = 'acme',
  fairnessKey?: string,
): Promise<EffectJob> {
  const id = randomUUID();
  const address = addressOf('probe', tenant, id);
  const request: EffectRequest = { mode: 'repeatable', input: {}, replyAs: 'Finished', ...asked };
  const body = encodeEffect({ request, to: address, cause: randomUUID(), trace: 'a'.repeat(32), tenant });
  const key = fairnessKey === undefined ? {} : { fairnessKey };
  const open: EffectOpen = { id, queue: QUEUE, address, mode: request.mode, body, ...key };
  await ledger.open(PARTITION, open);
  return { id, partition: PARTITION, address, queue: QUEUE, ...key };
}

export function effect(
  kind: string,
  run: EffectHandler<z.ZodRecord<z.ZodString, z.ZodJSONSchema>>['run'],
): EffectHandler {
  return defineEffect({ kind, input: z.record(z.string(), z.json()), run });
}

/** Rejects when the signal aborts, as a well-behaved handler does. */
export function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) return reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

const payloadOf = (sent: Sent): JsonObject => JSON.parse(sent.body).payload;

/** The result that an effect sent, or undefined. */
export function resultOf(ledger: TestLedger, id: string): EffectResult | undefined {
  const sent = ledger.sent.find((one) => one.effectId === id && one.final);
  return sent && EffectResult.parse(payloadOf(sent));
}

export function progressOf(ledger: TestLedger, id: string): EffectProgress[] {
  return ledger.sent
    .filter((one) => one.effectId === id && !one.final)
    .map((one) => EffectProgress.parse(payloadOf(one)));
}

type Given = Pick<EffectRunnerOptions, 'store' | 'queue' | 'handlers'> & Partial<EffectRunnerOptions>;

/** Settings of a runner with short times. */
export function runnerOptions(given: Given): EffectRunnerOptions {
  return {
    queues: [QUEUE],
    node: 'node-a',
    incarnation: '1',
    clock: systemClock,
    random: systemRandom,
    concurrency: 4,
    claimTtlMs: 1_000,
    renewEveryMs: 200,
    stopGraceMs: 300,
    abortGraceMs: 300,
    encode: (message) => JSON.stringify(message),
    onFault: (error, about) => {
      throw new Error(`unexpected fault while ${about.doing}`, { cause: error });
    },
    ...given,
  };
}
