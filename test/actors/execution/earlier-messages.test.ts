import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withStoredPart } from '../../../actors/execution/inner-loop/ask.ts';
import { LOOP } from '../../../actors/execution/inner-loop/state.ts';
import { read, ToolingExecution } from './tooled.ts';

const ref = (letter: string): string => letter.repeat(64);
const call = { id: 'c1', name: 'fs.read', arguments: { path: 'a.txt' } };

function saysAside(driven: ToolingExecution, aside: { ref: string; messages: number; bytes: number }): void {
  const effect = driven.last('model.generate');
  driven.settle('ModelAnswered', effect, { kind: 'done', value: { text: '', tool_calls: [call], aside } });
}

test('messages that the model was asked with leave the state once they are in Blobs; the next request refers to them', () => {
  const driven = ToolingExecution.begun();
  assert.equal(driven.last('model.generate').request.input.keep_aside, true);
  saysAside(driven, { ref: ref('a'), messages: 1, bytes: 20_000 });
  driven.ends();
  const second = driven.last('model.generate').request.input;
  assert.deepEqual(second.earlier, [ref('a')]);
  assert.deepEqual(
    (second.messages as { role: string }[]).map(({ role }) => role),
    ['assistant', 'tool'],
  );
  driven.says('', [read()]);
  driven.ends();
  const third = driven.last('model.generate').request.input;
  assert.deepEqual([third.earlier, (third.messages as object[]).length], [[ref('a')], 4]);
  driven.says('done');
  assert.equal(driven.view.status, 'completed');
});

test('a part of another number of messages is not taken for the conversation', () => {
  const driven = ToolingExecution.begun();
  saysAside(driven, { ref: ref('a'), messages: 7, bytes: 20_000 });
  driven.ends();
  const { input } = driven.last('model.generate').request;
  assert.deepEqual([input.earlier, (input.messages as object[]).length], [undefined, 3]);
});

test('over its bound a conversation keeps its first part and the newest', () => {
  const part = (letter: string, bytes: number) => ({ ref: ref(letter), bytes });
  const half = LOOP.conversationBytes / 2;
  const earlier_messages = [part('a', 1_000), part('b', 10), part('c', half), part('d', 10)];
  const aside = { ref: ref('e'), messages: 1, bytes: half - 900 };
  const kept = withStoredPart({ messages: [{ role: 'user' }], earlier_messages }, { aside }, { role: 'assistant' });
  assert.deepEqual(kept.messages, [{ role: 'assistant' }]);
  assert.deepEqual(
    kept.earlier_messages?.map(({ ref: [letter] }) => letter),
    ['a', 'd', 'e'],
  );
});
