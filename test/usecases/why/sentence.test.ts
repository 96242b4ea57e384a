import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { WhyLink } from '../../../usecases/why/links.ts';
import { sentenceOf } from '../../../usecases/why/why.ts';

const RUN = '12ab34cd-0000-4000-8000-000000000000';

const none = { until: null } as const;

const run = (kind: 'execution' | 'workflow', status: string, iteration: number | null = null): WhyLink => ({
  ...{ kind, id: RUN, ...none, status, name: 'release', iteration },
  reason: `run 12ab34cd… of ${kind} release`,
});
const child = (status: string, iteration: number | null = null): WhyLink => ({
  ...{ kind: 'child', id: RUN, ...none, status, name: 'writer', iteration, of: 'execution' },
  reason: 'child run 56ef… of agent writer',
});
const judge: WhyLink = {
  ...{ kind: 'judge', id: RUN, ...none, status: 'running', name: 'critic', iteration: 1 },
  reason: 'judge critic (run 78ab…)',
};
const state: WhyLink = { kind: 'state', id: 'review', ...none, reason: 'state review', entered_at: null };
const judges: WhyLink = { kind: 'judges', id: RUN, ...none, reason: '1 of its 2 judges', judges: 2, answered: 1 };
const node: WhyLink = { kind: 'node', id: null, ...none, reason: 'a node with tags gpu', tags: ['gpu'], nearly: [] };
const draining: WhyLink = { kind: 'draining', id: 'n1', ...none, reason: 'node n1 drains', tags: [] };
const store: WhyLink = { kind: 'store', id: 'actors', ...none, reason: 'the store of actors, which does not answer' };
const error: WhyLink = {
  ...{ kind: 'error', id: 'io', ...none, reason: 'io (the disk is full.)' },
  error: { code: 'io', message: 'the disk is full.' },
};

const attempt: WhyLink = {
  ...{ kind: 'attempt', id: '2', ...none, reason: 'iteration 2 failed with io (the disk is full)', exit_code: null },
  error: { code: 'io', message: 'the disk is full' },
};

const ROWS: readonly (readonly [what: string, waiting: boolean, chain: readonly WhyLink[], sentence: string])[] = [
  [
    'an iteration is named once',
    false,
    [run('execution', 'failed', 2), attempt],
    'Run 12ab34cd… failed in iteration 2: io (the disk is full).',
  ],
  [
    'what is behind a completed run is why its outcome is failed',
    false,
    [run('workflow', 'completed'), state, child('failed', 2), attempt],
    'Run 12ab34cd… ended as failed in state review: child run 56ef… of agent writer failed in iteration 2: io (the disk is full).',
  ],
  [
    'a cause in a state',
    true,
    [run('workflow', 'running'), state, node],
    'Run 12ab34cd… waits in state review for a node with tags gpu.',
  ],
  [
    'an agent says its iteration',
    true,
    [run('execution', 'running', 2), node],
    'Run 12ab34cd… waits in iteration 2 for a node with tags gpu.',
  ],
  [
    'a child and a judge have clauses of their own',
    true,
    [run('workflow', 'running'), state, child('running', 1), judges, judge, node, draining],
    'Run 12ab34cd… waits in state review for child run 56ef… of agent writer, which waits in iteration 1 for ' +
      '1 of its 2 judges: judge critic (run 78ab…), which waits in iteration 1 for a node with tags gpu: node n1 drains.',
  ],
  [
    'a child that has ended while its end is not handled',
    true,
    [
      run('workflow', 'running'),
      state,
      child('completed', 1),
      {
        kind: 'mailbox',
        id: 'workflow/t/1',
        ...none,
        reason: '1 message',
        depth: 0,
        oldest_at: null,
        node: null,
      },
    ],
    'Run 12ab34cd… waits in state review for child run 56ef… of agent writer, which completed in iteration 1: 1 message.',
  ],
  [
    'a child that is the last link',
    true,
    [run('workflow', 'running'), child('running')],
    'Run 12ab34cd… waits for child run 56ef… of agent writer.',
  ],
  [
    'a run that could not be read',
    true,
    [store],
    'What run 12ab34cd… waits for could not be read because of the store of actors, which does not answer.',
  ],
  ['an end without a cause', false, [run('execution', 'completed', 1)], 'Run 12ab34cd… completed in iteration 1.'],
  [
    'an end by a child, with one full stop',
    false,
    [run('workflow', 'failed'), state, child('failed', 3), error],
    'Run 12ab34cd… failed in state review: child run 56ef… of agent writer failed in iteration 3: io (the disk is full.).',
  ],
  [
    'a cancel',
    false,
    [run('workflow', 'cancelled'), { kind: 'cancel', id: null, ...none, reason: 'a caller cancelled it' }],
    'Run 12ab34cd… was cancelled: a caller cancelled it.',
  ],
];

describe('the sentence of a chain', () => {
  for (const [what, waiting, chain, sentence] of ROWS)
    test(`${what}`, () => assert.equal(sentenceOf(chain, RUN, waiting), sentence));
});
