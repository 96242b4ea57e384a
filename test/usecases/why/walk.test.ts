import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { addressOf } from '../../../runtime/address.ts';
import type { ActorSnapshot } from '../../../runtime/client.ts';
import { systemClock } from '../../../runtime/clock.ts';
import type { EffectRow } from '../../../runtime/effect-ledger.ts';
import type { Identity } from '../../../runtime/identity.ts';
import type { WhyLink } from '../../../usecases/why/links.ts';
import { Reading, type WhyLookups } from '../../../usecases/why/reading.ts';
import { type RunFinder, Walk } from '../../../usecases/why/walk.ts';
import type { WorkflowFound } from '../../../usecases/workflow-runs.ts';
import { HandClock } from '../../support/hand-clock.ts';

const READER: Identity = { kind: 'tenant_user', subject: 'uma', tenant: 'acme', roles: [], tier: 'pro' };

const never = new Promise<never>(() => {});

function lookups(changes: Partial<WhyLookups> = {}): WhyLookups {
  return {
    client: {
      read: async () => null,
      isServed: async () => true,
      mailbox: async () => ({ cursor: 0, tail: 0, oldestAt: null, depth: 0 }),
    },
    effects: async () => [],
    poolOf: async () => 'default',
    heldBy: () => undefined,
    fleet: { members: async () => [], servedBy: async () => null, isLive: () => true },
    clock: systemClock,
    ...changes,
  };
}

const snapshotOf = (id: string): ActorSnapshot => ({
  ...{
    address: addressOf('workflow', 'acme', id),
    state: null,
    revision: 1,
    lastEvent: 1,
    archived: false,
    timers: [],
    stuck: null,
  },
});

/** A run whose only wait is a child. */
function parent(id: string, child: string, owner?: string): WorkflowFound {
  const found: unknown = {
    ...{ address: addressOf('workflow', 'acme', id), snapshot: snapshotOf(id) },
    state: {
      ...{ status: 'running', execution_id: id, workflow_name: 'flow', current_state: 'A', owner },
      ...{ last_transition_at: '2026-01-01T00:00:00.000Z', manifest: { spec: { states: {} } } },
      awaiting: { kind: 'child', effect_id: null, execution_id: child, workflow_id: null, runs: true },
    },
  };
  return isFound(found) ? found : assert.fail();
}

/** A run whose volumes are being prepared. */
function volumesOf(id: string): WorkflowFound {
  const { state, ...found } = parent(id, 'none');
  const waiting: unknown = { ...found, state: { ...state, awaiting: { kind: 'volumes', effect_id: 'e1' } } };
  return isFound(waiting) ? waiting : assert.fail();
}

/** The fields that the walk reads are there. */
const isFound = (value: unknown): value is WorkflowFound => typeof value === 'object' && value !== null;

const runs = (workflow: RunFinder['workflow']): RunFinder => ({ workflow, execution: async () => null });

async function walked(finder: RunFinder, parts = lookups()) {
  const reading = new Reading(READER, parts);
  return reading.walk(() => new Walk(reading, finder).workflow(parent('0', '1'), '0', 'run'));
}

