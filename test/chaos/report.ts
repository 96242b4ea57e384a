import { histogram, percentile } from '../kill/recovery.ts';

/** Results of a scenario, which fails when a promise was broken. */
export interface ScenarioReport {
  readonly title: string;
  readonly seed: number;
  /** Figures for the reader of the report. */
  readonly lines: readonly string[];
  /** Broken promises, a sentence each. */
  readonly broken: readonly string[];
}

/** `n 40, p50 812 ms, p90 …, p99 …, longest …` and the histogram under it. */
export function timeLines(what: string, timesMs: readonly number[]): string[] {
  const figure = (fraction: number): string => `${Math.round(percentile(timesMs, fraction))} ms`;
  const line = `${what}: n ${timesMs.length}, p50 ${figure(0.5)}, p90 ${figure(0.9)}, p99 ${figure(0.99)}, longest ${figure(1)}`;
  return [line, ...histogram(timesMs).map((row) => `  ${row}`)];
}

/** A sentence when a percentile of the times is above its limit; the limits are targets of this project. */
export function barBroken(what: string, timesMs: readonly number[], fraction: number, barMs: number): string[] {
  const seen = Math.round(percentile(timesMs, fraction));
  return seen <= barMs
    ? []
    : [`${what}: p${fraction * 100} is ${seen} ms, this project’s own target is at most ${barMs} ms`];
}

export function reportText(report: ScenarioReport): string {
  const verdict =
    report.broken.length === 0 ? ['  every promise was kept'] : report.broken.map((one) => `  BROKEN: ${one}`);
  return [`${report.title}, seed ${report.seed}`, ...report.lines.map((line) => `  ${line}`), ...verdict].join('\n');
}
