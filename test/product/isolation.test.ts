import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { NEEDS_SANDBOX } from '../support/needs-sandbox.ts';
import { waitUntil } from '../support/wait-until.ts';
import { agentYaml } from './product-node.ts';
import { CALLERS, type CallerName } from './realms.ts';
import { Tenancy } from './tenancy.ts';

/** Prints all it sees; the first of two waits until it is released, so that both run at the same time. */
const PROGRAM = `#!/bin/sh
echo "$SVC_EXECUTION_ID" > mine.txt
env
echo "FILES $(ls -A . | tr '\\n' ' ') TMP $(ls -A "$TMPDIR" | tr '\\n' ' ')"
echo "WHERE $(pwd)"
echo "KEY is $KEY"
echo "HASH $(printf %s "$KEY" | sha256sum)"
touch "$TMPDIR/left"
while [ "$1" = wait ] && [ ! -e go ]; do sleep 0.02; done
exit 0
`;

const SECRETS = { alpha: 'alpha-secret-4711', beta: 'beta-secret-0815' } as const;
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/**
 * What isolation `process` promises: an environment, a directory and secrets of its own, and a sandbox around them
 * (docs/explanation/semantics.md, Isolation); only tenants named in the configuration run any.
 */
describe('two executions of program agents', NEEDS_SANDBOX, () => {
  let tenancy: Tenancy;
  let directory = '';
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-isolation-'));
    await writeFile(join(directory, 'look.sh'), PROGRAM);
    await chmod(join(directory, 'look.sh'), 0o755);
    tenancy = await Tenancy.open({ runtime: { host_commands: { allow: ['alpha', 'beta'] } } });
    for (const [tenant, secret] of Object.entries(SECRETS)) {
      const home = join(tenancy.node.directory, 'data', 'secrets', 'tenants', tenant);
      await mkdir(home, { recursive: true, mode: 0o700 });
      await writeFile(join(home, 'KEY'), secret, { mode: 0o600 });
    }
  });
  after(async () => {
    await tenancy[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  });

  const bootstrap = (): string => join(directory, 'look.sh');

  async function run(caller: CallerName, name: string, input: string, key = 'secret:KEY'): Promise<string> {
    const yaml = agentYaml(name, {
      runtime: { isolation: 'process' },
      env: { KEY: key },
      advanced: { bootstrap_path: bootstrap() },
      execution: { max_iterations: 1 },
    });
    const headers = tenancy.headersOf(caller);
    return tenancy.node.run(await tenancy.node.deploy(yaml, headers), input, headers);
  }

  async function outputOf(caller: CallerName, id: string): Promise<{ status: string; events: string; output: string }> {
    const status = await waitUntil(`execution ${id} has ended`, async () => {
      const seen = await tenancy.node.statusOf(id, tenancy.headersOf(caller));
      return seen.status !== 'running' && seen.status !== 'pending' && seen;
    });
    const events = await tenancy.as(caller, 'GET', `/v1/executions/${id}/events?limit=200`);
    return {
      status: String(status.status),
      events: JSON.stringify(status) + events.text,
      output: String(status.last_output),
    };
  }

  test('share no environment, no workspace and no secret, and no secret is shown', async () => {
    const first = await run('alphaAdmin', 'look', 'wait');
    const workspace = join(tenancy.node.directory, 'data', 'workspaces', 'alpha', first);
    await waitUntil('the first program runs', () => stat(join(workspace, 'mine.txt')).catch(() => null));
    assert.equal((await stat(workspace)).mode & 0o777, 0o700, 'readable for the user of the node only');

    const second = await run('betaAdmin', 'look', 'go');
    const third = await run('alphaAdmin', 'look', 'go');
    const seen = { beta: await outputOf('betaAdmin', second), alpha: await outputOf('alphaAdmin', third) };
    await writeFile(join(workspace, 'go'), '');
    const waited = await outputOf('alphaAdmin', first);

    for (const [id, { status, output, events }] of [
      [second, seen.beta],
      [third, seen.alpha],
      [first, waited],
    ] as const) {
      assert.equal(status, 'completed', events);
      assert.match(output, /FILES \.tmp mine\.txt +TMP *$/m, 'nothing but its own files');
      // Where the node may give a program a mount namespace, its directory is /workspace there.
      assert.match(output, new RegExp(`^WHERE (/workspace|.*/${id})$`, 'm'));
      assert.match(output, new RegExp(`^SVC_EXECUTION_ID=${id}$`, 'm'));
      for (const other of [first, second, third].filter((one) => one !== id)) {
        assert.ok(!events.includes(other), 'nothing of another execution');
      }
      for (const secret of Object.values(SECRETS)) assert.ok(!events.includes(secret), 'a secret is not shown');
    }
    assert.match(seen.beta.output, new RegExp(`HASH ${sha256(SECRETS.beta)}`));
    assert.match(seen.alpha.output, new RegExp(`HASH ${sha256(SECRETS.alpha)}`));
    const names = [...seen.beta.output.matchAll(/^([A-Za-z_0-9]+)=/gm)].map(([, name]) => name);
    // The trace context is that of the run.
    const expected =
      /^(PATH|LANG|HOME|TMPDIR|KEY|PAGER|GIT_[A-Z_0-9]+|PWD|OLDPWD|SHLVL|_|SVC_[A-Z_]+|TRACEPARENT|TRACESTATE)$/;
    assert.deepEqual(
      names.filter((name) => !expected.test(name ?? '')),
      [],
      'nothing of the node’s environment',
    );
  });

  for (const reference of ['secret:../alpha/KEY', 'secret:tenants/alpha/KEY', 'secret:/etc/hostname']) {
    test(`a tenant cannot name the secret of another one as ${reference}`, async () => {
      const started = await run('betaAdmin', 'thief', 'go', reference).catch((error: unknown) => String(error));
      if (started.startsWith('Error')) return assert.match(started, /deploy: 422|start: 4/);
      const { status, events } = await outputOf('betaAdmin', started);
      assert.equal(status, 'failed');
      assert.ok(!events.includes(SECRETS.alpha) && !events.includes(sha256(SECRETS.alpha)), events);
    });
  }

  test('a tenant that is not named in the configuration runs no program at all', async () => {
    const id = await run('operator', 'look', 'go', 'literal:none');
    const { status, events } = await outputOf('operator', id);
    assert.equal(CALLERS.operator.tenant, 'svc-system');
    assert.equal(status, 'failed');
    assert.match(events, /may not run programs on the host/);
  });
});
