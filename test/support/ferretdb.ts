import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { access, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './free-port.ts';
import { isListening, ServerProcess } from './server-process.ts';

const run = promisify(execFile);
const SOURCE = join(import.meta.dirname, 'ferretdb');
const CACHE = join(import.meta.dirname, '..', '..', '.cache');
const BUILD_TIMEOUT_MS = 600_000;
const START_TIMEOUT_MS = 20_000;

/** A MongoDB-wire server of a test run. */
export interface TestMongo {
  readonly uri: string;
  /** True when the server is the one `MONGODB_URI` names: tests must not kill or restart it. */
  readonly external: boolean;
  /** Where its SQLite files are; null for an external one. */
  readonly directory: string | null;
  /** Ends the server and removes its data. */
  stop(): Promise<void>;
  /** SIGKILL; keeps the data. */
  kill(): Promise<void>;
  /** Starts it again on the same port and data, killing it first when it runs. */
  restart(): Promise<void>;
}

/**
 * Why no MongoDB-wire server can be had, for `test(…, { skip })`: false when one can. In CI it throws instead, so that
 * a green run never means that these tests did not run.
 */
export function mongoMissing(): string | false {
  if (process.env.MONGODB_URI !== undefined) return false;
  if (hasGo()) return false;
  const reason = 'no MongoDB-wire server: install Go (FerretDB is built from its module) or set MONGODB_URI';
  if (process.env.CI === 'true') throw new Error(reason);
  process.stderr.write(`SKIPPED: ${reason}\n`);
  return reason;
}

const hasGo = (): boolean => (process.env.PATH ?? '').split(':').some((directory) => existsSync(join(directory, 'go')));

/**
 * Builds the server ahead of a run of many files. It takes a minute of all processors where nothing is built yet: tests
 * that all began it at the same time took several, and ran into their time-outs.
 */
export async function buildMongo(): Promise<void> {
  if (process.env.MONGODB_URI === undefined && hasGo()) await build();
}

/** A server of its own on a free loopback port with a private directory, or the one `MONGODB_URI` names. */
export async function startMongo(): Promise<TestMongo> {
  const given = process.env.MONGODB_URI;
  if (given !== undefined) return external(given);
  const program = await build();
  const directory = await mkdtemp(join(tmpdir(), 'svc-ferretdb-'));
  const port = await freePort();
  let server = await launch(program, port, directory);
  return {
    uri: `mongodb://127.0.0.1:${port}/?directConnection=true`,
    external: false,
    directory,
    kill: () => server.end(),
    async restart() {
      await server.end();
      server = await launch(program, port, directory);
    },
    async stop() {
      await server.end();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function external(uri: string): TestMongo {
  const refuse = () => Promise.reject(new Error('the server of MONGODB_URI is not ours to kill or restart'));
  return { uri, external: true, directory: null, stop: () => Promise.resolve(), kill: refuse, restart: refuse };
}

/** Builds once per version of the source; test files that are run alone may build at the same time, the rename is atomic. */
async function build(): Promise<string> {
  const hash = createHash('sha256');
  for (const name of ['main.go', 'ids.go', 'go.mod', 'go.sum']) hash.update(await readFile(join(SOURCE, name)));
  const program = join(CACHE, `ferretdb-${hash.digest('hex').slice(0, 16)}`);
  const isBuilt = await access(program).then(
    () => true,
    () => false,
  );
  if (isBuilt) return program;
  await mkdir(CACHE, { recursive: true });
  const temporary = `${program}.${process.pid}`;
  await run('go', ['build', '-trimpath', '-o', temporary, '.'], { cwd: SOURCE, timeout: BUILD_TIMEOUT_MS });
  await rename(temporary, program);
  return program;
}

/** The server ends with this process, since it watches the pipe on its standard input. */
async function launch(program: string, port: number, directory: string): Promise<ServerProcess> {
  const server = new ServerProcess('FerretDB', program, [`127.0.0.1:${port}`, directory], {
    // Of its small heap every fifth of its processor time would go to collecting garbage.
    env: { ...process.env, GOGC: '400' },
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  await server.serves(() => isListening(port), START_TIMEOUT_MS);
  return server;
}
