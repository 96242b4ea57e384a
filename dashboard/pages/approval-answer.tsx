import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useId, useState } from 'react';
import type { Approval } from '../../clients/typescript/gen/operations.ts';
import { api } from '../api/queries.ts';
import { useMay } from '../app/session.ts';
import { plainLine } from '../parts/format.ts';
import { LongText } from '../parts/long-text.tsx';
import { Failure, ReadState } from '../parts/notice.tsx';
import { TimeAgo } from '../parts/time.tsx';

/** A question to a person, with the form to answer it. */
export function ApprovalAnswer({ id }: { readonly id: string }) {
  const read = useQuery({ queryKey: ['approval', id], queryFn: () => api.approvals.get({ id }) });
  const may = useMay();
  const [comment, setComment] = useState('');
  const field = useId();
  const queries = useQueryClient();
  const answer = useMutation({
    mutationFn: async (verdict: 'approve' | 'reject') => {
      if (verdict === 'approve') await api.approvals.approve({ id, body: { feedback: comment || undefined } });
      else await api.approvals.reject({ id, reason: comment });
    },
    onSettled: () => queries.invalidateQueries(),
  });
  if (read.data === undefined) return <ReadState of={read} what="the question" />;
  if ('error' in read.data) return <p className="quiet">This question is answered, or has expired.</p>;
  const { request } = read.data;
  return (
    <section className="card" aria-label="Question">
      <LongText text={request.prompt.trim()} name="question" className="question" />
      <p className="quiet">
        Asked <TimeAgo at={request.created_at} />. <Deadline request={request} />
      </p>
      {may('run', 'approvals') ? (
        <>
          <div className="field">
            <label htmlFor={field}>Comment (a reason is needed to reject)</label>
            <textarea id={field} rows={2} value={comment} onChange={(event) => setComment(event.target.value)} />
          </div>
          <div className="actions">
            <button
              type="button"
              className="primary"
              disabled={answer.isPending}
              onClick={() => answer.mutate('approve')}
            >
              Approve
            </button>
            <button
              type="button"
              className="danger"
              disabled={answer.isPending || comment.trim() === ''}
              onClick={() => answer.mutate('reject')}
            >
              Reject
            </button>
          </div>
        </>
      ) : (
        <p className="quiet">Your role may read it, but not answer.</p>
      )}
      {answer.error !== null && <Failure error={answer.error} />}
    </section>
  );
}

/** Time and result of the time-out. */
function Deadline({
  request: { id, execution_id, created_at, timeout_seconds: seconds },
}: {
  readonly request: Approval;
}) {
  const why = useQuery({
    queryKey: ['why', 'workflow', execution_id, 'waiting_for_human_input'],
    queryFn: () => api.workflowExecutions.why({ id: execution_id }),
  });
  if (seconds === 0) return 'It waits until someone answers.';
  const link = why.data?.chain.find((one) => one.kind === 'approval' && one.id === id);
  const answer = link?.kind === 'approval' ? link.default_response : undefined;
  return (
    <>
      Without an answer it ends <TimeAgo at={new Date(Date.parse(created_at) + seconds * 1_000).toISOString()} />
      {answer === undefined && '.'}
      {answer === null && ', and its state fails.'}
      {typeof answer === 'string' && `, and its default answer ${JSON.stringify(plainLine(answer, 200))} is given.`}
    </>
  );
}
