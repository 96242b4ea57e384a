import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { inspect } from 'node:util';
import { SvcError } from '../../../runtime/errors.ts';
import { freePort } from '../../support/free-port.ts';
import { BUSYBOX, NEEDS_PODMAN, TestPodman } from '../../support/podman.ts';
import { LIMITS, type PodmanUnderTest, podmanUnderTest, sh } from '../../support/podman-containers.ts';
import { ServerProcess } from '../../support/server-process.ts';

const REGISTRY_USER = 'svc';
const REGISTRY_PASSWORD = 'hunter2-registry';
/** bcrypt of the password, as `htpasswd -B` writes it. */
const HTPASSWD = `${REGISTRY_USER}:$2y$05$m6ASn1s4wFpfX9urtRTIZOqWkiKEaFDKZjecq5E80sLSzlAT0HjsC\n`;

const installed = (process.env.PATH ?? '').split(':').some((path) => existsSync(join(path, 'docker-registry')));

/** As `NEEDS_PODMAN`, for tests that pull from a private registry. */
const NEEDS_REGISTRY: { readonly skip?: string } =
  installed || process.env.CI !== undefined
    ? NEEDS_PODMAN
    : { skip: 'PRIVATE REGISTRY NOT TESTED: docker-registry is not installed (apt-get install docker-registry)' };
if (NEEDS_REGISTRY.skip !== undefined) console.error(NEEDS_REGISTRY.skip);

interface TestRegistry extends AsyncDisposable {
  /** `127.0.0.1:port`. */
  readonly host: string;
}

