/**
 * A node that takes units as fast as it can: `rate-limits-hammer.ts URL LIMIT WINDOW_MS IN_FLIGHT`. It begins when it gets the
 * end time (Unix ms). At the end it reports the granted units, each with the wall-clock times between which it was taken.
 */

import { RedisRateLimits } from '../../runtime/redis/rate-limits.ts';

const [url = '', limit = '0', windowMs = '0', inFlight = '1'] = process.argv.slice(2);
const limits = new RedisRateLimits({ urls: url });
await limits.open();
const bounds = [
  { key: 'window', limit: Number(limit), windowMs: Number(windowMs) },
  { key: 'all', limit: 1_000_000_000, windowMs: 86_400_000 },
];

const given: [number, number][] = [];
let asked = 0;
async function hammer(untilMs: number): Promise<void> {
  while (Date.now() < untilMs) {
    const before = Date.now();
    const { taken } = await limits.take('acme', bounds);
    asked += 1;
    if (taken) given.push([before, Date.now()]);
  }
}

process.send?.('ready');
const untilMs = await new Promise<number>((resolve) => {
  process.once('message', (told) => resolve(Number(told)));
});
await Promise.all(Array.from({ length: Number(inFlight) }, () => hammer(untilMs)));
process.send?.({ asked, given });
await limits.close();
process.disconnect();
