import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import type { Address } from '../../../runtime/address.ts';
import type { Json } from '../../../runtime/json.ts';
import type { FleetProcess } from './fleet-process.ts';

const Answer = z.union([
  z.object({ value: z.json() }),
  z.object({ error: z.object({ code: z.string(), kind: z.string(), message: z.string() }) }),
]);

/** Answered with an error that a repeat does not change: the actor's refusal, or a bug. */
class Refused extends Error {
  override readonly name = 'Refused';
  readonly code: string;

  constructor(code: string, message: string) {
    super(`${code}: ${message}`);
    this.code = code;
  }
}

/** No answer in time: the call may have been executed, or may still be. */
export class Unanswered extends Error {
  override readonly name = 'Unanswered';
}

interface FleetCall {
  readonly messageId?: string;
  /** How long to go on trying, ms. */
  readonly withinMs?: number;
  /** How long one try waits for its answer, ms. */
  readonly tryMs?: number;
}

const WITHIN_MS = 60_000;
const TRY_MS = 5_000;
const AGAIN_MS = 20;

/**
 * A client of the fleet that repeats a call with the same message id, over any adapter that runs, until it is answered.
 */
export class FleetClient {
  readonly #adapters: readonly FleetProcess[];
  #turn = 0;
  /** Repeated calls. */
  repeats = 0;

  constructor(adapters: readonly FleetProcess[]) {
    this.#adapters = adapters;
  }

  ask(address: Address, type: string, payload: Json, call: FleetCall = {}): Promise<Json> {
    return this.#untilAnswered('/ask', address, { type, payload }, call);
  }

  async tell(address: Address, type: string, payload: Json, call: FleetCall = {}): Promise<void> {
    await this.#untilAnswered('/tell', address, { type, payload }, call);
  }

  /** Committed state; null when the actor never existed. */
  async state<T>(address: Address, shape: z.ZodType<T>, call: FleetCall = {}): Promise<T | null> {
    const snapshot = await this.#untilAnswered('/read', address, {}, call);
    return snapshot === null ? null : z.object({ state: shape }).parse(snapshot).state;
  }

  /** The actor's snapshot, for error messages. */
  read(address: Address, call: FleetCall = {}): Promise<Json> {
    return this.#untilAnswered('/read', address, {}, call);
  }

  /** Resolves when an actor's stream has ended: at its last event. */
  async end(address: Address, call: FleetCall = {}): Promise<void> {
    await this.#untilAnswered('/end', address, {}, call);
  }

  /** Each adapter sends asks, `inFlight` at a time; returns how many were answered. Fails when an adapter fails. */
  async load(
    addresses: readonly Address[],
    type: string,
    payload: Json,
    plan: { readonly forMs: number; readonly inFlight: number },
  ): Promise<number> {
    const body = { addresses: [...addresses], type, payload, ...plan };
    const counts = this.#adapters.map((adapter) => this.#once(adapter, '/load', body, plan.forMs + 60_000));
    return z
      .array(z.number())
      .parse(await Promise.all(counts))
      .reduce((sum, count) => sum + count, 0);
  }

  /** The sum of a number in the committed states of actors. */
  async sum(addresses: readonly Address[], field: string): Promise<number> {
    const [adapter] = this.#adapters;
    if (adapter === undefined) throw new Error('the cluster has no adapter');
    return z.number().parse(await this.#once(adapter, '/sum', { addresses: [...addresses], field }, 60_000));
  }

  async #once(adapter: FleetProcess, path: string, body: object, limitMs: number): Promise<Json> {
    const { control } = await adapter.ready;
    const init = { method: 'POST', body: JSON.stringify(body), signal: AbortSignal.timeout(limitMs) };
    const answer = Answer.parse(await (await fetch(`${control}${path}`, init)).json());
    if ('error' in answer) throw new Refused(answer.error.code, answer.error.message);
    return answer.value;
  }

  async #untilAnswered(path: string, address: Address, body: object, call: FleetCall): Promise<Json> {
    const { messageId = randomUUID(), withinMs = WITHIN_MS, tryMs = TRY_MS } = call;
    const deadline = performance.now() + withinMs;
    for (let tries = 0; ; tries += 1) {
      const leftMs = Math.ceil(deadline - performance.now());
      if (leftMs <= 0) throw new Unanswered(`${path} ${address}: no answer within ${withinMs} ms`);
      if (tries > 0) this.repeats += 1;
      const timeoutMs = Math.min(leftMs, tryMs);
      const answer = await this.#try(path, { address, messageId, timeoutMs, ...body }, timeoutMs);
      if (answer !== null && 'value' in answer) return answer.value;
      if (answer !== null && answer.error.kind !== 'retry') throw new Refused(answer.error.code, answer.error.message);
      // The pause of a client before it tries again.
      await pause(AGAIN_MS);
    }
  }

  /** Null: the adapter ended, is frozen, or was killed during the call. */
  async #try(path: string, body: object, timeoutMs: number): Promise<z.infer<typeof Answer> | null> {
    this.#turn += 1;
    const running = this.#adapters.filter((one) => one.isRunning && !one.isFrozen);
    const adapter = running[this.#turn % Math.max(1, running.length)];
    if (adapter === undefined) return null;
    let text: string;
    try {
      const signal = AbortSignal.timeout(timeoutMs + 500);
      const { control } = await untilAborted(adapter.ready, signal);
      const init = { method: 'POST', body: JSON.stringify(body), signal };
      text = await fetch(`${control}${path}`, init).then((response) => response.text());
    } catch {
      return null;
    }
    return Answer.parse(JSON.parse(text));
  }
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  return Promise.race([work, aborted]);
}
