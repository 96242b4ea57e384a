import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { chown, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ContainerScript, createScriptContainerEffect } from '../../../effects/agents/script-container.ts';
import { ScriptResult } from '../../../manifests/agent/workspace-checks.ts';
import { addressOf } from '../../../runtime/address.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { createSecurityContexts } from '../../../security/policy/contexts.ts';
import { commandCeilings } from '../../../security/policy/matching.ts';
import { createToolPolicy } from '../../../security/policy/policy.ts';
import { TOOL_CONTRACTS } from '../../../tools/contracts.ts';
import { createScriptRules } from '../../../tools/validation/script-rules.ts';
import { effectContext } from '../../support/effect-context.ts';
import { NEEDS_PODMAN } from '../../support/podman.ts';
import { TENANT } from '../../support/podman-containers.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { AGENT, type AgentUnderTest, agentUnderTest, loop, TOKEN } from './agent-under-test.ts';

const CEILINGS = commandCeilings([]);

const rules = createScriptRules({
  contexts: createSecurityContexts([
    { name: 'denying', deny_list: ['cmd.run'], capabilities: [{ tool_pattern: '*' }] },
  ]),
  policy: createToolPolicy({ contracts: TOOL_CONTRACTS, ceilings: CEILINGS }),
  ceilings: CEILINGS,
});

interface More {
  readonly path?: string;
  readonly input?: string;
  readonly timeoutMs?: number;
  readonly context?: string;
  readonly container?: object;
  readonly given?: object;
}

describe('the script of a validator in a container', NEEDS_PODMAN, () => {
  let at: AgentUnderTest;
  before(async () => {
    at = await agentUnderTest();
  });
  after(async () => {
    await at[Symbol.asyncDispose]();
  });

  /** A workspace with an executable `check.sh`. */
  async function workspace(text: string, mode = 0o755): Promise<string> {
    const id = randomUUID();
    const directory = at.setup.volume(id);
    await mkdir(directory, { recursive: true });
    await chown(directory, 1_000, 1_000);
    await writeFile(join(directory, 'check.sh'), `#!/bin/sh\n${text}\n`, { mode });
    return id;
  }

  function run(execution: string, more: More = {}): Promise<ScriptResult> {
    const { path = '/workspace/check.sh', input = '', timeoutMs = 30_000, context, container, given } = more;
    const parts = at.parts(loop([]).gateway);
    const config = { timeout_ceiling_secs: timeoutMs / 1_000, subcommand_allowlist: { [path]: [] } };
    const request = ContainerScript.parse({
      ...{ path, input, timeout_ms: timeoutMs },
      grant: {
        ...(context === undefined ? {} : { security_context: context }),
        manifest: [{ name: 'cmd.run', executor: 'builtin:cmd', config }],
        ...{ network: null, filesystem: null },
      },
      subject: {
        ...{ execution_id: execution, agent_id: AGENT, session_id: execution, isolation: 'docker' },
        principal: { kind: 'operator', subject: 'ada', roles: [], tier: 'pro' },
        mounts: [{ volume_id: execution, mount_path: '/workspace', read_only: false, create: true }],
      },
      container: { limits: {}, ...container },
    });
    const effect = createScriptContainerEffect({ ...parts, rules });
    const address = addressOf('execution', TENANT, execution);
    return effect
      .run(request, effectContext({ tenant: TENANT, address, ...given }))
      .then((value) => ScriptResult.parse(value));
  }

  test('a script reads the output on its standard input in the workspace, without network and without variables of the agent', async () => {
    const id = await workspace(
      'cat > given; pwd; id -u; ls /sys/class/net; env | grep -c -E "ORCHESTRATOR|TOKEN|MODEL"; touch /svc/output; exit 3',
    );
    const input = `${'ü'.repeat(300_000)}\nthe end`;
    const end = await run(id, { input });
    assert.ok(end.status === 'ended', JSON.stringify(end));
    assert.equal(end.exit_code, 3);
    assert.match(end.output, /^\/workspace\n1000\nlo\n0\ntouch: /);
    assert.ok(!end.output.includes(TOKEN));
    assert.equal(await readFile(join(at.setup.volume(id), 'given'), 'utf8'), input);
    assert.deepEqual(await readdir(at.boxes), [], 'its input is removed');
  });

  test('a script may be a program of the image, and under read_only it writes only to /tmp', async () => {
    const id = await workspace('exit 0');
    const end = await run(id, { path: '/bin/cat', input: 'as it was given' });
    assert.deepEqual(end.status === 'ended' && [end.exit_code, end.output], [0, 'as it was given']);
    const writing = await workspace('touch /workspace/made; touch /made; touch /tmp/made && echo made in /tmp');
    const held = await run(writing, { container: { limits: {}, read_only: true } });
    assert.ok(held.status === 'ended');
    assert.match(held.output, /made in \/tmp/);
    assert.equal(held.output.match(/Read-only file system/g)?.length, 2, held.output);
  });

  test('a script that does not exist or is not executable is a result with the reason', async () => {
    const id = await workspace('exit 0', 0o644);
    assert.deepEqual(await run(id, { path: '/workspace/none.sh' }), {
      status: 'not_started',
      reason: '/workspace/none.sh does not exist',
    });
    assert.deepEqual(await run(id), {
      status: 'not_started',
      reason: '/workspace/check.sh is not an executable file (chmod +x)',
    });
    const exits = await workspace('echo as if >&2; exit 127');
    const end = await run(exits);
    assert.deepEqual(end.status === 'ended' && [end.exit_code, end.output], [127, 'as if']);
  });

  test('a script over its timeout or memory is ended, and the result names the limit', async () => {
    const slow = await workspace('trap "" TERM; echo began; sleep 60');
    const late = await run(slow, { timeoutMs: 1_500 });
    assert.deepEqual(late.status === 'ended' && [late.stopped_by, late.output], ['timeout', 'began']);
    const big = await workspace('x=$(head -c 100000000 /dev/zero | tr "\\0" x); echo no');
    const killed = await run(big, { container: { limits: { memory_bytes: 32 * 1_048_576 } } });
    assert.equal(killed.status === 'ended' && killed.stopped_by, 'memory');
  });

  test('the deny list of the security context applies before a container is made', async () => {
    const id = await workspace('touch /workspace/ran');
    await assert.rejects(run(id, { context: 'denying' }), { code: 'forbidden', message: /^ToolExplicitlyDenied/ });
    assert.deepEqual(await readdir(at.setup.volume(id)), ['check.sh']);
  });

  test('another attempt adopts the running container, and the script runs once', async () => {
    const id = await workspace('cat >> runs; while [ ! -e go ]; do sleep 0.1; done; echo went; exit 4');
    const effectId = randomUUID();
    const lost = new AbortController();
    const first = run(id, { input: 'once', given: { effectId, signal: lost.signal } }).catch((error: unknown) => error);
    const runs = join(at.setup.volume(id), 'runs');
    await waitUntil('the script to run', async () => (await readFile(runs, 'utf8').catch(() => '')) === 'once');
    lost.abort(new SvcError('lease_lost'));
    assert.ok((await first) instanceof SvcError);
    const second = run(id, { input: 'once', given: { effectId, attempt: 2 } });
    await writeFile(join(at.setup.volume(id), 'go'), '');
    const end = await second;
    assert.deepEqual(end.status === 'ended' && [end.exit_code, end.output], [4, 'went']);
    assert.equal(await readFile(runs, 'utf8'), 'once');
  });
});
