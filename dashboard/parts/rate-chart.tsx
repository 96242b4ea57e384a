import { useEffect, useRef } from 'react';
import UPlot from 'uplot';
import { TIMES, useChoice } from '../app/choices.ts';
import { nodeNow } from '../app/node-answers.ts';

const MINUTE_MS = 60_000;
const HEIGHT_PX = 140;

const HOURS = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;

const local = new Intl.DateTimeFormat(undefined, HOURS);

const utc = new Intl.DateTimeFormat(undefined, { ...HOURS, timeZone: 'UTC' });

/** Number per minute. The figures are also available as a sentence for screen readers. */
export function RateChart({ times, from }: { readonly times: readonly number[]; readonly from: number }) {
  const place = useRef<HTMLDivElement>(null);
  const minutes = Math.max(1, Math.ceil((nodeNow() - from) / MINUTE_MS));
  const counts = Array.from({ length: minutes }, () => 0);
  for (const time of times) {
    const at = Math.min(minutes - 1, Math.max(0, Math.floor((time - from) / MINUTE_MS)));
    counts[at] = (counts[at] ?? 0) + 1;
  }
  const data = JSON.stringify(counts);
  const hours = useChoice(TIMES) === 'utc' ? utc : local;
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const colours = getComputedStyle(element);
    const axis = {
      stroke: colours.getPropertyValue('color'),
      grid: { stroke: colours.borderColor, width: 1 },
      font: '11px system-ui',
    };
    const ys: number[] = JSON.parse(data);
    const bars = UPlot.paths.bars?.({ size: [0.8, 40] });
    const chart = new UPlot(
      {
        width: element.clientWidth,
        height: HEIGHT_PX,
        legend: { show: false },
        cursor: { show: false },
        axes: [
          { ...axis, values: (_chart, ticks) => ticks.map((seconds) => hours.format(seconds * 1_000)) },
          { ...axis, size: 36, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500] },
        ],
        scales: { y: { range: (_chart, _min, max) => [0, Math.max(1, max)] } },
        series: [
          {},
          { fill: colours.accentColor, stroke: colours.accentColor, width: 0, paths: bars, points: { show: false } },
        ],
      },
      [ys.map((_count, at) => (from + at * MINUTE_MS) / 1_000), ys],
      element,
    );
    const watch = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT_PX }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      chart.destroy();
    };
  }, [data, from, hours]);
  return (
    <div
      ref={place}
      className="chart"
      role="img"
      aria-label={`${times.length} in ${minutes} minutes, at most ${Math.max(...counts)} in one`}
    />
  );
}
