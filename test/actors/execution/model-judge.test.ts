import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json, JsonObject } from '../../../runtime/json.ts';
import { type JudgedExecution, started } from './judged.ts';

const written = (score: number, more: JsonObject = {}): string =>
  JSON.stringify({ score, confidence: 1, reasoning: 'It lacks a source.', ...more });

/** Judged by a model after the exit code. */
function answered(semantic: JsonObject = {}): JudgedExecution {
  const driven = started({ semantic });
  driven.answer('the output');
  return driven;
}

test('the judging model receives the instruction as criteria and the form of the answer', () => {
  const driven = answered({ model: 'judge' });
  assert.equal(driven.panels.length, 0);
  assert.equal(driven.prompts.length, 2);
  const prompt = driven.prompts[1] ?? '';
  assert.match(prompt, /What was asked:\nSummarize\.\n/);
  assert.match(prompt, /Output:\nthe output\n/);
  assert.match(prompt, /"score".*"confidence".*"reasoning"/);
  const request = driven.effects.get(driven.effectId)?.request;
  assert.deepEqual([request?.input.model, request?.timeoutMs, request?.replyAs], ['judge', 30_000, 'ModelJudged']);
});

test('its own prompt has the placeholders of the manifest', () => {
  const driven = answered({ prompt: '{{exit_code}}|{{stderr}}|{{output}}|{{criteria}}' });
  assert.match(driven.prompts[1] ?? '', /^0\|\|the output\|Summarize\.\n\nAnswer with one JSON object/);
});

const REFUSES: readonly (readonly [string, Json, RegExp])[] = [
  ['a score below the threshold', written(0.79), /score 0\.79, at least 0\.8 is needed\s+It lacks a source\./],
  ['prose', 'Looks good to me!', /no verdict: expected JSON/],
  ['no confidence', JSON.stringify({ score: 1, reasoning: 'All is well.' }), /no verdict: confidence: expected/],
];
for (const [what, text, says] of REFUSES) {
  test(`${what} rejects, and the next prompt says why`, () => {
    for (const fallback_on_unavailable of ['skip', 'fail']) {
      const driven = answered({ fallback_on_unavailable });
      driven.judgedText(String(text));
      assert.equal(driven.payloads('iteration_started').length, 2);
      assert.match(driven.prompt, says);
    }
  });
}

test('a score at the threshold accepts, and its tokens are counted', () => {
  const driven = answered();
  driven.judgedText(`\`\`\`json\n${written(0.8)}\n\`\`\``);
  assert.equal(driven.view.status, 'completed');
  assert.deepEqual('usage' in driven.view && driven.view.usage, { input_tokens: 13, output_tokens: 7, cost: 0.75 });
});

const unavailable = { kind: 'failed', code: 'model_unavailable', message: 'no answer' };
const wrong = { kind: 'failed', code: 'invalid_config', message: 'no alias judge' };
const FALLBACKS = [
  ['skip', unavailable, 'completed', 'a judge that is unavailable'],
  ['fail', unavailable, 'running', 'a judge that is unavailable'],
  ['skip', wrong, 'failed', 'a judge that the node does not know'],
] as const;
for (const [fallback, outcome, status, what] of FALLBACKS) {
  test(`${what} with fallback ${fallback}: the execution is ${status}`, () => {
    const driven = answered({ fallback_on_unavailable: fallback });
    driven.judged(outcome);
    assert.equal(driven.view.status, status);
    if (status === 'running') assert.match(driven.prompt, new RegExp(`could not be asked: ${outcome.code}`));
  });
}

test('a cancel stops the model that judges, and its late answer is ignored', () => {
  const driven = answered();
  const judge = driven.effectId;
  assert.deepEqual(driven.send('Cancel', {}).cancelled, [judge]);
  const names = driven.names.length;
  driven.send('ModelJudged', { effectId: judge, kind: 'model.generate', attempt: 1, outcome: unavailable }, 'effect');
  assert.equal(driven.names.length, names);
});
