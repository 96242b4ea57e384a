import assert from 'node:assert/strict';
import { readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { svc } from '../cli/svc-run.ts';
import { liveFiles } from '../support/live-files.ts';
import { waitUntil } from '../support/wait-until.ts';
import { type Answer, agentYaml, ProductNode } from './product-node.ts';
import { DONE, workflowText } from './tenant-objects.ts';

const CANARY = 'canary-51f0a9c3';
/** Longer than a message may be. */
const LARGE = Array.from({ length: 8_000 }, (_none, at) => `${CANARY} ${at * 7_919}`).join(' ');

const DOCS = join(import.meta.dirname, '..', '..', 'docs', 'operations', 'payload-encryption.md');

/**
 * Collections of the key ring, of secrets and of format notes: encrypted in another way, or needed to read the others.
 */
const OF_THE_KEYS = ['payload_keys', 'secret_keys', 'secret_key_copies', 'secrets', 'secret_values', 'store_facts'];

/** Fields of every document. */
const KEYS = ['tenant', 'id', 'version'];

const listed = (value: unknown): Readonly<Record<string, unknown>>[] => (Array.isArray(value) ? value : []);

/** The plain-text fields that the documentation names, by collection. */
async function documented(): Promise<Map<string, readonly string[]>> {
  const rows = (await readFile(DOCS, 'utf8')).matchAll(/^\| `(\w+)` \| (.*?) \|$/gm);
  return new Map(
    [...rows].map(([, name = '', fields = '']) => [name, [...fields.matchAll(/`(\w+)`/g)].map(([, one = '']) => one)]),
  );
}

/** Fields of the documents as stored on disk, by collection. */
function fieldsOnDisk(file: string): Map<string, Set<string>> {
  const database = new DatabaseSync(file, { readOnly: true });
  const found = new Map<string, Set<string>>();
  for (const { name } of database
    .prepare("SELECT name FROM sqlite_schema WHERE name LIKE 'doc\\_%' ESCAPE '\\'")
    .all()) {
    const fields = new Set<string>();
    for (const row of database.prepare(`SELECT * FROM ${name}`).all()) {
      for (const value of Object.values(row)) {
        if (typeof value !== 'string' || !value.startsWith('{')) continue;
        const parsed: unknown = JSON.parse(value);
        for (const field of Object.keys(parsed ?? {})) fields.add(field);
      }
    }
    found.set(String(name).slice('doc_'.length), fields);
  }
  database.close();
  return found;
}

describe('a node that encrypts payloads', () => {
  let node: ProductNode;
  let data = '';
  let run = '';
  let flow = '';
  before(async () => {
    node = await ProductNode.start({ spec: { encryption: { payloads: { tenants: 'all' } } } });
    data = join(node.directory, 'data');
  });
  after(() => node[Symbol.asyncDispose]());

  const completed = (path: string): Promise<Answer> =>
    waitUntil(`${path} to end`, async () => {
      const answer = await node.call('GET', path);
      return answer.body.status === 'completed' && answer;
    });

  /** Whether the first message of an execution contains its input. */
  async function isWhole(id: string): Promise<boolean> {
    const [first] = listed((await node.succeed('GET', `/v1/actors/execution/${id}/history`)).deliveries);
    return (await node.call('GET', `/v1/messages/${first?.message_id}`)).text.includes(CANARY);
  }

  /** Files of the stores that contain the text; without the files in which programs work. */
  async function filesWith(text: string, of = data): Promise<string[]> {
    const found: string[] = [];
    for await (const [path, content] of liveFiles(of)) {
      if (content.includes(text)) found.push(path.slice(of.length + 1));
    }
    return found;
  }

  /** Starts the stopped node again. */
  async function again(): Promise<void> {
    await node.process.kill('SIGKILL');
    await node.spawn();
  }

  test('has no plain text of a tenant in any file of its stores', async () => {
    const agent_id = await node.deploy(agentYaml('teller', { task: { prompt_template: `{{input}} ${CANARY}` } }));
    const started = await node.succeed('POST', '/v1/executions', {
      agent_id,
      input: CANARY,
      context: { large: LARGE },
    });
    run = String(started.execution_id);
    const text = workflowText('told', {
      say: { kind: 'Agent', agent: 'teller', input: '{{blackboard.word}}', transitions: [{ target: 'gate' }] },
      gate: { kind: 'Human', prompt: 'go on with {{blackboard.word}}?', transitions: [{ target: 'done' }] },
      done: DONE,
    });
    const yaml = { 'content-type': 'application/yaml' };
    assert.equal((await node.call('POST', '/v1/workflows', { body: text, headers: yaml })).status, 200);
    const flown = await node.succeed('POST', '/v1/workflows/told/run', {
      input: { said: CANARY },
      blackboard: { word: CANARY },
    });
    flow = String(flown.execution_id);
    const approval = await waitUntil('it to wait for a person', async () => {
      const { pending_requests } = (await node.call('GET', '/v1/human-approvals')).body;
      return listed(pending_requests).find((one) => one.execution_id === flow);
    });
    assert.ok(String(approval.prompt).includes(CANARY));
    assert.deepEqual(await filesWith(CANARY), [], 'while it waits');
    await node.succeed('POST', `/v1/human-approvals/${approval.id}/approve`, { feedback: CANARY });
    const { trace_id } = (await completed(`/v1/executions/${run}`)).body;
    await completed(`/v1/workflows/executions/${flow}`);
    await waitUntil('its trace is in the ledger', async () => {
      const { status, body } = await node.call('GET', `/v1/traces/${trace_id}`);
      return status === 200 && body.status === 'completed';
    });
    assert.deepEqual(await filesWith(CANARY), []);
    assert.ok((await filesWith('#svc-system/1/')).some((name) => name.startsWith('actors.db')));
    assert.ok((await filesWith('#svc-payload 1 ')).every((name) => name.startsWith('blobs/')));
  });

  test('reads all of it: status, list, why, trace, history, recording, replay, fork', async () => {
    const { body, text } = await node.call('GET', `/v1/workflows/executions/${flow}`);
    assert.ok(text.includes(CANARY), text);
    await waitUntil('the list, which follows the ends of runs, has both', async () => {
      const { runs } = await node.succeed('GET', '/v1/runs?status=completed');
      return [run, flow].every((id) => listed(runs).some((one) => one.id === id));
    });
    await node.succeed('GET', `/v1/executions/${run}/why`);
    // The ledger is up to half a second behind commits.
    const trace = await waitUntil('the trace is in the ledger', async () => {
      const answer = await node.call('GET', `/v1/traces/${body.trace_id}`);
      return answer.status === 200 && listed(answer.body.deliveries).length > 4 && answer.body;
    });
    const [first] = listed(trace.deliveries);
    assert.ok((await node.call('GET', `/v1/messages/${first?.message_id}`)).text.includes(CANARY));
    assert.ok((await node.call('GET', `/v1/actors/execution/${run}/history`)).status === 200);
    const file = join(node.directory, 'told.svcrun');
    const env = { SVC_URL: node.url };
    const exported = await svc(['--url', node.url, 'export-run', flow, '-o', file], env);
    assert.equal(exported.code, 0, exported.stderr);
    const replayed = await svc(['replay', file], env);
    assert.equal(replayed.code, 0, replayed.stdout + replayed.stderr);
    const live = await svc(['--url', node.url, 'replay', run], env);
    assert.equal(live.code, 0, live.stdout + live.stderr);
    const forked = await node.succeed('POST', `/v1/runs/${run}/fork`, {});
    await completed(`/v1/executions/${forked.id}`);
  });

  test('writes with the newest key version after a rotation, while runs continue, and reads what older ones encrypted', async () => {
    const agent_id = await node.deploy(agentYaml('steady'));
    const going = await node.run(agent_id, `steady ${CANARY}`);
    const { current } = await node.succeed('POST', '/v1/cluster/secret-keys/rotate');
    assert.equal(current, 2);
    await waitUntil('a text of the second version', async () => {
      await completed(`/v1/executions/${await node.run(agent_id, CANARY)}`);
      return (await filesWith('#svc-system/2/')).length > 0;
    });
    await completed(`/v1/executions/${going}`);
    assert.ok(await isWhole(run));
    await waitUntil(
      'no key needs the first version',
      async () => {
        const { versions } = await node.succeed('GET', '/v1/cluster/secret-keys');
        return listed(versions).every(({ version, payload_keys }) => version === 2 || payload_keys === 0);
      },
      60_000,
    );
    const [newest, older] = listed((await node.succeed('GET', '/v1/cluster/secret-keys')).versions);
    assert.deepEqual([newest?.secrets, older?.secrets], [0, 0], 'a data key of payloads is no secret');
    assert.ok(Number(newest?.payload_keys) >= 2);
    await again();
    assert.ok(await isWhole(run));
    assert.deepEqual(await filesWith(CANARY), []);
  });

  test('stores only the documented fields of documents in plain text', async () => {
    const named = await documented();
    for (const [collection, fields] of fieldsOnDisk(join(data, 'documents.db'))) {
      if (OF_THE_KEYS.includes(collection)) continue;
      const known = [...KEYS, ...(named.get(collection) ?? []), 'encrypted', 'encrypted_packed'];
      assert.deepEqual(
        [...fields].filter((field) => !known.includes(field)),
        [],
        collection,
      );
    }
  });

  test('refuses programs that cannot read encrypted text: both stores have the note of format 5', () => {
    for (const file of ['documents.db', 'actors.db']) {
      const database = new DatabaseSync(join(data, file), { readOnly: true });
      const tables = database
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE '%facts'")
        .all();
      const rows = tables.flatMap(({ name }) => database.prepare(`SELECT * FROM ${name}`).all());
      database.close();
      const notes = rows.map((row) => JSON.stringify(row)).filter((row) => row.includes('format.5'));
      assert.ok(notes[0]?.replaceAll('\\', '').includes('"min_reader":5'), `${file}: ${notes[0] ?? 'no note'}`);
    }
  });

  test('does not start without its keys, and names the version', async () => {
    await node.process.kill('SIGKILL');
    const file = join(data, 'secret-keys.json');
    await rename(file, `${file}.away`);
    await assert.rejects(node.spawn(), /spec\.secrets\.keys: key version 2 is missing/);
    await rename(`${file}.away`, file);
    await node.spawn();
  });
});
