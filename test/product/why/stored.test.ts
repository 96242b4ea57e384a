import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { waitUntil } from '../../support/wait-until.ts';
import { ProductNode } from '../product-node.ts';
import { assertExplained, type Cause, type Planted, plantAlone, plantNested, Why } from './planted-runs.ts';

const sleepy = { task: { prompt_template: 'sleepy {{input}}' } };

const STUCK: Cause = {
  name: 'a-stuck-message',
  agent: sleepy,
  last: { kind: 'stuck', id: /execution\//, message_type: 'ModelAnswered', attempts: 3, error: 'the handler threw' },
  sentence: /for message ModelAnswered, which keeps failing \(3 attempts\): the handler threw\.$/,
};

const NEWER: Cause = {
  name: 'an-actor-of-a-newer-version',
  agent: sleepy,
  last: { kind: 'version', of: 'actor' },
  sentence: /a node of a newer version: a newer version \(\d+\) of execution wrote this actor\.$/,
};

const IN_DOUBT: Cause = {
  name: 'a-command-in-doubt',
  state: { kind: 'System', command: 'sleep 600' },
  annotations: { 'svc.dev/on-in-doubt': 'ask' },
  last: { kind: 'approval', until: null, by: 'an operator', prompt: /repeat|again/i },
  sentence: /waits in state STEP for approval \S+ by an operator\.$/,
};

const Wire = z.looseObject({ v: z.number() });

/** Changes the records of executions in the files of a stopped node. */
async function changeRecords(data: string, change: (address: string, record: z.output<typeof Wire>) => object | null) {
  const files = (await readdir(data)).filter((name) => name.endsWith('.db'));
  for (const file of files) {
    const database = new DatabaseSync(join(data, file));
    try {
      if (database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'actors'").get() === undefined) continue;
      for (const row of database.prepare('SELECT id, address, record FROM actors').all()) {
        const text = String(row.record);
        if (!text.startsWith('{')) continue;
        const changed = change(String(row.address), Wire.parse(JSON.parse(text)));
        if (changed !== null)
          database.prepare('UPDATE actors SET record = ? WHERE id = ?').run(JSON.stringify(changed), row.id ?? null);
      }
    } finally {
      database.close();
    }
  }
}

describe('why a run waits: causes in the files of a node', () => {
  let node: ProductNode;
  const planted = new Map<Cause, readonly [alone: Planted, nested: Planted]>();

  before(async () => {
    node = await ProductNode.start();
    const innermost = new Map<string, Cause>();
    for (const cause of [STUCK, NEWER, IN_DOUBT]) {
      const runs = [await plantAlone(node, cause), await plantNested(node, cause)] as const;
      planted.set(cause, runs);
      for (const run of runs) {
        const id = await waitUntil(`${cause.name} to begin its effect`, async () => {
          const path = `/v1/${run.kind === 'agent' ? 'executions' : 'workflows/executions'}/${run.id}/why`;
          const { chain } = Why.parse((await node.call('GET', path)).body);
          return (
            ['model.generate', 'command.run'].includes(String(chain.at(-1)?.effect)) &&
            chain.at(-1)?.status === 'started' &&
            chain.findLast(({ status, kind }) => kind !== 'effect' && status === 'running')?.id
          );
        });
        innermost.set(id, cause);
      }
    }
    await node.process.kill('SIGKILL');
    await changeRecords(join(node.directory, 'data'), (address, record) => {
      const cause = innermost.get(address.split('/')[2] ?? '');
      if (cause === NEWER) return { ...record, v: record.v + 1 };
      const stuck = { body: '{}', type: 'ModelAnswered', attempts: 3, error: 'the handler threw', behind: [] };
      return cause === STUCK ? { ...record, x: stuck } : null;
    });
    await node.spawn();
  });
  after(() => node?.[Symbol.asyncDispose]());

  for (const cause of [STUCK, NEWER, IN_DOUBT]) {
    test(`${cause.name} is the last cause`, async () => {
      for (const run of planted.get(cause) ?? assert.fail()) await assertExplained(node, run, cause);
    });
  }
});

test('no worker in the fleet is the last cause', async (context) => {
  const node = await ProductNode.start({ spec: { cluster: { role: 'controller' } } });
  context.after(() => node[Symbol.asyncDispose]());
  const cause: Cause = {
    name: 'no-worker',
    agent: sleepy,
    last: { kind: 'node', tags: /^\[\]$/, nearly: /has role controller/ },
    sentence: /for a node with role worker or hybrid \(node \S+ has role controller\)\.$/,
  };
  // A tool call needs a worker too.
  await assertExplained(node, await plantAlone(node, cause), cause, ['cli']);
});
