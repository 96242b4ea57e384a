import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Dialog } from './dialog.tsx';
import { Failure } from './notice.tsx';

interface ActButtonProps {
  readonly label: string;
  /** Confirmation question. Absent: the action runs at once. */
  readonly ask?: string;
  readonly isDanger?: boolean;
  /** Asks for a text and passes it on. */
  readonly reason?: string;
  readonly act: (reason: string) => Promise<unknown>;
}

/** A button that calls the API: asks for confirmation where required, shows refusals, and refreshes all data afterwards. */
export function ActButton({ label, ask, isDanger = false, reason, act }: ActButtonProps) {
  const [isAsking, setIsAsking] = useState(false);
  const [text, setText] = useState('');
  const queries = useQueryClient();
  const call = useMutation({
    mutationFn: act,
    onSuccess: async () => {
      setIsAsking(false);
      await queries.invalidateQueries();
    },
  });
  const className = isDanger ? 'danger' : '';
  const asks = ask !== undefined || reason !== undefined;
  return (
    <>
      <button
        type="button"
        className={className}
        disabled={call.isPending}
        onClick={() => (asks ? setIsAsking(true) : call.mutate(''))}
      >
        {label}
      </button>
      {!isAsking && call.error !== null && <Failure error={call.error} />}
      {isAsking && (
        <Dialog title={label} close={() => setIsAsking(false)}>
          {ask !== undefined && <p>{ask}</p>}
          {reason !== undefined && (
            <label className="field">
              {reason}
              <input value={text} onChange={(event) => setText(event.target.value)} />
            </label>
          )}
          {call.error !== null && <Failure error={call.error} />}
          <div className="actions">
            <button type="button" className={className} disabled={call.isPending} onClick={() => call.mutate(text)}>
              {label}
            </button>
            <button type="button" onClick={() => setIsAsking(false)}>
              Keep as it is
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}
