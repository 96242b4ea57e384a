import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, type TestContext, test } from 'node:test';
import { sandboxFor, skipWithout } from '../../support/sandbox.ts';
import { CHOSEN_ESCAPES, SANDBOX_ESCAPES } from './sandbox-escapes.ts';

const SENTINEL = `sentinel-${randomUUID()}`;
const GAINED = new RegExp(`GAINED|${SENTINEL}`);
const PRISONER = join(import.meta.dirname, 'sandbox-prisoner.ts');
/** An ordinary user without files here. */
const OTHER_USER = 64_329;
const isRoot = process.getuid?.() === 0;

const listening = (server: Server, at: string | { readonly port: number; readonly host: string }): Promise<Server> =>
  new Promise((resolve, reject) => server.once('error', reject).listen(at, () => resolve(server)));

describe('escape attempts from the sandbox', {
  timeout: process.env.SVC_ATTACK === 'whole' ? 900_000 : 240_000,
}, () => {
  let directory = '';
  let missing = '';
  let setup: Record<string, string> = {};
  let secret = -1;
  let shared = '';
  const servers: Server[] = [];
  const processes: ChildProcess[] = [];

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-sandbox-'));
    // All users may read: the test is about the sandbox, not about permissions.
    await chmod(directory, 0o755);
    const [data, out] = [join(directory, 'data'), join(directory, 'out')];
    await mkdir(join(data, 'other'), { recursive: true });
    await mkdir(out);
    await chmod(out, 0o777);
    for (const name of ['secret', 'key.pem', 'other/file']) await writeFile(join(data, name), `${SENTINEL}\n`);
    await writeFile(join(directory, 'file'), `${SENTINEL}\n`);
    const marker = `marker-${randomUUID()}`;
    await writeFile(join(directory, marker), '');
    secret = openSync(join(data, 'secret'), 'r');
    const [socket, abstract] = [join(directory, 'socket'), `svc-${randomUUID()}`];
    const server = () => createServer((client) => client.end(`${SENTINEL}\n`));
    const tcp = await listening(server(), { port: 0, host: '127.0.0.1' });
    servers.push(tcp, await listening(server(), socket), await listening(server(), `\0${abstract}`));
    await chmod(socket, 0o777);
    const address = tcp.address();
    shared = /\d+/.exec(execFileSync('ipcmk', ['-M', '4096', '-p', '0644'], { encoding: 'utf8' }))?.[0] ?? '';
    setup = {
      ...{ DATA: data, FILE: join(directory, 'file'), OUT: out, SOCKET: socket, ABSTRACT: abstract, MARKER: marker },
      PORT: String(typeof address === 'object' ? address?.port : ''),
      ...{ MACHINE: hostname(), SHARED: shared },
    };
    const probed = join(directory, 'probed');
    await mkdir(probed);
    ({ reason: missing } = await sandboxFor(probed));
  });
  after(async () => {
    for (const server of servers) server.close();
    for (const child of processes) child.kill('SIGKILL');
    if (shared !== '') execFileSync('ipcrm', ['-m', shared]);
    if (secret >= 0) closeSync(secret);
    await rm(directory, { recursive: true, force: true });
  });

  /** Results of all attempts on a node of this user or of another one. */
  async function said(where: 'inside' | 'outside', uid: number): Promise<ReadonlyMap<string, string>> {
    const workspaces = join(directory, `${where}-${uid}`);
    await mkdir(workspaces);
    if (isRoot) await chown(workspaces, uid, uid);
    const become = uid === process.getuid?.() ? [] : ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
    const start = (command: readonly string[], env: NodeJS.ProcessEnv): ChildProcess => {
      const [program = '', ...args] = [...become, ...command];
      const stdio = ['ignore', 'pipe', 'inherit', ...Array<'ignore'>(6).fill('ignore'), secret] as const;
      const child = spawn(program, args, {
        env: {
          PATH: process.env.PATH,
          SVC_ATTACK: process.env.SVC_ATTACK,
          SVC_TEST_SIZE: process.env.SVC_TEST_SIZE,
          ...env,
        },
        stdio: [...stdio],
        cwd: join(directory, 'data'),
      });
      processes.push(child);
      return child;
    };
    const victim = start(['sleep', '98765'], { SENTINEL });
    const env = { ...setup, PID: String(victim.pid) };
    const prisoner = start([process.execPath, PRISONER, workspaces, String(setup.DATA), where], env);
    assert.ok(prisoner.stdout !== null);
    const lines = (await text(prisoner.stdout)).trim().split('\n');
    victim.kill('SIGKILL');
    const rows = lines.map((line): readonly [string, string] => {
      const { title, said: words } = JSON.parse(line);
      return [String(title), String(words)];
    });
    return new Map(rows);
  }

  /** Root on this machine is available only when the tests run as root. */
  const ORDINARY = isRoot ? OTHER_USER : (process.getuid?.() ?? -1);
  const needsRoot = { skip: isRoot ? false : 'only root can run a node as root' };

  async function nothingGained(t: Pick<TestContext, 'skip'>, uid: number): Promise<void> {
    if (missing !== '') return skipWithout(t, missing);
    const answers = await said('inside', uid);
    assert.equal(answers.size, CHOSEN_ESCAPES.length);
    assert.deepEqual(
      [...answers].filter(([, words]) => GAINED.test(words)),
      [],
    );
  }

  async function gainedWithout(uid: number): Promise<void> {
    const answers = await said('outside', uid);
    const able = CHOSEN_ESCAPES.filter(({ without }) => without === 'user' || (without === 'root' && uid === 0));
    const failed = able.filter(({ title }) => !GAINED.test(answers.get(title) ?? ''));
    assert.deepEqual(
      failed.map(({ title }) => [title, answers.get(title)?.slice(0, 200)]),
      [],
    );
  }

  test('no escape attempt succeeds on a node that runs as root', needsRoot, (t) => nothingGained(t, 0));
  test('without the sandbox the same attempts succeed on a node that runs as root', needsRoot, () => gainedWithout(0));
  test('no escape attempt succeeds on a node that runs as an ordinary user', (t) => nothingGained(t, ORDINARY));
  test('without the sandbox the same attempts succeed for an ordinary user', () => gainedWithout(ORDINARY));

  test('there are at least 200 attempts, each with a unique title', () => {
    assert.ok(SANDBOX_ESCAPES.length >= 200, String(SANDBOX_ESCAPES.length));
    assert.equal(new Set(SANDBOX_ESCAPES.map(({ title }) => title)).size, SANDBOX_ESCAPES.length);
  });
});
