import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { builtProgram } from '../support/built-programs.ts';
import { COMPILED } from '../support/program-options.ts';
import { sandboxFor, skipWithout } from '../support/sandbox.ts';
import { waitUntil } from '../support/wait-until.ts';

const MAIN = join(import.meta.dirname, '..', '..', 'main.ts');
/** Hides bwrap from the node alone: mounts a file over it that cannot be executed. */
const WITHOUT = 'mount --bind /dev/null "$(command -v bwrap)" && exec "$0" "$@"';
const HIDING = ['unshare', '--mount', 'sh', '-c', WITHOUT];
/** Whether this machine has bwrap; without it no node can find one. */
const isInstalled = spawnSync('sh', ['-c', 'command -v bwrap']).status === 0;
const canHide = !isInstalled || process.getuid?.() === 0;

/** Limit on a machine that runs other tests at the same time. */
const STARTS_WITHIN_MS = 60_000;

/** A node that was started with or without bubblewrap in its PATH, and its output until it listened or exited. */
class Started implements AsyncDisposable {
  readonly #child: ChildProcess;
  #text = '';

  constructor(args: readonly string[], isHidden: boolean) {
    const node = [process.execPath, builtProgram(MAIN), '--http-port', '0', '--grpc-port', '0', ...args];
    const [program = '', ...rest] = isHidden && isInstalled ? [...HIDING, ...node] : node;
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, NODE_NO_WARNINGS: '1', ...COMPILED };
    this.#child = spawn(program, rest, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding('utf8').on('data', (chunk: string) => {
        this.#text += chunk;
      });
  }

  /** Null: it exited. */
  async url(): Promise<string | null> {
    const seen = () => {
      const [, url] = /^REST\s+(\S+)/m.exec(this.#text) ?? [];
      return url !== undefined ? { url } : this.#child.exitCode !== null ? { url: null } : null;
    };
    return (await waitUntil('the node listens or ends', seen, STARTS_WITHIN_MS)).url;
  }

  get text(): string {
    return this.#text;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGTERM');
    await once(this.#child, 'exit');
  }
}

const REALM = `iam: {realms: [{slug: acme, kind: tenant, issuer_url: "https://idp.example.com/acme", jwks_uri: "https://idp.example.com/acme/keys", audience: svc}]}`;
const hiding = { skip: canHide ? false : 'hiding bwrap from a node needs root' };
const NONE = /commands and agents' programs run without a sandbox/g;

describe('a node that checks for its sandbox at the start', { timeout: 400_000 }, () => {
  let directory = '';
  let count = 0;
  /** Reason why a node has no sandbox here. */
  let missing = '';
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-walls-start-'));
    ({ reason: missing } = await sandboxFor(directory));
  });
  after(() => rm(directory, { recursive: true, force: true }));

  async function start(spec: string, isHidden: boolean): Promise<Started> {
    count += 1;
    const config = join(directory, `${count}.yaml`);
    await writeFile(config, `apiVersion: svc.dev/v1\nkind: NodeConfig\nmetadata: {name: n}\nspec: {${spec}}\n`);
    return new Started(['--data', join(directory, String(count)), '--config', config], isHidden);
  }

  it('logs nothing about it where there is one', async (t) => {
    if (missing !== '') return skipWithout(t, missing);
    await using node = await start('', false);
    assert.notEqual(await node.url(), null, node.text);
    assert.doesNotMatch(node.text, /sandbox/);
  });

  it('runs without one where the operator is the only caller, and logs it in one line', hiding, async () => {
    await using node = await start('', true);
    assert.notEqual(await node.url(), null, node.text);
    assert.equal(node.text.match(NONE)?.length, 1, node.text);
  });

  for (const [what, spec, text] of [
    ['a sandbox is required', 'runtime: {host_commands: {sandbox: required}}', /a sandbox is required/],
    [
      'a tenant with authentication may run commands',
      `runtime: {host_commands: {allow: [acme]}}, ${REALM}`,
      /authentication is on/,
    ],
    [
      'an MCP server is to be in it',
      `mcp_servers: [{name: out, executable: "true", sandbox: "off"}, {name: s, executable: "true"}], ${REALM}`,
      /spec\.mcp_servers\[1\]\.sandbox is not off/,
    ],
    ['several tenants may', 'runtime: {host_commands: {allow: [acme, globex]}}', /allow names 2 tenants/],
  ] as const)
    it(`does not start without one where ${what}, and names the setting and what to install`, hiding, async () => {
      await using node = await start(spec, true);
      assert.equal(await node.url(), null, node.text);
      assert.match(node.text, text);
      assert.match(node.text, /spec\.runtime\.host_commands\.sandbox: .*bubblewrap/s);
    });
});
