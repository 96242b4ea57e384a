import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { duration, shares, traceTree } from '../../cli/commands/traces/trace-tree.ts';
import { plain } from '../../cli/screen/paint.ts';

const delivery = (id: string, cause: string | null, at: number, more = {}) => ({
  message_id: id,
  cause_id: cause,
  to: `execution/acme/0123456789abcdef${id}`,
  type: `Type-${id}`,
  at: new Date(at).toISOString(),
  wait_ms: 10,
  turn_ms: 10,
  attempt: 1,
  outcome: 'done',
  ...more,
});

describe('a trace in a terminal', () => {
  test('is a tree of causes, with each effect below the message that asked for it', () => {
    const effect = {
      message_id: 'b',
      kind: 'model.generate',
      started_at: new Date(40).toISOString(),
      ended_at: new Date(90).toISOString(),
      attempt: 2,
      outcome: 'done',
    };
    const text = traceTree(
      [delivery('a', null, 0), delivery('b', 'a', 20), delivery('c', 'b', 90, { outcome: 'refused' })],
      [effect],
      plain,
      1_000,
    );
    const lines = text.split('\n');
    assert.deepEqual(
      lines.map((line) => line.slice(0, 58).trimEnd()),
      [
        'Type-a → execution/01234567',
        '  Type-b → execution/01234567',
        '    ◦ model.generate',
        '    Type-c → execution/01234567',
      ],
    );
    assert.match(lines[0] ?? '', /░+█+ +20 ms {2}done$/);
    assert.match(lines[2] ?? '', /▒+ +50 ms {2}done attempt 2$/);
    assert.match(lines[3] ?? '', /refused$/);
  });

  test('shows a message whose cause is missing at the top, and what a repeated one caused once', () => {
    const again = delivery('a', 'gone', 50, { attempt: 2 });
    const lines = traceTree(
      [delivery('a', 'gone', 0, { outcome: 'retried' }), again, delivery('b', 'a', 60)],
      [],
      plain,
      0,
    );
    assert.equal(lines.split('\n').length, 3);
    assert.equal(lines.split('\n').filter((line) => line.includes('Type-b')).length, 1);
  });

  test('shares are bars, and durations have readable units', () => {
    assert.deepEqual([duration(12.4), duration(3_400), duration(600_000)], ['12 ms', '3.4 s', '10 min']);
    assert.match(shares([{ name: 'turns', ms: 50 }], 100), /^turns +50 ms +50 % {2}█{16}$/);
    assert.match(shares([{ name: 'turns', ms: 0 }], 0), /^turns +0 ms +0 %$/);
  });
});
