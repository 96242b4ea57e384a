import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alternating } from '../support/alternating.ts';
import { recordedSeconds, testFiles } from '../support/test-files.ts';

const [files, seconds] = [testFiles(), recordedSeconds()];
const runs = [0, 1].map((first) => alternating(files, seconds, first));

test('two normal runs of another chance have each test file, and only files with faults and kills are in one of them', () => {
  const [one = [], other = []] = runs.map((run) => run.files);
  assert.deepEqual(new Set([...one, ...other]), new Set(files));
  const inOne = files.filter((file) => one.includes(file) !== other.includes(file));
  assert.ok(inOne.length > 10);
  assert.deepEqual(
    inOne.filter((file) => !/^test\/(chaos|faults|kill)\//.test(file)),
    [],
  );
});

test('a normal run says each file that it does not have', () => {
  for (const run of runs) {
    const said = run.said.flatMap((line) => line.split(': ')[1]?.split(', '));
    assert.deepEqual(
      said.toSorted(),
      files.filter((file) => !run.files.includes(file)),
    );
  }
});
