import type { WorkflowExecutionStatus } from '../../../clients/typescript/gen/operations.ts';
import { plainLine, plainText } from '../../parts/format.ts';
import { Empty } from '../../parts/notice.tsx';
import { PlainTable } from '../../parts/plain-table.tsx';

/** What one judge of a panel said. */
interface Verdict {
  readonly key: string;
  readonly agent: string;
  readonly score: string;
  readonly confidence: string;
  readonly reasoning: string;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const text = (value: unknown): string => (value === undefined || value === null ? '' : String(value));

/** The verdicts in the output of a state; null when it had no panel. */
function verdictsOf(output: unknown): Verdict[] | null {
  if (!isRecord(output) || !Array.isArray(output.individual_results)) return null;
  return output.individual_results.filter(isRecord).map((one, seat) => ({
    key: String(seat),
    agent: text(one.agent_id ?? `judge ${seat + 1}`),
    score: text(one.score),
    confidence: text(one.confidence),
    reasoning: text(one.reasoning),
  }));
}

/** What the panel as a whole said. */
function consensusOf(output: unknown): string {
  const consensus = isRecord(output) && isRecord(output.consensus) ? output.consensus : null;
  if (consensus === null) return 'no consensus';
  const { score, confidence, strategy } = consensus;
  return plainLine(`score ${text(score)}, confidence ${text(confidence)}, by ${text(strategy)}`);
}

/** Panels of judges, each judge with its score and reason. */
export function Judges({ run }: { readonly run: WorkflowExecutionStatus }) {
  const panels = Object.entries(run.state_outputs).flatMap(([state, output]) => {
    const verdicts = verdictsOf(output);
    return verdicts === null ? [] : [{ state, verdicts, output }];
  });
  if (panels.length === 0) return <Empty title="No panel of judges has answered in this run." />;
  return (
    <>
      {panels.map(({ state, verdicts, output }) => (
        <section key={state} className="card" aria-label={`Panel of ${plainLine(state)}`}>
          <header>
            <h2>{plainLine(state)}</h2>
            <span className="quiet">{consensusOf(output)}</span>
          </header>
          <PlainTable
            label={`Judges of ${plainLine(state)}`}
            rows={verdicts}
            rowKey={({ key }) => key}
            columns={[
              ['Judge', ({ agent }) => plainLine(agent)],
              ['Score', ({ score }) => <span className="figures">{plainLine(score, 20)}</span>],
              ['Confidence', ({ confidence }) => <span className="figures">{plainLine(confidence, 20)}</span>],
              ['Reason', ({ reasoning }) => plainText(reasoning)],
            ]}
          />
        </section>
      ))}
    </>
  );
}
