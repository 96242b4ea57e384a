import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Documents, StoredDocument } from '../../runtime/documents.ts';
import { type ErrorCode, SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import { addKeyVersion, FileKeySource } from '../../security/encryption/file-key-source.ts';
import { KeyRing } from '../../security/encryption/key-ring.ts';
import { createFileSecrets } from '../../security/file-secrets.ts';
import { DocumentSecrets } from '../../security/secret-store/document-secret-store.ts';
import { createFileSecretStore } from '../../security/secret-store/file-secret-store.ts';
import { moveSecretFiles } from '../../security/secret-store/move-secret-files.ts';
import { SecretKeyRotation } from '../../security/secret-store/rewrapping.ts';
import { SecretDocuments } from '../../security/secret-store/secret-documents.ts';
import { ManualClock } from '../security/identity-provider.ts';
import { waitUntil } from '../support/wait-until.ts';

const REFRESH_MS = 5_000;
const LEASE_MS = 60_000;
/** Number of secrets in use during a key rotation. */
const LOADED = 15;

const operator: Identity = {
  ...{ kind: 'operator', subject: 'olga', tenant: 'svc-system', roles: ['svc:operator'], tier: 'free' },
};
const admin = (tenant: string): Identity => ({
  ...{ kind: 'tenant_user', subject: `admin-${tenant}`, tenant, roles: ['svc:admin'], tier: 'free' },
});

/** The paths on each page of the list of tenant `paged`. */
async function pathsOf(store: DocumentSecrets, prefix: string, limit: number): Promise<string[][]> {
  const pages: string[][] = [];
  for (let pageToken: string | undefined; ; ) {
    const { items, next_page_token } = await store.list(admin('paged'), prefix, { limit, pageToken });
    pages.push(items.map(({ path }) => path));
    if (next_page_token === undefined) return pages;
    pageToken = next_page_token;
  }
}

const refused =
  (code: ErrorCode, text = /./) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof SvcError, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, text);
    assert.doesNotMatch(error.message, /hunter2/);
    return true;
  };

