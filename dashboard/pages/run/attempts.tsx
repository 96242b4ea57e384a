import type { Attempt } from '../../api/timeline.ts';
import { Differences } from '../../parts/differences.tsx';
import { formatCount, plainLine, plainText } from '../../parts/format.ts';
import { Empty } from '../../parts/notice.tsx';
import { Status } from '../../parts/status.tsx';

const MOST_CHARS = 20_000;

/** Each attempt of an agent: its output, what the validators said, and what changed since the attempt before. */
export function Attempts({ attempts, isLive }: { readonly attempts: readonly Attempt[]; readonly isLive: boolean }) {
  if (attempts.length === 0) return <Empty title="No attempt has begun yet." />;
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
    <section className="card" aria-label={`Attempt ${number}`}>
      <header>
        <h2>Attempt {number}</h2>
        <Status status={status} label={isOver && error !== null ? plainLine(error.type, 60) : undefined} />
      </header>
      {error !== null && <p className="notice notice-bad">{plainText(error.message)}</p>}
      <pre aria-live={isLive ? 'polite' : 'off'} tabIndex={0}>
        {output === '' ? 'no output yet' : plainText(output.slice(-MOST_CHARS))}
      </pre>
      {output.length > MOST_CHARS && (
        <p className="quiet">
          The last {formatCount(MOST_CHARS)} of {formatCount(output.length)} characters.
        </p>
      )}
      {before !== undefined && isOver && (
        <details>
          <summary>What changed since attempt {before.number}</summary>
          <Differences before={before.output} after={output} label={`Attempt ${before.number} against ${number}`} />
        </details>
      )}
      {refinement !== null && (
        <details>
          <summary>What the next attempt was told</summary>
          <pre tabIndex={0}>{plainText(refinement)}</pre>
        </details>
      )}
    </section>
  );
}
