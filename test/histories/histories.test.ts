import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Recording } from '../../runtime/recording/recording.ts';
import { parseRecording } from '../../runtime/recording/recording-lines.ts';
import { replayRecording } from '../../runtime/recording/replay-recording.ts';
import { sample } from '../support/size.ts';
import { WORKFLOW_EXAMPLES } from '../support/workflow-examples.ts';
import { ExampleNode } from '../support/workflow-examples-node.ts';
import { HANDLER_CHANGES, type HandlerChange, withChange } from './changed-handlers.ts';
import { actorsNow, recordedRun } from './recorded-run.ts';

/** Recordings of every release, by file. */
const HISTORIES = new Map<string, Recording>(
  globSync('*/*.ndjson', { cwd: import.meta.dirname })
    .toSorted()
    .map((file) => [file, parseRecording(readFileSync(join(import.meta.dirname, file), 'utf8'))]),
);

const kindOf = (actor: string): string => actor.split('/')[0] ?? '';

test('the recorded histories of every release replay as recorded', async () => {
  const kinds = new Set<string>();
  for (const [file, recording] of HISTORIES) {
    const report = await replayRecording(recording, actorsNow(recording));
    assert.deepEqual([report.difference, report.skipped], [null, []], file);
    assert.ok(report.compared > 0, file);
    for (const { line } of recording.actors) kinds.add(kindOf(line.actor));
  }
  assert.deepEqual([...kinds].sort(), ['approval', 'execution', 'judge-panel', 'stimulus', 'workflow']);
});

interface Planted {
  readonly file: string;
  readonly kind: string;
  readonly type: string;
  readonly change: HandlerChange;
}

/** Every change of a handler that some history reaches. */
function* allChanges(): Generator<Planted> {
  for (const change of HANDLER_CHANGES) {
    for (const [file, { actors }] of HISTORIES) {
      const types = new Map<string, string>();
      for (const { line, deliveries } of actors) {
        for (const { message } of deliveries) types.set(`${kindOf(line.actor)} ${message.type}`, message.type);
      }
      for (const [key, type] of types) yield { file, kind: key.split(' ')[0] ?? '', type, change };
    }
  }
}

/** The first messages, by time, that a change reaches; empty when it reaches none. */
async function reached({ file, kind, type, change }: Planted): Promise<readonly string[]> {
  const recording = HISTORIES.get(file);
  assert.ok(recording !== undefined);
  const noted = new Set<string>();
  const onChange = (id: string): void => void noted.add(id);
  const definitions = actorsNow(recording).map((one) =>
    one.kind === kind && Object.hasOwn(one.on, type) ? withChange(one, type, change, { isMade: false, onChange }) : one,
  );
  const { difference } = await replayRecording(recording, definitions);
  assert.equal(difference, null);
  const found = recording.actors
    .filter(({ line }) => kindOf(line.actor) === kind)
    .flatMap(({ deliveries }) =>
      deliveries.filter(({ message, row }) => noted.has(message.id) && row?.outcome === 'done'),
    );
  const first = Math.min(...found.map(({ at }) => at));
  return found.filter(({ at }) => at === first).map(({ message }) => message.id);
}

test('each change of one line in a handler is pinned to its first message', async () => {
  const most = sample({ quick: 10, normal: 10, long: 1_000 });
  let pinned = 0;
  const seen = new Set<string>();
  for (const planted of allChanges()) {
    const { file, kind, type, change } = planted;
    const name = `${kind} ${type}: ${change.name}`;
    if (pinned === most || seen.has(name)) continue;
    const first = await reached(planted);
    if (first.length === 0) continue;
    seen.add(name);
    const recording = HISTORIES.get(file);
    assert.ok(recording !== undefined);
    const definitions = actorsNow(recording).map((one) =>
      one.kind === kind ? withChange(one, type, change, { isMade: true, onChange: () => undefined }) : one,
    );
    const { difference } = await replayRecording(recording, definitions);
    assert.ok(difference !== null, `${file}: ${name}: no difference found`);
    assert.ok(first.includes(difference.message_id), `${file}: ${name}: ${difference.message_id}, expected ${first}`);
    assert.ok(difference.parts.includes(change.part as never), `${file}: ${name}: ${difference.parts}`);
    pinned += 1;
  }
  assert.ok(pinned >= Math.min(30, most), `${pinned} changes`);
});

test('runs of the examples, many at a time, replay with an equal state at every message', async () => {
  const runs = sample({ quick: 6, normal: 6, long: 1_000 });
  const atOnce = 6;
  await using node = await ExampleNode.start();
  const examples = WORKFLOW_EXAMPLES.filter(({ needs, start }) => needs.length === 0 && start.by === 'run');
  for (const example of examples) await node.client.deploy(example);
  let next = 0;
  let turns = 0;
  const worker = async (): Promise<void> => {
    for (let run = next++; run < runs; run = next++) {
      const example = examples[run % examples.length];
      assert.ok(example !== undefined);
      const id = await node.client.start(example.name, example.start);
      await node.client.end(id, example.answers);
      const { recording } = await recordedRun(node.client, id);
      const { difference, skipped, compared } = await replayRecording(recording, actorsNow(recording));
      assert.deepEqual([difference, skipped], [null, []], `${example.name} ${id}`);
      turns += compared;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  assert.ok(turns >= runs);
});
