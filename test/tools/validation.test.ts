import assert from 'node:assert/strict';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createToolCommands } from '../../effects/commands/tool-commands.ts';
import type { ProgramView } from '../../effects/programs/view.ts';
import { FilesRequest, FilesResult, ScriptRequest, ScriptResult } from '../../manifests/agent/workspace-checks.ts';
import { SvcError, unreachableStore } from '../../runtime/errors.ts';
import { createSecurityContexts } from '../../security/policy/contexts.ts';
import { commandCeilings } from '../../security/policy/matching.ts';
import { filesystemBreach } from '../../security/policy/paths.ts';
import type { FilePorts } from '../../tools/files/places.ts';
import { createFilesEffect } from '../../tools/validation/files-effect.ts';
import { createScriptEffect } from '../../tools/validation/script-effect.ts';
import { createScriptRules } from '../../tools/validation/script-rules.ts';
import { sandboxFor, skipWithout } from '../support/sandbox.ts';
import { TENANT, type ToolsUnderTest, toolContext, toolsUnderTest } from './granted-tools.ts';

const CONTEXTS = createSecurityContexts([
  {
    name: 'narrow',
    deny_list: [],
    capabilities: [
      { tool_pattern: 'fs.*', path_allowlist: ['/workspace/docs/**'] },
      { tool_pattern: 'cmd.run', command_allowlist: ['/workspace/allowed.sh'] },
    ],
  },
  { name: 'denying', deny_list: ['cmd.run'], capabilities: [{ tool_pattern: '*' }] },
]);

const AWAY = new SvcError('unavailable', 'the documents do not answer', { store: 'documents' });

let tools: ToolsUnderTest;
let root: string;
let view: ProgramView | null;
let missing = '';
before(async () => {
  tools = await toolsUnderTest();
  root = await tools.directory();
  const workspaces = join(tools.volumes.directory, 'workspaces');
  await mkdir(workspaces, { recursive: true });
  ({ sandbox: view, reason: missing } = await sandboxFor(workspaces));
});
after(async () => {
  await tools[Symbol.asyncDispose]();
});

const put = async (name: string, content: string | Uint8Array, mode = 0o644): Promise<void> => {
  await mkdir(dirname(join(root, name)), { recursive: true });
  await writeFile(join(root, name), content, { mode });
};

const subjectOf = (more: object = {}): object => ({
  execution_id: tools.execution,
  agent_id: 'agent',
  session_id: tools.execution,
  mounts: [],
  isolation: 'process',
  principal: { kind: 'operator', subject: 'ada', roles: [], tier: 'pro' },
  ...more,
});

const RULES = {
  network: { mode: 'deny', allowlist: [], denylist: [] },
  filesystem: { read: [], write: [], read_only: false },
};

async function failure(work: Promise<unknown>): Promise<string> {
  const thrown: unknown = await work.then(
    (value) => assert.fail(`it was done: ${JSON.stringify(value).slice(0, 200)}`),
    (error: unknown) => error,
  );
  assert.ok(thrown instanceof SvcError, String(thrown));
  return `${thrown.code} ${thrown.message}`;
}

interface MoreOfFiles {
  readonly grant?: object;
  readonly subject?: object;
  readonly ports?: Partial<FilePorts>;
  readonly maxBytes?: number;
}

async function read(paths: readonly string[], { grant, subject, ports, maxBytes = 1_000 }: MoreOfFiles = {}) {
  const { volumes } = tools.volumes;
  const effect = createFilesEffect({
    files: {
      ...{ files: volumes.files, volumes },
      mayTouch: (scope, path, access) =>
        filesystemBreach([{ field: 'path', path, absolute: path, access }], scope) === null,
      ...ports,
    },
    contexts: CONTEXTS,
    policy: tools.policy,
  });
  const request = FilesRequest.parse({
    files: paths.map((path) => ({ path, max_bytes: maxBytes })),
    grant: { manifest: null, ...RULES, ...grant },
    subject: subjectOf(subject),
  });
  const { files } = FilesResult.parse(await effect.run(request, toolContext(tools.execution)));
  return files.map((file) => (file.status === 'read' ? file.text : `! ${file.reason}`));
}

