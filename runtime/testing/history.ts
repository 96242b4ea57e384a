import type { Address } from '../address.ts';
import type { ActorDefinition } from '../define-actor.ts';
import { SvcError } from '../errors.ts';
import { recordActor } from '../recording/record-actor.ts';
import { RECORDING_VERSION, type RecordingLine, recordingText } from '../recording/recording.ts';
import { parseRecording } from '../recording/recording-lines.ts';
import { type ReplayReport, replayRecording } from '../recording/replay-recording.ts';
import type { Runtime } from '../runtime.ts';
import { VERSION } from '../store-formats.ts';

/**
 * Records actors of one tenant of a running runtime as text, to be kept in a file and replayed by tests of later
 * versions: their states, events, and deliveries with whole messages. The ledger has a delivery about a second after its
 * commit. Throws `not_found` for an unknown actor.
 */
export async function recordHistory(
  { client, ledger, recorded }: Pick<Runtime, 'client' | 'ledger' | 'recorded'>,
  addresses: readonly Address[],
): Promise<string> {
  if (ledger === null) throw new SvcError('failed_precondition', 'the runtime keeps no ledger');
  const { registry, payloads, retry } = recorded;
  const lines: RecordingLine[] = [];
  for (const address of addresses) {
    for (let next: string | undefined; ; ) {
      const page = await recordActor({ client, registry, payloads, ledger }, address, next);
      lines.push(...page.lines);
      if (page.next === null) break;
      next = page.next;
    }
  }
  const head = {
    format: 'svc-recording',
    version: RECORDING_VERSION,
    svc: VERSION,
    recorded_at: new Date().toISOString(),
    tenant: addresses[0]?.split('/')[1] ?? '',
    run: null,
    settings: {},
    retry,
    kept_from: null,
  };
  return recordingText(head, lines);
}

/**
 * Replays a history that `recordHistory` or `svc export-run` wrote with these definitions. `difference` of the report is
 * the first message whose turn comes out differently, or null. Throws `invalid_argument` naming the line for a text that
 * is no history or is damaged.
 */
export async function replayHistory(text: string, definitions: readonly ActorDefinition[]): Promise<ReplayReport> {
  return replayRecording(parseRecording(text), definitions);
}
