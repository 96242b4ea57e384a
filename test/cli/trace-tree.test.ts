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

  test('each line fits a narrow terminal and names its message, however long the chain of causes is', () => {
    const chain = Array.from({ length: 10_000 }, (_message, at) =>
      delivery(`${at}`, at === 0 ? null : `${at - 1}`, at * 20),
    );
    for (const columns of [60, 80, 200, undefined]) {
      const lines = traceTree(chain, [], plain, 1_000, columns).split('\n');
      assert.equal(lines.length, 10_000);
      const at = lines.findIndex((line) => !line.includes('Type-'));
      assert.equal(at, -1, lines[at]);
      assert.ok(Math.max(...lines.map((line) => line.length)) <= (columns ?? 200));
      assert.match(lines.at(-1) ?? '', /^ *9999 Type-9999 → execu/);
    }
  });

  test('shares are bars, and durations have readable units', () => {
    const shown = [12.4, 999.7, 3_400, 600_000, 3 * 3_600_000, 72 * 3_600_000].map(duration);
    assert.deepEqual(shown, ['12 ms', '1.0 s', '3.4 s', '10 min', '3.0 h', '3.0 d']);
    assert.match(shares([{ name: 'turns', ms: 50 }], 100), /^turns +50 ms +50 % {2}█{16}$/);
    assert.match(shares([{ name: 'turns', ms: 0 }], 0), /^turns +0 ms +0 %$/);
  });
});