/** The promises of encrypted secrets over a store. `make` returns an open, separate store. */
export function secretsContract(
  name: string,
  make: () => Promise<{ readonly documents: Documents; stop(): Promise<void> }>,
  options: { readonly skip?: string | false } = {},
): void {
  describe(`encrypted secrets on ${name}`, { skip: options.skip ?? false, timeout: 300_000 }, () => {
    let setup: Awaited<ReturnType<typeof make>>;
    let root: string;
    let keyFile: string;
    const clock = new ManualClock();
    const closing: (() => Promise<void>)[] = [];
    before(async () => {
      root = await mkdtemp(join(tmpdir(), 'svc-secrets-'));
      keyFile = join(root, 'keys.json');
      setup = await make();
    });
    after(async () => {
      for (const close of closing) await close();
      await setup.stop();
      await rm(root, { recursive: true });
    });

    let nodes = 0;
    /** A node of the fleet: its own memory and directory over the one store. */
    async function node(of: { readonly key?: string; readonly documents?: Documents } = {}) {
      nodes += 1;
      const directory = join(root, `node-${nodes}`, 'secrets');
      const audited: object[] = [];
      const audit = (event: object): void => void audited.push(event);
      const warn = (message: string, error: unknown): void => assert.fail(`${message}: ${error}`);
      const documents = of.documents ?? setup.documents;
      const source = new FileKeySource({ path: of.key ?? keyFile, isCopied: true, now: () => clock.now() });
      const secrets = await SecretDocuments.open(documents, () => clock.now());
      const ring = await KeyRing.open({
        node: `node-${nodes}`,
        isAlone: false,
        documents,
        source,
        clock,
        warn,
        uses: (one) => secrets.usesOf(one),
      });
      const files = createFileSecrets({ directory, environment: { PASS: 'of the environment' } });
      const needsFile = new Set(['store-url']);
      const store = new DocumentSecrets({
        ...{ secrets, ring, clock, files, needsFile, audit },
        ...{ refreshMs: REFRESH_MS, leaseMs: LEASE_MS },
      });
      const keys = new SecretKeyRotation({
        secrets,
        payloadKeys: { rewrap: async () => 0, usesOf: async () => 0 },
        ring,
        clock,
        warn,
        audit,
      });
      closing.push(() => keys.close());
      const read = (tenant: string, path: string) => store.resolve(tenant, `secret:${path}`);
      const move = () => moveSecretFiles({ directory, secrets, ring, files, needsFile, warn: () => undefined });
      return { directory, audited, secrets, ring, store, keys, read, move };
    }

    test('a value put on one node is read on every node, and is nowhere in the store in plain text', async () => {
      const [one, two] = [await node(), await node()];
      const values = ['hunter2', 'a\nb\n', 'ümläut', 'x'.repeat(65_000)];
      for (const [n, value] of values.entries()) {
        const view = await one.store.put(admin('acme'), `db/value-${n}`, value, 'absent');
        assert.deepEqual([view.version, view.reference, view.earlier], [1, `secret:db/value-${n}`, []]);
        assert.equal(await two.read('acme', `db/value-${n}`), value);
      }
      assert.deepEqual(
        (await two.store.list(admin('acme'), 'db/value-1', { limit: 9 })).items.map(({ path }) => path),
        ['db/value-1'],
      );
      const stored = await everything();
      for (const word of ['hunter2', Buffer.from('hunter2').toString('base64'), 'ümläut', 'xxxxxxxx']) {
        assert.ok(!stored.includes(word), word);
      }
      assert.ok(stored.includes('db/value-0'), 'the walk finds the documents');
      assert.doesNotMatch(JSON.stringify([one.audited, two.audited]), /hunter2/);
    });

    test('a list is read page by page, by path, each secret once', async () => {
      const { store } = await node();
      const paths = ['db/a', 'db/b', 'db/c', 'db/d', 'other'];
      for (const path of paths) await store.put(admin('paged'), path, 'x', 'any');
      await store.put(admin('beta'), 'db/e', 'x', 'any');
      assert.deepEqual(await pathsOf(store, '', 2), [['db/a', 'db/b'], ['db/c', 'db/d'], ['other']]);
      assert.deepEqual(await pathsOf(store, 'db/', 3), [['db/a', 'db/b', 'db/c'], ['db/d']]);
      const { next_page_token: pageToken } = await store.list(admin('paged'), 'db/', { limit: 1 });
      const refusal = { code: 'invalid_argument', message: /page_token/ };
      await assert.rejects(store.list(admin('paged'), '', { limit: 1, pageToken }), refusal);
      await assert.rejects(store.list(admin('beta'), 'db/', { limit: 1, pageToken }), refusal);
    });

    /** Every document of the collections of secrets, as text. */
    async function everything(): Promise<string> {
      const found: StoredDocument[] = [];
      for (const collection of ['secrets', 'secret_values', 'secret_keys']) {
        const documents = await setup.documents.collection({ name: collection, unique: [], indexes: [] });
        found.push(...(await documents.find({ tenant: null, limit: 1_000 })));
      }
      return JSON.stringify(found);
    }

    test('a change is visible at once on its node, on the others after the refresh time, and on all as one version', async () => {
      const [one, two] = [await node(), await node()];
      await one.store.put(operator, 'token', 'first', 'any');
      assert.deepEqual(
        [await one.read('svc-system', 'token'), await two.read('svc-system', 'token')],
        ['first', 'first'],
      );
      await one.store.put(operator, 'token', 'second', 'present');
      assert.equal(await one.read('svc-system', 'token'), 'second');
      clock.advance(REFRESH_MS);
      assert.equal(await two.read('svc-system', 'token'), 'second');
      assert.equal(await two.read('svc-system', 'token@1'), 'first');
      await two.store.remove(operator, 'token', 1);
      await assert.rejects(two.read('svc-system', 'token@1'), refused('failed_precondition', /^secret:token@1: /));
      await two.store.remove(operator, 'token');
      clock.advance(REFRESH_MS);
      await assert.rejects(one.read('svc-system', 'token'), refused('failed_precondition'));
      await assert.rejects(one.store.get(operator, 'token'), refused('not_found'));
      await assert.rejects(one.store.remove(operator, 'token'), refused('not_found'));
    });

    test('an unavailable store leaves a known value in use until its lease ends', async () => {
      let isAway = false;
      const flaky: Documents = {
        ...{ open: async () => {}, close: async () => {} },
        async collection(spec) {
          const real = await setup.documents.collection<never>(spec);
          return new Proxy(real, {
            get(target, key) {
              if (isAway) throw new SvcError('unavailable');
              const value: unknown = Reflect.get(target, key);
              return typeof value === 'function' ? value.bind(target) : value;
            },
          });
        },
      };
      const at = await node({ documents: flaky });
      await at.store.put(operator, 'leased', 'kept', 'any');
      assert.equal(await at.read('svc-system', 'leased'), 'kept');
      isAway = true;
      clock.advance(LEASE_MS - 1);
      assert.equal(await at.read('svc-system', 'leased'), 'kept');
      clock.advance(1);
      await assert.rejects(at.read('svc-system', 'leased'), refused('unavailable'));
      isAway = false;
      assert.equal(await at.read('svc-system', 'leased'), 'kept');
    });

    test('two nodes that rotate one secret at once: each number has one value, and ten earlier ones stay', async () => {
      const [one, two] = [await node(), await node()];
      const put = (n: number) => (n % 2 === 0 ? one : two).store.put(operator, 'busy', `value ${n}`, 'any');
      const said = await Promise.all(
        Array.from({ length: 12 }, (_one, n) => put(n).then(({ version }) => [version, n])),
      );
      const byVersion = new Map(said.map(([version = 0, n]) => [version, `value ${n}`]));
      assert.equal(byVersion.size, 12, 'no number was given twice');
      const { version, earlier } = await two.store.get(operator, 'busy');
      assert.deepEqual([version, earlier.length], [12, 10]);
      for (const { version: n } of earlier) assert.equal(await one.read('svc-system', `busy@${n}`), byVersion.get(n));
      const values = await setup.documents.collection({ name: 'secret_values', unique: [], indexes: [['path']] });
      assert.equal(
        await values.count({ tenant: 'svc-system', where: { path: 'busy' } }),
        11,
        'no value is left behind',
      );
    });

    test('a value moved to another path or tenant, or changed, is refused', async () => {
      const { store, read } = await node();
      const victim = admin('victim');
      await store.put(victim, 'key', 'hunter2', 'any');
      await store.put(victim, 'other', 'of the other', 'any');
      await store.put(admin('thief'), 'key', 'of the thief', 'any');
      const secrets = await setup.documents.collection<StoredDocument & Row>({
        name: 'secrets',
        unique: [],
        indexes: [],
      });
      const stolen = await secrets.get('victim', 'key');
      assert.ok(stolen !== null);
      const values = await setup.documents.collection<StoredDocument & { sealed: string }>({
        ...{ name: 'secret_values', unique: [], indexes: [] },
      });
      const value = await values.get('victim', stolen.current.value_id);
      assert.ok(value !== null);
      // An attacker with write access to the store moves the whole secret: document, data key and value.
      for (const [tenant, id] of [
        ['thief', 'key'],
        ['victim', 'other'],
      ] as const) {
        await secrets.delete(tenant, id);
        await secrets.insert({ ...stolen, tenant, id });
        await values.delete(tenant, value.id);
        await values.insert({ ...value, tenant });
        await assert.rejects(read(tenant, id), refused('failed_precondition', /damaged or of another secret/), tenant);
      }
      const bytes = Buffer.from(value.sealed, 'base64');
      bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
      for (const sealed of [bytes.toString('base64'), 'hunter', '']) {
        await values.delete('victim', value.id);
        await values.insert({ ...value, sealed });
        await assert.rejects(read('victim', 'key'), refused('failed_precondition', /^secret:key: /));
      }
    });

    test('a tenant has its own secrets, and the credentials of the store stay in a file', async () => {
      const { store, read, directory } = await node();
      await store.put(admin('alpha'), 'own', 'of alpha', 'any');
      await assert.rejects(store.get(admin('beta'), 'own'), refused('not_found'));
      await assert.rejects(read('beta', 'own'), refused('failed_precondition'));
      await assert.rejects(store.put({ ...operator, roles: [] }, 'own', 'x', 'any'), refused('forbidden'));
      await assert.rejects(store.put(operator, 'tenants/alpha/own', 'x', 'any'), refused('invalid_argument'));
      await assert.rejects(store.put(operator, 'store-url', 'x', 'any'), refused('failed_precondition'));
      await createFileSecretStore({ directory, clock, audit: () => undefined }).put(
        operator,
        'by-hand',
        'a file',
        'any',
      );
      assert.equal(await read('svc-system', 'by-hand'), 'a file', 'a file is read where the store has no such secret');
      assert.equal(await store.resolve('svc-system', 'env:PASS'), 'of the environment');
    });

    test('secrets in files are moved once, with their versions, and different values on two nodes are refused', async () => {
      const [one, two] = [await node(), await node()];
      const files = createFileSecretStore({ directory: one.directory, clock, audit: () => undefined });
      await files.put(admin('moved'), 'db/pass', 'hunter2-old', 'any');
      const before = await files.put(admin('moved'), 'db/pass', 'hunter2-new', 'any');
      await files.put(operator, 'shared', 'same', 'any');
      await files.put(operator, 'store-url', 'redis://', 'any');
      await writeFile(join(one.directory, 'open'), 'readable by all', { mode: 0o644 });
      assert.equal(await one.move(), 2);
      assert.equal(await one.move(), null, 'once');
      assert.deepEqual(await one.store.get(admin('moved'), 'db/pass'), before);
      assert.deepEqual(
        [await two.read('moved', 'db/pass'), await two.read('moved', 'db/pass@1')],
        ['hunter2-new', 'hunter2-old'],
      );
      const left = (await readdir(one.directory, { recursive: true })).filter((file) => !file.startsWith('tenants'));
      assert.deepEqual(left.sort(), ['.format.json', 'open', 'store-url', 'store-url@record']);
      assert.deepEqual(await readdir(join(one.directory, 'tenants', 'moved')), []);

      const other = createFileSecretStore({ directory: two.directory, clock, audit: () => undefined });
      await other.put(operator, 'shared', 'hunter2 of another node', 'any');
      await assert.rejects(two.move(), refused('failed_precondition', /secret shared has one value on this node/));
      await other.put(operator, 'shared', 'same', 'any');
      assert.equal(await two.move(), 1, 'the same value is one secret');
      assert.equal(await two.read('svc-system', 'shared'), 'same');
    });

    test('a key rotation under load fails no call, and continues where it was stopped', async () => {
      const [one, two] = [await node(), await node()];
      for (let n = 0; n < LOADED; n += 1) await one.store.put(admin('load'), `key-${n}`, `value ${n}`, 'any');
      await assert.rejects(one.keys.rotate(operator), refused('failed_precondition', /add-key/));
      // A node with an old copy of the file could not read later values of the other nodes.
      const copy = join(root, 'copy.json');
      await writeFile(copy, await readFile(keyFile), { mode: 0o600 });
      const third = await node({ key: copy });
      await third.ring.report();
      await addKeyVersion(keyFile, clock.now());
      const lacks = /^key version 2 is missing on node-\d+: copy the key file there/;
      await assert.rejects(one.keys.rotate(operator), refused('failed_precondition', lacks));
      await writeFile(copy, await readFile(keyFile), { mode: 0o600 });
      await third.ring.report();
      let isOver = false;
      closing.push(async () => {
        isOver = true;
      });
      let reads = 0;
      const load = [one, two].map(async (at, which) => {
        while (!isOver) {
          const n = reads % LOADED;
          reads += 1;
          clock.advance(REFRESH_MS);
          assert.match(await at.read('load', `key-${n}`), new RegExp(`^value ${n}(\\.|$)`));
          if (n % 10 === 0) await at.store.put(admin('load'), `key-${n}`, `value ${n}.${which}`, 'any');
        }
      });
      const { current } = await one.keys.rotate(operator);
      assert.equal(current, 2);
      // Stopped in the middle, as by a kill: the other node continues.
      await one.keys.close();
      two.keys.start();
      await waitUntil('all have the new version', async () => (await two.secrets.usesOf(1)) === 0, 60_000);
      isOver = true;
      await Promise.all(load);
      assert.ok(reads > 0);
      const { versions } = await two.keys.view();
      assert.deepEqual(versions.map(({ version }) => version)[0], 2);
      assert.ok((versions[0]?.secrets ?? 0) >= LOADED);
    });

    test('a node with a lost, older or other key file does not start, and names the version that it needs', async () => {
      const { ring } = await node();
      const version = await ring.current();
      const starts = (key: string) => node({ key });
      const lost = join(root, 'lost.json');
      await assert.rejects(
        starts(lost),
        refused('invalid_config', new RegExp(`key version ${version} is missing from the key file .*lost\\.json`)),
      );
      await assert.rejects(readFile(lost), /ENOENT/, 'no new key replaces it');
      const other = join(root, 'other.json');
      for (let n = 0; n < version; n += 1) await addKeyVersion(other, clock.now());
      await assert.rejects(
        starts(other),
        refused('invalid_config', new RegExp(`key version ${version} is another key in the key file .*other\\.json`)),
      );
      const open = join(root, 'open.json');
      await writeFile(open, await readFile(keyFile), { mode: 0o644 });
      await assert.rejects(starts(open), refused('invalid_config', /open\.json: the mode of the file must be 0600/));
    });
  });
}

interface Row {
  readonly current: { readonly value_id: string };
}
