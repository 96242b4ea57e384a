import { watch } from 'node:fs';
import { lstat, opendir } from 'node:fs/promises';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import { sleep } from '../../runtime/kit/waits.ts';
import { type GatewayAnswer, type GatewayHandler, gatewayProblem, gatewayRequestOf } from '../../usecases/gateway.ts';
import { readShellRequest, shellAnswer, shellProblem } from '../../usecases/gateway-shell.ts';
import { ExchangeDirectory, type Found } from './exchange-directory.ts';

/** Poll interval for file systems without change notices. */
const POLL_MS = 100;

/** Minimum time between two notices. */
const NOTICE_MS = 5;

/** The largest payload of the gateway (K7) plus its frame. */
const MAX_REQUEST_BYTES = 16 * 1024 * 1024 + 64 * 1024;

/** Requests of one iteration: 50 rounds of the loop, each with many calls. */
const MAX_REQUESTS = 10_000;

export interface ExchangeParts {
  /** Prepared by `prepareExchange`. */
  readonly directory: string;
  readonly handle: GatewayHandler;
  /** Ends the relay. The next relay on the same directory answers the request under way. */
  readonly signal: AbortSignal;
  readonly clock?: Clock;
  readonly maxRequestBytes?: number;
  readonly maxRequests?: number;
  readonly quota?: ExchangeQuota;
}

/**
 * Relays between a container without a network and the gateway, over files (docs/guides/dispatch-gateway.md). Requests are
 * numbered 1, 2, 3 … and handled one at a time. An answered request is never handled again; an unanswered one is, also by
 * a relay that starts later on the same directory. Whatever the container does in its directory affects only itself.
 * Resolves when `signal` is aborted. Throws `failed_precondition` without a directory or after too many requests, and
 * `quota_exceeded`.
 */
export async function startExchange(parts: ExchangeParts): Promise<void> {
  await using directory = await ExchangeDirectory.open(parts.directory);
  const ended = new AbortController();
  const signal = AbortSignal.any([parts.signal, ended.signal]);
  const both = [
    relay(directory, { ...parts, signal }),
    watchQuota(directory.outPath, parts.quota ?? QUOTA, { signal, clock: parts.clock }),
  ];
  try {
    await Promise.race(both);
  } finally {
    ended.abort();
    await Promise.allSettled(both);
  }
}

async function relay(directory: ExchangeDirectory, parts: ExchangeParts): Promise<void> {
  const { maxRequests = MAX_REQUESTS, maxRequestBytes = MAX_REQUEST_BYTES } = parts;
  let number = (await directory.answered()) + 1;
  for (;;) {
    const found = await arrival(() => directory.request(number, maxRequestBytes), directory.outPath, parts);
    if (found === null) return;
    if (number > maxRequests) {
      throw new SvcError('failed_precondition', `the agent sent more than ${maxRequests} requests`);
    }
    const answer = found.kind === 'request' ? await answerTo(found.bytes, parts) : refusal(found.why);
    // Aborted: the next relay handles the request again.
    if (answer === null) return;
    await directory.answer(number, answer);
    number += 1;
  }
}

/**
 * Waits for a request; null when the relay ends first. A watch lasts for one notice, with a pause before the next: a
 * container that floods its directory with files does not keep the node busy.
 */
async function arrival(
  look: () => Promise<Found>,
  path: string,
  { signal, clock = systemClock }: ExchangeParts,
): Promise<Exclude<Found, { kind: 'none' }> | null> {
  while (!signal.aborted) {
    const over = new AbortController();
    const changed = new Promise<void>((resolve) =>
      over.signal.addEventListener('abort', () => resolve(), { once: true }),
    );
    const end = (): void => over.abort();
    // The watch starts before the look, so that no change is missed between them.
    const watcher = watched(path, end);
    const cancel = clock.after(POLL_MS, end);
    signal.addEventListener('abort', end, { once: true });
    try {
      const found = await look();
      if (found.kind !== 'none') return found;
      await changed;
    } finally {
      cancel();
      watcher?.close();
      signal.removeEventListener('abort', end);
    }
    await sleep(clock, NOTICE_MS);
  }
  return null;
}

/** The answer in the format of its request; null when the relay was aborted first. */
async function answerTo(bytes: Buffer, { handle, signal }: ExchangeParts): Promise<Buffer | null> {
  const isJson = bytes.subarray(0, 64).toString('latin1').trimStart().startsWith('{');
  try {
    const request = gatewayRequestOf(isJson ? parseJsonRequest(bytes) : readShellRequest(bytes));
    const answer = await handle(request, signal);
    return isJson ? jsonOf(answer) : shellAnswer(answer);
  } catch (thrown) {
    if (signal.aborted) return null;
    return isJson ? jsonOf(gatewayProblem(thrown)) : shellProblem(gatewayProblem(thrown));
  }
}

const jsonOf = (answer: GatewayAnswer | ReturnType<typeof gatewayProblem>): Buffer =>
  Buffer.from(`${JSON.stringify(answer)}\n`);

/** The answer to a request that could not be read. Its format is unknown, so the answer is a script. */
const refusal = (why: string): Buffer => shellProblem(gatewayProblem(new SvcError('invalid_argument', why)));

function parseJsonRequest(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new SvcError('invalid_argument', 'the request is not valid JSON in UTF-8', { cause });
  }
}

/** Null where the system allows no further watch: then the poll finds the request. */
function watched(path: string, call: () => void): { close(): void } | null {
  try {
    const watcher = watch(path, { persistent: false }, call);
    watcher.on('error', call);
    return watcher;
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown) return null;
    throw thrown;
  }
}

/** Bounds for the container's directory: it is on the node's disk, and no other quota covers it. */
interface ExchangeQuota {
  /** Allocated space: a sparse file counts by its blocks. */
  readonly bytes: number;
  readonly entries: number;
  readonly everyMs: number;
}

const QUOTA: ExchangeQuota = { bytes: 128 * 1024 * 1024, entries: 20_000, everyMs: 3_000 };

/** Checks the quota until `signal` is aborted. Throws `quota_exceeded`. */
async function watchQuota(
  path: string,
  quota: ExchangeQuota,
  { signal, clock = systemClock }: { readonly signal: AbortSignal; readonly clock?: Clock | undefined },
): Promise<void> {
  while (!signal.aborted) {
    await sleep(clock, quota.everyMs, signal);
    if (!signal.aborted && (await isOver(path, quota))) {
      const text = `the agent left more than ${quota.bytes} bytes or ${quota.entries} files in its exchange directory`;
      throw new SvcError('quota_exceeded', text);
    }
  }
}

async function isOver(path: string, quota: ExchangeQuota): Promise<boolean> {
  const waiting = [path];
  let bytes = 0;
  let entries = 0;
  for (let below = waiting.pop(); below !== undefined; below = waiting.pop()) {
    for await (const entry of entriesOf(below)) {
      entries += 1;
      if (entry.isDirectory()) waiting.push(`${below}/${entry.name}`);
      else bytes += await spaceOf(`${below}/${entry.name}`);
      if (entries > quota.entries || bytes > quota.bytes) return true;
    }
  }
  return false;
}

/** Directories that the container removes or closes meanwhile do not count. */
async function* entriesOf(path: string) {
  try {
    for await (const entry of await opendir(path)) yield entry;
  } catch (thrown) {
    if (!(thrown instanceof Error && 'code' in thrown)) throw thrown;
  }
}

const BLOCK_BYTES = 512;

async function spaceOf(path: string): Promise<number> {
  const found = await lstat(path).catch(() => null);
  return found === null ? 0 : found.blocks * BLOCK_BYTES;
}
