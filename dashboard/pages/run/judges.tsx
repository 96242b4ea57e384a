import { useQuery } from '@tanstack/react-query';
import { type JudgePanel, panelsOf } from '../../api/judge-panels.ts';
import { listRefreshMs } from '../../api/queries.ts';
import { useRecentlyLive } from '../../api/run-trace.ts';
import type { Run } from '../../api/runs.ts';
import { plainLine } from '../../parts/format.ts';
import { Id } from '../../parts/id.tsx';
import { CellText } from '../../parts/long-text.tsx';
import { Empty, ReadState } from '../../parts/notice.tsx';
import { PlainTable } from '../../parts/plain-table.tsx';
import { Status } from '../../parts/status.tsx';
import { RunLink } from './head.tsx';

interface JudgesProps {
  /** Null while the list does not have the run. */
  readonly run: Run | null;
  readonly isLive: boolean;
}

/** Panels of judges, with run, score and reasoning of each judge, also while it judges. */
export function Judges({ run, isLive }: JudgesProps) {
  const isRecent = useRecentlyLive(isLive);
  const read = useQuery({
    queryKey: ['panels', run?.id, run?.trace_id],
    queryFn: () => (run === null ? [] : panelsOf(run)),
    refetchInterval: isRecent ? listRefreshMs() : false,
  });
  if (read.data === undefined) return <ReadState of={read} what="panels of judges" />;
  if (read.data.length === 0) return <Empty title="This run has asked no panel of judges." />;
  return read.data.map((panel) => <Panel key={panel.id} panel={panel} />);
}

const figures = (value: number | null) => <span className="figures">{value === null ? '' : value.toFixed(2)}</span>;

/** Appearance of the status of a panel or a judge. */
const LOOKS: Readonly<Record<string, string>> = { ended: 'completed', answered: 'completed', asked: 'pending' };

const PanelStatus = ({ status }: { readonly status: string }) => (
  <Status status={LOOKS[status] ?? status} label={status === 'dropped' ? 'no longer awaited' : status} />
);

function Panel({ panel: { id, status, verdict, seats } }: { readonly panel: JudgePanel }) {
  return (
    <section className="card" aria-label={`Panel ${id}`}>
      <header>
        <h2>
          Panel <Id id={id} />
        </h2>
        <PanelStatus status={status} />
        {verdict !== null && <span className="quiet">{plainLine(verdict)}</span>}
      </header>
      <PlainTable
        label="Judges"
        rows={seats}
        rowKey={({ key }) => key}
        columns={[
          ['Judge', ({ agent }) => plainLine(agent, 80)],
          ['Status', (seat) => <PanelStatus status={seat.status} />],
          ['Score', ({ score }) => figures(score)],
          ['Confidence', ({ confidence }) => figures(confidence)],
          ['Weight', ({ weight }) => figures(weight)],
          ['Reason', ({ said, key }) => <CellText text={said} name={`judge-${key}`} />],
          ['Run', ({ runId }) => <RunLink kind="execution" id={runId} />],
        ]}
      />
    </section>
  );
}
