import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { api } from '../api/queries.ts';
import { useMay } from '../app/session.ts';
import { plainText } from '../parts/format.ts';
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
  const endsAt =
    request.timeout_seconds === 0
      ? null
      : new Date(Date.parse(request.created_at) + request.timeout_seconds * 1_000).toISOString();
  return (
    <section className="card" aria-label="Question">
      <pre className="question" tabIndex={0}>
        {plainText(request.prompt.trim())}
      </pre>
      <p className="quiet">
        Asked <TimeAgo at={request.created_at} />.{' '}
        {endsAt === null ? (
          'It waits without an end.'
        ) : (
          <>
            Without an answer it ends <TimeAgo at={endsAt} /> with the default response of the state.
          </>
        )}
      </p>
      {may('run') ? (
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
