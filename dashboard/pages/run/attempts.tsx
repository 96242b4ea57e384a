import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/queries.ts';
import type { Attempt } from '../../api/timeline.ts';
import { Differences } from '../../parts/differences.tsx';
import { plainLine } from '../../parts/format.ts';
import { CellText, LongJson, LongText } from '../../parts/long-text.tsx';
import { Empty, ReadState } from '../../parts/notice.tsx';
import { isObject } from '../../parts/schema-completion.ts';
import { Status } from '../../parts/status.tsx';

/** Each iteration of an agent: its output, the verdicts of the validators, and the difference to the previous one. */
export function Attempts({ attempts, isLive }: { readonly attempts: readonly Attempt[]; readonly isLive: boolean }) {
  if (attempts.length === 0) return <Empty title="No iteration has begun yet." />;
  return (
    <>
      {attempts.map((attempt, index) => (
        <OneAttempt
          key={attempt.number}
          attempt={attempt}
          before={attempts[index - 1]}
          isLive={isLive && index === attempts.length - 1}
        />
      ))}
    </>
  );
}

interface OneAttemptProps {
  readonly attempt: Attempt;
  readonly before: Attempt | undefined;
  readonly isLive: boolean;
}

function OneAttempt({ attempt, before, isLive }: OneAttemptProps) {
  const { number, output, error, refinement, isOver } = attempt;
  const status = isOver ? (error === null ? 'completed' : 'failed') : 'running';
  return (
    <section className="card" aria-label={`Iteration ${number}`}>
      <header>
        <h2>Iteration {number}</h2>
        <Status status={status} label={isOver && error !== null ? plainLine(error.type, 60) : undefined} />
      </header>
      {error !== null && (
        <div className="notice notice-bad">
          <span>
            <CellText text={error.message} name={`error-${number}`} />
          </span>
        </div>
      )}
      <LongText
        text={output === '' ? (isOver ? 'no output' : 'no output yet') : output}
        name={`output-${number}`}
        end={isOver ? 'first' : 'last'}
        isLive={isLive}
      />
      {before !== undefined && isOver && (
        <details>
          <summary>What changed since iteration {before.number}</summary>
          <Differences before={before.output} after={output} label={`Iteration ${before.number} against ${number}`} />
        </details>
      )}
      {refinement !== null && (
        <details>
          <summary>What the next iteration received</summary>
          <LongText text={refinement} name={`refinement-${number}`} />
        </details>
      )}
    </section>
  );
}

/** Input of an agent: the payload of the message that started it, without parts that the reader may not see. */
export function AgentInput({ id }: { readonly id: string }) {
  const read = useQuery({
    queryKey: ['agent-input', id],
    queryFn: async () => {
      const { deliveries } = await api.actors.listHistory({ kind: 'execution', id, order: 'oldest_first', limit: 1 });
      const [first] = deliveries;
      return first === undefined ? null : api.messages.get({ id: first.message_id });
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (read.data === undefined) return <ReadState of={read} what="the input" />;
  const payload = read.data?.payload;
  if (!isObject(payload)) return <Empty title="The message that started the run is not kept." />;
  const { input, context } = payload;
  return (
    <section aria-label="Input">
      <h2>Input</h2>
      {typeof input === 'string' ? <LongText text={input} name="input" /> : <LongJson value={input} name="input" />}
      {context !== undefined && (
        <>
          <h2>Context</h2>
          <LongJson value={context} name="context" />
        </>
      )}
    </section>
  );
}
