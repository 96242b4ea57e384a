import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import type { WaitReason } from '../../clients/typescript/gen/operations.ts';
import { cancelRun, hasEnded, type Run, type RunKind, removeRun } from '../api/runs.ts';
import { useMay } from '../app/session.ts';
import { plainLine, plainText } from '../parts/format.ts';
import { Id } from '../parts/id.tsx';
import { Failure } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Status } from '../parts/status.tsx';
import { TimeAgo } from '../parts/time.tsx';

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

interface WhyProps {
  readonly kind: RunKind;
  readonly id: string;
  readonly status: string;
  readonly waitsFor: WaitReason | undefined;
  readonly failure: string | null;
}

/** The answer before the evidence: why the run waits, or why it ended so. */
export function Why({ status, waitsFor, failure }: WhyProps) {
  if (waitsFor !== undefined) {
    return (
      <section className="why notice-waits" aria-label="Why it waits">
        <p className="why-sentence">{sentence(waitsFor.reason)}</p>
        <WaitLinks reason={waitsFor} />
      </section>
    );
  }
  if (status === 'failed' && failure !== null) {
    return (
      <section className="why notice-bad" aria-label="Why it failed">
        <p className="why-sentence">{plainText(failure)}</p>
      </section>
    );
  }
  return null;
}

const sentence = (text: string): string => {
  const plain = plainText(text);
  return `${plain.charAt(0).toUpperCase()}${plain.slice(1)}${/[.!?]$/.test(plain) ? '' : '.'}`;
};

function WaitLinks({ reason }: { readonly reason: WaitReason }) {
  return (
    <ul className="why-links">
      {reason.approval_id !== undefined && (
        <li>
          <Link to="/approvals" search={{ id: reason.approval_id }}>
            Answer the approval
          </Link>
        </li>
      )}
      {reason.until !== undefined && (
        <li>
          A timer ends the wait <TimeAgo at={reason.until} />.
        </li>
      )}
      {reason.child_execution_ids?.map((id) => (
        <li key={id}>
          Child <RunLink kind="workflow" id={id} />
        </li>
      ))}
      {reason.judges?.map((judge) => (
        <li key={judge.execution_id}>
          Judge {plainLine(judge.agent)} <RunLink kind="execution" id={judge.execution_id} />
        </li>
      ))}
      {reason.effects?.map((effect) => (
        <li key={effect.effect_id}>
          {plainLine(effect.kind)}: {effect.status}, attempt {effect.attempt}
          {effect.runner !== undefined && ` on ${plainLine(effect.runner.split('/')[0] ?? '')}`}
          {effect.retry_at !== undefined && (
            <>
              , next try <TimeAgo at={effect.retry_at} />
            </>
          )}
          {effect.held_by !== undefined && `: ${plainLine(effect.held_by)}`}
        </li>
      ))}
      {reason.child !== undefined && <li>The child: {plainLine(reason.child.reason)}</li>}
    </ul>
  );
}

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
