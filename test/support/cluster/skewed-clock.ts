/**
 * Preload for a node whose clock is wrong: `node --import skewed-clock.ts?file=PATH program.ts`. The file holds the
 * shift in milliseconds; it is read at the start and at each SIGUSR2, so a clock can jump while the node runs. Only
 * `Date` is shifted: `performance.now()` and timers are a machine's monotonic clock, which no clock setting moves.
 */
import { readFileSync } from 'node:fs';

const RealDate = Date;
const file = new URL(import.meta.url).searchParams.get('file');

function readShift(): number {
  if (file === null) return 0;
  const shift = Number(readFileSync(file, 'utf8'));
  if (!Number.isFinite(shift)) throw new Error(`${file}: expected the clock's shift in milliseconds`);
  return shift;
}

let shiftMs = readShift();
process.on('SIGUSR2', () => {
  shiftMs = readShift();
});

const now = (): number => RealDate.now() + shiftMs;

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args: unknown[], self) => Reflect.construct(target, args.length === 0 ? [now()] : args, self),
  apply: () => new RealDate(now()).toString(),
  get: (target, name, self) => (name === 'now' ? now : Reflect.get(target, name, self)),
});