describe('the walk from run to run', () => {
  test('names a child of another owner by its kind alone', async () => {
    const chain = await walked(runs(async (_tenant, id) => parent(id, '2', 'andy')));
    const last = chain.at(-1);
    assert.deepEqual(last, {
      ...{ kind: 'child', id: null, until: null, reason: 'a child that you may not see' },
      ...{ status: null, name: null, iteration: null, of: 'workflow' },
    });
    assert.ok(!JSON.stringify(chain).includes('andy'));
  });

  test('follows a child of the reader', async () => {
    const chain = await walked(runs(async (_tenant, id) => (id === '1' ? parent('1', '2', 'uma') : null)));
    assert.deepEqual(
      chain.map(({ kind }) => kind),
      ['workflow', 'state', 'child', 'state', 'turn'],
    );
  });

  test('ends after twenty runs, and at a run that is in the chain already', async () => {
    const deep = await walked(runs(async (_tenant, id) => parent(id, String(Number(id) + 1))));
    assert.equal(deep.filter(({ kind }) => kind === 'child').length, 19);
    assert.equal(deep.at(-1)?.kind, 'more');
    const round = await walked(runs(async () => parent('0', '0')));
    assert.deepEqual(
      round.map(({ kind }) => kind),
      ['workflow', 'state', 'more'],
    );
  });

  test('ends within a second at a read that does not answer, with what it has', async () => {
    const clock = new HandClock();
    let chain: readonly WhyLink[] | undefined;
    const ended = walked(
      runs(() => never),
      lookups({ clock }),
    ).then((links) => {
      chain = links;
    });
    await clock.pass(1_000);
    assert.ok(chain !== undefined, 'a second of its clock is over');
    await ended;
    assert.deepEqual(
      chain.map(({ kind, id }) => [kind, id]),
      [
        ['workflow', '0'],
        ['state', 'A'],
        ['store', 'actors'],
      ],
    );
  });

  test('names the node that should handle a message; the messages of others in the partition are not counted', async () => {
    const oldestAt = Date.now() - 60_000;
    const chain = await walked(
      runs(async () => null),
      lookups({
        client: { ...lookups().client, mailbox: async () => ({ cursor: 3, tail: 10, oldestAt, depth: 2 }) },
        fleet: { members: async () => [], servedBy: async () => 'n1', isLive: () => true },
      }),
    );
    const last = chain.at(-1);
    assert.ok(last?.kind === 'mailbox');
    assert.deepEqual([last.depth, last.node], [2, 'n1']);
    assert.match(last.reason, /^2 messages in its mailbox/);
    assert.doesNotMatch(JSON.stringify(last), /\b7\b|"before"/);
  });

  test('names volumes that are not prepared, and the quota that their preparation met, alone and three deep', async () => {
    const until = Date.UTC(2026, 0, 1, 18);
    const row = {
      id: 'e1',
      queue: 'default',
      address: addressOf('workflow', 'acme', '2'),
      mode: 'repeatable',
    } as const;
    const full = { code: 'quota_exceeded', message: 'the volume is full: its limit is 5 bytes (ENOSPC)' };
    const rows: readonly { readonly row: EffectRow; readonly kinds: readonly string[] }[] = [
      { row: { ...row, status: 'started', attempt: 1, runner: 'n1/1', until }, kinds: ['volumes', 'effect'] },
      {
        row: { ...row, status: 'open', attempt: 1, runner: '', until, lastError: full },
        kinds: ['volumes', 'effect', 'quota'],
      },
    ];
    const deep = runs(async (_tenant, id) => (id === '1' ? parent('1', '2', 'uma') : volumesOf(id)));
    const alone = runs(async (_tenant, id) => volumesOf(id));
    for (const { row: one, kinds } of rows) {
      for (const finder of [deep, alone]) {
        const asked: string[][] = [];
        const effects: WhyLookups['effects'] = async (_address, ids) => {
          asked.push([...ids]);
          return [one];
        };
        const chain = await walked(finder, lookups({ effects }));
        assert.deepEqual(
          chain.slice(-kinds.length).map(({ kind }) => kind),
          kinds,
        );
        // Only the effect that the run waits for is read.
        assert.deepEqual(asked, [['e1']]);
        const last = chain.at(-1);
        if (last?.kind !== 'quota') continue;
        assert.equal(last.until, '2026-01-01T18:00:00.000Z');
        assert.equal(last.reason, 'a quota (the volume is full: its limit is 5 bytes (ENOSPC))');
      }
    }
  });

  test('masks secrets in the texts of errors', () => {
    const url = 'https://ann:canary-11bb@host/';
    const reading = new Reading(READER, lookups());
    const common = { id: 'x', until: null, reason: `failed at ${url}` };
    const error = { code: 'unavailable', message: `cannot reach ${url}` };
    reading.add(
      {
        ...{ ...common, kind: 'effect', effect: 'web.fetch', status: 'retrying', attempt: 1, node: null, others: 0 },
        last_error: error,
      },
      { ...common, kind: 'attempt', error, exit_code: 1 },
      { ...common, kind: 'error', error },
      { ...common, kind: 'stuck', message_type: 'Go', attempts: 2, error: error.message },
      { ...common, kind: 'target' },
    );
    const shown = JSON.stringify(reading.links);
    assert.doesNotMatch(shown, /canary-11bb/);
    assert.equal(shown.split('https://[redacted]@host/').length - 1, 9);
  });
});
