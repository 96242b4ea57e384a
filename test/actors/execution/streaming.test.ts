import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { LIMITS } from '../../../actors/execution/limits.ts';
import { nothingStreamed, takeChunk } from '../../../actors/execution/streamed.ts';
import { DrivenExecution, manifestOf, programOf } from './driven-execution.ts';

const started = (): DrivenExecution => {
  const driven = new DrivenExecution();
  driven.start(manifestOf());
  return driven;
};

test('chunks of a running attempt are sent as they come', () => {
  const driven = started();
  driven.chunk('a');
  driven.chunk('');
  driven.chunk('b');
  assert.deepEqual(driven.streamed, ['a', 'b']);
});

test('a repeated attempt sends only what goes beyond the common prefix', () => {
  const driven = started();
  driven.chunk('Hello wor');
  driven.chunk('Hel', 2);
  driven.chunk('lo world', 2);
  driven.chunk('!', 2);
  assert.deepEqual(driven.streamed, ['Hello wor', 'ld', '!']);
});

test('after a difference a retried attempt sends no more chunks, and the final answer counts', () => {
  const driven = started();
  driven.chunk('Hello world');
  driven.chunk('Hello there', 2);
  driven.chunk(' and more', 2);
  driven.answer('Hello there and more');
  assert.deepEqual(driven.streamed, ['Hello world']);
  assert.equal(driven.payloads('iteration_completed')[0]?.output, 'Hello there and more');
});

test('a repeated attempt that is shorter sends nothing', () => {
  const driven = started();
  driven.chunk('Hello world');
  driven.chunk('Hello', 2);
  driven.answer('Hello');
  assert.deepEqual(driven.streamed, ['Hello world']);
  assert.equal(driven.view.status, 'completed');
});

test('a difference far back in a long text is seen although the end is the same', () => {
  const driven = started();
  const end = 'x'.repeat(10_000);
  driven.chunk(`A${end}`);
  driven.chunk(`B${end}`, 2);
  driven.chunk('more', 2);
  assert.deepEqual(driven.streamed, [`A${end}`]);
  driven.chunk(`A${end}more`, 3);
  assert.equal(driven.streamed.at(-1), 'more');
});

test('a third attempt that has the prefix goes on although the second differed', () => {
  const driven = started();
  driven.chunk('one two');
  driven.chunk('uno', 2);
  driven.chunk('one two three', 3);
  assert.deepEqual(driven.streamed, ['one two', ' three']);
});

test('chunks of an older attempt and of another effect are dropped', () => {
  const driven = started();
  driven.chunk('new', 2);
  driven.chunk('old', 1);
  driven.chunk('foreign', 2, 'another-effect');
  driven.send('ModelChunk', { effectId: driven.effectId, attempt: 2, value: 'no object' }, 'effect');
  assert.deepEqual(driven.streamed, ['new']);
});

test('a new iteration streams from its own beginning', () => {
  const driven = new DrivenExecution();
  driven.start(manifestOf({ execution: { validation: [{ type: 'regex', pattern: '^[0-9]+$' }] } }));
  driven.chunk('same');
  driven.answer('same');
  driven.chunk('same');
  assert.deepEqual(driven.streamed, ['same', 'same']);
});

test('a program in doubt is run again, counted, and its stream goes on behind the common prefix', () => {
  const driven = new DrivenExecution();
  driven.start(programOf());
  const first = driven.effectId;
  driven.send('ProgramChunk', { effectId: first, attempt: 1, value: { text: 'line 1\nline' } }, 'effect');
  const doubt = driven.result('ProgramEnded', { kind: 'in_doubt' });
  assert.equal(doubt.effects.length, 1);
  assert.deepEqual(doubt.events, []);
  const second = driven.effectId;
  assert.notEqual(second, first);
  driven.send('ProgramChunk', { effectId: second, attempt: 1, value: { text: 'line 1\nline 2\n' } }, 'effect');
  driven.exit(0, 'line 1\nline 2\n');
  assert.deepEqual(driven.streamed, ['line 1\nline', ' 2\n']);
  const state = driven.view;
  assert.ok(state.status === 'completed');
  assert.equal(state.in_doubt, 1);
  assert.equal(state.iteration_count, 1);
});

test('a program in doubt again and again fails its iteration', () => {
  const driven = new DrivenExecution();
  driven.start(programOf({ mode: 'one-shot' }));
  for (let n = 0; n <= LIMITS.inDoubtRepeats; n += 1) driven.result('ProgramEnded', { kind: 'in_doubt' });
  assert.deepEqual(driven.names, ['execution_started', 'iteration_started', 'iteration_failed', 'execution_failed']);
  assert.match(JSON.stringify(driven.payloads('iteration_failed')[0]), /in_doubt.*died 10 times in a row/);
});

test('with on-in-doubt fail a program in doubt is never repeated', () => {
  const driven = new DrivenExecution();
  driven.start(programOf({ mode: 'one-shot' }, { 'svc.dev/on-in-doubt': 'fail' }));
  const turn = driven.result('ProgramEnded', { kind: 'in_doubt' });
  assert.deepEqual(turn.effects, []);
  assert.match(JSON.stringify(driven.payloads('iteration_failed')[0]), /"error_type":"in_doubt"/);
});

test('the stored state of a stream does not grow with its text', () => {
  let streamed = nothingStreamed;
  for (let n = 0; n < 1_000; n += 1) streamed = takeChunk(streamed, 1, `${n}:${'x'.repeat(1_000)}`).streamed;
  assert.ok(JSON.stringify(streamed).length < 12_000, `${JSON.stringify(streamed).length} characters kept of 1 MB`);
});

test('for any text and any cuts, a repeated attempt adds exactly what was missing, or nothing after a difference', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '😀', 'xyz'.repeat(900)), maxLength: 20 });
  const cuts = fc.array(fc.nat(20_000), { maxLength: 6 });
  fc.assert(
    fc.property(text, text, fc.boolean(), cuts, cuts, (sentText, other, continues, cutsA, cutsB) => {
      const repeat = continues ? sentText + other : other;
      let streamed = nothingStreamed;
      let sent = '';
      const feed = (whole: string, at: number[], attempt: number): void => {
        for (const piece of pieces(whole, at)) {
          const step = takeChunk(streamed, attempt, piece);
          streamed = step.streamed;
          sent += step.send;
        }
      };
      feed(sentText, cutsA, 1);
      assert.equal(sent, sentText);
      feed(repeat, cutsB, 2);
      const expected = repeat.startsWith(sentText) ? repeat : sentText;
      assert.equal(sent, expected);
    }),
    { numRuns: 300 },
  );
});

function pieces(text: string, cuts: readonly number[]): string[] {
  const at = [0, ...cuts.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b), text.length];
  return at.slice(1).map((end, index) => text.slice(at[index], end));
}
