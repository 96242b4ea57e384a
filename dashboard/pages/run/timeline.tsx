import type { Span } from '../../api/timeline.ts';
import { plainLine } from '../../parts/format.ts';
import { Empty } from '../../parts/notice.tsx';
import { useNow } from '../../parts/time.tsx';
import { TimeAxis } from '../../parts/time-axis.tsx';
import { RunLink } from './head.tsx';

interface TimelineProps {
  readonly spans: readonly Span[];
  readonly startedAt: string | null;
  readonly endedAt: string | null;
}

/** The whole run on one time axis. */
export function Timeline({ spans, startedAt, endedAt }: TimelineProps) {
  const now = useNow();
  const first = spans[0];
  if (first === undefined) return <Empty title="Nothing has begun yet." />;
  const from = Math.min(first.from, startedAt === null ? first.from : Date.parse(startedAt));
  const to = endedAt === null ? Math.max(now, ...spans.map((span) => span.to ?? span.from)) : Date.parse(endedAt);
  return (
    <section aria-label="Timeline">
      <TimeAxis
        spans={spans}
        from={from}
        to={Math.max(to, from + 1)}
        now={to}
        link={({ child, label }) =>
          child === undefined ? undefined : (
            <>
              {plainLine(label, 60)} <RunLink kind={child.kind} id={child.id} />
            </>
          )
        }
      />
    </section>
  );
}
