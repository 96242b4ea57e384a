import { watch } from 'node:fs';
import { lstat, opendir } from 'node:fs/promises';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import { pause } from '../../runtime/one-at-a-time.ts';
import {
  type GatewayAnswer,
  type GatewayHandler,
  gatewayProblem,
  gatewayRequestOf,
  readShellRequest,
  shellAnswer,
  shellProblem,
} from './bootstrap/api.ts';
import { type Found, MailboxDirectory } from './mailbox-directory.ts';

export { type MailboxMount, prepareMailbox } from './mailbox-directory.ts';

/** How soon a request is seen when no notice of it comes, and how often notices are taken at most. */
const LOOK_MS = 100;

const NOTICE_MS = 5;

/** One request: the gateway's largest (K7), with room for its frame. */
const MAX_REQUEST_BYTES = 16 * 1024 * 1024 + 64 * 1024;

/** Exchanges of one iteration: 50 rounds of the loop, each with many calls. */
const MAX_REQUESTS = 10_000;

export interface MailboxParts {
  /** Prepared by `prepareMailbox`. */
  readonly directory: string;
  readonly handle: GatewayHandler;
  /** Ends the relay: an exchange that is under way is answered by the next one on the same directory. */
  readonly signal: AbortSignal;
  readonly clock?: Clock;
  readonly maxRequestBytes?: number;
  readonly maxRequests?: number;
  readonly room?: MailboxRoom;
}

/**
 * Relays between a container without a network and the gateway, over files (docs/guides/dispatch-gateway.md). Requests are
 * numbered 1, 2, 3 …, one at a time; an answered one is never handled again, an unanswered one is, also by a relay that
 * starts later on the same directory. What the container does in its directory it does to itself alone.
 * Resolves when `signal` is aborted. Throws `failed_precondition` for a directory that is none or too many requests,
 * `quota_exceeded` for one that is filled up.
 */
export async function startMailbox(parts: MailboxParts): Promise<void> {
  await using directory = await MailboxDirectory.open(parts.directory);
  const ended = new AbortController();
  const signal = AbortSignal.any([parts.signal, ended.signal]);
  const both = [
    relay(directory, { ...parts, signal }),
    watchRoom(directory.outPath, parts.room ?? MAILBOX_ROOM, { signal, clock: parts.clock }),
  ];
  try {
    await Promise.race(both);
  } finally {
    ended.abort();
    await Promise.allSettled(both);
  }
}

async function relay(directory: MailboxDirectory, parts: MailboxParts): Promise<void> {
  const { maxRequests = MAX_REQUESTS, maxRequestBytes = MAX_REQUEST_BYTES } = parts;
  let number = (await directory.answered()) + 1;
  for (;;) {
    const found = await arrival(() => directory.request(number, maxRequestBytes), directory.outPath, parts);
    if (found === null) return;
    if (number > maxRequests) {
      throw new SvcError('failed_precondition', `the agent sent more than ${maxRequests} requests`);
    }
    const answer = found.kind === 'request' ? await answerTo(found.bytes, parts) : refusal(found.why);
    // Cut off: the next relay asks again.
    if (answer === null) return;
    await directory.answer(number, answer);
    number += 1;
  }
}

/**
 * Looks until there is something; null when the relay ends before. A watch lasts for one notice, and notices are taken only
 * every few milliseconds: a container that floods its directory with files does not keep the node busy.
 */
async function arrival(
  look: () => Promise<Found>,
  path: string,
  { signal, clock = systemClock }: MailboxParts,
): Promise<Exclude<Found, { kind: 'none' }> | null> {
  while (!signal.aborted) {
    const over = new AbortController();
    const changed = new Promise<void>((resolve) =>
      over.signal.addEventListener('abort', () => resolve(), { once: true }),
    );
    const end = (): void => over.abort();
    // Watched before it is looked at, so that nothing comes unseen in between.
    const watcher = watched(path, end);
    const cancel = clock.after(LOOK_MS, end);
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
    await new Promise<void>((resolve) => clock.after(NOTICE_MS, resolve));
  }
  return null;
}

/** The answer in the form of its request; null when the relay ended before there was one. */
async function answerTo(bytes: Buffer, { handle, signal }: MailboxParts): Promise<Buffer | null> {
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

/** Of a request that could not be read, so its form is unknown: a script that is valid for a shell alone. */
const refusal = (why: string): Buffer => shellProblem(gatewayProblem(new SvcError('invalid_argument', why)));

function parseJsonRequest(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new SvcError('invalid_argument', 'the request is not valid JSON in UTF-8', { cause });
  }
}

/** Watches are few on some systems: without one the look every `LOOK_MS` finds the request. */
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

/** What a container may leave in the directory that it writes its requests to: on the node's disk, under no quota. */
interface MailboxRoom {
  /** As they take up space: a sparse file counts by what is in it. */
  readonly bytes: number;
  readonly entries: number;
  readonly lookMs: number;
}

const MAILBOX_ROOM: MailboxRoom = { bytes: 128 * 1024 * 1024, entries: 20_000, lookMs: 3_000 };

/** Looks now and then until `signal` is aborted. Throws `quota_exceeded` when the directory holds more than it may. */
async function watchRoom(
  path: string,
  room: MailboxRoom,
  { signal, clock = systemClock }: { readonly signal: AbortSignal; readonly clock?: Clock | undefined },
): Promise<void> {
  while (!signal.aborted) {
    await pause(clock, room.lookMs, signal);
    if (!signal.aborted && (await isOver(path, room))) {
      const text = `the agent left more than ${room.bytes} bytes or ${room.entries} files in its mailbox`;
      throw new SvcError('quota_exceeded', text);
    }
  }
}

async function isOver(path: string, room: MailboxRoom): Promise<boolean> {
  const waiting = [path];
  let bytes = 0;
  let entries = 0;
  for (let below = waiting.pop(); below !== undefined; below = waiting.pop()) {
    for await (const entry of entriesOf(below)) {
      entries += 1;
      if (entry.isDirectory()) waiting.push(`${below}/${entry.name}`);
      else bytes += await spaceOf(`${below}/${entry.name}`);
      if (entries > room.entries || bytes > room.bytes) return true;
    }
  }
  return false;
}

/** What the container takes away or shuts meanwhile does not count. */
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
