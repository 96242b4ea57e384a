import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { addressOf } from '../../runtime/address.ts';
import { counter, KEYS, PAYLOAD } from '../counter.ts';
import { startEmbedded } from '../embedded.ts';
import { closedLoop, type Measured, medianOf } from '../load.ts';
import { type Plan, type Section, table, whole } from '../report.ts';

/** Bare commits: a state and a journal row for each of `group` turns, one transaction with fsync for all of them. */
async function bareCommits(group: number, runMs: number): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-bench-'));
  const database = new DatabaseSync(join(directory, 'bare.db'));
  database.exec('PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;');
  database.exec(
    'CREATE TABLE state (key INTEGER PRIMARY KEY, value TEXT); CREATE TABLE journal (seq INTEGER PRIMARY KEY, row TEXT)',
  );
  const state = database.prepare(
    'INSERT INTO state VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
  );
  const journal = database.prepare('INSERT INTO journal (row) VALUES (?)');
  let turns = 0;
  const startedAt = performance.now();
  while (performance.now() - startedAt < runMs) {
    database.exec('BEGIN');
    for (let turn = 0; turn < group; turn += 1) {
      state.run(turns % KEYS, `{"value":${turns}}`);
      journal.run(PAYLOAD);
      turns += 1;
    }
    database.exec('COMMIT');
  }
  const perSecond = turns / ((performance.now() - startedAt) / 1_000);
  database.close();
  await rm(directory, { recursive: true, force: true });
  return perSecond;
}

async function asks(plan: Plan, inFlight: number, ledger: boolean): Promise<Measured> {
  const node = await startEmbedded([counter], [], { ledger });
  const addresses = Array.from({ length: KEYS }, (_, key) => addressOf('counter', 'bench', `${key}`));
  const measured = await closedLoop({ inFlight, warmUpMs: plan.warmUpMs, runMs: plan.runMs }, async (index) => {
    const address = addresses[(index * 7_919) % KEYS];
    if (address !== undefined) await node.runtime.client.ask(address, 'Add', { payload: PAYLOAD });
  });
  await node.stop();
  return measured;
}

/** Request to reply on the embedded store: client, kernel and database in one process, every answer fsynced. */
export async function asksOnSqlite(plan: Plan): Promise<Section> {
  const rows: string[][] = [];
  for (const inFlight of plan.inFlight) {
    const bare: number[] = [];
    const withLedger: Measured[] = [];
    const without: Measured[] = [];
    for (let round = 0; round < plan.repetitions; round += 1) {
      bare.push(await bareCommits(inFlight, plan.runMs));
      withLedger.push(await asks(plan, inFlight, true));
      without.push(await asks(plan, inFlight, false));
    }
    bare.sort((a, b) => a - b);
    const limit = bare[Math.floor(bare.length / 2)] ?? 0;
    rows.push([
      'bare grouped commits',
      `${inFlight}`,
      whole(limit),
      `${whole(bare[0] ?? 0)}–${whole(bare[bare.length - 1] ?? 0)}`,
      '',
      '',
      '1.00',
    ]);
    for (const [name, runs] of [
      ['svc', withLedger],
      ['svc, ledger off', without],
    ] as const) {
      const measured = medianOf(runs);
      rows.push([
        name,
        `${inFlight}`,
        whole(measured.perSecond),
        `${whole(measured.low)}–${whole(measured.high)}`,
        measured.p50Ms.toFixed(2),
        measured.p99Ms.toFixed(2),
        (measured.perSecond / limit).toFixed(2),
      ]);
    }
  }
  return {
    title: 'Asks on the embedded store, fsync per commit group',
    text: table(['peer', 'in flight', 'asks/s', 'low–high', 'p50 ms', 'p99 ms', 'of the limit'], rows),
  };
}
