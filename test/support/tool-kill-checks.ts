import { isDeepStrictEqual } from 'node:util';
import type { AuditBody } from '../../manifests/audit/record.ts';
import { NOTHING_LEFT } from '../kill/remaining-records.ts';
import { grammarFault, transcriptOf } from '../kill/transcript.ts';
import { ALL_DONE, COUNTER, NOT_EDITED, STOPPED } from './tool-kill-agents.ts';
import type { ToolKillOutcome } from './tool-kill-chaos.ts';
import type { ToolRunSeen } from './tool-kill-run.ts';
import { counted } from './workflow-kill-marks.ts';

type Body<K extends AuditBody['kind']> = Extract<AuditBody, { readonly kind: K }>;

/** Every broken promise, each a sentence. */
export function brokenToolRuns(outcome: ToolKillOutcome): string[] {
  const { unkilled, runs, left, containersLeft, boxesLeft, processesLeft } = outcome;
  const all = [...unkilled, ...runs];
  return [
    ...unkilled
      .filter(({ status }) => status.last_output !== ALL_DONE)
      .map((run) => `${nameOf(run)}: an undisturbed run ended as ${JSON.stringify(run.status)}`),
    ...all.flatMap(brokenStream),
    ...runs.flatMap((run) =>
      brokenEnd(
        run,
        unkilled.find(({ agent }) => agent === run.agent),
      ),
    ),
    ...all.flatMap(brokenAudit),
    ...all.flatMap(brokenCommands),
    ...brokenCounts(outcome),
    ...(isDeepStrictEqual(left, NOTHING_LEFT) ? [] : [`the store still holds ${JSON.stringify(left)}`]),
    ...outcome.unfinished,
    ...containersLeft.map((one) => `a container is left: ${one}`),
    ...boxesLeft.map((one) => `a mailbox is left: ${one}`),
    ...processesLeft.map((one) => `a process is left: ${one}`),
  ];
}

export const doubtsOf = ({ status }: ToolRunSeen) => status.calls_in_doubt ?? [];

function brokenStream(run: ToolRunSeen): string[] {
  const fault = grammarFault(run.followed.events);
  return fault === null ? [] : [`${nameOf(run)}: ${fault}`];
}

/** A run completed in its first iteration; unless a call was in doubt, its events are those of an undisturbed run. */
function brokenEnd(run: ToolRunSeen, unkilled: ToolRunSeen | undefined): string[] {
  const { status, followed, key } = run;
  const what = nameOf(run);
  if (unkilled === undefined) return [`${what}: there is no undisturbed run to compare with`];
  const doubts = doubtsOf(run);
  if (status.status !== 'completed') return [`${what} ended as ${JSON.stringify(status)}`];
  if (status.iteration_count !== 1) return [`${what} took ${status.iteration_count} iterations: ${status.last_error}`];
  const expected = expectedOutputs(doubts);
  if (!expected.includes(status.last_output ?? '')) {
    return [`${what} said ${JSON.stringify(status.last_output)}, its calls in doubt are ${JSON.stringify(doubts)}`];
  }
  if (doubts.length > 0) return [];
  const [mine, theirs] = [transcriptOf(followed.events, key), transcriptOf(unkilled.followed.events, unkilled.key)];
  if (!isDeepStrictEqual(mine, theirs))
    return [`${what} went ${JSON.stringify(mine)}, undisturbed ${JSON.stringify(theirs)}`];
  const calls = status.tool_calls_executed;
  return calls === 10 ? [] : [`${what} executed ${calls} calls`];
}

/** The model stops when the last result is in doubt; after an edit in doubt it reads the file. */
function expectedOutputs(doubts: readonly { readonly tool: string }[]): readonly string[] {
  if (doubts.some(({ tool }) => tool !== 'fs.edit')) return [STOPPED];
  return doubts.length > 0 ? [ALL_DONE, NOT_EDITED] : [ALL_DONE];
}

