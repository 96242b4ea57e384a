import { METRICS } from '../../transport/internal/metric-table.ts';

/** The table of metrics as docs/reference/metrics.md shows it. */
export function metricsTable(): string {
  const rows = Object.values(METRICS).map(
    ({ name, type, labels, help }) =>
      `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} |`,
  );
  return ['| Metric | Type | Labels | What |', '|---|---|---|---|', ...rows].join('\n');
}
