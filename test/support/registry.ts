import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { NEEDS_PODMAN } from './podman.ts';
import { ServerProcess } from './server-process.ts';

export const REGISTRY_USER = 'svc';
export const REGISTRY_PASSWORD = 'hunter2-registry';
/** bcrypt of the password, as `htpasswd -B` writes it. */
const HTPASSWD = `${REGISTRY_USER}:$2y$05$m6ASn1s4wFpfX9urtRTIZOqWkiKEaFDKZjecq5E80sLSzlAT0HjsC\n`;

const installed = (process.env.PATH ?? '').split(':').some((path) => existsSync(join(path, 'docker-registry')));

/** As `NEEDS_PODMAN`, for tests that pull from a private registry. */
export const NEEDS_REGISTRY: { readonly skip?: string } =
  installed || process.env.CI !== undefined
    ? NEEDS_PODMAN
    : { skip: 'PRIVATE REGISTRY NOT TESTED: docker-registry is not installed (apt-get install docker-registry)' };
if (NEEDS_REGISTRY.skip !== undefined) console.error(NEEDS_REGISTRY.skip);

export interface TestRegistry extends AsyncDisposable {
  /** `127.0.0.1:port`. */
  readonly host: string;
}

/** Debian's docker-registry on loopback, plain HTTP, closed to all but one user. */
export async function startRegistry(): Promise<TestRegistry> {
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