describe('files that a validator looks at', () => {
  test('files are read from the workspace and from the volumes mounted there', async () => {
    await put('report.md', '# Report\n');
    const volume_id = '22222222-2222-4222-8222-222222222222';
    const { directory } = await tools.volumes.volumes.open(TENANT, volume_id, { create: true });
    await writeFile(join(directory, 's.json'), '{}');
    const mounts = [{ volume_id, mount_path: '/workspace/checks', read_only: true, create: false }];
    const subject = { mounts };
    assert.deepEqual(await read(['/workspace/report.md', '/workspace/checks/s.json'], { subject }), [
      '# Report\n',
      '{}',
    ]);
  });

  test('a file that is missing, too large, a directory or not text is a result with the reason', async () => {
    await put('large', 'x'.repeat(1_001));
    await put('binary', Buffer.from([0, 1]));
    await mkdir(join(root, 'directory'), { recursive: true });
    assert.deepEqual(await read(['/workspace/none.md', '/workspace/large']), [
      '! /workspace/none.md does not exist',
      '! /workspace/large has 1001 bytes, at most 1000 are checked',
    ]);
    const [binary, directory] = await read(['/workspace/binary', '/workspace/directory']);
    assert.match(binary ?? '', /^! \/workspace\/binary is not text/);
    assert.match(directory ?? '', /^! \/workspace\/directory/);
  });

  test('a link that leads out of the workspace is not followed', async () => {
    await symlink('/etc/passwd', join(root, 'out'));
    await symlink('/etc', join(root, 'etc'));
    for (const path of ['/workspace/out', '/workspace/etc/passwd'])
      assert.match((await read([path]))[0] ?? '', /^! PathOutsideBoundary: .* leads out of its volume\.$/);
  });

  test('a path outside of the workspace, or against the rules of the agent or its security context, is forbidden', async () => {
    await put('docs/a.md', 'A');
    for (const path of ['/etc/passwd', '/workspace/../etc/passwd'])
      assert.match(await failure(read([path])), /^forbidden Path(OutsideBoundary|TraversalAttempt)/);
    const filesystem = { read: ['/workspace/docs/**'], write: [], read_only: false };
    for (const grant of [{ filesystem }, { security_context: 'narrow' }]) {
      assert.deepEqual(await read(['/workspace/docs/a.md'], { grant }), ['A']);
      assert.match(await failure(read(['/workspace/report.md'], { grant })), /^forbidden PathOutsideBoundary/);
    }
  });

  test('a store of the node that is away is waited for and costs no attempt', async () => {
    const ports = { volumes: { open: () => Promise.reject(AWAY) } };
    const thrown: unknown = await read(['/workspace/report.md'], { ports }).catch((error: unknown) => error);
    assert.equal(unreachableStore(thrown), 'documents');
  });
});

interface MoreOfScripts {
  readonly grant?: object;
  readonly input?: string;
  readonly timeoutMs?: number;
  readonly allow?: boolean;
  readonly ceilings?: Partial<ReturnType<typeof commandCeilings>>;
  readonly over?: ProgramView | null;
  readonly away?: boolean;
}

/** Runs the script as the effect does; `grant` is that of the actor, which allows this script alone. */
async function run(name: string, more: MoreOfScripts = {}): Promise<ScriptResult> {
  const { grant, input = '', timeoutMs = 20_000, allow = true, ceilings, over = view, away = false } = more;
  const path = name.startsWith('/') ? name : `/workspace/${name}`;
  const { volumes } = tools.volumes;
  const commands = createToolCommands({
    volumes: away ? { ...volumes, hold: volumes.hold, open: () => Promise.reject(AWAY) } : volumes,
    ...{ workspaces: join(tools.volumes.directory, 'workspaces'), view: over, killGraceMs: 200, engine: null },
    allow: () => allow,
  });
  const rules = createScriptRules({
    contexts: CONTEXTS,
    policy: tools.policy,
    ceilings: { ...commandCeilings([]), ...ceilings },
  });
  const config = { timeout_ceiling_secs: timeoutMs / 1_000, subcommand_allowlist: { [path]: [] } };
  const request = ScriptRequest.parse({
    ...{ path, input, timeout_ms: timeoutMs },
    grant: { manifest: [{ name: 'cmd.run', executor: 'builtin:cmd', config }], ...RULES, ...grant },
    subject: subjectOf(),
  });
  const effect = createScriptEffect({ commands, rules });
  return ScriptResult.parse(await effect.run(request, toolContext(tools.execution)));
}

const script = (name: string, text: string, mode = 0o755): Promise<void> => put(name, `#!/bin/sh\n${text}\n`, mode);

