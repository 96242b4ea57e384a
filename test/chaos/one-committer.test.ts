import assert from 'node:assert/strict';
import { test } from 'node:test';
import { committersOf } from './one-committer.ts';

const span = (epoch: number, from: number, to: number) => ({
  partition: 'default:3',
  log: 'default:3',
  epoch,
  from,
  to,
  commits: 2,
});

test('leases that follow each other are one committer at a time', () => {
  const seen = [
    { node: 'node-0', spans: [span(1, 0, 10), span(3, 30, 40)] },
    { node: 'node-1', spans: [span(2, 10, 29)] },
  ];
  assert.deepEqual(committersOf(seen), []);
});

test('a commit under an old lease after one under a newer lease is found', () => {
  const seen = [
    { node: 'node-0', spans: [span(1, 0, 25)] },
    { node: 'node-1', spans: [span(2, 10, 29)] },
  ];
  assert.match(
    committersOf(seen).join(),
    /node-0 epoch 1, node-1 epoch 2: the earlier lease committed 15 ms after the first commit of the later/,
  );
});

test('one epoch at two nodes is found', () => {
  const seen = [
    { node: 'node-0', spans: [span(4, 0, 5)] },
    { node: 'node-1', spans: [span(4, 10, 29)] },
  ];
  assert.match(committersOf(seen).join(), /two nodes committed under one epoch/);
});
