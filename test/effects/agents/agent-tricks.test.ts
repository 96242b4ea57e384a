import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { AgentContainerInput } from '../../../effects/agents/input.ts';
import { NEEDS_PODMAN } from '../../support/podman.ts';
import {
  type AgentUnderTest,
  agentUnderTest,
  EXECUTION,
  exec,
  final,
  loop,
  runAgent,
  type Script,
} from './agent-under-test.ts';

/** Writes a request, waits for its answer, and prints the words of a refusal. */
const SEND = `
send() { # NUMBER, content on stdin
  cat > /run/svc/out/$1.tmp; mv /run/svc/out/$1.tmp /run/svc/out/$1.request
  answer $1
}
answer() { n=0; while [ ! -e /run/svc/in/$1.answer ] && [ $n -lt 200 ]; do sleep 0.05; n=$((n+1)); done; cat /run/svc/in/$1.answer; }
generate() { printf '{"type":"generate","agent_id":"a1","execution_id":"%s","iteration_number":1,"prompt":"p"}' "$1"; }
`;
const GOOD = `generate ${EXECUTION} | send`;

describe('a hostile agent', NEEDS_PODMAN, () => {
  let at: AgentUnderTest;
  before(async () => {
    at = await agentUnderTest();
  });
  after(async () => {
    await at[Symbol.asyncDispose]();
  });
  const attack = async (script: string, answers: Script = []) => at.run(answers, await at.own(SEND + script));

  test('a hostile agent cannot use the execution of another agent', async () => {
    const { result, asked } = await attack(`generate e2 | send 1; ${GOOD} 2`, [final('mine')]);
    const [refused = '', answered = ''] = result.stdout.trim().split('\n');
    assert.match(refused, /"error":"forbidden"/);
    assert.match(answered, /"content":"mine"/);
    assert.equal(asked.length, 1);
  });

  test('a hostile agent cannot change the files of the node, nor answer itself', async () => {
    const { result } = await attack(
      'echo x > /svc/bootstrap.sh; rm -f /svc/bootstrap.sh; echo x > /svc/new; mv /svc/bootstrap.sh /svc/b; ' +
        'echo x > /run/svc/in/1.answer; mkdir /run/svc/else; chmod 777 /run/svc/in; ls /svc /run/svc/in',
    );
    assert.match(result.stdout, /bootstrap\.sh/);
    assert.doesNotMatch(result.stdout, /answer|new|\bb\b/);
    assert.ok(result.stderr.trim().split('\n').length >= 6, result.stderr);
  });

  test('a hostile agent’s requests that are links, pipes, directories or invalid are refused, and the next one is answered', async () => {
    const { result, asked } = await attack(
      `cd /run/svc/out; ln -s /etc/shadow 1.request; answer 1; mkfifo 2.request; answer 2; mkdir 3.request; answer 3
       echo nonsense | send 4; printf '{"type":"generate"}' | send 5; printf '{' | send 6; ${GOOD} 7`,
      [final('still here')],
    );
    assert.match(result.stdout, /"content":"still here"/);
    assert.equal(asked.length, 1);
    assert.ok((result.stdout.match(/invalid_argument/g) ?? []).length >= 6, result.stdout);
    assert.doesNotMatch(result.stdout, /root:/);
  });

  test('under read_only an agent writes to /tmp, and neither into its workspace nor anywhere else of its container', async () => {
    const tries = ['/workspace/x', '/x', '/etc/x', '/svc/x', '/run/svc/in/x', '/tmp/x'];
    const script = `for path in ${tries.join(' ')}; do (echo x > $path) 2>/dev/null && echo "$path"; done; :`;
    const written = async (more: object) => {
      const own = await at.own(script);
      return (await at.run([], { ...own, ...more })).result.stdout.trim().split('\n');
    };
    assert.deepEqual(await written({ read_only: true }), ['/tmp/x']);
    assert.ok((await written({})).includes('/workspace/x'), 'without read_only it may');
  });

  test('under read_only the node’s bootstrap still sends requests and runs commands', async () => {
    const run = exec('touch /workspace/y || echo "not written"');
    const { result, asked } = await at.run([run, final('done')], { read_only: true });
    assert.equal(result.stdout, 'done', result.stderr);
    assert.match(JSON.stringify(asked[1]?.request), /not written/);
  });

  test('a request that is too large is refused without being read', async () => {
    const { result } = await attack(`head -c 20000000 /dev/zero | send 1; ${GOOD} 2`, [final('still here')]);
    assert.match(result.stdout, /larger than/);
    assert.match(result.stdout, /"content":"still here"/);
  });

  test('thousands of files in its exchange do not keep the node from answering', async () => {
    const { result } = await attack(
      `cd /run/svc/out; i=0; while [ $i -lt 3000 ]; do : > f$i; i=$((i+1)); done; ${GOOD} 1`,
      [final('still here')],
    );
    assert.match(result.stdout, /"content":"still here"/);
  });

  test('a fork bomb is bounded by the kernel, and leaves nothing running', async () => {
    const own = await at.own('b() { b | b & }; b 2>/dev/null; sleep 1; echo over');
    const { result } = await at.run([], { ...own, limits: { timeout_ms: 15_000 } });
    assert.ok(result.exit_code !== 0 || result.stdout.includes('over'));
    assert.deepEqual((await at.setup.podman.docker.listContainers()).length, 0);
  });

  test('an agent has no network, no capability and no new privileges, and sees no device of the host', async () => {
    const { result } = await attack(
      'ls /sys/class/net; grep -E "CapEff|CapBnd|NoNewPrivs|Seccomp:" /proc/self/status; ' +
        'wget -q -T 2 -O - http://127.0.0.1:8081/ || echo unreachable; chown 0 /workspace; mount -t tmpfs x /mnt; ls /dev | tr "\\n" " "',
    );
    const seen = result.stdout.replace(/[ \t]+/g, ' ');
    assert.match(seen, /^lo\nCapEff: 0{16}\nCapBnd: 0{16}\nNoNewPrivs: 1\nSeccomp: 2\n/m);
    assert.match(seen, /^unreachable$/m);
    assert.doesNotMatch(seen, /\b(sda|vda|mem|kmsg)\b/);
    assert.match(result.stderr, /chown.*not permitted/);
  });

  test('only a manifest that allows the whole network gets the network of the node', async () => {
    for (const network of ['none', 'open'] as const) {
      const effectId = randomUUID();
      const parts = { ...at.parts(loop([]).gateway), network: 'host' };
      await runAgent(parts, { ...(await at.own('true')), network }, { effectId });
      const { HostConfig } = await at.setup.podman.docker.getContainer(`svc-${effectId}`).inspect();
      assert.equal(HostConfig.NetworkMode, network === 'open' ? 'host' : 'none');
    }
  });
});

