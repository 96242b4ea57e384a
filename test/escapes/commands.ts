import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { runCgroups } from '../../effects/programs/run-cgroup.ts';
import { COMMAND_ESCAPES, type CommandEscape } from '../effects/commands/tool-escapes.ts';
import { waitUntil } from '../support/wait-until.ts';
import { BRIEF } from './agents.ts';
import { type Escape, NotMade } from './escape.ts';
import { assertHarmless, type EscapeTargets, MARK, NODE_SECRET, SENTINEL } from './escape-targets.ts';

/** Any bound may be the first that is seen on a busy machine. */
const BOUNDED = /^(ExecTimeoutCeilingExceeded|OutputSizeLimitExceeded|ProcessLimitExceeded|MemoryLimitExceeded)$/;
const NOT_ALLOWED = /^(CommandNotAllowed|SubcommandNotAllowed|InvalidArguments|CommandNotFound)$/;

/** The table of commands once more, through the whole node. */
const again = (row: CommandEscape): Escape => ({
  ...{ title: row.title, kind: 'commands' },
  async attempt(at) {
    if (row.cgroups === true && (await runCgroups()) === null) {
      throw new NotMade('NO CONTROL GROUPS HERE, or none that may be written');
    }
    const given = { command: row.command, args: row.args.map((one) => one.replaceAll('MARK', MARK)) };
    const call = row.timeout_ms === undefined && row.ends === 'runs' ? at.call : (await brief(at)).call;
    const said = await call('cmd.run', given);
    assertHarmless(said);
    if (row.ends === 'invalid_argument' || row.ends === 'not_found') assert.match(said.code, NOT_ALLOWED, said.said);
    else if (row.ends !== 'runs') assert.match(said.code, BOUNDED, said.said);
    await waitUntil('nothing of it runs', () => left().length === 0);
  },
});

const briefs = new WeakMap<EscapeTargets, ReturnType<EscapeTargets['begin']>>();
function brief(at: EscapeTargets): ReturnType<EscapeTargets['begin']> {
  const begun = briefs.get(at) ?? at.begin(BRIEF);
  briefs.set(at, begun);
  return begun;
}

/** Processes that attempts left behind. */
export function left(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ');
      } catch {
        return '';
      }
    })
    .filter((line) => line.startsWith(`sleep ${MARK}`));
}

const gains = (title: string, script: string, expected: RegExp): Escape => ({
  ...{ title, kind: 'commands' },
  async attempt(at) {
    const text = await at.sh(script);
    assertHarmless({ text, said: text });
    assert.match(text, expected);
  },
});

/** Where the node cannot give it processes of its own, these would reach everybody's: not made there. */
const alone = (title: string, script: string): Escape => ({
  ...{ title, kind: 'commands' },
  async attempt(at) {
    const text = await at.sh(
      `[ "$(ls -d /proc/[0-9]* | wc -l)" -lt 12 ] || { echo among all; exit 0; }; ${script}; echo sent`,
    );
    if (text === 'among all\n') throw new NotMade('NO PROCESS TABLE OF ITS OWN HERE');
    assertHarmless({ text, said: text });
    assert.match(text, /^sent\n$/);
  },
});

const OWN: readonly Escape[] = [
  gains(
    'the environment of every process it can see',
    'cat /proc/[0-9]*/environ 2>/dev/null | tr "\\0" "\\n" | grep -c of-the-node; true',
    /^0\n$/,
  ),
  gains(
    'the environment of the threads it can see',
    'cat /proc/[0-9]*/task/*/environ 2>/dev/null | tr "\\0" "\\n" | grep -c of-the-node; true',
    /^0\n$/,
  ),
  gains('command lines of the node', 'cat /proc/[0-9]*/cmdline | tr "\\0" " " | grep -c "[m]ain.ts"; true', /^0\n$/),
  gains('the memory of process 1', 'strings /proc/1/mem 2>/dev/null | grep -c sentinel-; true', /^0\n$/),
  gains(
    'files of the node by descriptors of others',
    'ls -l /proc/[0-9]*/fd 2>/dev/null | grep -cE "documents|mailbox|\\.sqlite"; true',
    /^0\n$/,
  ),
  alone('signals to everything', 'trap "" TERM; kill -TERM -1'),
  alone('killing its own process 1', 'kill -KILL 1; kill -STOP 1'),
  gains('the most urgent priority', 'nice -n -20 true; echo tried', /^tried\n$/),
  gains('limits raised again', 'ulimit -c unlimited 2>/dev/null; ulimit -c 0; ulimit -c', /^0\n$/),
  {
    ...{ title: 'a command line that is longer than the system takes', kind: 'commands' },
    async attempt(at) {
      const said = await at.call('cmd.run', { command: 'echo', args: Array(200).fill('x'.repeat(20_000)) });
      assertHarmless(said);
      assert.match(said.code, NOT_ALLOWED);
    },
  },
  {
    ...{ title: 'an environment given as arguments', kind: 'commands' },
    async attempt(at) {
      const said = await at.call('cmd.run', { command: 'env', args: [], env: { LD_PRELOAD: '/tmp/x.so' } });
      assert.match(said.code, /^InvalidArguments$/);
    },
  },
  {
    ...{ title: 'ten commands at once', kind: 'commands' },
    async attempt(at) {
      const all = await Promise.all(
        Array.from({ length: 10 }, () => at.call('cmd.run', { command: 'sh', args: ['-c', 'sleep 0.05; echo one'] })),
      );
      for (const said of all) assertHarmless(said, NODE_SECRET, SENTINEL);
    },
  },
];

export const COMMANDS: readonly Escape[] = [...COMMAND_ESCAPES.map(again), ...OWN];
