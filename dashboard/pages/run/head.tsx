import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { SvcApiError } from '../../../clients/typescript/client.ts';
import type { ForkedFrom } from '../../../clients/typescript/gen/operations.ts';
import { api } from '../../api/queries.ts';
import { saveRun } from '../../api/run-file.ts';
import { cancelRun, hasEnded, type Run, type RunKind, removeRun } from '../../api/runs.ts';
import { useMay, useSession } from '../../app/session.ts';
import { ActButton } from '../../parts/act-button.tsx';
import { plainLine } from '../../parts/format.ts';
import { Id } from '../../parts/id.tsx';
import { Empty, Failure, ReadState } from '../../parts/notice.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { RunStatus } from '../../parts/status.tsx';
import { ForkButton } from './fork.tsx';

interface RunHeadProps {
  readonly kind: RunKind;
  readonly id: string;
  readonly status: string;
  /** Null while the list does not have it. */
  readonly listed: Run | null;
  readonly forkedFrom: ForkedFrom | undefined;
}

/** Name, status and buttons of a run. */
export function RunHead({ kind, id, status, listed, forkedFrom }: RunHeadProps) {
  const may = useMay();
  const navigate = useNavigate();
  return (
    <>
      <PageHead
        title={listed?.name ?? (kind === 'execution' ? 'Run of an agent' : 'Run of a workflow')}
        note={
          <>
            <RunStatus status={status} outcome={listed?.outcome ?? null} />{' '}
            {listed !== null && plainLine(listed.version, 40)} <Id id={id} />
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
        <ExportButton id={id} />
        {may('run') && <ForkButton kind={kind} id={id} />}
        {kind === 'workflow' && status === 'waiting_for_human_input' && may('run') && (
          <ActButton
            label="Signal"
            ask="The state that waits goes on with this answer, which its conditions read."
            reason="Answer"
            act={(response) => api.workflowExecutions.signal({ id, response })}
          />
        )}
        {may('run') && !hasEnded({ status }) && (
          <ActButton
            label="Cancel run"
            isDanger
            ask="The run stops at once, with its children and effects. What it did stays recorded."
            act={() => cancelRun({ kind, id })}
          />
        )}
        {may('write') && hasEnded({ status }) && (
          <ActButton
            label="Delete run"
            isDanger
            ask="The record of the run is removed for good."
            act={async () => {
              await removeRun({ kind, id });
              await navigate({ to: '/runs' });
            }}
          />
        )}
      </PageHead>
      {forkedFrom !== undefined && (
        <p>
          Forked from <RunLink kind={kind} id={forkedFrom.id} /> at message <Id id={forkedFrom.message_id} />
          {forkedFrom.reason !== undefined && `: ${plainLine(forkedFrom.reason, 200)}`}
        </p>
      )}
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

interface NoRunProps {
  readonly of: { readonly isPending: boolean; readonly error: unknown; readonly refetch: () => unknown };
  readonly id: string;
}

/** Shown in place of a run that was not read: it has just been started, the read failed, or it does not exist. */
export function NoRun({ of, id }: NoRunProps) {
  const isMissing = of.error instanceof SvcApiError && of.error.status === 404;
  return (
    <>
      <PageHead title="Run" note={<Id id={id} />} />
      {isMissing ? (
        <Empty title="There is no such run.">
          It was deleted, or the address is not right. <Link to="/runs">See the runs</Link>, or press <kbd>/</kbd> to
          search.
        </Empty>
      ) : (
        <ReadState of={of} what="the run" />
      )}
    </>
  );
}

/** Downloads the run as a file for `svc open`. Every reader of a run may do so. */
function ExportButton({ id }: { readonly id: string }) {
  const saving = useMutation({ mutationFn: () => saveRun(id) });
  return (
    <>
      <button type="button" disabled={saving.isPending} onClick={() => saving.mutate()}>
        {saving.isPending ? 'Exporting …' : 'Export'}
      </button>
      {saving.error !== null && <Failure error={saving.error} />}
    </>
  );
}

export const RunLink = ({ kind, id }: { readonly kind: RunKind; readonly id: string }) => (
  <Link to="/runs/$kind/$id" params={{ kind, id }}>
    {id.slice(0, 8)}
  </Link>
);

interface DefinitionLinkProps {
  readonly kind: 'agent' | 'workflow';
  readonly id: string;
  readonly version?: string;
  readonly children: ReactNode;
}

/** Link to the manifest of a run. */
export function DefinitionLink({ kind, id, version, children }: DefinitionLinkProps) {
  // A recording has no catalog.
  if (useSession().config.recording !== null) return children;
  return (
    <Link to="/catalog/$kind/$id" params={{ kind, id }} search={{ version }}>
      {children}
    </Link>
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
