import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BUSYBOX, NEEDS_PODMAN } from '../../support/podman.ts';
import { writtenWhole } from '../../support/written-whole.ts';
import { IndependentAgent } from '../seal/independent-agent.ts';
import { restClient } from '../seal/transports.ts';
import { AgentNode, type Members } from './agent-node.ts';
import { PROGRAMS } from './programs.ts';

const IMAGE = 'localhost/svc-test-own-bootstrap:1';
const COMMANDS = { name: 'cmd.run', executor: 'builtin:cmd', config: { subcommand_allowlist: { sh: [] } } };
const sh = (script: string): Members => ({ name: 'cmd.run', arguments: { command: 'sh', args: ['-c', script] } });
const RULES = [
  {
    match: { contains: 'over HTTP', round: 1 },
    reply: { text: '', tool_calls: [sh('ls /sys/class/net | grep -c .')] },
  },
  { match: { tool_contains: '"exit_code":0' }, reply: 'it ran' },
  { reply: 'plain answer' },
];
const BOOTSTRAP = 'effects/agents/bootstrap/bootstrap.sh';
/**
 * A bootstrap of the node that an operator has changed: it identifies itself, and uses HTTP although it has a mailbox.
 */
const MARK = '#!/bin/sh\necho "$SVC_ITERATION" >> /workspace/replaced\nSVC_MAILBOX=/nowhere\n';

/** Values of the node that no agent may see. */
const NODE_ENV = { SVC_TEST_SECRET: 'of-the-node', AWS_SECRET_ACCESS_KEY: 'of-the-node-too' };

/** Every capability token that was seen. */
const tokens: string[] = [];

