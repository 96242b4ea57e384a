import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { readJudge } from '../../../actors/judge-panel/judge-output.ts';
import { sample } from '../../support/size.ts';

const good = { score: 0.8, confidence: 0.9, reasoning: 'ten chars.' };
const json = (more: object = {}): string => JSON.stringify({ ...good, ...more });

const ACCEPTED: readonly [what: string, text: string][] = [
  ['plain JSON', json()],
  ['JSON in a fence', `\`\`\`json\n${json()}\n\`\`\``],
  ['JSON in a fence without a language', `\`\`\`\n${json()}\n\`\`\``],
  ['blanks around it', `\n\n  ${json()}  \n`],
  ['blanks around a fence', `\n\`\`\`json\r\n${json()}\r\n\`\`\`\n`],
  ['score 0 and confidence 0', json({ score: 0, confidence: 0 })],
  ['score 1 and confidence 1', json({ score: 1, confidence: 1 })],
  ['suggestions', json({ suggestions: ['name it', 'test it'] })],
  ['no suggestions at all', json({ suggestions: [] })],
  ['verdict pass', json({ verdict: 'pass' })],
  ['verdict fail', json({ verdict: 'fail' })],
  ['verdict warning', json({ verdict: 'warning' })],
  ['members of its own', json({ category: 'style', nested: { a: [1] } })],
];

const REFUSED: readonly [what: string, text: string, reason: RegExp][] = [
  ['nothing', '', /empty output/],
  ['prose', 'I think it is fine.', /expected JSON/],
  ['prose before the JSON', `Here you are:\n${json()}`, /expected JSON/],
  ['prose after a fence', `\`\`\`json\n${json()}\n\`\`\`\nThat is all.`, /expected JSON/],
  ['cut JSON', json().slice(0, -1), /expected JSON/],
  ['a list', `[${json()}]`, /expected a JSON object/],
  ['a number', '0.8', /expected a JSON object/],
  ['null', 'null', /expected a JSON object/],
  ['no score', json({ score: undefined }), /^score: expected a number from 0.0 to 1.0$/],
  ['a score as text', json({ score: '0.8' }), /^score: /],
  ['a score of null', json({ score: null }), /^score: /],
  ['a score over 1', json({ score: 1.0001 }), /^score: /],
  ['a score below 0', json({ score: -0.1 }), /^score: /],
  ['a score out of 100', json({ score: 80 }), /^score: /],
  ['an infinite score', '{"score":1e999,"confidence":1,"reasoning":"ten chars."}', /^score: /],
  ['no confidence', json({ confidence: undefined }), /^confidence: expected a number from 0.0 to 1.0$/],
  ['a confidence over 1', json({ confidence: 2 }), /^confidence: /],
  ['a confidence as text', json({ confidence: 'high' }), /^confidence: /],
  ['no reasoning', json({ reasoning: undefined }), /^reasoning: expected a text of at least 10 characters$/],
  ['a reasoning of nine characters', json({ reasoning: 'nine char' }), /^reasoning: /],
  ['a reasoning that is no text', json({ reasoning: ['because it is so'] }), /^reasoning: /],
  ['suggestions as text', json({ suggestions: 'name it' }), /^suggestions: expected a list of texts$/],
  ['suggestions of numbers', json({ suggestions: [1] }), /^suggestions: /],
  ['another verdict', json({ verdict: 'maybe' }), /^verdict: expected pass, fail or warning$/],
  ['a verdict of null', json({ verdict: null }), /^verdict: /],
  ['everything wrong', '{"score":2,"confidence":-1}', /^score: .*; confidence: .*; reasoning: /],
  ['a flood', json({ reasoning: 'x'.repeat(70_000) }), /a judge may write 65536/],
  ['deep nesting', `${'['.repeat(10_000)}`, /nests deeper/],
];

describe("a judge's output", () => {
  for (const [what, text] of ACCEPTED) {
    test(`${what} is read`, () => {
      const read = readJudge(text, { inProse: false });
      assert.ok(read.ok, read.ok ? '' : read.reason);
    });
  }

  for (const [what, text, reason] of REFUSED) {
    test(`${what} is refused, saying what was expected`, () => {
      const read = readJudge(text, { inProse: false });
      assert.ok(!read.ok);
      assert.match(read.reason, reason);
    });
  }

  test('is kept as JSON for templates, with the members of its own', () => {
    const read = readJudge(json({ category: 'style' }), { inProse: false });
    assert.deepEqual(read.output, { ...good, category: 'style' });
  });

  test('that is no JSON is kept as text, cut', () => {
    assert.equal(readJudge('fine', { inProse: false }).output, 'fine');
    const { output } = readJudge('x'.repeat(100_000), { inProse: true });
    assert.ok(typeof output === 'string' && output.length < 5_000);
  });

  test('is read inside prose and fences: the last verdict counts', () => {
    const verdict = json({});
    for (const text of [
      `Here is my verdict:\n\n${verdict}\n\nLet me know!`,
      `I look at {braces} and "quotes {", then:\n\`\`\`json\n${verdict}\n\`\`\`\nDone.`,
      `First I thought ${json({ score: 0 })}, but in the end: ${verdict}`,
      `${verdict} (as {"score": "a number"})`,
    ]) {
      const read = readJudge(text, { inProse: true });
      assert.ok(read.ok, text);
      assert.deepEqual([read.score, read.output], [good.score, good]);
      assert.ok(!readJudge(text, { inProse: false }).ok, 'panels of earlier versions refuse it');
    }
    const none = readJudge('It is fine, {"score": 0.9}.', { inProse: true });
    assert.ok(!none.ok && /expected JSON/.test(none.reason));
    assert.ok(!readJudge('{'.repeat(60_000), { inProse: true }).ok);
  });

  test('never throws, whatever it is', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json(), fc.string({ unit: 'binary' })), (text) => {
        const read = readJudge(text, { inProse: true });
        assert.ok(read.ok || read.reason.length > 0);
      }),
      { numRuns: sample({ normal: 100, long: 2_000 }) },
    );
  });
});
