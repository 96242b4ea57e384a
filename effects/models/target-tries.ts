import type { ModelSelection } from '../../manifests/node/models.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { EffectContext } from '../../runtime/effect.ts';
import { SvcError } from '../../runtime/errors.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import { backoffMs, jittered, sleep } from '../../runtime/kit/waits.ts';
import type { Random } from '../../runtime/random.ts';
import type { Secrets } from '../../security/api.ts';
import {
  isFinal,
  type ModelCall,
  ModelFailure,
  type ModelInput,
  type ModelSource,
  type ProviderCall,
  type ToolCall,
} from './call.ts';
import type { ChunkSender } from './chunk-sender.ts';
import type { Latencies, ModelPart, Target } from './targets.ts';

interface TryTools {
  readonly source: ModelSource;
  readonly secrets: Secrets;
  readonly selection: ModelSelection;
  readonly clock: Clock;
  readonly random: Random;
  readonly latencies: Latencies;
}

/**
 * Calls one target until it answers or refuses, an answer breaks after its first chunk, or its retries or its time are used
 * up. Throws the last `ModelFailure`, or the SvcError of a cancel.
 */
export async function askTarget(
  target: Target,
  input: ModelInput,
  context: EffectContext,
  sender: ChunkSender | undefined,
  tools: TryTools,
): Promise<Answer> {
  const { clock, selection } = tools;
  const silenceMs = selection.llm_overall_timeout_secs * 1_000;
  const dueAt = clock.monotonic() + silenceMs;
  const access = await resolveAccess(target, tools.secrets);
  for (let tryNumber = 1; ; tryNumber += 1) {
    const silence = new SilenceTimeout(clock, context, { firstMs: dueAt - clock.monotonic(), silenceMs });
    try {
      const call: ModelCall = {
        target,
        input,
        ...access,
        attempt: context.attempt,
        tryNumber,
        get signal() {
          return silence.signal;
        },
      };
      const parts = tools.latencies.measure(target, tools.source(call), clock);
      return await readAnswer(parts, sender, silence);
    } catch (error) {
      throwIfCancelled(context, sender);
      const failure = silence.expired ? tooSlow(selection) : error;
      if (!(failure instanceof ModelFailure)) throw failure;
      tools.latencies.add(target, silenceMs);
      if (isFinal(failure) || sender?.sent || tryNumber > selection.max_retries) throw failure;
      const waitMs = retryDelayMs(selection.retry_delay_ms, tryNumber, failure.retryAfterMs, tools.random);
      if (clock.monotonic() + waitMs >= dueAt) throw failure;
      await sleep(clock, waitMs, context.signal);
      throwIfCancelled(context, sender);
    } finally {
      silence.end();
    }
  }
}

/** Resolves key and headers. They are secrets of the node, whatever tenant the execution has. */
export async function resolveAccess(
  target: Target,
  secrets: Secrets,
): Promise<Pick<ProviderCall, 'apiKey' | 'headers'>> {
  const { api_key: key, headers } = target.provider;
  const resolved: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) resolved[name] = await secrets.resolve(SYSTEM_TENANT, value);
  return { apiKey: key === undefined ? undefined : await secrets.resolve(SYSTEM_TENANT, key), headers: resolved };
}

function throwIfCancelled(context: EffectContext, sender: ChunkSender | undefined): void {
  if (context.signal.aborted) {
    const reason: unknown = context.signal.reason;
    throw reason instanceof SvcError ? reason : new SvcError('cancelled');
  }
  if (sender?.unwanted) throw new SvcError('cancelled', 'The answer is no longer wanted.');
}

const tooSlow = (selection: ModelSelection): ModelFailure =>
  new ModelFailure('busy', `no answer for ${selection.llm_overall_timeout_secs} s (llm_overall_timeout_secs)`);

/** Longest delay between two tries, unless the provider asks for a longer one. */
const MAX_BACKOFF_MS = 30_000;

/** Longest delay that a provider can ask for. */
const MAX_RETRY_AFTER_MS = 600_000;

/** Delay after the n-th failed try: exponential, half of it random, so that nodes do not retry in the same moment. */
export function retryDelayMs(
  baseMs: number,
  failedTries: number,
  retryAfterMs: number | undefined,
  random: Random,
): number {
  const delayMs = jittered(backoffMs(failedTries - 1, baseMs, MAX_BACKOFF_MS), random);
  return Math.ceil(Math.max(delayMs, retryAfterMs ?? 0));
}

