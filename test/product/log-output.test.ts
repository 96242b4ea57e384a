import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type LogFile, LogOutput } from '../../app/log/log-output.ts';

/** A clock whose timers fire when the test advances it. */
function handClock() {
  const due = new Set<() => void>();
  return {
    now: () => 1_000,
    after(_delayMs: number, call: () => void) {
      due.add(call);
      return () => void due.delete(call);
    },
    ring(): void {
      for (const call of [...due]) {
        due.delete(call);
        call();
      }
    },
  };
}

type Ending = { readonly code: string } | { readonly bytes: number };

/** A file whose writes end as the test decides: with an error, or after a number of bytes. */
function handFile(next: () => Ending) {
  let text = '';
  const file: LogFile = {
    write(bytes, done) {
      const ending = next();
      if ('code' in ending) return done(Object.assign(new Error(ending.code), { code: ending.code }), 0);
      const written = Math.min(bytes.length, ending.bytes);
      text += bytes.subarray(0, written).toString();
      done(null, written);
    },
    writeSync(bytes) {
      text += bytes.toString();
    },
  };
  return { file, text: () => text };
}

const ALL: Ending = { bytes: Number.POSITIVE_INFINITY };
const line = (n: number): string => `{"n":${n}}\n`;

describe('the output of a log', () => {
  test('drops lines that a full disk refuses, and logs their number when there is space', () => {
    const clock = handClock();
    let ending: Ending = { code: 'ENOSPC' };
    const { file, text } = handFile(() => ending);
    const log = new LogOutput(file, clock);
    for (let n = 0; n < 5; n += 1) log.write(line(n));
    clock.ring();
    assert.equal(text(), '');
    assert.equal(log.droppedLines, 5);
    ending = ALL;
    clock.ring();
    const said = JSON.parse(text());
    assert.deepEqual([said.level, said.time, said.dropped_lines], [40, 1_000, 5]);
    assert.equal(log.droppedLines, 0);
    log.write(line(9));
    assert.ok(text().endsWith(`\n${line(9)}`));
  });

  test('a slow reader gets its lines later; beyond 1 MiB they are dropped and counted', () => {
    const clock = handClock();
    let ending: Ending = { code: 'EAGAIN' };
    const { file, text } = handFile(() => ending);
    const log = new LogOutput(file, clock);
    const long = `${'x'.repeat(10_239)}\n`;
    for (let n = 0; n < 200; n += 1) log.write(long);
    const { droppedLines } = log;
    assert.ok(droppedLines > 90 && droppedLines < 110, String(droppedLines));
    ending = ALL;
    clock.ring();
    const lines = text().split('\n').slice(0, -1);
    assert.equal(lines.filter((one) => one.startsWith('x')).length, 200 - droppedLines);
    assert.equal(lines.filter((one) => one.includes(`"dropped_lines":${droppedLines}`)).length, 1);
  });

  test('whatever the disk does, each line is written completely and in order, or counted', () => {
    const step = fc.oneof(
      fc.record({ bytes: fc.integer({ min: 1, max: 60 }) }),
      fc.constantFrom({ code: 'ENOSPC' }, { code: 'EAGAIN' }, { code: 'EPIPE' }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.integer({ min: 1, max: 30 }), (steps, count) => {
        const clock = handClock();
        const endings = [...steps];
        const { file, text } = handFile(() => endings.shift() ?? ALL);
        const log = new LogOutput(file, clock);
        for (let n = 0; n < count; n += 1) {
          log.write(line(n));
          if (n % 3 === 0) clock.ring();
        }
        endings.length = 0;
        for (let n = 0; n < 3; n += 1) clock.ring();
        log.write(line(count));
        let dropped = 0;
        const seen: number[] = [];
        for (const one of text().split('\n')) {
          if (one === '') continue;
          try {
            const { n, dropped_lines = 0 } = JSON.parse(one);
            dropped += dropped_lines;
            if (n !== undefined) seen.push(n);
          } catch {
            // The begin of a line whose rest was not taken: that line is counted.
          }
        }
        assert.deepEqual(
          seen,
          seen.toSorted((a, b) => a - b),
        );
        assert.equal(new Set(seen).size, seen.length);
        assert.equal(seen.at(-1), count);
        assert.equal(seen.length + dropped, count + 1);
      }),
    );
  });

  test('a flush ends when the lines are written, and does not wait when they cannot be written', async () => {
    const clock = handClock();
    const held: (() => void)[] = [];
    const { file } = handFile(() => ALL);
    const log = new LogOutput(
      { ...file, write: (bytes, done) => void held.push(() => file.write(bytes, done)) },
      clock,
    );
    log.write(line(1));
    const flushed = log.flush(1_000);
    held.shift()?.();
    await flushed;
    const failing = new LogOutput(handFile(() => ({ code: 'ENOSPC' })).file, clock);
    failing.write(line(1));
    await failing.flush(1_000);
  });
});
