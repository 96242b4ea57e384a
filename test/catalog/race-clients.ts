import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { checkHistory } from '../chaos/linearizability.ts';
import type { SeededRandom } from '../kill/random.ts';
import { CATALOG_MODEL, type RaceAnswer, type RaceCall, type RaceOperation } from './race-model.ts';

/** An event in the log of an entry. */
interface LoggedEvent {
  readonly sequence: number;
  readonly event_type: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** A client's access to a catalog. */
export interface RaceClient {
  readonly subject: string;
  ask(name: string, call: RaceCall): Promise<RaceAnswer>;
  /** Log of an entry that may be deleted, oldest first. */
  log(id: string): Promise<readonly LoggedEvent[]>;
}

interface Race {
  readonly clients: readonly RaceClient[];
  readonly names: readonly string[];
  readonly callsEach: number;
  readonly random: SeededRandom;
}

/** Clients that make random calls on a few names at once; their calls and answers, including the final reads. */
export async function race({ clients, names, callsEach, random }: Race): Promise<RaceOperation[]> {
  const history: RaceOperation[] = [];
  const known = new Map<string, string[]>(names.map((name) => [name, []]));
  const act = async (client: RaceClient, name: string, call: RaceCall): Promise<void> => {
    const calledAt = performance.now();
    const answer = await client.ask(name, call);
    history.push({ name, subject: client.subject, call, answer, calledAt, answeredAt: performance.now() });
    if (call.kind === 'deploy' && answer.kind === 'done' && answer.id !== undefined) known.get(name)?.push(answer.id);
  };
  await Promise.all(
    clients.map(async (client) => {
      for (let n = 0; n < callsEach; n += 1) {
        const name = oneOf(names, random);
        await act(client, name, someCall(known.get(name) ?? [], clients, random));
      }
    }),
  );
  // What is there in the end, as everybody sees it.
  for (const name of names) for (const client of clients) await act(client, name, { kind: 'look' });
  return history;
}

/**
 * Checks that the answers are those of a catalog that handles one call after the other, and that its final state is the same.
 */
export function assertSequential(history: readonly RaceOperation[]): void {
  for (const [name, operations] of Map.groupBy(history, (operation) => operation.name)) {
    const verdict = checkHistory(operations, CATALOG_MODEL);
    if (verdict.kind === 'linearizable') continue;
    const { longest, next } = verdict.kind === 'anomaly' ? verdict : { longest: [], next: [] };
    const [begun = 0, ended = 0] = [Math.min(...next.map((one) => one.calledAt)), longest.length];
    const around = operations.filter(({ answeredAt }) => (answeredAt ?? begun) > begun - 200).slice(0, 60);
    const lines = [
      ...[
        `${name}: ${verdict.kind}; ${ended} of ${operations.length} fit. The last that do:`,
        ...longest.slice(-8).map(lineOf),
      ],
      ...['Of these none fits behind them:', ...next.map(lineOf), 'All around:', ...around.map(lineOf)],
    ];
    if (process.env.SVC_HISTORY !== undefined)
      writeFileSync(process.env.SVC_HISTORY, operations.map(lineOf).join('\n'));
    assert.fail(lines.join('\n'));
  }
}

const lineOf = ({ calledAt, answeredAt, subject, call, answer }: RaceOperation): string =>
  `${calledAt.toFixed(1)} to ${answeredAt?.toFixed(1)} ${subject} ${JSON.stringify(call)} ${JSON.stringify(answer)}`;

/** The log of each entry has no gap, and each event is the successful call of one client. */
export async function assertLogged(history: readonly RaceOperation[], clients: readonly RaceClient[]): Promise<number> {
  const changes = Map.groupBy(
    history.filter(({ call, answer }) => answer.kind === 'done' && call.kind !== 'run'),
    ({ call, answer }) => ('id' in call ? call.id : (answer.kind === 'done' && answer.id) || 'none'),
  );
  let total = 0;
  for (const [id, made] of changes) {
    const logs = await Promise.all(clients.map((client) => client.log(id)));
    const log = logs.reduce((longest, one) => (one.length > longest.length ? one : longest), []);
    assert.deepEqual(
      log.map(({ sequence }) => sequence),
      log.map((_, index) => index + 1),
      `the log of ${id} has no gap`,
    );
    const answered = made.map(({ call, subject }) => changeOf(call, subject));
    for (const event of log.map(eventOf)) {
      const found = answered.indexOf(event);
      assert.notEqual(found, -1, `${id}: no follower received ${event}`);
      answered.splice(found, 1);
    }
    // What changed nothing is no event: only a status may be asked for twice.
    assert.deepEqual(
      answered.filter((change) => !/ (paused|archived|deployed)$/.test(change)),
      [],
      `${id}: all that was done is in the log`,
    );
    total += log.length;
  }
  return total;
}

const changeOf = (call: RaceCall, subject: string): string => {
  if (call.kind === 'deploy') return `${subject} deployed version ${call.version}`;
  if (call.kind === 'move') return `${subject} moved to ${call.to}`;
  return call.kind === 'status' ? `${subject} made it ${call.status}` : `${subject} deleted it`;
};

function eventOf({ event_type, payload }: LoggedEvent): string {
  if (event_type === 'AgentDeployed') return `${payload.by} deployed version ${payload.version}`;
  if (event_type === 'AgentScopeChanged') return `${payload.changed_by} moved to ${payload.new_scope}`;
  return event_type === 'AgentDeleted' ? `${payload.by} deleted it` : `${payload.by} made it ${payload.status}`;
}

function someCall(ids: readonly string[], clients: readonly RaceClient[], random: SeededRandom): RaceCall {
  const dice = random.fraction();
  // Mostly what is there now, sometimes what was there before.
  const id = (random.fraction() < 0.8 ? ids.at(-1) : undefined) ?? (ids.length === 0 ? undefined : oneOf(ids, random));
  if (id === undefined || dice < 0.2)
    return {
      ...{ kind: 'deploy', version: `1.${Math.floor(random.fraction() * 4)}.0` },
      scope: oneOf(['user', 'tenant', 'tenant', 'tenant', 'tenant', 'global'] as const, random),
    };
  if (dice < 0.35) return { kind: 'look' };
  if (dice < 0.5) return { kind: 'delete', id };
  if (dice < 0.6) return { kind: 'run', id };
  if (dice < 0.7) return { kind: 'status', id, status: oneOf(['deployed', 'deployed', 'paused', 'archived'], random) };
  const owner = oneOf(clients, random).subject;
  const moves = [
    { to: 'tenant', up: true },
    { to: 'global', up: true },
    { to: 'tenant', up: false },
    { to: 'user', up: false },
  ] as const;
  return { kind: 'move', id, owner, ...oneOf(moves, random) };
}

function oneOf<T>(choices: readonly T[], random: SeededRandom): T {
  const chosen = choices[Math.floor(random.fraction() * choices.length)];
  assert.ok(chosen !== undefined);
  return chosen;
}
