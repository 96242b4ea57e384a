import { type RestatePackages, restatePackages } from '../failover/restate-packages.ts';
import { startBullmq } from './bullmq.ts';
import { type DbosPackages, dbosPackages, startDbos } from './dbos.ts';
import { startOurs, startOursEmbedded } from './ours.ts';
import type { WorkflowPeer } from './peer.ts';
import { startRestate } from './restate.ts';
import { startTemporal } from './temporal.ts';
import { type TemporalPackages, temporalPackages } from './temporal-packages.ts';

export interface Contestant {
  readonly name: string;
  /** Target of the product: its rate at 64 in flight over that of the best peer with `sets`. */
  readonly bar?: number;
  /** A peer that sets the targets. */
  readonly sets?: true;
  /** Most workflows in flight; with more it does not end in a sensible time. */
  readonly mostInFlight?: number;
  start(): Promise<WorkflowPeer>;
}

export interface Field {
  readonly contestants: readonly Contestant[];
  /** Versions of the peers. */
  readonly versions: readonly string[];
  /** Missing peers, with the reason. */
  readonly omitted: readonly string[];
}

/**
 * The peers to compare; those that cannot be installed are reported with the reason. `SVC_BENCH_PEERS` is a regular
 * expression of the names to take.
 */
export async function field(): Promise<Field> {
  const wanted = new RegExp(process.env.SVC_BENCH_PEERS ?? '');
  const isWanted = ({ name }: { readonly name: string }): boolean => wanted.test(name);
  const omitted: string[] = [];
  const had = async <Packages>(name: string, fetch: () => Promise<Packages>): Promise<Packages | null> => {
    if (!wanted.test(name)) return null;
    try {
      return await fetch();
    } catch (thrown) {
      omitted.push(`**${name} is omitted**: ${String(thrown).slice(0, 500)}`);
      console.error(`${name.toUpperCase()} IS OMITTED: ${String(thrown)}`);
      return null;
    }
  };
  const restate = await had<RestatePackages>('Restate', restatePackages);
  const dbos = await had<DbosPackages>('DBOS', dbosPackages);
  const temporal = await had<TemporalPackages>('Temporal', temporalPackages);
  const contestants: Contestant[] = [
    { name: 'svc, pure steps', bar: 8, start: () => startOurs('everysec', 'pure') },
    { name: 'svc, pure steps, appendfsync always', bar: 4, start: () => startOurs('always', 'pure') },
    { name: 'svc, effects', bar: 2.3, start: () => startOurs('everysec', 'effects') },
    { name: 'svc, repeatable effects', bar: 2.9, start: () => startOurs('everysec', 'repeatable') },
    { name: 'svc, effects, appendfsync always', start: () => startOurs('always', 'effects') },
  ];
  if (restate !== null) contestants.push({ name: 'Restate', sets: true, start: () => startRestate(restate) });
  if (dbos !== null) contestants.push({ name: 'DBOS on PostgreSQL', sets: true, start: () => startDbos(dbos) });
  if (temporal !== null)
    contestants.push({
      name: 'Temporal, local activities',
      sets: true,
      mostInFlight: 64,
      start: () => startTemporal(temporal),
    });
  contestants.push(
    { name: 'BullMQ flow', start: () => startBullmq('everysec') },
    { name: 'svc embedded, pure steps', start: () => startOursEmbedded('pure') },
    { name: 'svc embedded, effects', start: () => startOursEmbedded('effects') },
    { name: 'svc embedded, repeatable effects', start: () => startOursEmbedded('repeatable') },
  );
  const versions = [
    ...(restate === null ? [] : [`Restate ${restate.versions}`]),
    ...(dbos === null ? [] : [`DBOS ${dbos.versions}`]),
    ...(temporal === null ? [] : [`Temporal ${temporal.versions}`]),
  ];
  return { contestants: contestants.filter(isWanted), versions, omitted };
}
