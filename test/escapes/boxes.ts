import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { agentYaml } from '../product/product-node.ts';
import { BOXED } from './agents.ts';
import type { Escape } from './escape.ts';

interface Attempt {
  readonly title: string;
  /** Prints `HELD` when it gained nothing; OUTSIDE becomes a directory of the host. */
  readonly script: string;
  /** Other words of a tool by which it was held. */
  readonly or?: readonly string[];
  /** Whatever the agent comes to: the machine must not feel it. */
  readonly anyEnd?: true;
}

/** Of a flood: 50 MB take a busy machine longer than a command may run, and the first ceiling that is broken is named. */
const CEILINGS = ['OutputSizeLimitExceeded', 'ExecTimeoutCeilingExceeded'];

const unless = (done: string): string => `if ${done} >/dev/null 2>&1; then echo GOT; else echo HELD; fi`;

const ATTEMPTS: readonly Attempt[] = [
  { title: 'a file of the host', script: unless('cat OUTSIDE/secret.txt') },
  {
    title: 'writing where the host has files',
    script: 'mkdir -p OUTSIDE 2>/dev/null; echo x > OUTSIDE/new.txt; echo HELD',
  },
  {
    title: 'a link from the workspace to the host',
    script: `ln -s OUTSIDE /workspace/out; ${unless('cat /workspace/out/secret.txt')}`,
  },
  { title: 'files above the workspace', script: unless('ls /workspace/../../../..OUTSIDE') },
  { title: 'a mount', script: unless('mount -t tmpfs x /mnt') },
  { title: 'a bind mount of the host’s root', script: unless('mount --bind /proc/1/root /mnt') },
  { title: 'a device', script: unless('mknod /tmp/d b 259 4095') },
  { title: 'a module of the kernel', script: unless('insmod /tmp/x.ko') },
  { title: 'a kernel setting', script: unless('sh -c "echo x > /proc/sys/kernel/core_pattern"') },
  { title: 'another network', script: unless('sh -c "ls /sys/class/net | grep -v lo"') },
  { title: 'services of the host on loopback', script: unless('wget -q -T 1 -O - http://127.0.0.1:8081/') },
  { title: 'metadata of the machine', script: unless('wget -q -T 1 -O - http://169.254.169.254/') },
  { title: 'the engine’s socket', script: unless('ls /var/run/docker.sock /run/podman/podman.sock') },
  { title: 'capabilities', script: 'grep -q "CapEff:.0000000000000000" /proc/self/status && echo HELD' },
  { title: 'more privileges by set-uid', script: 'grep -q "NoNewPrivs:.1" /proc/self/status && echo HELD' },
  { title: 'changing its bootstrap', script: unless('sh -c "echo x > /svc/bootstrap.sh"') },
  { title: 'answering itself', script: unless('sh -c "echo x > /run/svc/in/99.answer"') },
  {
    title: 'the token in the environment of its commands',
    script: unless('sh -c "env | grep -E \'SVC_ORCHESTRATOR_URL=.*/x/\'"'),
  },
  {
    title: 'processes of the host',
    script: unless("sh -c \"cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -q node[.]*.main[.]ts\""),
  },
  { title: 'a flood', script: 'yes | head -c 50000000; sleep 1; echo x', or: CEILINGS },
  { title: 'ignoring TERM', script: 'trap "" TERM; while :; do sleep 1; done', or: ['ExecTimeoutCeilingExceeded'] },
  { title: 'a fork bomb', script: 'b() { b | b & }; b 2>/dev/null; sleep 1; echo HELD', anyEnd: true },
];

const HELD = 'it was held';
const inputOf = (at: number): string => `box-${at}-of-many`;

export const boxRules = (outside: string) =>
  ATTEMPTS.flatMap(({ script, or = [] }, at) => {
    const args = { command: 'sh', args: ['-c', script.replaceAll('OUTSIDE', outside)] };
    const contains = inputOf(at);
    return [
      {
        match: { contains, round: 1 },
        reply: { text: '', tool_calls: [{ id: 'c1', name: 'cmd.run', arguments: args }] },
      },
      { match: { contains, tool_contains: 'HELD' }, reply: HELD },
      ...or.map((word) => ({ match: { contains, tool_contains: word }, reply: HELD })),
      { match: { contains }, reply: 'it was done' },
    ];
  });

export const BOXES: readonly Escape[] = ATTEMPTS.map(({ title, anyEnd }, at) => ({
  title: `an agent in a container that tries ${title}`,
  kind: 'containers',
  async attempt({ node, setup, outside }) {
    const agent = await node.deploy(agentYaml('boxed', BOXED));
    const id = await node.run(agent, inputOf(at));
    const status = await setup.ended(id);
    if (anyEnd !== true) assert.match(status, new RegExp(HELD));
    assert.deepEqual((await readdir(outside)).sort(), ['secret.txt', 'sub']);
  },
}));
