import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { BUSYBOX, NEEDS_PODMAN, TestPodman } from '../support/podman.ts';
import { someOf } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';
import { agentYaml, ProductNode } from './product-node.ts';

/** Command of every state: it works with the files of earlier states, also those that only their owner may read. */
const WORK =
  'set -e; umask 077; cd /workspace; mkdir -p own; echo "$(id -u)" >> own/who; mv own/who own/moved; mv own/moved own/who; ' +
  '[ ! -e by-tool ] || echo more >> by-tool; mkdir own/made; rmdir own/made; echo worked >> log';

const COMMAND = { name: 'cmd.run', arguments: { command: 'sh', args: ['-c', WORK] } };

/**
 * Writes more than the volume can store, between two lines of output, and removes the file so that the next state has
 * space.
 */
const FILL = 'cd /workspace; echo begun; dd if=/dev/zero of=big bs=1M count=20; echo "ended with $?"; rm big';

const RULES = [
  {
    match: { contains: 'fill', round: 1 },
    reply: { tool_calls: [{ name: 'cmd.run', arguments: { command: 'sh', args: ['-c', FILL] } }] },
  },
  { match: { contains: 'fill', tool_contains: ['begun', 'No space left', 'ended with 1'] }, reply: 'it was full' },
  { match: { contains: 'fill' }, reply: 'it was not full' },
  {
    match: { round: 1 },
    reply: {
      tool_calls: [COMMAND, { name: 'fs.write', arguments: { path: '/workspace/by-tool', content: 'by a tool' } }],
    },
  },
  { match: { tool_contains: 'error' }, reply: { error: { status: 400, message: 'a tool failed' } } },
  { reply: 'done' },
];

const WORKER = agentYaml('worker', {
  runtime: { image: BUSYBOX },
  tools: ['fs.*', { name: 'cmd.run', executor: 'builtin:cmd', config: { subcommand_allowlist: { sh: ['-c'] } } }],
});

const KINDS: Readonly<Record<string, object>> = {
  S: { kind: 'System', command: WORK },
  C: { kind: 'ContainerRun', image: BUSYBOX, image_pull_policy: 'Never', command: [WORK], shell: true },
  P: { kind: 'Agent', agent: 'worker', input: 'work', isolation: 'process' },
  D: { kind: 'Agent', agent: 'worker', input: 'work', isolation: 'docker' },
};

const MOUNTS = existsSync('/dev/loop-control') ? {} : { skip: 'ENOSPC OF IMAGES NOT TESTED: no loop devices here' };

const NOT_ROOT = { uid: 2001, gid: 2002 };

/** Each kind follows each other kind once. */
const WAY = 'SCSPSDCPCDPDS';

const BASE = { apiVersion: 'svc.dev/v1', kind: 'Workflow' };

const workflow = (name: string, way: string, storage: object = {}): string => {
  const states = [...way].map((kind, at) => {
    const transitions = at + 1 < way.length ? [{ condition: 'on_success', target: `${way[at + 1]}${at + 1}` }] : [];
    return [`${kind}${at}`, { ...KINDS[kind], transitions }];
  });
  return stringify({
    ...BASE,
    metadata: { name, version: '1.0.0' },
    spec: { initial_state: `${way[0]}0`, storage, states: Object.fromEntries(states) },
  });
};

/** Volumes that are file systems stay mounted when their node is gone. */
async function unmount(directory: string): Promise<void> {
  const mounts = (await readFile('/proc/mounts', 'utf8')).split('\n').map((line) => line.split(' ')[1] ?? '');
  for (const path of mounts.filter((one) => one.startsWith(directory)))
    await promisify(execFile)('umount', ['--lazy', path]);
}