describe('an input that would harm the node', () => {
  const given = {
    ...{ prompt: 'x', execution_id: EXECUTION, agent_id: 'a', iteration: 1, limits: { timeout_ms: 1_000 } },
  };
  const mount = (mount_path: string) => ({ mounts: [{ volume_id: 'v', mount_path }] });
  const wrong: readonly (readonly [string, object])[] = [
    ['a mount over the node’s files', mount('/svc')],
    ['a mount below them', mount('/svc/x')],
    ['a mount over the exchange', mount('/run//svc/in')],
    ['a mount over the root', mount('/')],
    ['a mount over /proc', mount('/proc/sys')],
    ['two volumes at one path', { mounts: [...mount('/workspace').mounts, ...mount('/workspace/').mounts] }],
    ['a bootstrap that is no absolute path', { bootstrap_path: 'boot.sh' }],
    ['a bootstrap with ..', { bootstrap_path: '/workspace/../x' }],
    ['an image that is a file of the host', { image: 'docker-archive:/etc/passwd' }],
    ['NUL in the prompt', { prompt: 'a\0b' }],
    ['NUL in a variable', { env: { A: 'a\0b' } }],
    ['a variable that would change the loader', { env: { LD_PRELOAD: '/x' } }],
    ['a name with =', { env: { 'A=B': 'x' } }],
    ['an execution that is a path', { execution_id: '../x' }],
    ['no time', { limits: { timeout_ms: 0 } }],
    ['days of time', { limits: { timeout_ms: 90_000_000 } }],
    ['more output than is kept', { limits: { timeout_ms: 1, output_bytes: 2 ** 30 } }],
  ];
  for (const [what, part] of wrong)
    test(`${what} is refused`, () => {
      assert.equal(AgentContainerInput.safeParse(given).success, true);
      assert.equal(AgentContainerInput.safeParse({ ...given, ...part }).success, false);
    });
});