/** Reads `retry-after-ms`, else `Retry-After` as seconds or as an HTTP date. */
export function retryAfterMs(headers: Readonly<Record<string, string>> | undefined, nowMs: number): number | undefined {
  const precise = Number.parseFloat(headers?.['retry-after-ms'] ?? '');
  if (Number.isFinite(precise)) return bounded(precise);
  const plain = headers?.['retry-after']?.trim();
  if (plain === undefined || plain === '') return undefined;
  if (/^\d+(\.\d+)?$/.test(plain)) return bounded(Number(plain) * 1_000);
  const date = Date.parse(plain);
  return Number.isNaN(date) ? undefined : bounded(date - nowMs);
}

const bounded = (ms: number): number => Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);

/** Abort reason for calls that have ended. Shared, since creating an error takes longer than aborting. */
const ENDED = new DOMException('the call has ended', 'AbortError');

/**
 * Aborts a call whose model is silent for too long. `signal` is also aborted with the effect's signal. It is created on first
 * use: a script that answers at once needs none.
 */
class SilenceTimeout {
  readonly #clock: Clock;
  readonly #silenceMs: number;
  readonly #outer: Pick<EffectContext, 'signal'>;
  #ending: AbortController | null = null;
  #signal: AbortSignal | null = null;
  #dueAt: number;
  #cancelTimer: () => void = () => {};
  #held = false;
  /** Aborted because of silence, and not for another reason. */
  expired = false;
  #hasEnded = false;

  constructor(
    clock: Clock,
    outer: Pick<EffectContext, 'signal'>,
    limits: { readonly firstMs: number; readonly silenceMs: number },
  ) {
    this.#clock = clock;
    this.#outer = outer;
    this.#silenceMs = limits.silenceMs;
    this.#dueAt = clock.monotonic() + limits.firstMs;
    this.#arm();
  }

  get signal(): AbortSignal {
    if (this.#signal === null) {
      this.#ending = new AbortController();
      this.#signal = AbortSignal.any([this.#outer.signal, this.#ending.signal]);
      if (this.#hasEnded) this.#ending.abort(ENDED);
      else if (this.expired) this.#ending.abort();
    }
    return this.#signal;
  }

  /** Restarts the time: something arrived from the model. */
  reset(): void {
    this.#dueAt = this.#clock.monotonic() + this.#silenceMs;
  }

  /** Waits for something other than the model, without counting the time. */
  async hold(wait: Promise<void>): Promise<void> {
    this.#held = true;
    try {
      await wait;
    } finally {
      this.#held = false;
      this.reset();
    }
  }

  /** Stops the timer and closes the socket, because the call has ended. */
  end(): void {
    this.#cancelTimer();
    this.#hasEnded = true;
    this.#ending?.abort(ENDED);
  }

  /** One timer for the whole call, armed again for the remaining time. */
  #arm(): void {
    const leftMs = this.#held ? this.#silenceMs : this.#dueAt - this.#clock.monotonic();
    if (leftMs > 0) {
      this.#cancelTimer = this.#clock.after(Math.ceil(leftMs), () => this.#arm());
      return;
    }
    this.expired = true;
    this.#ending?.abort();
  }
}

/** Longest answer in characters. */
const MAX_ANSWER_CHARS = 4 * 1024 * 1024;

const MAX_TOOL_CALLS = 100;

export interface Answer {
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
  readonly finish: Extract<ModelPart, { kind: 'finish' }>;
}

/** Reads one answer to its end and passes its text on. Throws `ModelFailure`, and errors of `progress` unchanged. */
async function readAnswer(
  parts: AsyncIterable<ModelPart>,
  sender: ChunkSender | undefined,
  silence: SilenceTimeout,
): Promise<Answer> {
  const texts: string[] = [];
  const toolCalls: ToolCall[] = [];
  let chars = 0;
  let finish: Answer['finish'] | undefined;
  for await (const part of parts) {
    silence.reset();
    if (part.kind === 'text') {
      chars += part.text.length;
      if (chars > MAX_ANSWER_CHARS)
        throw new ModelFailure('unusable', `the answer is over ${MAX_ANSWER_CHARS} characters`);
      texts.push(part.text);
      if (sender !== undefined) await silence.hold(sender.push(part.text));
      if (sender?.unwanted) break;
    } else if (part.kind === 'tool_call') {
      if (toolCalls.length >= MAX_TOOL_CALLS) {
        throw new ModelFailure('unusable', `the answer has over ${MAX_TOOL_CALLS} tool calls`);
      }
      toolCalls.push({ id: part.id, name: part.name, arguments: part.arguments });
    } else if (part.kind === 'finish') finish = part;
  }
  if (sender !== undefined) await silence.hold(sender.finish());
  if (finish === undefined) throw new ModelFailure('broken', 'the answer ended in the middle, without a finish reason');
  return { text: texts.join(''), toolCalls, finish };
}
