import { productActors, TurnSettings } from '../../app/product-actors.ts';
import { type Recording, recordingText } from '../../runtime/recording/recording.ts';
import { parseRecording } from '../../runtime/recording/recording-lines.ts';
import { replayActor } from '../../runtime/turns/replay.ts';
import { waitUntil } from '../support/wait-until.ts';
import { asObject, type ExampleClient } from '../support/workflow-examples-run.ts';

/** The kinds of actors as they are now, under the settings of a recording. */
export const actorsNow = ({ head }: Recording) => productActors(TurnSettings.parse(head.settings));

/** The recording of a run that has ended, or waits, once the ledger has all of it. */
export function recordedRun(
  client: ExampleClient,
  run: string,
  stands: 'ended' | 'waiting' = 'ended',
): Promise<{ text: string; recording: Recording }> {
  const look = async (): Promise<{ text: string; recording: Recording } | null> => {
    const text = await textOfRun(client, run);
    if (text === null) return null;
    const recording = parseRecording(text);
    return recording.actors[0]?.line.archived === (stands === 'ended') && (await isWhole(recording))
      ? { text, recording }
      : null;
  };
  return waitUntil(`the whole recording of ${run}`, look, 60_000);
}

/** Whether all senders are there, and all turns that changed an actor among its deliveries. */
async function isWhole(recording: Recording): Promise<boolean> {
  const senders = recording.actors.flatMap(({ deliveries }) => deliveries.map(({ message }) => message.from));
  const known = new Set(recording.actors.map(({ line }) => line.actor));
  if (senders.some((sender) => sender !== null && !known.has(sender))) return false;
  const kinds = new Map(actorsNow(recording).map((one) => [one.kind, one]));
  for (const { line, deliveries } of recording.actors) {
    const definition = kinds.get(line.actor.split('/')[0] ?? '');
    if (definition === undefined) return false;
    const lines = deliveries.map((one) => ({ ...one, seq: one.delivery, body: JSON.stringify(one.message) }));
    const { record } = await replayActor(definition, line.actor, lines, { retry: recording.head.retry });
    if (record.revision < line.revision) return false;
  }
  return true;
}

async function textOfRun(client: ExampleClient, run: string): Promise<string | null> {
  const begun = await client.call('GET', `/v1/runs/${run}/recording`);
  if (begun.status !== 200) throw new Error(`recording of ${run}: ${begun.status} ${JSON.stringify(begun.body)}`);
  const lines: object[] = [];
  for (const actor of Array.isArray(begun.body.actors) ? begun.body.actors : []) {
    const [kind, , id] = String(actor).split('/');
    for (let next = ''; ; ) {
      const query = next === '' ? '' : `?next=${encodeURIComponent(next)}`;
      const { status, body } = await client.call('GET', `/v1/actors/${kind}/${id}/recording${query}`);
      // It is between store and archive.
      if (status === 404) return null;
      lines.push(...(Array.isArray(body.lines) ? body.lines.map(asObject) : []));
      if (typeof body.next !== 'string') break;
      next = body.next;
    }
  }
  return recordingText(asObject(begun.body.head), lines);
}
