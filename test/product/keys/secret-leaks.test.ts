import assert from 'node:assert/strict';
import { chmod, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';
import { FileKeySource } from '../../../security/encryption/file-key-source.ts';
import { KeyRing } from '../../../security/encryption/key-ring.ts';
import { SecretDocuments } from '../../../security/secret-store/secret-documents.ts';
import { liveFiles } from '../../support/live-files.ts';
import { NEEDS_SANDBOX } from '../../support/needs-sandbox.ts';
import { sample } from '../../support/size.ts';
import { limitedFiles, smallFileSystem } from '../../support/small-disk.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { type Answer, agentYaml, ProductNode } from '../product-node.ts';
import { type CallerName, Realms } from '../realms.ts';

const KILLS = sample({ normal: 1, long: 3 });
/** Secrets during a key rotation. */
const MANY = sample({ normal: 8, long: 40 });
const PATH = 'db/password';
const ROUTE = `/v1/secrets/${encodeURIComponent(PATH)}`;

/** The values of a secret in the store of a node that does not run, by version. */
async function storedVersions(data: string, tenant: string, path: string): Promise<Map<number, string>> {
  const documents = new SqliteDocuments({ directory: data });
  await documents.open();
  try {
    const source = new FileKeySource({ path: join(data, 'secret-keys.json'), isCopied: true, now: Date.now });
    const secrets = await SecretDocuments.open(documents, Date.now);
    const uses = (version: number) => secrets.usesOf(version);
    const ring = await KeyRing.open({
      node: 'reader',
      isAlone: false,
      documents,
      source,
      clock: { now: Date.now },
      uses,
      warn: assert.fail,
    });
    const secret = await secrets.get(tenant, path);
    const found = new Map<number, string>();
    for (const { version } of secret === null ? [] : [secret.current, ...secret.earlier]) {
      found.set(
        version,
        (await secrets.read(ring, tenant, path, version)) ?? assert.fail(`version ${version} is gone`),
      );
    }
    return found;
  } finally {
    await documents.close();
  }
}

describe('files, logs and answers of a node with keys and secrets', NEEDS_SANDBOX, () => {
  let realms: Realms;
  let node: ProductNode;
  let data: string;
  before(async () => {
    realms = await Realms.open();
    const spec = {
      ...realms.spec,
      observability: { logging: { level: 'debug' } },
      runtime: { host_commands: { allow: ['alpha'] } },
    };
    node = await ProductNode.start({ spec });
    data = join(node.directory, 'data');
  });
  after(async () => {
    await node[Symbol.asyncDispose]();
    await realms[Symbol.asyncDispose]();
  });
  const as = async (caller: CallerName, method: string, path: string, body?: object): Promise<Answer> =>
    node.json(method, path, body, await realms.headers(caller));

  test('no key and no value of a secret is in any file, in the log, or in an answer', async () => {
    const words = { key: '', first: 'first-value-4711', second: 'second-value-4711', refused: 'refused-value-4711' };
    const made = await as('alphaAdmin', 'POST', '/v1/api-keys', { name: 'left', scopes: ['secrets:*'] });
    words.key = String(made.body.key).slice(4);
    const by = { authorization: `Bearer ${made.body.key}` };
    await as('alphaAdmin', 'PUT', ROUTE, { value: words.first });
    await node.json('PUT', ROUTE, { value: words.second }, by);

    // A program that gets the secret, prints it and fails; and every request that is refused with it.
    const program = join(node.directory, 'says.sh');
    await writeFile(program, '#!/bin/sh\necho "it is $KEY"\necho "err $KEY" >&2\nexit 3\n');
    await chmod(program, 0o755);
    const yaml = agentYaml('says-it', {
      ...{ runtime: { isolation: 'process' }, env: { KEY: `secret:${PATH}` } },
      ...{ advanced: { bootstrap_path: program }, execution: { max_iterations: 2 } },
    });
    const headers = await realms.headers('alphaAdmin');
    const run = await node.run(await node.deploy(yaml, headers), 'go', headers);
    await waitUntil('it has failed', async () => (await node.statusOf(run, headers)).status === 'failed');
    const answers = [
      await as('alphaAdmin', 'GET', `/v1/executions/${run}`),
      await as('alphaAdmin', 'GET', `/v1/executions/${run}/events?limit=200`),
      await as('alphaAdmin', 'GET', '/v1/executions'),
      await as('alphaAdmin', 'GET', '/v1/secrets'),
      await as('alphaUser', 'PUT', ROUTE, { value: words.refused }),
      await as('alphaAdmin', 'PUT', '/v1/secrets/..%2Fx', { value: words.refused }),
      await as('alphaAdmin', 'PUT', ROUTE, { value: words.refused, expect: 'absent' }),
      await as('alphaAdmin', 'PUT', ROUTE, { value: words.refused, expect: 'never' }),
      await as('alphaAdmin', 'PUT', ROUTE, { value: { in: words.refused } }),
      await as('alphaAdmin', 'POST', '/v1/api-keys/validate', { key: made.body.key }),
      await as('alphaAdmin', 'GET', '/v1/api-keys?all=true'),
      await node.call('GET', `/v1/executions?token=${made.body.key}`, { headers: by }),
    ];
    assert.equal(answers[0]?.body.status, 'failed');
    const said = answers.map(({ text }) => text).join('\n') + node.process.log;
    for (const [what, word] of Object.entries(words)) {
      assert.ok(!said.includes(word), `${what} was returned`);
      for await (const [file, content] of liveFiles(data)) assert.ok(!content.includes(word), `${what} is in ${file}`);
    }
  });

  test(`kill -9 ${KILLS} times during rotations: a version that was answered keeps its value for ever`, async (t) => {
    const answered = new Map<number, string>();
    let sent = 0;
    for (let kill = 0; kill < KILLS; kill += 1) {
      const headers = await realms.headers('alphaAdmin');
      const before = answered.size;
      const writer = async (): Promise<void> => {
        for (;;) {
          sent += 1;
          const value = `value ${sent}`;
          const answer = await node.json('PUT', ROUTE, { value }, headers).catch(() => null);
          if (answer?.status !== 200) return;
          answered.set(Number(answer.body.version), value);
        }
      };
      const writers = [writer(), writer(), writer()];
      await waitUntil('some were answered', () => answered.size >= before + 5 + kill);
      await node.process.kill('SIGKILL');
      await Promise.all(writers);
      const last = Math.max(...answered.keys());
      const stored = await storedVersions(data, 'alpha', PATH);
      assert.ok(stored.has(last), `version ${last} is kept: ${[...stored.keys()]}`);
      for (const [version, value] of stored) {
        assert.equal(value, answered.get(version) ?? value, `version ${version} after kill ${kill + 1}`);
      }
      await node.spawn();
      const { body, text } = await node.call('GET', ROUTE, { headers });
      assert.equal(body.version, Math.max(...stored.keys()), text);
    }
    t.diagnostic(`${answered.size} of ${sent} were answered`);
    const listed = await as('alphaAdmin', 'GET', '/v1/secrets');
    assert.deepEqual(
      Object(listed.body).secrets.map(({ path }: { path: string }) => path),
      [PATH],
    );
  });
});

describe('the key of secrets', () => {
  test('kill -9 during its rotation: the next start continues; without its key file the node does not start', async () => {
    await using node = await ProductNode.start({});
    const data = join(node.directory, 'data');
    // A store without any secret, such as a backup of the databases alone, gets a new key.
    await node.process.kill('SIGKILL');
    await rm(join(data, 'secret-keys.json'));
    await node.spawn();
    for (let n = 0; n < MANY; n += 1) await node.json('PUT', `/v1/secrets/many-${n}`, { value: `value ${n}` });
    const rotated = await node.json('POST', '/v1/cluster/secret-keys/rotate', undefined);
    assert.equal(rotated.body.current, 2, rotated.text);
    await node.process.kill('SIGKILL');

    const [file, aside] = [join(data, 'secret-keys.json'), join(data, 'aside.json')];
    await rename(file, aside);
    await assert.rejects(
      node.spawn(),
      /spec\.secrets\.keys: key version [12] is missing from the key file .*, \d+ (secret or payload key needs|secrets and payload keys need) it/,
    );
    await assert.rejects(readFile(file), /ENOENT/, 'no other key replaces it');
    await rename(aside, file);
    await node.spawn();
    await waitUntil('all secrets have the new version', async () => {
      const { body } = await node.call('GET', '/v1/cluster/secret-keys');
      return Object(body).versions[0].secrets === MANY;
    });
    await node.process.kill('SIGKILL');
    for (const n of [0, MANY - 1]) {
      assert.deepEqual(await storedVersions(data, 'svc-system', `many-${n}`), new Map([[1, `value ${n}`]]));
    }
  });
});

describe('secrets and keys on a full disk', async () => {
  const disk = (await smallFileSystem()) ?? (await limitedFiles());
  after(() => disk?.[Symbol.asyncDispose]());

  test('are refused with 503, keep their values, and are accepted again when there is space', async (t) => {
    if (disk === null) return t.skip('no disk can be made full here');
    const data = join(disk.directory, 'data');
    await using node = await ProductNode.start({ dataDir: data });
    const put = (value: string) => node.json('PUT', ROUTE, { value });
    assert.equal((await put('before')).status, 200);
    await disk.fill(node.process.pid);
    const refused = await put('refused-4711'.repeat(1_000));
    assert.equal(refused.status, 503, refused.text);
    assert.doesNotMatch(refused.text, /refused-4711|\/tmp\//);
    const key = await node.json('POST', '/v1/api-keys', { name: 'late' });
    assert.ok([200, 503].includes(key.status), key.text);
    const { body } = await node.call('GET', ROUTE);
    assert.equal(body.path, PATH);
    await disk.free(node.process.pid);
    await waitUntil('a secret is accepted again', async () => (await put('after')).status === 200);
    await waitUntil('a key is accepted again', async () => {
      return (await node.json('POST', '/v1/api-keys', { name: 'later' })).status === 200;
    });
    const { body: after } = await node.call('GET', ROUTE);
    assert.equal(after.version, Number(body.version) + 1, 'the refused value took no version');
    assert.doesNotMatch(node.process.log, /refused-4711/);
  });
});
