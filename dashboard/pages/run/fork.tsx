import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { api } from '../../api/queries.ts';
import type { RunKind } from '../../api/runs.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { plainLine } from '../../parts/format.ts';
import { Failure } from '../../parts/notice.tsx';

interface ForkProps {
  readonly kind: RunKind;
  readonly id: string;
}

/** Starts a new run from a message of this one. Shown only to users who may start runs. */
export function ForkButton(props: ForkProps) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <button type="button" onClick={() => setIsOpen(true)}>
        Fork
      </button>
      {isOpen && (
        <Dialog title="Fork run" close={() => setIsOpen(false)}>
          <ForkForm {...props} />
        </Dialog>
      )}
    </>
  );
}

const MOST = 1_000;

function ForkForm({ kind, id }: ForkProps) {
  const navigate = useNavigate();
  const [message, setMessage] = useState('');
  const [input, setInput] = useState('');
  const [blackboard, setBlackboard] = useState('');
  const [reason, setReason] = useState('');
  const history = useQuery({
    queryKey: ['actor-history', kind, id],
    queryFn: () => api.actors.listHistory({ kind, id, order: 'oldest_first', limit: MOST }),
  });
  const fork = useMutation({
    mutationFn: async () =>
      api.runs.fork({
        id,
        message_id: message || undefined,
        input: input.trim() === '' ? undefined : kind === 'execution' ? input : objectIn(input, 'Input'),
        blackboard: blackboard.trim() === '' ? undefined : objectIn(blackboard, 'Blackboard'),
        reason: reason || undefined,
      }),
    onSuccess: (forked) => navigate({ to: '/runs/$kind/$id', params: { kind: forked.kind, id: forked.id } }),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    fork.mutate();
  };
  return (
    <form onSubmit={submit}>
      <p>A new run continues after the selected message. Earlier steps are not repeated.</p>
      <label className="field">
        Reason (optional)
        <input value={reason} maxLength={1_000} onChange={(event) => setReason(event.target.value)} />
      </label>
      <label className="field">
        After message
        <select value={message} onChange={(event) => setMessage(event.target.value)}>
          <option value="">the last one before its end</option>
          {history.data?.deliveries.map(({ message_id, type, at }, place) => (
            <option key={message_id} value={message_id}>
              {place + 1}: {plainLine(type, 60)}, {at.slice(11, 23)}
            </option>
          ))}
        </select>
      </label>
      <label className="field">
        {kind === 'execution' ? 'Other input (optional)' : 'Changed input as JSON (optional)'}
        <textarea rows={2} value={input} spellCheck={false} onChange={(event) => setInput(event.target.value)} />
      </label>
      {kind === 'workflow' && (
        <label className="field">
          Changed blackboard entries as JSON (optional)
          <textarea
            rows={2}
            value={blackboard}
            spellCheck={false}
            onChange={(event) => setBlackboard(event.target.value)}
          />
        </label>
      )}
      {fork.error !== null && <Failure error={fork.error} />}
      <div className="actions">
        <button type="submit" className="primary" disabled={fork.isPending}>
          Fork run
        </button>
      </div>
    </form>
  );
}

/** A JSON object that the user typed. Throws an Error that names the field. */
function objectIn(text: string, field: string): Readonly<Record<string, unknown>> {
  const value: unknown = parsed(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new Error(`${field}: expected a JSON object such as {"key": "value"}.`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
