import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { api } from '../api/queries.ts';
import { type Run, UNFINISHED, WAIT_REASONS } from '../api/runs.ts';
import { nodeNow } from '../app/node-answers.ts';
import type { Search } from '../app/search-params.ts';
import { useMay } from '../app/session.ts';
import { formatCount, formatDuration, plainLine } from '../parts/format.ts';
import { Loading, ReadState } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';

const RateChart = lazy(() => import('../parts/rate-chart.tsx').then(({ RateChart: chart }) => ({ default: chart })));

const HOUR_MS = 3_600_000;
const MOST = 1_000;
const MOST_LETTERS = 100;
const REFRESH_MS = 5_000;
/** The window starts at a full minute, so that a link to it stays the same for a minute. */
const hourAgo = (): string => new Date(Math.floor((nodeNow() - HOUR_MS) / 60_000) * 60_000).toISOString();

/** Running, waiting and failed runs now; every figure links to its list. */
export function OverviewPage() {
  const read = useQuery({
    queryKey: ['overview'],
    queryFn: async () => {
      const from = hourAgo();
      // Failed runs have a list of their own: the newest runs of a busy hour may all have completed.
      const [open, recent, failed] = await Promise.all([
        api.runs.list({ status: UNFINISHED, limit: MOST }),
        api.runs.list({ from, limit: MOST }),
        api.runs.list({ status: ['failed'], from, limit: MOST }),
      ]);
      return { from, open: open.runs, recent: recent.runs, failed: failed.runs };
    },
    refetchInterval: REFRESH_MS,
  });
  return (
    <>
      <PageHead title="Overview" note="the last hour" />
      <ReadState of={read} what="runs" />
      {read.data !== undefined && <Figures {...read.data} />}
    </>
  );
}

interface FiguresProps {
  readonly from: string;
  readonly open: readonly Run[];
  readonly recent: readonly Run[];
  readonly failed: readonly Run[];
}

function Figures({ from, open, recent, failed }: FiguresProps) {
  const may = useMay();
  const completed = recent.filter(({ status }) => status === 'completed');
  const took = completed.flatMap(({ duration_ms: ms }) => (ms === null ? [] : [ms])).sort((a, b) => a - b);
  const times = recent.map(({ started_at }) => Date.parse(started_at));
  const isCut = recent.length >= MOST;
  const at = (share: number): string => {
    const value = took[Math.min(took.length - 1, Math.floor(took.length * share))];
    return value === undefined ? '–' : formatDuration(value);
  };
  return (
    <>
      <div className="tiles">
        <Tile label="Unfinished" value={count(open)} to="/runs" search={{ status: 'unfinished' }} />
        <Tile label="Started" value={count(recent)} to="/runs" search={{ from }} />
        <Tile label="Failed" value={count(failed)} to="/runs" search={{ status: 'failed', from }} />
        <Tile label="Median duration" value={at(0.5)} to="/runs" search={{ status: 'completed', from }} />
        <Tile label="95th percentile" value={at(0.95)} to="/runs" search={{ status: 'completed', from }} />
        {may('read', 'approvals') && <ApprovalTile />}
        <DeadLetterTile />
        {may('inspect', 'cluster') && <NodeTile />}
        {may('inspect', 'cluster') && <StoresTile />}
      </div>
      {recent.length > 0 && (
        <section className="card" aria-label="Runs started each minute">
          <h2>Runs started each minute</h2>
          {isCut && <p className="quiet">Of the newest {formatCount(MOST)} runs; before them there were more.</p>}
          <Suspense fallback={<Loading what="the chart" />}>
            <RateChart times={times} from={isCut ? minuteOf(Math.min(...times)) : Date.parse(from)} />
          </Suspense>
        </section>
      )}
      <div className="columns">
        <Groups
          title="Waiting now, by reason"
          none="Nothing waits."
          groups={WAIT_REASONS.map(([reason, words]) => ({
            key: reason,
            label: words,
            runs: open.filter((run) => run.wait_reason === reason),
            search: { wait_reason: reason },
          }))}
        />
        <Groups
          title="Failed in the last hour, by error"
          none="Nothing failed in the last hour."
          groups={[...Map.groupBy(failed, ({ error_code }) => error_code ?? 'unknown')].map(([code, runs]) => ({
            key: code,
            label: code,
            runs,
            search: { status: 'failed', error_code: code, from },
          }))}
        />
      </div>
    </>
  );
}