describe('the workspace of a run is one for all kinds of states', NEEDS_PODMAN, () => {
  const opened = new AsyncDisposableStack();
  let podman: TestPodman;
  before(async () => {
    podman = opened.use(await TestPodman.start({ own: true }));
  });
  after(() => opened.disposeAsync());

  const start = async (
    containers: object,
    user?: { uid: number; gid: number },
    more: object = {},
  ): Promise<ProductNode> => {
    const runtime = { container_socket_path: podman.socketPath, containers };
    if (user !== undefined) {
      await chmod(podman.directory, 0o711);
      await chmod(podman.socketPath, 0o666);
    }
    const node = await ProductNode.start({
      ...{ rules: RULES, spec: { runtime, ...more } },
      ...(user === undefined ? {} : { user, env: { HOME: podman.directory } }),
    });
    const deployed = await node.call('POST', '/v1/agents', {
      body: WORKER,
      headers: { 'content-type': 'application/yaml' },
    });
    assert.equal(deployed.status, 200, deployed.text);
    return node;
  };

  const end = async (node: ProductNode, manifest: string, name: string) => {
    const headers = { 'content-type': 'application/yaml' };
    const deployed = await node.call('POST', '/v1/workflows', { body: manifest, headers });
    assert.equal(deployed.status, 200, deployed.text);
    const { body } = await node.json('POST', `/v1/workflows/${name}/run`, {});
    const path = `/v1/workflows/executions/${String(body.execution_id)}`;
    const ended = await waitUntil(
      `${name} to end`,
      async () => {
        const run = await node.call('GET', path);
        return run.body.ended_at === null ? undefined : run;
      },
      90_000,
    );
    assert.equal(ended.body.outcome, 'succeeded', ended.text);
    return String(body.execution_id);
  };

  const content = async (node: ProductNode, volume: string, path: string): Promise<string> =>
    (await node.call('GET', `/v1/volumes/${volume}/files/content?path=${path}`)).text;

  const nodes = [
    ['a node of root and with the user of the image', {}, WAY, undefined],
    ['a node of root and with the user of the setting', { user: '2001:2002' }, 'CSDPCDS', undefined],
    ['a node that is not root, whose user the setting names', { user: '2001:2002' }, 'CSDPC', NOT_ROOT],
  ] as const;
  for (const [what, containers, way, user] of someOf(nodes, 3))
    test(`each reads and writes the files of each other kind, on ${what}`, async () => {
      await using node = await start(containers, user);
      const id = await end(node, workflow('all-kinds', way), 'all-kinds');
      assert.equal(await content(node, id, 'log'), 'worked\n'.repeat(way.length));
      assert.equal(await content(node, id, 'by-tool'), 'by a toolmore\n');
      const users = (await content(node, id, 'own/who')).trim().split('\n');
      // In the sandbox of a node that is not root its user is 1000.
      const others = user === undefined ? [] : ['1000'];
      const expected = 'user' in containers ? [...others, '2001'] : ['0', '1000'];
      assert.deepEqual([...new Set(users)].sort(), expected);
    });

  test(
    'where the node may mount, each kind of state that fills the volume gets ENOSPC and keeps what it printed',
    MOUNTS,
    async () => {
      await using node = await start({}, undefined, { storage: { local_host: { quota: 'image' } } });
      await using mounts = new AsyncDisposableStack();
      mounts.defer(() => unmount(node.directory));
      const storage = { workspace: { storage_class: 'ephemeral', size_limit_mb: 4 } };
      const fill: Readonly<Record<string, object>> = {
        S: { ...KINDS.S, command: FILL },
        C: { ...KINDS.C, command: [FILL] },
        P: { ...KINDS.P, input: 'fill' },
        D: { ...KINDS.D, input: 'fill' },
      };
      const way = Object.keys(fill);
      const states = Object.fromEntries(
        way.map((kind, at) => {
          const target = way[at + 1];
          return [kind, { ...fill[kind], transitions: target === undefined ? [] : [{ target }] }];
        }),
      );
      const metadata = { name: 'fills', version: '1.0.0' };
      const id = await end(
        node,
        stringify({ ...BASE, metadata, spec: { initial_state: 'S', storage, states } }),
        'fills',
      );
      const { body } = await node.call('GET', `/v1/workflows/executions/${id}`);
      const outputs = Object(body.state_outputs);
      for (const kind of ['S', 'C']) {
        const { stdout, stderr, exit_code } = outputs[kind].output;
        assert.deepEqual([stdout, exit_code], ['begun\nended with 1\n', 0], kind);
        assert.match(stderr, /No space left on device/, kind);
      }
      assert.deepEqual([outputs.P.output, outputs.D.output], ['it was full', 'it was full']);
    },
  );

  test('a shared volume without a workspace of its own does not change the workspace, which exists before the first state', async () => {
    await using node = await start({});
    const storage = { shared_volumes: [{ name: 'cache', storage_class: 'ephemeral' }] };
    const id = await end(node, workflow('with-cache', 'SC', storage), 'with-cache');
    assert.equal(await content(node, id, 'log'), 'worked\n'.repeat(2));
    const command = ['wc -c < in/long > size; cat size'];
    const files = { 'in/long': '{{blackboard.long}}' };
    const states = {
      MAKE: { kind: 'System', command: 'head -c 300000 /dev/zero | tr "\\0" x', transitions: [{ target: 'KEEP' }] },
      KEEP: {
        kind: 'System',
        command: 'update_blackboard',
        env: { long: '{{MAKE.output.stdout}}' },
        transitions: [{ target: 'READ' }],
      },
      READ: { ...KINDS.C, command, files, transitions: [] },
    };
    const long = await end(
      node,
      stringify({ ...BASE, metadata: { name: 'long', version: '1.0.0' }, spec: { initial_state: 'MAKE', states } }),
      'long',
    );
    assert.equal(await content(node, long, 'size'), '300000\n');
    const shown = await node.call('GET', `/v1/volumes/${id}`);
    assert.equal(shown.status, 200);
  });
});
