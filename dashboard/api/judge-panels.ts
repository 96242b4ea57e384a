import { api } from './queries.ts';
import { readTrace } from './run-trace.ts';
import type { Run } from './runs.ts';

/** One judge of a panel. */
interface JudgeSeat {
  readonly key: string;
  /** Name of the agent, else the requested name. */
  readonly agent: string;
  /** The run of the judge. */
  readonly runId: string;
  readonly status: string;
  readonly weight: number | null;
  readonly score: number | null;
  readonly confidence: number | null;
  /** Its reasoning, or the reason why it gave no verdict. */
  readonly said: string;
}

export interface JudgePanel {
  readonly id: string;
  readonly status: string;
  /** Verdict of the whole panel; null while it judges. */
  readonly verdict: string | null;
  readonly seats: readonly JudgeSeat[];
}

const MOST_RUNS = 1_000;
const MOST_PANELS = 50;

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};

const listOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.map(fieldsOf) : []);

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

const figure = (value: unknown): number | null => (typeof value === 'number' ? value : null);

/** Panels that a run of an agent or a workflow convened, with all their judges, from the states of their actors. */
export async function panelsOf({ id, trace_id }: Pick<Run, 'id' | 'trace_id'>): Promise<readonly JudgePanel[]> {
  if (trace_id === null) return [];
  const [{ deliveries }, { runs }] = await Promise.all([
    readTrace(trace_id),
    api.runs.list({ trace_id, limit: MOST_RUNS }),
  ]);
  const convened = deliveries.filter(
    ({ from, to }) => to.startsWith('judge-panel/') && from?.endsWith(`/${id}`) === true,
  );
  const panels = [...new Set(convened.map(({ to }) => to.slice(to.lastIndexOf('/') + 1)))].slice(0, MOST_PANELS);
  const names = new Map(runs.map((run) => [run.id, run.name]));
  const actors = await Promise.all(panels.map((panel) => api.actors.get({ kind: 'judge-panel', id: panel })));
  return actors.map(({ state }) => panelOf(fieldsOf(state), names));
}

function panelOf({ panel_id, status, seats, outcome }: Fields, names: ReadonlyMap<string, string>): JudgePanel {
  const { individual_results: results, consensus, error } = fieldsOf(outcome);
  // Only the outcome of an ended panel has the verdicts, in the order of the judges that answered.
  const verdicts = listOf(results)[Symbol.iterator]();
  return {
    id: text(panel_id),
    status: text(status),
    verdict: outcome === undefined ? null : verdictOf(fieldsOf(consensus), text(error)),
    seats: listOf(seats).map((seat, at) => {
      const answered = seat.status === 'answered';
      const verdict = fieldsOf(seat.verdict ?? (answered ? verdicts.next().value : undefined));
      return {
        key: String(at),
        agent: names.get(text(seat.execution_id)) ?? text(seat.agent),
        runId: text(seat.execution_id),
        status: text(seat.status),
        weight: figure(seat.weight),
        score: figure(verdict.score),
        confidence: figure(verdict.confidence),
        said: text(verdict.reasoning) || text(seat.reason),
      };
    }),
  };
}

function verdictOf({ score, confidence, strategy }: Fields, error: string): string {
  if (typeof score !== 'number') return error === '' ? 'no verdict' : `no verdict: ${error}`;
  return `score ${score.toFixed(2)}, confidence ${Number(confidence).toFixed(2)}, by ${text(strategy)}`;
}