describe('an agent in a container, on a running node', NEEDS_PODMAN, () => {
  let setup: AgentNode;
  let gateway = '';
  // A proxy in front of the internal address, for containers with a network, since that address is on loopback.
  const front = createServer((inside) => {
    const { port } = new URL(internal);
    const outside = connect(Number(port), '127.0.0.1');
    inside.pipe(outside).pipe(inside);
    for (const socket of [inside, outside]) socket.on('error', () => [inside, outside].map((one) => one.destroy()));
  });
  let internal = '';
  before(async () => {
    const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
    const own = all.find(({ family, address }) => family === 'IPv4' && !address.startsWith('127.'));
    assert.ok(own !== undefined, 'this machine has another address than loopback');
    await new Promise<void>((done) => front.listen(0, own.address, done));
    const address = front.address();
    gateway = `http://${own.address}:${typeof address === 'object' ? address?.port : ''}`;
    setup = await AgentNode.start({
      ...{ rules: RULES, env: NODE_ENV, containers: { agent_network: 'bridge' } },
      programs: { ...PROGRAMS, 'over-http': `${MARK}${await readFile(BOOTSTRAP, 'utf8')}` },
      runtime: (directory) => ({ bootstrap_script: join(directory, 'over-http'), orchestrator_url: gateway }),
    });
    internal = (await setup.node.process.internal).url;
    const { podman } = setup;
    podman.podman('create', '--name', 'making', BUSYBOX, 'true');
    podman.podman('cp', join(setup.node.directory, 'holder'), 'making:/bin/holder');
    podman.podman('cp', join(setup.node.directory, 'in-curl'), 'making:/bin/other');
    podman.podman('commit', 'making', IMAGE);
    podman.podman('rm', 'making');
  });
  after(async () => {
    front.close();
    await setup?.[Symbol.asyncDispose]();
  });

  const deploy = (name: string, spec: Members = {}) =>
    setup.deploy(name, {
      runtime: { isolation: 'docker', image: IMAGE },
      execution: { max_iterations: 1, llm_timeout_seconds: 77 },
      tools: [COMMANDS],
      advanced: { bootstrap_path: '/bin/holder' },
      ...spec,
    });
  const release = (id: string, said = 'let go') => writtenWhole(join(setup.data, 'volumes/svc-system', id, 'go'), said);

  test('the bootstrap of an image runs with the documented environment, and with nothing of the node’s', async () => {
    const agent = await deploy('environment', {
      task: { instruction: 'Be brief.', prompt_template: 'Asked: {{input}}' },
      env: { COLOUR: 'red' },
    });
    const id = await setup.node.run(agent, 'please');
    const env = environmentOf(await setup.written(id, 'env'));
    const { SVC_ORCHESTRATOR_URL: orchestrator = '', SVC_PRIVATE_ENV: _names, ...rest } = env;
    assert.ok(orchestrator.startsWith(`${gateway}/x/`), orchestrator);
    const environment = Object.fromEntries(
      Object.entries(rest).filter(([name]) => name.startsWith('SVC_') || name === 'COLOUR'),
    );
    assert.deepEqual(environment, {
      ...{ SVC_AGENT_ID: agent, SVC_EXECUTION_ID: id, SVC_ITERATION: '1', SVC_ITERATION_HISTORY: '[]' },
      ...{ SVC_MODEL_ALIAS: 'default', SVC_LLM_TIMEOUT_SECONDS: '77', SVC_AGENT_INSTRUCTION: 'Be brief.' },
      ...{ SVC_PROMPT_TEMPLATE: 'Asked: {{input}}', SVC_SECURITY_CONTEXT: 'svc-system-agent-runtime' },
      ...{ SVC_SEAL_ENABLED: 'true', SVC_SEAL_GATEWAY_URL: gateway, COLOUR: 'red' },
    });
    const others = Object.keys(rest).filter((name) => !(name in environment));
    // The trace context is that of the run.
    const ofImage = [
      'TRACEPARENT',
      'HOME',
      'HOSTNAME',
      'PATH',
      'PWD',
      'SHLVL',
      'TERM',
      'container',
      'USER',
      'LOGNAME',
      'SHELL',
      '_',
    ];
    assert.deepEqual(
      others.filter((name) => !ofImage.includes(name)),
      [],
    );
    await release(id, 'my own words');
    const status = await setup.ended(id);
    assert.equal(status.last_output, 'my own words', JSON.stringify(status));
    const events = JSON.stringify(await setup.events(id));
    assert.match(events, /"action":"run"/);
    assert.match(events, /"output":"my own words"/);
    assert.ok(!(await setup.said(id)).includes(orchestrator.slice(gateway.length + 40)));
  });

  test('attests with its container, by full id or by host name, and its signed commands run inside it', async () => {
    const agent = await deploy('attests');
    const id = await setup.node.run(agent, 'please');
    const env = environmentOf(await setup.written(id, 'env'));
    const { url } = await setup.node.process.internal;
    const token = String(env.SVC_ORCHESTRATOR_URL).split('/x/')[1] ?? '';
    const running = setup.podman.podman(
      'ps',
      '--no-trunc',
      '--format',
      '{{.ID}}',
      '--filter',
      `label=dev.svc.execution=${id}`,
    );
    const container = running.trim();
    assert.match(container, /^[0-9a-f]{64}$/);
    const client = restClient(url);
    const headers = { authorization: `Bearer ${token}` };
    const is = { agent_id: agent, execution_id: id, container_id: container };
    for (const wrong of [id, '0'.repeat(64), container.slice(0, 11), `${container}0`, '']) {
      const refused = await client.attest(new IndependentAgent({ ...is, container_id: wrong }), {}, headers);
      assert.ok([400, 403].includes(Number(refused.status)), `${wrong}: ${refused.status} ${refused.message}`);
    }
    const named = [container, env.HOSTNAME ?? container.slice(0, 12)];
    for (const container_id of named) {
      const stranger = new IndependentAgent({ ...is, container_id });
      const attested = await client.attest(stranger, {}, headers);
      assert.equal(attested.status, 200, `${container_id}: ${attested.message}`);
      stranger.token = attested.token;
      const script = 'hostname; ls /bin/holder; echo inside > /workspace/inside; echo $SVC_ORCHESTRATOR_URL';
      const answer = await client.invoke(
        stranger.call(`c-${container_id}`, 'cmd.run', { command: 'sh', args: ['-c', script] }),
      );
      assert.equal(answer.status, 200, answer.text);
      assert.match(String(answer.result?.text), new RegExp(`${container.slice(0, 12)}\\\\n/bin/holder\\\\n\\\\n`));
    }
    assert.equal(await setup.written(id, 'inside'), 'inside\n');
    await release(id);
    await setup.ended(id);
  });

  test('bootstrap_script replaces the node’s own bootstrap, and a container with a network needs no mailbox', async () => {
    const open = { security: { network: { mode: 'allow' } }, advanced: {} };
    const agent = await deploy('over-http', { runtime: { isolation: 'docker', image: BUSYBOX }, ...open });
    const id = await setup.node.run(agent, 'over HTTP');
    const status = await setup.ended(id);
    assert.deepEqual([status.status, status.last_output], ['completed', 'it ran'], JSON.stringify(status));
    assert.deepEqual(await setup.workspace(id), { '/replaced': '1\n' });
    assert.match(JSON.stringify(await setup.events(id)), /"action":"generate"/);
  });

  test('a process agent attests with the id of its execution', async () => {
    const agent = await deploy('process', {
      runtime: { isolation: 'process' },
      advanced: { bootstrap_path: 'holder' },
    });
    const id = await setup.node.run(agent, 'please');
    const env = environmentOf(await setup.written(id, 'env'));
    const { url } = await setup.node.process.internal;
    assert.equal(env.SVC_TEST_SECRET, undefined);
    assert.deepEqual([env.SVC_SEAL_ENABLED, env.SVC_SEAL_GATEWAY_URL], ['true', url]);
    const token = String(env.SVC_ORCHESTRATOR_URL).split('/x/')[1] ?? '';
    const headers = { authorization: `Bearer ${token}` };
    const is = { agent_id: agent, execution_id: id, container_id: id };
    assert.equal((await restClient(url).attest(new IndependentAgent(is), {}, headers)).status, 200);
    const other = new IndependentAgent({ ...is, container_id: '0'.repeat(64) });
    assert.equal((await restClient(url).attest(other, {}, headers)).status, 403);
    await release(id);
    await setup.ended(id);
  });

  test('none of their capability tokens is in log, journal or audit', async () => {
    await setup.node.process.stop();
    const kept = await setup.kept();
    assert.ok(tokens.length >= 3);
    for (const token of tokens) {
      const part = token.slice(80, 300);
      assert.ok(!setup.node.process.log.includes(part));
      assert.equal(kept.find(([, content]) => content.includes(part))?.[0], undefined);
    }
  });
});

/** Report of a bootstrap about itself. */
function environmentOf(text: string): Readonly<Record<string, string>> {
  const token = /^SVC_ORCHESTRATOR_URL=\S+\/x\/(\S+)$/m.exec(text)?.[1];
  if (token !== undefined) tokens.push(token);
  return Object.fromEntries(
    text
      .split('\n')
      .filter((line) => line.includes('='))
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
}
