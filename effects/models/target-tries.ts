import type { ModelSelection } from '../../manifests/node/models.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { EffectContext } from '../../runtime/effect.ts';
import { SvcError } from '../../runtime/errors.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import { sleep } from '../../runtime/kit/waits.ts';
import type { Random } from '../../runtime/random.ts';
import type { Secrets } from '../../security/api.ts';
import { ModelFailure, type ModelInput, type ToolCall } from './call.ts';
import type { ChunkSender } from './chunk-sender.ts';
import type { ModelSource } from './source.ts';
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
 * Asks one target until it answers, refuses, has sent chunks of an answer that broke, or its retries or its time are
 * used up. Throws the last `ModelFailure`, or the SvcError of a cancel.
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
    const patience = new Patience(clock, context.signal, { firstMs: dueAt - clock.monotonic(), silenceMs });
    try {
      const call = { target, input, ...access, attempt: context.attempt, tryNumber, signal: patience.signal };
      const parts = tools.latencies.measure(target, tools.source(call), clock);
      return await readAnswer(parts, sender, patience);
    } catch (error) {
      throwIfCancelled(context, sender);
      const failure = patience.lost ? tooSlow(selection) : error;
      if (!(failure instanceof ModelFailure)) throw failure;
      tools.latencies.add(target, silenceMs);
      if (failure.kind === 'refused' || sender?.sent || tryNumber > selection.max_retries) throw failure;
      const waitMs = backoffMs(selection.retry_delay_ms, tryNumber, failure.retryAfterMs, tools.random);
      if (clock.monotonic() + waitMs >= dueAt) throw failure;
      await sleep(clock, waitMs, context.signal);
      throwIfCancelled(context, sender);
    } finally {
      patience.end();
    }
  }
}

/** Providers are the node's, so their secrets are too, whoever's execution asks. */
async function resolveAccess(
  target: Target,
  secrets: Secrets,
): Promise<{ apiKey: string | undefined; headers: Record<string, string> }> {
  const { api_key: key, headers } = target.provider;
  const resolved: [string, string][] = [];
  for (const [name, value] of Object.entries(headers))
    resolved.push([name, await secrets.resolve(SYSTEM_TENANT, value)]);
  return {
    apiKey: key === undefined ? undefined : await secrets.resolve(SYSTEM_TENANT, key),
    headers: Object.fromEntries(resolved),
  };
}

function throwIfCancelled(context: EffectContext, sender: ChunkSender | undefined): void {
  if (context.signal.aborted) {
    const reason: unknown = context.signal.reason;
    throw reason instanceof SvcError ? reason : new SvcError('cancelled');
  }
  if (sender?.unwanted) throw new SvcError('cancelled', 'The answer is no longer wanted.');
}

const tooSlow = (selection: ModelSelection): ModelFailure =>
  new ModelFailure('busy', `no word for ${selection.llm_overall_timeout_secs} s (llm_overall_timeout_secs)`);

/** Longest pause between two tries, unless the provider asks for more. */
const MAX_BACKOFF_MS = 30_000;

/** A provider that asks for more than this is taken to mean this. */
const MAX_RETRY_AFTER_MS = 600_000;

/** Pause after the n-th failed try: doubles, half of it random so that a fleet does not come back as one. */
export function backoffMs(
  baseMs: number,
  failedTries: number,
  retryAfterMs: number | undefined,
  random: Random,
): number {
  const full = Math.min(baseMs * 2 ** (failedTries - 1), MAX_BACKOFF_MS);
  const jittered = full * (0.5 + random.fraction() / 2);
  return Math.ceil(Math.max(jittered, retryAfterMs ?? 0));
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

/**
 * Ends a call whose model takes too long to begin, or falls silent in the middle. `signal` also ends with the
 * effect's own signal, so what is given to the socket is this one alone.
 */
class Patience {
  readonly #clock: Clock;
  readonly #silenceMs: number;
  readonly #ending = new AbortController();
  #dueAt: number;
  #cancelTimer: () => void = () => {};
  #held = false;
  /** The time was used up; not set when the caller gave up for another reason. */
  lost = false;
  readonly signal: AbortSignal;

  constructor(clock: Clock, outer: AbortSignal, limits: { readonly firstMs: number; readonly silenceMs: number }) {
    this.#clock = clock;
    this.#silenceMs = limits.silenceMs;
    this.#dueAt = clock.monotonic() + limits.firstMs;
    this.signal = AbortSignal.any([outer, this.#ending.signal]);
    this.#arm();
  }

  /** The model said something. */
  heard(): void {
    this.#dueAt = this.#clock.monotonic() + this.#silenceMs;
  }

  /** Waits for something else than the model; that time does not count. */
  async hold(wait: Promise<void>): Promise<void> {
    this.#held = true;
    try {
      await wait;
    } finally {
      this.#held = false;
      this.heard();
    }
  }

  /** The call is over, well or badly: closes what is still open of it. */
  end(): void {
    this.#cancelTimer();
    this.#ending.abort();
  }

  /** One timer for the whole call: at its end it looks how much time is really left. */
  #arm(): void {
    const leftMs = this.#held ? this.#silenceMs : this.#dueAt - this.#clock.monotonic();
    if (leftMs > 0) {
      this.#cancelTimer = this.#clock.after(Math.ceil(leftMs), () => this.#arm());
      return;
    }
    this.lost = true;
    this.#ending.abort();
  }
}

/** Characters; a model that says more than this is not answering a question. */
const MAX_ANSWER_CHARS = 4 * 1024 * 1024;

const MAX_TOOL_CALLS = 100;

export interface Answer {
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
  readonly finish: Extract<ModelPart, { kind: 'finish' }>;
}

/**
 * Reads one answer to its end and passes the text on while it comes. Throws `ModelFailure`; what `progress` threw goes
 * through unchanged. The caller ends the patience, and with it the socket.
 */
async function readAnswer(
  parts: AsyncIterable<ModelPart>,
  sender: ChunkSender | undefined,
  patience: Patience,
): Promise<Answer> {
  const texts: string[] = [];
  const toolCalls: ToolCall[] = [];
  let chars = 0;
  let finish: Answer['finish'] | undefined;
  for await (const part of parts) {
    patience.heard();
    if (part.kind === 'text') {
      chars += part.text.length;
      if (chars > MAX_ANSWER_CHARS)
        throw new ModelFailure('refused', `the answer is over ${MAX_ANSWER_CHARS} characters`);
      texts.push(part.text);
      if (sender !== undefined) await patience.hold(sender.push(part.text));
      if (sender?.unwanted) break;
    } else if (part.kind === 'tool_call') {
      if (toolCalls.length >= MAX_TOOL_CALLS) {
        throw new ModelFailure('refused', `the answer has over ${MAX_TOOL_CALLS} tool calls`);
      }
      toolCalls.push({ id: part.id, name: part.name, arguments: part.arguments });
    } else if (part.kind === 'finish') finish = part;
  }
  if (sender !== undefined) await patience.hold(sender.finish());
  if (finish === undefined) throw new ModelFailure('broken', 'the answer stopped in the middle');
  return { text: texts.join(''), toolCalls, finish };
}
