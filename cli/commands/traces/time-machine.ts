import { stat, writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { ReplayReport } from '../../../app/recordings/time-machine.ts';
import { type CliContext, contextOf } from '../../context.ts';
import { CliFailure, EXIT, errorCode, invalid } from '../../failure.ts';
import { isObject, listOf, textOf, textsOf } from '../../json.ts';
import { counted, print } from '../../output.ts';
import { unreadable, unwritable } from '../../read-input.ts';

const RUN = ['<run>', 'execution id, of an agent or a workflow'] as const;

/** `svc export-run RUN -o FILE`: the flight recorder. */
export function exportRun(program: Command): void {
  program
    .command('export-run')
    .description('write a run into one file: states, events, deliveries with messages, settings, without secrets')
    .argument(...RUN)
    .requiredOption('-o, --out <file>', 'output file')
    .action(async (run: string, options: { out: string }, command: Command) => {
      const context = contextOf(command);
      const { recordingText, packed } = await import('../../../app/recordings/time-machine.ts');
      const { head, lines } = await recorded(context, run);
      const bytes = await packed(recordingText({ ...head, recorded_at: new Date().toISOString() }, lines));
      try {
        await writeFile(options.out, bytes, { mode: 0o600 });
      } catch (thrown) {
        throw unwritable('--out', options.out, thrown);
      }
      const actors = lines.filter((line) => 'actor' in line).length;
      const answer = { file: options.out, bytes: bytes.length, lines: lines.length, actors };
      const text = `${options.out}: ${counted(actors, 'actor')}, ${counted(lines.length, 'line')}, ${counted(bytes.length, 'byte')}`;
      await print(context.output, { value: answer, text });
    });
}

/** `svc replay RUN|FILE`: exit code 4 when a message gives a different result. */
export function replay(program: Command): void {
  program
    .command('replay')
    .description('replay a recorded run with this version, or another; exit code 4 at the first message that differs')
    .argument('<run>', 'execution id, or a file of export-run')
    .option('--until <message>', 'id of the last message to replay')
    .option('--against <folder>', 'another version of svc: a clone with its packages, or an installed package')
    .action(async (run: string, wish: { until?: string; against?: string }, command: Command) => {
      const context = contextOf(command);
      const report = await replayed(context, run, wish);
      await print(context.output, { value: report, text: reportText(report) });
      if (report.difference === null) return;
      const { message_id, message_type, actor, parts } = report.difference;
      const what = parts.join(', ');
      throw new CliFailure(EXIT.conflict, `message ${message_id} (${message_type}) to ${actor} differs: ${what}`);
    });
}

async function replayed(
  context: CliContext,
  run: string,
  wish: { readonly until?: string; readonly against?: string },
): Promise<ReplayReport> {
  // Loaded only here, so that other commands do not load the actors.
  const machine = await import('../../../app/recordings/time-machine.ts');
  try {
    const recording = (await isFile(run))
      ? await machine.readRecording(run)
      : await recorded(context, run).then(({ head, lines }) =>
          machine.parseRecording(machine.recordingText(head, lines)),
        );
    return await machine.replay(recording, wish);
  } catch (thrown) {
    throw refusedAs(thrown);
  }
}

/** A file that cannot be read, and an error of the kernel, as the user sees them. */
function refusedAs(thrown: unknown): unknown {
  if (!(thrown instanceof Error) || !('code' in thrown)) return thrown;
  const { code, message } = thrown;
  if (code === 'invalid_argument' || code === 'failed_precondition') return invalid(message);
  return code === 'not_found' ? new CliFailure(EXIT.notFound, message) : thrown;
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT' || errorCode(thrown) === 'ENOTDIR') return false;
    throw unreadable('RUN', path, thrown);
  }
}

/** Reads the recording of a run from the node, actor by actor. */
async function recorded({ client }: CliContext, run: string): Promise<{ head: object; lines: object[] }> {
  const begun = await client.json('GET', `/v1/runs/${encodeURIComponent(run)}/recording`, { repeatable: true });
  if (!isObject(begun.head)) throw new CliFailure(EXIT.internal, 'the node sent no recording');
  const lines: object[] = [];
  for (const actor of textsOf(begun, 'actors')) {
    const [kind = '', , id = ''] = actor.split('/');
    const path = `/v1/actors/${encodeURIComponent(kind)}/${encodeURIComponent(id)}/recording`;
    for (let next = ''; ; ) {
      const query = next === '' ? {} : { next };
      const page = await client.json('GET', path, { query, repeatable: true });
      lines.push(...listOf(page, 'lines'));
      next = textOf(page, 'next');
      if (next === '') break;
    }
  }
  return { head: begun.head, lines };
}

function equalText(messages: number, skipped: number): string {
  if (messages === 0) return 'no message could be replayed';
  return `every ${skipped === 0 ? '' : 'replayed '}message came out as it was recorded`;
}

function reportText({ actors, messages, compared, skipped, difference }: ReplayReport): string {
  const lines = [
    `${counted(messages, 'message')} of ${counted(actors, 'actor')} replayed, ${counted(compared, 'turn')} compared`,
    ...skipped.map(({ actor, reason }) => `not replayed: ${actor}: ${reason}`),
  ];
  if (difference === null) return [...lines, equalText(messages, skipped.length)].join('\n');
  const { recorded, replayed, changes, final, events, messages: sent, effects, timers } = difference;
  const places = (title: string, found: typeof changes): string[] =>
    found.length === 0
      ? []
      : [title, ...found.map(({ path, ...two }) => `  ${path || '(all)'}: ${JSON.stringify(two)}`)];
  const list = (title: string, values: readonly unknown[]): string[] =>
    values.length === 0 ? [] : [title, ...values.map((value) => `  ${JSON.stringify(value)}`)];
  return [
    ...lines,
    `first difference at ${difference.at}: ${difference.parts.join(', ')}`,
    `  message  ${difference.message_id} ${difference.message_type}`,
    `  actor    ${difference.actor}`,
    `  recorded ${recorded.outcome}${recorded.error === undefined ? '' : `: ${recorded.error}`}`,
    `  replayed ${replayed.outcome}${replayed.error === undefined ? '' : `: ${replayed.error}`}`,
    ...places('what the turn changes in the state now', changes),
    ...places('the state at the end', final),
    ...list('events recorded', events.recorded),
    ...list('events now', events.replayed),
    ...list('messages recorded', sent.recorded),
    ...list('messages now', sent.replayed),
    ...list('effects now', effects.replayed),
    ...list('timers now', timers.replayed),
  ].join('\n');
}
