import type { ReactNode } from 'react';
import type { Span } from '../api/timeline.ts';
import { formatCount, formatDuration, plainLine } from './format.ts';

const MOST_ROWS = 400;

interface TimeAxisProps {
  readonly spans: readonly Span[];
  readonly from: number;
  readonly to: number;
  readonly now: number;
  /** A link in place of the label. */
  readonly link?: (span: Span) => ReactNode;
}

/** Bars on one time axis, a row for each. The row has the content of the bar as text. */
export function TimeAxis({ spans, from, to, now, link }: TimeAxisProps) {
  const length = Math.max(1, to - from);
  const place = (at: number): number => ((at - from) / length) * 100;
  const ticks = ticksOf(length);
  return (
    <div className="axis">
      {spans.length > MOST_ROWS && (
        <p className="quiet">
          The last {formatCount(MOST_ROWS)} of {formatCount(spans.length)} are shown; the events have all.
        </p>
      )}
      <div className="axis-ticks" aria-hidden="true">
        {ticks.map((tick) => (
          <span key={tick} style={{ left: `${(tick / length) * 100}%` }}>
            {formatDuration(tick)}
          </span>
        ))}
      </div>
      <ol className="axis-rows">
        {spans.slice(-MOST_ROWS).map((span) => {
          const end = span.to ?? now;
          return (
            <li key={span.key} className={`axis-row axis-${span.kind}`}>
              <span className="axis-label ellipsis" title={plainLine(span.label)}>
                {link?.(span) ?? plainLine(span.label, 80)}
              </span>
              <span className="axis-track" aria-hidden="true">
                <span
                  className={`axis-bar bar-${span.status}`}
                  style={{ left: `${place(span.from)}%`, width: `max(3px, ${place(end) - place(span.from)}%)` }}
                />
              </span>
              <span className="figures axis-took">{formatDuration(end - span.from)}</span>
              <span className="quiet ellipsis" title={plainLine(span.detail ?? '', 2_000)}>
                {span.detail === null ? (span.to === null ? 'goes on' : '') : plainLine(span.detail, 200)}
              </span>
            </li>
          );
        })}
      </ol>
    </div>
  );
}

/** Tick distances from a minute on, ms: minutes, hours, days. */
const CLOCK_STEPS = [60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400, 172_800].map(
  (seconds) => seconds * 1_000,
);

/** About five ticks, at round times. */
function ticksOf(length: number): number[] {
  const rough = length / 5;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const decimal = ([1, 2, 5, 10].find((one) => one * unit >= rough) ?? 10) * unit;
  const step = rough <= 30_000 ? decimal : (CLOCK_STEPS.find((one) => one >= rough) ?? decimal);
  return Array.from({ length: Math.floor(length / step) + 1 }, (_tick, at) => at * step);
}
