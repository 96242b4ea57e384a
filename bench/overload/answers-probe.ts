/**
 * Loaded into a node before its main module: records the time from the head of a request to the end of its
 * answer, and how long the event loop was blocked. Appends a line of JSON (`AnswersSeen`) to SVC_BENCH_ANSWERS twice a second.
 */
import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';

export interface AnswersSeen {
  /** Unix ms. */
  readonly at: number;
  /** Milliseconds of answers 200, and of answers 503. */
  readonly taken: readonly number[];
  readonly refused: readonly number[];
  /** Longest time that the event loop was blocked, milliseconds. */
  readonly heldMs: number;
}

const EVERY_MS = 500;
const path = process.env.SVC_BENCH_ANSWERS;

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

function watch(file: string): void {
  const begun = new WeakMap<ServerResponse, number>();
  let taken: number[] = [];
  let refused: number[] = [];
  const isStart = ({ method, url = '' }: IncomingMessage): boolean => method === 'POST' && url.endsWith('/run');
  const on = (channel: string, note: (exchange: Exchange) => void): void => {
    // The channels of node:http have this shape (Node.js, "Built-in Channels").
    subscribe(channel, (message) => note(message as Exchange));
  };
  on('http.server.request.start', ({ request, response }) => {
    if (isStart(request)) begun.set(response, performance.now());
  });
  on('http.server.response.finish', ({ response }) => {
    const at = begun.get(response);
    if (at === undefined) return;
    const tookMs = performance.now() - at;
    if (response.statusCode === 200) taken.push(tookMs);
    if (response.statusCode === 503) refused.push(tookMs);
  });
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  setInterval(() => {
    const seen: AnswersSeen = { at: Date.now(), taken, refused, heldMs: delay.max / 1e6 };
    appendFileSync(file, `${JSON.stringify(seen)}\n`);
    delay.reset();
    taken = [];
    refused = [];
  }, EVERY_MS).unref();
}

if (path !== undefined) watch(path);