const minuteOf = (at: number): number => Math.floor(at / 60_000) * 60_000;

const count = (of: readonly unknown[]): string => `${formatCount(of.length)}${of.length >= MOST ? ' +' : ''}`;

interface TileProps {
  readonly label: string;
  readonly value: string;
  readonly to: '/runs' | '/approvals' | '/dead-letters' | '/fleet';
  readonly search?: Search;
}

const Tile = ({ label, value, to, search = {} }: TileProps) => (
  <Link className="tile" to={to} search={search}>
    <span className="quiet">{label}</span>
    <b className="figures">{value}</b>
  </Link>
);

function ApprovalTile() {
  const { data } = useQuery({
    queryKey: ['approvals', 'count'],
    queryFn: () => api.approvals.list({ limit: 1 }),
    refetchInterval: REFRESH_MS,
  });
  return <Tile label="Open approvals" value={data === undefined ? '–' : formatCount(data.count)} to="/approvals" />;
}

/** Messages that failed too often and wait for a decision. */
function DeadLetterTile() {
  const { data } = useQuery({
    queryKey: ['dead-letters', 'open', 'count'],
    queryFn: () => api.deadLetters.list({ status: 'open', limit: MOST_LETTERS }),
    refetchInterval: REFRESH_MS,
  });
  const more = data?.next_page_token === undefined ? '' : ' +';
  const value = data === undefined ? '–' : `${formatCount(data.dead_letters.length)}${more}`;
  return <Tile label="Open dead letters" value={value} to="/dead-letters" search={{ status: 'open' }} />;
}

/** Whether this node has everything that it needs, above all its stores. */
function StoresTile() {
  const { data, error } = useQuery({
    queryKey: ['ready'],
    queryFn: () => api.health.ready(),
    refetchInterval: REFRESH_MS,
  });
  const value = error !== null ? 'not ready' : data === undefined ? '–' : 'ready';
  return <Tile label="Node and its stores" value={value} to="/fleet" />;
}

function NodeTile() {
  const { data } = useQuery({ queryKey: ['nodes'], queryFn: () => api.nodes.list(), refetchInterval: REFRESH_MS });
  const active = data?.nodes.filter(({ status }) => status === 'ACTIVE').length;
  return (
    <Tile label="Active nodes" value={data === undefined ? '–' : `${active} of ${data.nodes.length}`} to="/fleet" />
  );
}

interface Group {
  readonly key: string;
  readonly label: string;
  readonly runs: readonly Run[];
  readonly search: Search;
}

function Groups({
  title,
  none,
  groups,
}: {
  readonly title: string;
  readonly none: string;
  readonly groups: readonly Group[];
}) {
  const some = groups.filter(({ runs }) => runs.length > 0).sort((a, b) => b.runs.length - a.runs.length);
  const most = Math.max(1, ...some.map(({ runs }) => runs.length));
  return (
    <section className="card" aria-label={title}>
      <h2>{title}</h2>
      {some.length === 0 && <p className="quiet">{none}</p>}
      <ul className="groups">
        {some.map(({ key, label, runs, search }) => (
          <li key={key}>
            <Link to="/runs" search={search}>
              {plainLine(label, 80)}
            </Link>
            <span className="group-bar" aria-hidden="true">
              <span style={{ width: `${(runs.length / most) * 100}%` }} />
            </span>
            <span className="figures">{count(runs)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
