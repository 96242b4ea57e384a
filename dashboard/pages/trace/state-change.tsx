import { useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import type { ActorStateDiff } from '../../../clients/typescript/gen/operations.ts';
import { api, failureText } from '../../api/queries.ts';
import { jsonText, plainLine, plainText } from '../../parts/format.ts';
import { LongJson } from '../../parts/long-text.tsx';
import { ReadState } from '../../parts/notice.tsx';

interface StateChangeProps {
  /** kind/tenant/id. */
  readonly address: string;
  readonly messageId: string;
}

const MOST_CHANGES = 100;

/** The changes that a message made to the state of its actor, and the state after it. */
export function StateChange({ address, messageId }: StateChangeProps) {
  const title = useId();
  const [kind = '', , id = ''] = address.split('/');
  const read = useQuery({
    queryKey: ['actor', 'diff', address, messageId],
    queryFn: () => api.actors.getDiff({ kind, id, to: messageId }),
    staleTime: 60_000,
  });
  return (
    <section aria-labelledby={title}>
      <h3 id={title}>State of the actor</h3>
      {read.isPending && <ReadState of={read} what="the state" />}
      {read.error !== null && (
        <p className="quiet">Its past states are not available: {plainText(failureText(read.error))}</p>
      )}
      {read.data !== undefined && <Changes diff={read.data} />}
      {read.data !== undefined && <StateAfter kind={kind} id={id} messageId={messageId} />}
    </section>
  );
}

const SIGNS = { added: '+', removed: '−', changed: '~' } as const;

function Changes({ diff: { changes, cut, differs } }: { readonly diff: ActorStateDiff }) {
  return (
    <>
      {changes.length === 0 && <p className="quiet">The message changed nothing.</p>}
      <ul className="state-changes">
        {changes.slice(0, MOST_CHANGES).map(({ path, kind, before, after }) => (
          <li key={path}>
            <code>
              <span aria-hidden="true">{SIGNS[kind]}</span> {plainLine(path === '' ? '/' : path, 200)}
              <span className="unseen">{kind}</span>
            </code>
            {kind !== 'added' && <del>{plainLine(jsonText(before), 300)}</del>}
            {kind !== 'removed' && <ins>{plainLine(jsonText(after), 300)}</ins>}
          </li>
        ))}
      </ul>
      {(cut || changes.length > MOST_CHANGES) && <p className="quiet">There are more changes.</p>}
      {differs !== null && (
        <p className="notice notice-waits">
          The replay differs from what was recorded at message {plainLine(differs.message_id, 60)}:{' '}
          {differs.parts.join(', ')}.
        </p>
      )}
    </>
  );
}

/** Read only when it is opened. */
function StateAfter({
  kind,
  id,
  messageId,
}: {
  readonly kind: string;
  readonly id: string;
  readonly messageId: string;
}) {
  const [isOpen, setIsOpen] = useState(false);
  const read = useQuery({
    queryKey: ['actor', 'state', kind, id, messageId],
    queryFn: () => api.actors.getState({ kind, id, at: messageId }),
    enabled: isOpen,
    staleTime: 60_000,
  });
  return (
    <details onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>State after the message</summary>
      {isOpen && <ReadState of={read} what="the state" />}
      {read.data?.state_omitted === true && <p>It is larger than 1 MiB and not shown.</p>}
      {read.data !== undefined && read.data.state_omitted !== true && <LongJson value={read.data.state} name="state" />}
    </details>
  );
}
