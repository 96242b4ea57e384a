import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { cancelRun, hasEnded, type Run, type RunKind, removeRun } from '../../api/runs.ts';
import { useMay } from '../../app/session.ts';
import { plainLine } from '../../parts/format.ts';
import { Id } from '../../parts/id.tsx';
import { Failure } from '../../parts/notice.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { Status } from '../../parts/status.tsx';

interface RunHeadProps {
  readonly kind: RunKind;
  readonly id: string;
  readonly status: string;
  /** Null while the list does not have it. */
  readonly listed: Run | null;
}

/** Name, status and buttons of a run. */
export function RunHead({ kind, id, status, listed }: RunHeadProps) {
  const may = useMay();
  const [failure, setFailure] = useState<unknown>(null);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const act = (call: () => Promise<unknown>, then: () => Promise<unknown>): void => {
    call()
      .then(() => queries.invalidateQueries())
      .then(then)
      .catch(setFailure);
  };
  return (
    <>
      <PageHead
        title={listed?.name ?? (kind === 'execution' ? 'Run of an agent' : 'Run of a workflow')}
        note={
          <>
            <Status status={status} /> {listed !== null && plainLine(listed.version, 40)} <Id id={id} />
          </>
        }
      >
        {listed?.trace_id != null && (
          <Link className="button" to="/traces/$id" params={{ id: listed.trace_id }}>
            Trace
          </Link>
        )}
        <Link className="button" to="/actors/$kind/$id" params={{ kind, id }}>
          Actor
        </Link>
        {may('run') && !hasEnded({ status }) && (
          <button
            type="button"
            className="danger"
            onClick={() =>
              act(
                () => cancelRun({ kind, id }),
                async () => {},
              )
            }
          >
            Cancel
          </button>
        )}
        {may('write') && hasEnded({ status }) && (
          <button
            type="button"
            onClick={() =>
              act(
                () => removeRun({ kind, id }),
                () => navigate({ to: '/runs' }),
              )
            }
          >
            Delete
          </button>
        )}
      </PageHead>
      {failure !== null && <Failure error={failure} />}
      {listed?.parent != null && (
        <p>
          Started by {listed.parent.kind}{' '}
          {listed.parent.kind === 'workflow' || listed.parent.kind === 'execution' ? (
            <RunLink kind={listed.parent.kind} id={listed.parent.id} />
          ) : (
            <Id id={listed.parent.id} />
          )}
        </p>
      )}
    </>
  );
}

export const RunLink = ({ kind, id }: { readonly kind: RunKind; readonly id: string }) => (
  <Link to="/runs/$kind/$id" params={{ kind, id }}>
    {id.slice(0, 8)}
  </Link>
);

/** Names and values in a row. */
export function Facts({ facts }: { readonly facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd className="figures">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
