import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Approval } from '../../clients/typescript/gen/operations.ts';
import { api, listRefreshMs } from '../api/queries.ts';
import { useFilters } from '../app/use-filters.ts';
import { formatCount, plainLine } from '../parts/format.ts';
import { Empty, ReadState } from '../parts/notice.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { TimeAgo } from '../parts/time.tsx';
import { ApprovalAnswer } from './approval-answer.tsx';
import { RunLink } from './run/head.tsx';

/** Questions that wait for a person, oldest first, with the chosen one beside them. */
export function ApprovalsPage() {
  const [{ id = '' }] = useFilters();
  const read = useQuery({
    queryKey: ['approvals'],
    queryFn: () => api.approvals.list(),
    refetchInterval: listRefreshMs,
  });
  const list = read.data?.pending_requests ?? [];
  return (
    <>
      <PageHead
        title="Approvals"
        note={read.data === undefined ? undefined : `${formatCount(read.data.count)} waiting`}
      />
      <ReadState of={read} what="approvals" />
      {read.data !== undefined && list.length === 0 && id === '' && (
        <Empty title="There is no open question.">
          Questions of workflows appear here as soon as a state asks one.
        </Empty>
      )}
      <div className="inbox">
        <ul aria-label="Questions">
          {list.map((approval) => (
            <Question key={approval.id} approval={approval} isChosen={approval.id === id} />
          ))}
        </ul>
        {id !== '' && <ApprovalAnswer key={id} id={id} />}
        {id === '' && list.length > 0 && (
          <p className="quiet">Choose a question to read it in full and to answer it.</p>
        )}
      </div>
    </>
  );
}

function Question({ approval, isChosen }: { readonly approval: Approval; readonly isChosen: boolean }) {
  const { id, prompt, execution_id, created_at } = approval;
  return (
    <li className={isChosen ? 'chosen' : ''}>
      <Link to="/approvals" search={{ id }} aria-current={isChosen ? 'true' : undefined}>
        {plainLine(prompt, 160)}
      </Link>
      <span className="quiet">
        asked <TimeAgo at={created_at} /> by run <RunLink kind="workflow" id={execution_id} />
      </span>
    </li>
  );
}
