import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';
import { createAgentCatalog } from '../../catalog/agent-catalog.ts';
import { AGENT_EVENTS, AGENTS } from '../../catalog/agent-record.ts';
import type { AgentCatalog } from '../../catalog/api.ts';
import type { StoredEvent } from '../../catalog/store/event-log.ts';
import type { CatalogRecord } from '../../catalog/store/record.ts';
import { systemClock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import { systemRandom } from '../../runtime/random.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import { refused } from '../support/refused.ts';

const identity = (tenant: string): Identity => ({
  kind: 'operator',
  subject: 'op-1',
  tenant,
  roles: ['svc:admin'],
  tier: 'enterprise',
});
const anna = identity('anna-corp');
const bob = identity('bob-corp');

const yaml = (name: string, version: string, more = '') => `apiVersion: svc.dev/v1
kind: Agent
metadata: {name: ${name}, version: "${version}", description: text of ${version}, labels: {v: "${version}"}}
spec:
  task: {instruction: do it}
${more}`;

const directory = await mkdtemp(join(tmpdir(), 'svc-catalog-'));
const documents = new SqliteDocuments({ directory });
await documents.open();
after(async () => {
  await documents.close();
  await rm(directory, { recursive: true });
});

const openCatalog = () => createAgentCatalog({ documents, clock: systemClock, random: systemRandom });
let catalog: AgentCatalog;
let count = 0;
let name = '';
beforeEach(async () => {
  catalog = await openCatalog();
  count += 1;
  name = `agent-${count}`;
});

const firstPage = { limit: 100, offset: 0 };

describe('deploy', () => {
  it('keeps one agent_id for all versions of a name', async () => {
    const one = await catalog.deploy(anna, yaml(name, '1.0.0'), { force: false });
    const two = await catalog.deploy(anna, yaml(name, '1.1.0'), { force: false });
    assert.deepEqual(two, { agent_id: one.agent_id, deployed: true });
  });

  it('refuses an existing version unless forced, and then replaces its manifest', async () => {
    await catalog.deploy(anna, yaml(name, '1.0.0'), { force: false });
    const again = yaml(name, '1.0.0', '  execution: {max_iterations: 3}\n');
    await assert.rejects(catalog.deploy(anna, again, { force: false }), refused('conflict'));
    assert.equal((await catalog.get(anna, name)).manifest.spec.execution.max_iterations, 10);
    await catalog.deploy(anna, again, { force: true });
    const found = await catalog.get(anna, name);
    assert.equal(found.manifest.spec.execution.max_iterations, 3);
    assert.equal(found.manifest_yaml, again);
    assert.equal((await catalog.versions(anna, found.agent_id)).length, 1);
  });

  it('lets exactly one of many concurrent deploys of a version win, over several catalogs', async () => {
    const others = await Promise.all([openCatalog(), openCatalog()]);
    const all = [catalog, ...others].flatMap((one) => [one, one, one]);
    const results = await Promise.allSettled(
      all.map((one, index) => one.deploy(anna, yaml(name, '1.0.0', `  env: {N: ${index}}\n`), { force: false })),
    );
    const won = results.filter((result) => result.status === 'fulfilled');
    assert.equal(won.length, 1);
    for (const result of results) if (result.status === 'rejected') refused('conflict')(result.reason);
    const winner = results.findIndex((result) => result.status === 'fulfilled');
    assert.equal((await catalog.get(anna, name)).manifest.spec.env.N, String(winner));
  });

  it('gives concurrent deploys of different versions one agent and loses none', async () => {
    const versions = Array.from({ length: 12 }, (_, index) => `1.${index}.0`);
    const ids = await Promise.all(versions.map((v) => catalog.deploy(anna, yaml(name, v), { force: false })));
    const [first] = ids;
    assert.ok(first);
    assert.equal(new Set(ids.map((result) => result.agent_id)).size, 1);
    const kept = await catalog.versions(anna, first.agent_id);
    assert.deepEqual(
      kept.map((summary) => summary.version),
      versions.toReversed(),
    );
    const { events, total } = await catalog.logs(anna, first.agent_id, firstPage);
    assert.equal(total, 12);
    assert.deepEqual(
      events.map((event) => event.sequence),
      Array.from({ length: 12 }, (_, index) => index + 1),
    );
  });

  it('names every broken rule with path and line', async () => {
    const bad = yaml('Bad_Name', '1.0', '  execution: {max_iterations: 99}\n  nonsense: 1\n');
    await assert.rejects(catalog.deploy(anna, bad, { force: false }), (thrown) => {
      assert.ok(thrown instanceof SvcError);
      assert.equal(thrown.code, 'invalid_manifest');
      assert.deepEqual(
        thrown.details?.map(({ path, line }) => [path, line]),
        [
          ['metadata.name', 3],
          ['metadata.version', 3],
          ['spec.execution.max_iterations', 6],
          ['spec.nonsense', 7],
        ],
      );
      return true;
    });
  });
});

describe('get', () => {
  it('answers the version deployed last, and a pre-release only when it is named or alone', async () => {
    const latest = async (version: string, force = false) => {
      await catalog.deploy(anna, yaml(name, version), { force });
      const { version: found, description } = await catalog.get(anna, name);
      assert.equal(description, `text of ${found}`);
      return found;
    };
    assert.equal(await latest('1.0.0-rc.2'), '1.0.0-rc.2');
    assert.equal(await latest('1.0.0-rc.1'), '1.0.0-rc.1', 'of pre-releases the last');
    assert.equal(await latest('1.9.0'), '1.9.0');
    assert.equal(await latest('1.10.0'), '1.10.0');
    assert.equal(await latest('1.2.0'), '1.2.0', 'going back is a deploy');
    assert.equal(await latest('2.0.0-rc.1'), '1.2.0');
    assert.equal((await catalog.get(anna, name, '2.0.0-rc.1')).version, '2.0.0-rc.1');
    assert.equal(await latest('1.10.0', true), '1.10.0', 'deploying it again with force makes it the latest');
    const found = await catalog.get(anna, name);
    const versions = await catalog.versions(anna, found.agent_id);
    assert.deepEqual(
      versions.map(({ version, labels }) => [version, labels.v]),
      ['1.10.0', '2.0.0-rc.1', '1.2.0', '1.9.0', '1.0.0-rc.1', '1.0.0-rc.2'].map((version) => [version, version]),
    );
  });

  it('finds by UUID in any case, by name, and an older version', async () => {
    const { agent_id } = await catalog.deploy(anna, yaml(name, '1.0.0'), { force: false });
    await catalog.deploy(anna, yaml(name, '2.0.0'), { force: false });
    assert.equal((await catalog.get(anna, agent_id.toUpperCase())).version, '2.0.0');
    assert.equal((await catalog.get(anna, name, '1.0.0')).version, '1.0.0');
    await assert.rejects(catalog.get(anna, name, '3.0.0'), refused('not_found', 'agent version not found'));
    assert.equal(await catalog.export(anna, agent_id), yaml(name, '2.0.0'));
  });

  it("answers another tenant's id like an unknown one, in every call", async () => {
    const { agent_id } = await catalog.deploy(anna, yaml(name, '1.0.0'), { force: false });
    const notFound = refused('not_found', 'agent not found');
    for (const id of [agent_id, name, systemRandom.uuid(), 'nobody', '']) {
      await assert.rejects(catalog.get(bob, id), notFound);
      await assert.rejects(catalog.lookup(bob, id), notFound);
      await assert.rejects(catalog.versions(bob, id), notFound);
      await assert.rejects(catalog.export(bob, id), notFound);
      await assert.rejects(catalog.logs(bob, id, firstPage), notFound);
      await assert.rejects(catalog.delete(bob, id), notFound);
    }
    assert.deepEqual((await catalog.list(bob)).items, []);
    const other = await catalog.deploy(bob, yaml(name, '1.0.0'), { force: false });
    assert.notEqual(other.agent_id, agent_id);
    await catalog.delete(bob, other.agent_id);
    assert.equal((await catalog.get(anna, name)).agent_id, agent_id);
  });
});

describe('list', () => {
  it('shows the latest version of each agent by name, in pages', async () => {
    const carl = identity('carl-corp');
    for (const [agent, version] of [
      ['b', '1.0.0'],
      ['a', '0.9.0'],
      ['a', '1.0.0'],
      ['c', '2.0.0'],
    ] as const)
      await catalog.deploy(carl, yaml(agent, version), { force: false });
    const all = (await catalog.list(carl)).items;
    assert.deepEqual(
      all.map((summary) => [summary.name, summary.version, summary.description]),
      [
        ['a', '1.0.0', 'text of 1.0.0'],
        ['b', '1.0.0', 'text of 1.0.0'],
        ['c', '2.0.0', 'text of 2.0.0'],
      ],
    );
    assert.deepEqual((await catalog.list(carl, { limit: 1, skip: 1 })).items, all.slice(1, 2));
    await assert.rejects(catalog.list(carl, { limit: 0, skip: 0 }), refused('invalid_argument'));
    await assert.rejects(catalog.list(carl, { limit: 10, skip: -1 }), refused('invalid_argument'));
  });
});

describe('delete', () => {
  it('removes all versions, keeps the log, and frees the name for a new agent', async () => {
    const { agent_id } = await catalog.deploy(anna, yaml(name, '1.0.0'), { force: false });
    await catalog.deploy(anna, yaml(name, '2.0.0'), { force: false });
    await catalog.delete(anna, agent_id);
    await assert.rejects(catalog.get(anna, agent_id), refused('not_found', 'agent not found'));
    await assert.rejects(catalog.get(anna, name, '1.0.0'), refused('not_found', 'agent not found'));
    await assert.rejects(catalog.delete(anna, agent_id), refused('not_found', 'agent not found'));
    const { events } = await catalog.logs(anna, agent_id, firstPage);
    assert.deepEqual(
      events.map((event) => [event.sequence, event.event_type, event.payload.by]),
      [
        [1, 'AgentDeployed', 'op-1'],
        [2, 'AgentDeployed', 'op-1'],
        [3, 'AgentDeleted', 'op-1'],
      ],
    );
    const again = await catalog.deploy(anna, yaml(name, '1.0.0'), { force: false });
    assert.notEqual(again.agent_id, agent_id);
  });

  it('leaves no partial agent when deploys and deletes race', async () => {
    const { agent_id } = await catalog.deploy(anna, yaml(name, '1.0.0'), { force: false });
    const races = Array.from({ length: 10 }, (_, index) => [
      catalog.deploy(anna, yaml(name, `2.${index}.0`), { force: false }),
      catalog.delete(anna, agent_id),
    ]).flat();
    for (const result of await Promise.allSettled(races))
      if (result.status === 'rejected') refused('not_found')(result.reason);
    const survivor = await catalog.deploy(anna, yaml(name, '3.0.0'), { force: false });
    for (const { version } of await catalog.versions(anna, survivor.agent_id))
      assert.equal((await catalog.get(anna, name, version)).version, version);
  });
});

describe('after a crash', () => {
  it('writes the log event that was lost between record and log', async () => {
    const { agent_id } = await catalog.deploy(anna, yaml(name, '1.0.0'), { force: false });
    const events = await documents.collection<StoredEvent & { agent_id: string }>(AGENT_EVENTS);
    await events.delete('anna-corp', `${agent_id}:1`);
    assert.equal((await catalog.logs(anna, agent_id, firstPage)).total, 1);
  });

  it('finishes a deletion that had been decided, while no reader sees the agent', async () => {
    const { agent_id } = await catalog.deploy(anna, yaml(name, '1.0.0'), { force: false });
    const agents = await documents.collection<CatalogRecord>(AGENTS);
    const record = await agents.get('anna-corp', agent_id);
    assert.ok(record);
    await agents.replace({ ...record, version: 2, status: 'deleted' }, 1);
    await assert.rejects(catalog.get(anna, name), refused('not_found', 'agent not found'));
    assert.ok(!(await catalog.list(anna)).items.some((summary) => summary.name === name));
    const again = await catalog.deploy(anna, yaml(name, '1.0.0'), { force: false });
    assert.notEqual(again.agent_id, agent_id);
  });
});
