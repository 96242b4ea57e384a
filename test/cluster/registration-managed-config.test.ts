import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { createManagedConfig, type ManagedConfig } from '../../cluster/registration/managed-config.ts';
import { withVersion } from '../../manifests/node/managed.ts';
import { SvcError } from '../../runtime/errors.ts';

let directory = '';
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'svc-managed-'));
});
afterEach(async () => {
  await rm(directory, { recursive: true });
});

interface Settings {
  tags: readonly string[] | null;
  level: string | null;
  isolation: string | null;
}

class Setup {
  readonly settings: Settings = { tags: null, level: null, isolation: null };
  readonly warnings: string[] = [];
  providers: readonly string[] = [];
  sets = 0;
  levelFails = false;
  readonly config: ManagedConfig;

  constructor(path = join(directory, 'managed-config.yaml')) {
    this.config = createManagedConfig({
      nodeId: 'worker-1',
      path,
      setTags: (tags) => {
        this.sets += 1;
        this.settings.tags = tags;
      },
      setLogLevel: async (level) => {
        if (this.levelFails && level !== null) throw new SvcError('invalid_argument', 'this node logs nowhere');
        this.settings.level = level;
      },
      setDefaultIsolation: (isolation) => {
        if (isolation === 'firecracker') throw new SvcError('unsupported_isolation', 'no firecracker here');
        this.settings.isolation = isolation;
      },
      setProviders: (providers) => {
        this.providers = providers.map(({ name }) => name);
      },
      warn: (message, error) => this.warnings.push(`${message}: ${String(error)}`),
    });
  }
}

const FULL = `apiVersion: svc.dev/v1
kind: ManagedConfig
spec:
  nodes:
    worker-1: {tags: [gpu, "zone:eu"]}
    worker-2: {tags: [cpu]}
  observability: {logging: {level: debug}}
  runtime: {default_isolation: docker}
`;
const LEVEL_ONLY = FULL.replace(/ {2}nodes:[\s\S]*?(?= {2}observability)/, '').replace(/ {2}runtime:.*\n/, '');

test('a configuration takes effect on this node, and settings that it does not name return to the node’s own', async () => {
  const { config, settings } = new Setup();
  assert.deepEqual(await config.apply(FULL), { accepted: true });
  assert.deepEqual(settings, { tags: ['gpu', 'zone:eu'], level: 'debug', isolation: 'docker' });
  assert.deepEqual(await config.apply(LEVEL_ONLY), { accepted: true });
  assert.deepEqual(settings, { tags: null, level: 'debug', isolation: null });
  assert.deepEqual(await config.apply(''), { accepted: true });
  assert.deepEqual(settings, { tags: null, level: null, isolation: null });
});

test('the same configuration again changes nothing, also when both arrive at once', async () => {
  const setup = new Setup();
  await Promise.all([setup.config.apply(FULL), setup.config.apply(FULL)]);
  await setup.config.apply(FULL);
  assert.equal(setup.sets, 1);
});

test('an invalid configuration is rejected with the place and the rule, and the former one stays in force', async () => {
  const { config, settings } = new Setup();
  await config.apply(FULL);
  const hash = config.hash();
  const unknown = await config.apply(FULL.replace('spec:\n', 'spec:\n  stores: {data_dir: /x}\n'));
  assert.ok(!unknown.accepted);
  assert.match(unknown.reason, /spec.*line \d+.*"stores".*controllers do not manage it/);
  const bad = await config.apply(FULL.replace('debug', 'loud'));
  assert.ok(!bad.accepted);
  assert.match(bad.reason, /spec\.observability\.logging\.level \(line 7\)/);
  assert.deepEqual(settings, { tags: ['gpu', 'zone:eu'], level: 'debug', isolation: 'docker' });
  assert.equal(config.hash(), hash);
});

