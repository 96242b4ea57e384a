import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { z } from 'zod';
import { modelConfig } from '../../kill/agents.ts';
import { FakeWallClock } from '../../support/faketime.ts';
import { seeded } from '../../support/faulty-store.ts';
import { makeJournal } from '../../support/journal.ts';
import { startModelServer } from '../../support/model-server.ts';
import { writeNodeConfig } from '../../support/node-config.ts';
import { NodeProcess } from '../../support/node-process.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { WorkflowCalls } from '../../support/workflow-kill-calls.ts';
import { counted } from '../../support/workflow-kill-marks.ts';
import type { FaultCase, FaultStores } from './fault-case.ts';
import { stillUnderWay, timeLeftMs } from './quiet.ts';

const HOUR_S = 3_600;
const JUMPS_S = [HOUR_S, -HOUR_S, 365 * 24 * HOUR_S];
/** Number of runs of each kind. */
const RUNS = 3;
const CHUNKS = 70;
/** Longer than the time after which a node reads its store's clock again. */
const SEEN_MS = 2_500;
const ROUND_MS = 60_000;

const workflow = (name: string, states: object): string =>
  stringify({
    apiVersion: 'svc.dev/v1',
    kind: 'Workflow',
    metadata: { name, version: '1.0.0' },
    spec: { initial_state: Object.keys(states)[0], states: { ...states, DONE } },
  });
const DONE = { kind: 'System', command: 'finalize', env: { outcome: 'done' }, transitions: [] };
const done = (condition: string) => ({ transitions: [{ condition, target: 'DONE' }] });

const manifestsOf = (journal: string): readonly string[] => [
  workflow('command', {
    // A state whose time-out is shorter than each jump, and a program that runs across the jump.
    RUN: {
      ...{ kind: 'System', timeout: '60s', command: `echo "$SVC_EXECUTION_ID" >> '${journal}'; sleep 5` },
      ...done('on_success'),
    },
  }),
  workflow('agent', { ASK: { kind: 'Agent', agent: 'talker', input: 'talk', timeout: '60s', ...done('on_success') } }),
  workflow('gate', { GATE: { kind: 'Human', prompt: 'Go on?', timeout: '1h', ...done('input_equals_yes') } }),
];

const TALKER = stringify({
  apiVersion: 'svc.dev/v1',
  kind: 'Agent',
  metadata: { name: 'talker', version: '1.0.0' },
  spec: { task: { prompt_template: 'round={{input}}' } },
});

const Events = z.array(z.looseObject({ event_type: z.string() }));

/** Embedded store: the wall clock of a running node is set while commands, agents and approvals wait. */
export const clockJump: FaultCase = {
  name: 'clock-jump',
  title:
    'the clock of an embedded node is set by an hour or a year while commands, agents and approvals wait: no run fails',
  stores: ['sqlite'],
  async open(): Promise<FaultStores> {
    const directory = await mkdtemp(join(tmpdir(), 'svc-clock-jump-'));
    const journal = await makeJournal(directory);
    const clock = new FakeWallClock(join(directory, 'clock'));
    const model = await startModelServer();
    model.answer(() => ({ chunks: Array.from({ length: CHUNKS }, () => 'word '), delayMs: 70 }));
    await clock.set(0);
    const config = await writeNodeConfig(directory, modelConfig(model.url, journal.runtime));
    const node = new NodeProcess(['--data', join(directory, 'data'), '--config', config], clock.env);
    node.spawn();
    const forever = new AbortController();
    const setUp = new WorkflowCalls(node, forever.signal);
    await setUp.deployAgent(TALKER);
    for (const manifest of manifestsOf(journal.file)) await setUp.deploy(manifest);
    return {
      async round(seed) {
        const random = seeded(seed);
        const calls = new WorkflowCalls(node, AbortSignal.timeout(ROUND_MS));
        const marksBefore = (await journal.lines()).length;
        const callsBefore = model.calls.length;
        const starts = Array.from({ length: RUNS }, () => ['command', 'agent', 'gate']).flat();
        const ids = await Promise.all(starts.map((name) => calls.run(name, {}, randomUUID())));
        const isUnderWay = async () =>
          (await journal.lines()).length === marksBefore + RUNS && model.calls.length === callsBefore + RUNS;
        await waitUntil('commands and agents to be under way', isUnderWay, 30_000);
        const first = JUMPS_S[seed % JUMPS_S.length] ?? HOUR_S;
        await clock.set(first);
        const jumpedAtMs = performance.now();
        await new Promise((resolve) => setTimeout(resolve, SEEN_MS));
        if (random() < 0.5) await clock.set(0);

        const open = new Set(ids);
        const notes = [`set by ${first} s`];
        let lost = 0;
        const look = async (): Promise<boolean> => {
          for (const id of [...open]) {
            const { status, waiting_for: waiting, reason } = await calls.get(id);
            // Approvals are answered last, so they wait longest.
            const id_ = waiting?.approval_id;
            if (id_ !== undefined && open.size <= RUNS) await calls.answer(id_, { approve: 'yes' });
            if (status !== 'completed' && status !== 'failed' && status !== 'cancelled') continue;
            open.delete(id);
            if (status === 'completed') continue;
            lost += 1;
            const log = Events.parse(await calls.log(id)).map(({ event_type }) => event_type);
            notes.push(`${id} ${status}: ${reason}, ${log.join(' ')}`);
          }
          return open.size === 0;
        };
        await waitUntil('all runs to end', look, timeLeftMs(jumpedAtMs)).catch((error: unknown) =>
          notes.push(String(error)),
        );
        await clock.set(0);
        const location = { dataDir: join(directory, 'data') };
        const broken = await stillUnderWay(jumpedAtMs, { location, url: await node.url, ended: ids });
        const recoveryMs = performance.now() - jumpedAtMs;
        notes.push(...broken);
        const again = (await journal.lines()).length - marksBefore + model.calls.length - callsBefore - 2 * RUNS;
        const twice = [...counted(await journal.lines()).values()].reduce((sum, count) => sum + count - 1, 0);
        return {
          ...{ runs: ids.length, hung: open.size + broken.length, nodesEnded: node.crashed ? 1 : 0, lost },
          ...{ repeated: Math.max(again, twice), recoveryMs, notes },
        };
      },
      async close() {
        forever.abort();
        await node.kill();
        await model.stop();
        await rm(directory, { recursive: true, force: true, maxRetries: 5 });
      },
    };
  },
};
