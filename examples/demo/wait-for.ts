import { setTimeout as wait } from 'node:timers/promises';

const POLL_MS = 50;

/** Repeats the call until there is an answer. Throws when there is none in time. */
export async function waitFor<T>(withinMs: number, ask: () => Promise<T | undefined>): Promise<T> {
  const until = performance.now() + withinMs;
  while (performance.now() < until) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await wait(POLL_MS);
  }
  throw new Error(`no answer within ${withinMs} ms`);
}
