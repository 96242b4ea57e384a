import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { validateWorkflow } from '../../../catalog/manifest-work.ts';
import { workflowText } from './document.ts';
import { known } from './known.ts';
import { SOUND } from './sound.ts';

const folder = new URL('sound/', import.meta.url);
const files = readdirSync(folder);

function findingsOf(text: string): string[] {
  return validateWorkflow(text, known).findings.map(
    ({ line, rule, path, message }) => `${line} ${rule} ${path}: ${message}`,
  );
}

describe('a sound manifest has no finding', () => {
  it('there are at least 60, real ones among them', () => {
    assert.ok(SOUND.length >= 60 && files.length >= 5, `${SOUND.length} and ${files.length}`);
  });
  for (const { title, states, spec, metadata } of SOUND)
    it(title, () => assert.deepEqual(findingsOf(workflowText(states, spec, metadata)), []));
  for (const file of files)
    it(file, () => assert.deepEqual(findingsOf(readFileSync(new URL(file, folder), 'utf8')), []));
});