describe('the script of a validator on this host', () => {
  test('a script reads the output on its standard input in the workspace, and returns its exit code and the end of what it wrote', async () => {
    await script('check.sh', 'cat > given; echo "words to stdout"; echo "words to stderr" >&2; exit 3');
    const input = `${'ü'.repeat(300_000)}\nthe end`;
    assert.deepEqual(await run('check.sh', { input }), {
      ...{ status: 'ended', exit_code: 3, timeout_ms: 20_000 },
      output: 'words to stdout\nwords to stderr',
    });
    await script('compare.sh', 'printf "%s" "$(wc -c < given | tr -d " ")"; pwd >&2');
    const compared = await run('compare.sh');
    assert.ok(compared.status === 'ended' && compared.exit_code === 0);
    assert.match(compared.output, new RegExp(`^${Buffer.byteLength(input)}\n`));
    if (view !== null) assert.match(compared.output, /\n\/workspace$/);
    await script('long.sh', 'i=0; while [ $i -lt 3000 ]; do echo "line $i of many"; i=$((i+1)); done');
    const long = await run('long.sh');
    assert.ok(long.status === 'ended' && long.output.length <= 8_192 && long.output.endsWith('line 2999 of many'));
  });

  test('a script may end without reading its standard input', async () => {
    await script('deaf.sh', 'exit 0');
    for (let times = 0; times < 5; times += 1) {
      const end = await run('deaf.sh', { input: 'x'.repeat(1_000_000) });
      assert.deepEqual([end.status, end.status === 'ended' && end.exit_code], ['ended', 0]);
    }
  });

  test('a script that does not exist, is not executable or has no interpreter is a result with the reason', async () => {
    await script('plain.sh', 'exit 0', 0o644);
    await put('lost.sh', '#!/no/interpreter\n', 0o755);
    const ROWS = [
      ['none.sh', /^\/workspace\/none\.sh does not exist$/],
      ['plain.sh', /plain\.sh is not executable \(chmod \+x\)$/],
      ['lost.sh', /the interpreter \/no\/interpreter of lost\.sh does not exist/],
    ] as const;
    for (const [name, reason] of ROWS) {
      const end = await run(name);
      assert.ok(end.status === 'not_started', JSON.stringify(end));
      assert.match(end.reason, reason);
    }
  });

  test('a script has its own timeout, at most the ceiling of the node, and is ended with all its processes', async () => {
    await script('slow.sh', 'echo began; sleep 60');
    const own = await run('slow.sh', { timeoutMs: 4_000 });
    assert.deepEqual(own.status === 'ended' && [own.stopped_by, own.output, own.timeout_ms], [
      'timeout',
      'began',
      4_000,
    ]);
    const ceiling = await run('slow.sh', { ceilings: { max_timeout_ceiling_secs: 1 } });
    assert.deepEqual(ceiling.status === 'ended' && [ceiling.stopped_by, ceiling.timeout_ms], ['timeout', 1_000]);
  });

  test('host_commands, the deny list and the capabilities of the security context apply to a script as to a command', async () => {
    await script('allowed.sh', 'exit 0');
    assert.match(await failure(run('check.sh', { allow: false })), /^forbidden this tenant may not run commands/);
    assert.match(
      await failure(run('check.sh', { grant: { security_context: 'denying' } })),
      /^forbidden ToolExplicitlyDenied/,
    );
    const grant = { security_context: 'narrow' };
    assert.match(await failure(run('check.sh', { grant })), /^forbidden CommandNotAllowed/);
    assert.equal((await run('allowed.sh', { grant })).status, 'ended');
    assert.match(await failure(run('check.sh', { grant: { manifest: [] } })), /^forbidden ToolNotAllowed/);
    assert.match(await failure(run('/usr/bin/env')), /^invalid_argument command: expected/);
  });

  test('a script runs in the sandbox without network and with read_only enforced; without a sandbox such rules are refused', async (t) => {
    const readOnly = { filesystem: { read: [], write: [], read_only: true } };
    const closed = { network: { mode: 'none', allowlist: [], denylist: [] } };
    for (const grant of [readOnly, closed])
      assert.match(await failure(run('check.sh', { grant, over: null })), /^unsupported_isolation/);
    if (view === null) return skipWithout(t, missing);
    await script('looks.sh', 'cat; ls /sys/class/net; id -u; ls /root; touch /workspace/made && echo made');
    const end = await run('looks.sh', { grant: { ...readOnly, ...closed }, input: 'given\n' });
    assert.ok(end.status === 'ended');
    assert.match(end.output, /^given\n/);
    assert.doesNotMatch(end.output, /eth|^made$/m);
    assert.match(end.output, /Read-only file system/i);
    assert.doesNotMatch(end.output, /^0$/m);
  });

  test('a store of the node that is away is waited for and costs no attempt', async () => {
    const thrown: unknown = await run('check.sh', { away: true }).catch((error: unknown) => error);
    assert.equal(unreachableStore(thrown), 'documents');
  });
});