test('a configuration that one part of the node cannot apply leaves all parts unchanged', async () => {
  const setup = new Setup();
  await setup.config.apply(LEVEL_ONLY);
  const refused = await setup.config.apply(FULL.replace('docker', 'firecracker'));
  assert.deepEqual(refused, { accepted: false, reason: 'no firecracker here' });
  setup.levelFails = true;
  const again = await setup.config.apply(FULL.replace('debug', 'warn'));
  assert.deepEqual(again, { accepted: false, reason: 'this node logs nowhere' });
  assert.deepEqual([setup.settings.tags, setup.settings.isolation], [null, null]);
});

test('a restart begins with the last accepted configuration', async () => {
  const first = new Setup();
  await first.config.apply(FULL);
  await first.config.apply('kind: Nonsense');
  const second = new Setup();
  await second.config.restore();
  assert.deepEqual(second.settings, { tags: ['gpu', 'zone:eu'], level: 'debug', isolation: 'docker' });
  assert.equal(second.config.hash(), first.config.hash());
  assert.deepEqual(await readdir(directory), ['managed-config.yaml'], 'no draft stays behind');
});

test('a first start, and a stored configuration that is no longer valid, use the node’s own settings', async () => {
  const first = new Setup();
  await first.config.restore();
  assert.deepEqual([first.warnings, first.config.hash()], [[], null]);
  await writeFile(join(directory, 'managed-config.yaml'), Buffer.from([0xff, 0xfe, 0x00]));
  const second = new Setup();
  await second.config.restore();
  assert.match(second.warnings.join(), /cannot be read/);
  await writeFile(join(directory, 'managed-config.yaml'), FULL.replace('debug', 'of an older version'));
  const third = new Setup();
  await third.config.restore();
  assert.match(third.warnings.join(), /is ignored.*logging\.level/);
  assert.deepEqual(third.settings, { tags: null, level: null, isolation: null });
});

test('a configuration that cannot be stored is not applied, and the old one stays on disk', async () => {
  const path = join(directory, 'managed-config.yaml');
  const { config, settings } = new Setup(path);
  await config.apply(LEVEL_ONLY);
  // The path of the draft is a directory.
  await mkdir(`${path}.new`);
  await assert.rejects(config.apply(FULL), /cannot be written to the data directory/);
  assert.deepEqual(settings, { tags: null, level: 'debug', isolation: null });
  assert.equal(await readFile(path, 'utf8'), LEVEL_ONLY);
  await rm(`${path}.new`, { recursive: true });
  assert.deepEqual(await config.apply(FULL), { accepted: true });
});

const LATER = FULL.replace('debug', 'warn');

test('a version that does not increase is rejected, after a restart too', async () => {
  const { config, settings } = new Setup();
  assert.deepEqual(await config.apply(withVersion(FULL, 5)), { accepted: true });
  assert.deepEqual(await config.apply(withVersion(LATER, 6)), { accepted: true });
  const again = new Setup();
  await again.config.restore();
  assert.equal(again.settings.level, 'warn');
  for (const setup of [{ config, settings }, again]) {
    for (const yaml of [withVersion(FULL, 5), withVersion(FULL, 6), FULL, '']) {
      const verdict = await setup.config.apply(yaml);
      assert.ok(!verdict.accepted, yaml);
      assert.match(verdict.reason, /version: expected more than 6, which is in force, got (5|6|none)/);
    }
    assert.equal(setup.settings.level, 'warn');
    // The current configuration again is no change.
    assert.deepEqual(await setup.config.apply(withVersion(LATER, 6)), { accepted: true });
  }
  assert.deepEqual(await config.apply(withVersion(FULL, 7)), { accepted: true });
  assert.equal(settings.level, 'debug');
});

test('configurations without a version replace each other until one has a version', async () => {
  const { config } = new Setup();
  for (const yaml of [FULL, LATER, FULL]) assert.deepEqual(await config.apply(yaml), { accepted: true });
  assert.equal(await readFile(join(directory, 'managed-config.yaml'), 'utf8'), FULL);
  assert.deepEqual(await config.apply(withVersion(LATER, 1)), { accepted: true });
  assert.ok(!(await config.apply(FULL)).accepted);
});
