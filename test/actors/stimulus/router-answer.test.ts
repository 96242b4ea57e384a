import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRouterAnswer } from '../../../actors/stimulus/classifying.ts';

const answer = { workflow: 'triage', confidence: 0.9, reasoning: 'it burns' };
const text = JSON.stringify(answer);

for (const [what, output] of [
  ['bare', text],
  ['with blanks around', `\n  ${text}\n`],
  ['in a fence', `\`\`\`\n${text}\n\`\`\``],
  ['in a json fence', `\`\`\`json\n${text}\n\`\`\`\n`],
  ['in a fence with CRLF', `\`\`\`json\r\n${text}\r\n\`\`\``],
] as const) {
  test(`an answer ${what} is read`, () => assert.deepEqual(readRouterAnswer(output), { ok: true, answer }));
}

for (const [what, output] of [
  ['nothing', ''],
  ['prose around the JSON', `Sure: ${text}`],
  ['two objects', `${text}\n${text}`],
  ['an array', `[${text}]`],
  ['a confidence as text', JSON.stringify({ ...answer, confidence: '0.9' })],
  ['a negative confidence', JSON.stringify({ ...answer, confidence: -0.1 })],
  ['a confidence that is null', JSON.stringify({ ...answer, confidence: null })],
  ['an empty workflow', JSON.stringify({ ...answer, workflow: ' ' })],
  ['an unknown member', JSON.stringify({ ...answer, extra: true })],
  ['too many characters', JSON.stringify({ ...answer, reasoning: 'x'.repeat(100_000) })],
] as const) {
  test(`an answer with ${what} is refused`, () => assert.equal(readRouterAnswer(output).ok, false));
}