/** The audit chain is valid, has one decision and one end for each call, and the same calls in doubt as the status. */
function brokenAudit(run: ToolRunSeen): string[] {
  const { agent, records, verdict, status } = run;
  const what = nameOf(run);
  if (!verdict.valid || verdict.signature !== 'good') return [`${what}: its audit chain is ${JSON.stringify(verdict)}`];
  const bodies = records.map(({ body }) => body);
  const decided = bodies.filter((body): body is Body<'decided'> => body.kind === 'decided');
  const ended = bodies.filter((body): body is Body<'ended'> => body.kind === 'ended');
  const broken: string[] = [];
  for (const [kind, calls] of [
    ['decided', decided],
    ['ended', ended],
  ] as const) {
    for (const [call, times] of counted(calls.map((one) => one.call))) {
      if (times > 1) broken.push(`${what}: call ${call} is ${kind} ${times} times in its audit chain`);
    }
  }
  const open = decided
    .filter(({ call }) => !ended.some((end) => end.call === call))
    .map(({ call, tool }) => `${tool} ${call}`);
  if (open.length > 0) broken.push(`${what}: decided and never ended: ${open.join(', ')}`);
  const odd = ended.filter(({ outcome }) => outcome === 'failed');
  for (const { call, error } of odd) broken.push(`${what}: call ${call} failed: ${error}`);
  const denied = decided.filter(({ decision }) => decision === 'denied');
  for (const { call, reason } of denied) broken.push(`${what}: call ${call} was denied: ${reason}`);
  const said = ended.filter(({ outcome }) => outcome === 'in_doubt').map(({ call }) => call);
  const listed = doubtsOf(run).map(({ call }) => call);
  if (!isDeepStrictEqual([...said].sort(), [...listed].sort())) {
    broken.push(`${what}: in doubt are ${said.join(' ')} in its audit chain, ${listed.join(' ')} in its status`);
  }
  if (status.last_output === ALL_DONE) {
    const tools = decided.map(({ tool }) => tool);
    if (!isDeepStrictEqual([...tools].sort(), [...agent.tools].sort()))
      broken.push(`${what} called ${tools.join(' ')}`);
  }
  return broken;
}

/** No command ran twice; each that ended ran, and each that ran is recorded. */
function brokenCommands(run: ToolRunSeen): string[] {
  const { records, marks: ran } = run;
  const what = nameOf(run);
  const twice = [...counted(ran)].filter(([, times]) => times > 1);
  const bodies = records.map(({ body }) => body);
  const commands = new Set(
    bodies.flatMap((body) => (body.kind === 'decided' && body.tool === 'cmd.run' ? [body.call] : [])),
  );
  const ends = (outcome: string): number =>
    bodies.filter((body) => body.kind === 'ended' && commands.has(body.call) && body.outcome === outcome).length;
  const [sure, most] = [ends('succeeded'), ends('succeeded') + ends('in_doubt')];
  return [
    ...twice.map(([mark, times]) => `${what}: the command ${mark} ran ${times} times`),
    ...(ran.length >= sure && ran.length <= most
      ? []
      : [`${what}: commands ran ${ran.length} times, ${sure} ended and at most ${most} may have`]),
  ];
}

/** The tool of the one MCP server ran once for each call that ended, and at most once for each call in doubt. */
function brokenCounts({ unkilled, runs, counted: count }: ToolKillOutcome): string[] {
  const ends = [...unkilled, ...runs].flatMap(({ records }) => {
    const calls = new Set(
      records.flatMap(({ body }) => (body.kind === 'decided' && body.tool === `${COUNTER}.count` ? [body.call] : [])),
    );
    return records.flatMap(({ body }) => (body.kind === 'ended' && calls.has(body.call) ? [body.outcome] : []));
  });
  const sure = ends.filter((outcome) => outcome === 'succeeded').length;
  return count >= sure && count <= ends.length
    ? []
    : [`the MCP server counted ${count} runs, ${sure} calls succeeded of ${ends.length}`];
}

const nameOf = ({ agent, id }: ToolRunSeen): string => `${agent.name} ${id}`;