/** Debian's docker-registry on loopback, plain HTTP, closed to all but one user. */
async function startRegistry(): Promise<TestRegistry> {
  if (!installed) throw new Error('this test needs docker-registry (apt-get install docker-registry)');
  const directory = await mkdtemp(join(tmpdir(), 'svc-registry-'));
  const host = `127.0.0.1:${await freePort()}`;
  const at = (name: string) => join(directory, name);
  await writeFile(at('htpasswd'), HTPASSWD);
  const storage = `storage: {filesystem: {rootdirectory: ${at('data')}}}`;
  const auth = `auth: {htpasswd: {realm: svc, path: ${at('htpasswd')}}}`;
  await writeFile(at('config.yml'), `version: 0.1\n${storage}\n${auth}\nhttp: {addr: '${host}'}\n`);
  const server = new ServerProcess('docker-registry', 'docker-registry', ['serve', at('config.yml')]);
  // It asks for credentials.
  await server.serves(async () => (await fetch(`http://${host}/v2/`).catch(() => null))?.status === 401);
  return {
    host,
    async [Symbol.asyncDispose]() {
      await server.end();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

const SECRETS: Readonly<Record<string, string>> = {
  'secret:registry/json': JSON.stringify({ username: REGISTRY_USER, password: REGISTRY_PASSWORD }),
  'secret:registry/plain': `${REGISTRY_USER}:${REGISTRY_PASSWORD}\n`,
  'secret:registry/wrong': `${REGISTRY_USER}:not-${REGISTRY_PASSWORD}`,
  'secret:registry/nonsense': 'neither-of-both-f00',
};
const BASE64 = Buffer.from(`${REGISTRY_USER}:${REGISTRY_PASSWORD}`).toString('base64');

describe('private registries', NEEDS_REGISTRY, () => {
  let registry: TestRegistry;
  let setup: PodmanUnderTest;
  let image = '';
  before(async () => {
    registry = await startRegistry();
    const podman = await TestPodman.start({ insecureRegistry: registry.host });
    const secrets = {
      async resolve(tenant: string, reference: string) {
        const value = tenant === 'acme' ? SECRETS[reference] : undefined;
        if (value === undefined) throw new SvcError('failed_precondition', `${reference} is not set`);
        return value;
      },
    };
    setup = await podmanUnderTest({ podman, parts: { secrets } });
    image = `${registry.host}/team/app:1`;
    podman.podman('push', '--quiet', '--creds', `${REGISTRY_USER}:${REGISTRY_PASSWORD}`, BUSYBOX, image);
  });
  after(async () => {
    await setup[Symbol.asyncDispose]();
    await registry[Symbol.asyncDispose]();
  });

  const forget = () => {
    setup.podman.podman('rm', '--all', '--force');
    setup.podman.podman('rmi', '--force', image);
  };
  const hidden = (what: unknown) => {
    const text = inspect(what, { depth: 20 });
    for (const one of [REGISTRY_PASSWORD, BASE64, 'neither-of-both']) assert.ok(!text.includes(one), text);
  };

  test('without credentials the image is unavailable, and the reason is the registry’s', async () => {
    await assert.rejects(setup.run({ image }), { code: 'image_unavailable', message: /unauthorized|authentication/i });
  });

  test('wrong or unreadable credentials fail without being shown', async () => {
    for (const [registry_credentials, code] of [
      ['registry/wrong', 'image_unavailable'],
      ['registry/nonsense', 'failed_precondition'],
      ['registry/none', 'failed_precondition'],
      ['env:HOME', 'failed_precondition'],
      ['literal:a:b', 'failed_precondition'],
    ] as const) {
      const error = await setup.run({ image, registry_credentials }).catch((thrown: unknown) => thrown);
      assert.equal(error instanceof SvcError && error.code, code, registry_credentials);
      hidden(error);
    }
    hidden(setup.warnings);
  });

  test('credentials in both forms pull the image, and are not in the container, its labels or its result', async () => {
    for (const registry_credentials of ['registry/json', 'registry/plain']) {
      const effectId = randomUUID();
      const look = 'env; cat /proc/1/cmdline; cat /proc/mounts; find / -xdev -name "*auth*" -type f';
      const result = await setup.run({ image, registry_credentials, ...sh(look) }, { effectId });
      assert.equal(result.exit_code, 0);
      hidden([result, await setup.podman.docker.getContainer(`svc-${effectId}`).inspect()]);
      forget();
    }
  });

  test('the policy decides whether the registry is called', async () => {
    const registry_credentials = 'registry/json';
    await assert.rejects(setup.run({ image, registry_credentials, image_pull_policy: 'Never' }), {
      code: 'image_unavailable',
    });
    await setup.run({ image, registry_credentials });
    // The image is present now: no credentials are needed, unless it must always be pulled.
    assert.equal((await setup.run({ image })).exit_code, 0);
    assert.equal((await setup.run({ image, image_pull_policy: 'Never' })).exit_code, 0);
    await assert.rejects(setup.run({ image, image_pull_policy: 'Always' }), { code: 'image_unavailable' });
    assert.equal((await setup.run({ image, image_pull_policy: 'Always', registry_credentials })).exit_code, 0);
    const strict = { limits: { ...LIMITS, alwaysPull: true } };
    await assert.rejects(setup.runOn(strict, { image }), { code: 'image_unavailable' });
    forget();
  });

  test('the error names a tag that does not exist', async () => {
    const asked = { image: `${registry.host}/team/app:2`, registry_credentials: 'registry/json' };
    await assert.rejects(setup.run(asked), { code: 'image_unavailable', message: /app:2.*(unknown|not found)/s });
  });

  test('a digest selects the image: a moved tag does not change it, and an unknown digest is refused', async () => {
    const registry_credentials = 'registry/json';
    const credentials = ['--creds', `${REGISTRY_USER}:${REGISTRY_PASSWORD}`];
    const push = (from: string): string => {
      const file = join(setup.podman.directory, 'pushed');
      setup.podman.podman(
        'push',
        '--quiet',
        ...credentials,
        '--digestfile',
        file,
        from,
        `${registry.host}/team/pinned:1`,
      );
      return readFileSync(file, 'utf8').trim();
    };
    const first = push(BUSYBOX);
    const changed = `${registry.host}/team/changed:1`;
    setup.podman.podman('tag', BUSYBOX, changed);
    const container = setup.podman.podman('create', changed, 'true').trim();
    setup.podman.podman('commit', '--quiet', '--change', 'ENV MOVED=yes', container, changed);
    const second = push(changed);
    assert.notEqual(first, second);
    forget();
    setup.podman.podman('rmi', '--force', changed);
    const envOf = async (image: string) => {
      const asked = { image, registry_credentials, image_pull_policy: 'Always', ...sh('echo "$MOVED"') } as const;
      return (await setup.run(asked)).stdout.trim();
    };
    const pinned = `${registry.host}/team/pinned`;
    assert.equal(await envOf(`${pinned}@${first}`), '');
    assert.equal(await envOf(`${pinned}:1`), 'yes');
    assert.equal(await envOf(`${pinned}:1@${first}`), '');
    assert.equal(await envOf(`${pinned}@${second}`), 'yes');
    for (const absent of [
      `sha256:${'0'.repeat(64)}`,
      `sha256:${first.slice(7).replace(/^./, (hex) => (hex === '0' ? '1' : '0'))}`,
    ])
      await assert.rejects(setup.run({ image: `${pinned}@${absent}`, registry_credentials }), {
        code: 'image_unavailable',
        message: /unknown|not found/i,
      });
  });

  test('the image of a node has a base with a digest', () => {
    const file = join(import.meta.dirname, '..', '..', '..', 'Containerfile');
    const build = ['build', '--target', 'dependencies', '--isolation', 'chroot', '--network', 'host', '--file', file];
    assert.throws(
      () => setup.podman.podman(...build, '--build-arg', `NODE_IMAGE=${BUSYBOX}`, setup.podman.directory),
      /NODE_IMAGE has no digest: localhost\/svc-test-busybox:1/,
    );
  });
});
